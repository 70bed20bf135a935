#include "tests/sim/machine/judge_events.h"

#include "base/log.h"

namespace freshet::sim {

namespace {

// Times that come again after a larger step back fire again (docs/templates.md).
constexpr milliseconds kStepThatRepeats{60'000};
constexpr int kAttempts = 3;  // MaximumRetryAttempts of EventFunction in events.yaml is 2.

}  // namespace

void EventsJudge::refused(const std::string& id) {
  Event& event = events_[id];
  verdict_.expect(event.starts == 0, "an event that was refused starts", id);
  event.refused = true;
}

void EventsJudge::judge_scheduled(const std::string& time, const std::string& id, WallTime now) {
  const Scheduled event{id, set_back_, time > iso8601(now + kStepThatRepeats)};
  const auto [found, is_new] = scheduled_.try_emplace(time, event);
  Scheduled& before = found->second;
  const bool comes_again = before.by_old_time || set_back_ - before.set_back >= kStepThatRepeats;
  verdict_.expect(is_new || before.id == id || comes_again, "a schedule fires twice at one of its times",
                  time + ": " + before.id + " and " + id);
  if (!is_new && before.id != id && comes_again) before = event;
}

bool EventsJudge::started(const nlohmann::json& input, WallTime now) {
  if (!input.is_object()) return false;
  if (const auto id = input.find("event"); id != input.end() && id->is_string()) {
    started(id->get<std::string>());
    return true;
  }
  if (input.value("detail-type", std::string()) == "Scheduled Event") {
    judge_scheduled(input.value("time", std::string()), input.value("id", std::string()), now);
    return true;
  }
  const auto records = input.find("Records");
  if (records == input.end() || !records->is_array() || records->size() != 1) return false;
  const auto& record = records->front();
  if (!record.contains("Sns")) return false;
  started(record["Sns"].value("Message", std::string()));
  return true;
}

void EventsJudge::started(const std::string& id) {
  const auto found = events_.find(id);
  if (found == events_.end()) return verdict_.broken("an event starts that nobody has sent", id);
  Event& event = found->second;
  ++event.starts;
  verdict_.expect(!event.refused, "an event that was refused starts", id);
  // Each end of a daemon may leave an attempt uncounted, or an answer.
  verdict_.expect(event.starts <= kAttempts + lives_, "an event starts more often than it may",
                  id + ": " + std::to_string(event.starts) + " times in " + std::to_string(lives_) + " lives");
}

void EventsJudge::at_rest() const {
  for (const auto& [id, event] : events_) {
    const bool may_be_lost = lost_ - event.lost_before >= kAttempts;
    verdict_.expect(!event.accepted || event.starts > 0 || may_be_lost, "an accepted event never starts", id);
  }
}

}  // namespace freshet::sim
