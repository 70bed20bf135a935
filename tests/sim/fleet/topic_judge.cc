#include "tests/sim/fleet/topic_judge.h"

#include <algorithm>

#include "tests/sim/fleet/fleet_plan.h"

namespace freshet::fleet_sim {

namespace {

using Json = nlohmann::json;

constexpr size_t kAttempts = 3;  // MaximumRetryAttempts is 2.
// A delivery under way goes on after a daemon has given up its topic. The function may take its timeout for it.
constexpr milliseconds kLastDelivery{15'000};

std::string with_number(const std::string& id, const std::string& number) {
  return id + ", number " + number;
}

}  // namespace

void TopicJudge::sent(const std::string& id, const std::string& group, BootTime now) {
  const auto [at, is_new] = messages_.try_emplace(id);
  if (!is_new) return;
  at->second.group = group;
  at->second.first_sent = now;
  at->second.lost_before = lost_;
}

void TopicJudge::set_number(const std::string& id, Message& message, const std::string& number) {
  verdict_.expect(number.size() == 20, "a message of a FIFO topic has no number", with_number(id, number));
  verdict_.expect(message.number.empty() || message.number == number,
                  "a message that is sent again within five minutes is another one",
                  with_number(id, number) + " was " + message.number);
  const auto [at, is_new] = ids_.try_emplace(number, id);
  verdict_.expect(at->second == id, "two messages of a FIFO topic have one number",
                  with_number(id, number) + " is " + at->second);
  message.number = number;
}

void TopicJudge::accepted(const std::string& id, const std::string& number, BootTime answered) {
  Message& message = messages_.at(id);
  set_number(id, message, number);
  if (message.accepted) return;
  message.accepted = true;
  // One that was accepted before this one was sent first came earlier.
  const bool is_later = !highest_.empty() && highest_at_ < message.first_sent;
  verdict_.expect(!is_later || number > highest_, "the numbers of a FIFO topic do not rise",
                  with_number(id, number) + " comes after " + highest_);
  if (number > highest_) {
    highest_ = number;
    highest_at_ = answered;
  }
  for (auto& [function, groups] : groups_) groups[message.group].waiting.insert(number);
}

void TopicJudge::lost_event(const std::string& node, BootTime now) {
  if (units_.served_since(node, kTopicUnit, now - kLastDelivery)) ++lost_;
}

bool TopicJudge::may_be_given_up(const Message& message) const {
  return lost_ - message.lost_before >= static_cast<int>(kAttempts);
}

bool TopicJudge::is_late(const std::string& node, BootTime now) const {
  if (units_.owner(kTopicUnit) == node) return false;
  return std::any_of(shakes_.begin(), shakes_.end(), [&](const Shake& shake) {
    return shake.node == node && shake.from <= now && shake.to + kLastDelivery >= now;
  });
}

void TopicJudge::shaken(BootTime from, BootTime to, const std::string& node) {
  shakes_.push_back({from, to, node});
  std::erase_if(before_, [&](const auto& entry) { return entry.first.node == node; });
  for (const auto& [place, id] : under_way_) {
    if (place.node == node) before_[place] = id;
  }
}

void TopicJudge::life_ended(const std::string& node) {
  std::erase_if(before_, [&](const auto& entry) { return entry.first.node == node; });
  std::erase_if(under_way_, [&](const auto& entry) { return entry.first.node == node; });
}

// One delivery may have been under way without having reached the function.
void TopicJudge::judge_late(const Place& place, const std::string& id) {
  const auto [before, is_new] = before_.try_emplace(place, id);
  if (before->second == id) return;
  // An attempt counts at the daemon although it never began.
  const Message& message = messages_.at(before->second);
  const auto starts = message.starts.find(place.function);
  const size_t begun = starts == message.starts.end() ? 0 : starts->second;
  const bool may_be_over = begun + static_cast<size_t>(lost_ - message.lost_before) >= kAttempts;
  verdict_.expect(may_be_over, "a daemon that stood still begins to deliver for a topic that is not its own any more",
                  place.node + " delivers " + id + " after " + before->second);
}

std::string TopicJudge::function_of(const Json& record) const {
  const std::string arn = record.value("EventSubscriptionArn", std::string());
  for (const auto& [function, groups] : groups_) {
    if (arn.find(":" + function) != std::string::npos) return function;
  }
  return {};
}

void TopicJudge::done(const std::string& node, const Json& event) {
  const Json& record = event["Records"].front();
  const std::string id = record["Sns"].value("Message", std::string());
  const auto message = messages_.find(id);
  if (message == messages_.end()) return;
  const auto found = under_way_.find({node, function_of(record), message->second.group});
  if (found != under_way_.end() && found->second == id) under_way_.erase(found);
}

bool TopicJudge::is_message(const Json& event) {
  const auto records = event.is_object() ? event.find("Records") : event.end();
  if (!event.is_object() || records == event.end() || !records->is_array() || records->size() != 1) return false;
  const Json& record = records->front();
  return record.contains("Sns") && record["Sns"].contains("SequenceNumber");
}

bool TopicJudge::started(const std::string& node, const Json& event, BootTime now) {
  if (!is_message(event)) return false;
  const Json& record = event["Records"].front();
  const Json& sns = record["Sns"];
  const std::string id = sns.value("Message", std::string());
  const std::string function = function_of(record);
  const auto found = messages_.find(id);
  const bool is_known = found != messages_.end() && !function.empty();
  verdict_.expect(is_known, "a message comes that nobody has sent", id);
  if (!is_known) return true;
  verdict_.expect(units_.served_since(node, kTopicUnit, now - kLastDelivery),
                  "a message is delivered by another daemon", node + " does not serve " + kTopicUnit);
  Message& message = found->second;
  set_number(id, message, sns.value("SequenceNumber", std::string()));
  ++message.starts[function];
  const Place place{node, function, message.group};
  if (is_late(node, now)) {
    judge_late(place, id);
  } else {
    judge_order(function, node, message, id);
  }
  under_way_[place] = id;
  return true;
}

void TopicJudge::judge_order(const std::string& function, const std::string& node, const Message& message,
                             const std::string& id) {
  Group& group = groups_[function][message.group];
  verdict_.expect(message.number >= group.last, "a group of a FIFO topic is out of order",
                  with_number(id, message.number) + " comes to " + function + " on " + node + " after " + group.last);
  group.last = std::max(group.last, message.number);
  for (auto at = group.waiting.begin(); at != group.waiting.end() && *at < message.number;) {
    const std::string& skipped_id = ids_.at(*at);
    const Message& skipped = messages_.at(skipped_id);
    verdict_.expect(
        skipped.starts.contains(function) || may_be_given_up(skipped), "a message is passed over",
        with_number(skipped_id, *at) + " has not come to " + function + " when " + message.number + " does");
    at = group.waiting.erase(at);
  }
}

std::string TopicJudge::undelivered() const {
  for (const auto& [id, message] : messages_) {
    if (!message.accepted || may_be_given_up(message)) continue;
    for (const auto& [function, groups] : groups_) {
      if (!message.starts.contains(function)) return with_number(id, message.number) + " has not come to " + function;
    }
  }
  return {};
}

size_t TopicJudge::deliveries(const std::string& id) const {
  const auto found = messages_.find(id);
  size_t all = 0;
  if (found == messages_.end()) return all;
  for (const auto& [function, starts] : found->second.starts) all += starts;
  return all;
}

std::string TopicJudge::number_of(const std::string& id) const {
  const auto found = messages_.find(id);
  return found == messages_.end() ? std::string() : found->second.number;
}

}  // namespace freshet::fleet_sim
