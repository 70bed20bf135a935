#include "tests/sim/machine/judge_destinations.h"

#include <utility>

namespace freshet::sim {

namespace {

constexpr int kMostAttempts = 2;            // MaximumRetryAttempts of SourceFunction in events-further.yaml is 1.
constexpr int kMostReports = 3;             // That of EndFunction is 2.
constexpr seconds kOldest{6 * 3600 - 120};  // MaximumEventAgeInSeconds, but for a clock that is not believed at once.
constexpr const char* kSource = "origin";

}  // namespace

void DestinationsJudge::sent(const std::string& id, BootTime now) {
  Event& event = events_[id];
  event.sent = now;
  event.lost_before = lost_;
}

DestinationsJudge::Event* DestinationsJudge::find(const nlohmann::json& payload) {
  const auto id = payload.is_object() ? payload.value(kSource, std::string()) : std::string();
  const auto found = events_.find(id);
  if (found != events_.end()) return &found->second;
  verdict_.broken("an event starts that nobody has sent", payload.dump());
  return nullptr;
}

bool DestinationsJudge::started(const nlohmann::json& input) {
  if (!input.is_object()) return false;
  if (input.contains(kSource)) {
    Event* event = find(input);
    if (event == nullptr) return true;
    ++event->starts;
    const std::string id = input[kSource].get<std::string>();
    verdict_.expect(!event->refused, "an event that was refused starts", id);
    verdict_.expect(event->documents == 0 && event->letters == 0, "an event starts after its outcome", id);
    verdict_.expect(event->starts <= kMostAttempts + lives_, "an event starts more often than it may", id);
    return true;
  }
  if (input.contains("requestContext") && input.contains("requestPayload")) {
    outcome_came(input);
    return true;
  }
  const auto records = input.find("Records");
  if (records == input.end() || !records->is_array() || records->size() != 1) return false;
  const auto& record = records->front();
  if (!record.contains("Sns")) return false;
  const auto topic = record["Sns"].value("TopicArn", std::string());
  if (topic.ends_with(":LetterTopic")) {
    letter_came(record["Sns"]);
    return true;
  }
  if (!topic.ends_with(":FailureTopic")) return false;
  outcome_came(nlohmann::json::parse(record["Sns"].value("Message", std::string()), nullptr, false));
  return true;
}

std::string DestinationsJudge::kind_of(const nlohmann::json& input) {
  if (input.contains(kSource)) return "an event with destinations starts";
  if (input.contains("requestContext")) return "a destination gets a success";
  const auto topic = input["Records"].front()["Sns"].value("TopicArn", std::string());
  return topic.ends_with(":LetterTopic") ? "a dead letter comes" : "a destination gets a failure";
}

void DestinationsJudge::answers(const nlohmann::json& input, const std::string& result) {
  if (!input.is_object() || !input.contains(kSource)) return;
  Event* event = find(input);
  if (event == nullptr) return;
  auto answer = nlohmann::json::parse(result, nullptr, false);
  event->answers.insert(answer.is_discarded() ? nlohmann::json(result) : std::move(answer));
}

void DestinationsJudge::same_request(Event& event, const std::string& id, const std::string& request) {
  verdict_.expect(!request.empty() && (event.request.empty() || event.request == request), "one event has two requests",
                  id + ": " + event.request + " and " + request);
  event.request = request;
}

void DestinationsJudge::outcome_came(const nlohmann::json& document) {
  if (!document.is_object() || !document.contains("requestPayload") || !document.contains("requestContext")) {
    return verdict_.broken("a destination gets something that is no outcome", document.dump());
  }
  Event* event = find(document["requestPayload"]);
  if (event == nullptr) return;
  const std::string id = document["requestPayload"][kSource].get<std::string>();
  const auto& context = document["requestContext"];
  const auto condition = context.value("condition", std::string());
  same_request(*event, id, context.value("requestId", std::string()));
  ++event->documents;
  verdict_.expect(!event->refused, "a destination gets the outcome of an event that was refused", id);
  verdict_.expect(event->condition.empty() || event->condition == condition, "an event has two outcomes",
                  id + ": " + event->condition + " and " + condition);
  event->condition = condition;
  const int attempts = context.value("approximateInvokeCount", -1);
  verdict_.expect(attempts >= 0 && attempts <= kMostAttempts, "an event has more attempts than it may", id);
  if (condition == "Success") {
    verdict_.expect(event->answers.contains(document.value("responsePayload", nlohmann::json())),
                    "an event succeeds although no program has answered that", document.dump());
  } else {
    verdict_.expect(condition == "RetriesExhausted" || condition == "EventAgeExceeded",
                    "an event has an unknown outcome", id + ": " + condition);
    verdict_.expect(condition != "RetriesExhausted" || attempts == kMostAttempts, "an event is given up too early", id);
  }
}

void DestinationsJudge::letter_came(const nlohmann::json& message) {
  const auto payload = nlohmann::json::parse(message.value("Message", std::string()), nullptr, false);
  Event* event = find(payload);
  if (event == nullptr) return;
  const std::string id = payload[kSource].get<std::string>();
  ++event->letters;
  const auto value = [&message](const char* name) {
    const auto attributes = message.value("MessageAttributes", nlohmann::json::object());
    return attributes.value(name, nlohmann::json::object()).value("Value", std::string());
  };
  same_request(*event, id, value("RequestID"));
  const auto code = value("ErrorCode");
  verdict_.expect(code == "200" || code == "500", "a dead letter has no code", id + ": " + code);
}

void DestinationsJudge::at_rest(BootTime now) const {
  for (const auto& [id, event] : events_) {
    if (event.refused || (!event.accepted && event.starts == 0 && event.documents == 0)) continue;
    // The event that carries an outcome to a destination may be given up as well.
    const bool may_be_lost = lost_ - event.lost_before >= kMostReports ||
                             wall_.latest(event.sent, now) >= wall_.earliest(event.sent, now) + kOldest;
    const bool failed = event.condition == "RetriesExhausted" || event.condition == "EventAgeExceeded";
    verdict_.expect(event.documents > 0 || may_be_lost, "a destination never gets the outcome of an event", id);
    verdict_.expect(!failed || event.letters > 0 || may_be_lost, "an event that failed is no dead letter", id);
    verdict_.expect(event.condition != "Success" || event.letters == 0, "an event that succeeded is a dead letter", id);
  }
}

}  // namespace freshet::sim
