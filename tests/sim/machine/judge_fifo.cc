#include "tests/sim/machine/judge_fifo.h"

#include <utility>

namespace freshet::sim {

namespace {

constexpr int kOrderAttempts = 3;             // MaximumRetryAttempts of OrderFunction in events-further.yaml is 2.
constexpr seconds kKnownFor{299};             // A message is known for five minutes; a second is for rounding.
constexpr seconds kOrderAge{6 * 3600 - 120};  // MaximumEventAgeInSeconds, but for a clock that is not believed at once.

std::string numbered(const std::string& id, const std::string& number) {
  return id + ", number " + number;
}

}  // namespace

void FifoJudge::sent(const std::string& id, const std::string& group, BootTime now) {
  const auto [at, is_new] = messages_.try_emplace(id);
  if (!is_new) return;
  at->second.group = group;
  at->second.first_sent = now;
  at->second.lost_before = lost_;
}

bool FifoJudge::may_be_new(const Message& message, BootTime now) const {
  return wall_.latest(message.first_sent, now) >= wall_.earliest(message.first_sent, now) + kKnownFor;
}

bool FifoJudge::may_be_given_up(const Message& message, BootTime now) const {
  if (lost_ - message.lost_before >= kOrderAttempts) return true;
  return wall_.latest(message.first_sent, now) >= wall_.earliest(message.first_sent, now) + kOrderAge;
}

void FifoJudge::accepted(const std::string& id, const std::string& number, const Span& span) {
  Message& message = messages_.at(id);
  verdict_.expect(number.size() == 20, "a message of a FIFO topic has no number", numbered(id, number));
  for (const auto& [other, starts] : message.starts) {
    verdict_.expect(other == number || may_be_new(message, span.answered),
                    "a message that is sent again is another one", numbered(id, number) + " was " + other);
  }
  const bool is_new = message.starts.try_emplace(number, 0).second;
  message.accepted.insert(number);
  if (!is_new) return;
  // Another one that was accepted before this one was sent first came earlier.
  const bool later = highest_at_ > BootTime{} && highest_at_ < message.first_sent;
  verdict_.expect(!later || number > highest_, "the numbers of a FIFO topic do not rise",
                  numbered(id, number) + " comes after " + highest_);
  if (number > highest_) {
    highest_ = number;
    highest_at_ = span.answered;
  }
  Group& group = groups_[message.group];
  group.waiting.emplace(number, id);
}

void FifoJudge::refused(const std::string& id) {
  messages_.at(id).refused = true;
}

bool FifoJudge::started(const nlohmann::json& input, BootTime now) {
  const auto records = input.is_object() ? input.find("Records") : input.end();
  if (!input.is_object() || records == input.end() || !records->is_array() || records->size() != 1) return false;
  const auto& record = records->front();
  if (!record.contains("Sns") || !record["Sns"].contains("SequenceNumber")) return false;
  const auto& sns = record["Sns"];
  judge_start(sns.value("Message", std::string()), sns.value("SequenceNumber", std::string()), now);
  return true;
}

void FifoJudge::judge_start(const std::string& id, const std::string& number, BootTime now) {
  const auto found = messages_.find(id);
  if (found == messages_.end()) return verdict_.broken("an event starts that nobody has sent", id);
  Message& message = found->second;
  for (const auto& [other, starts] : message.starts) {
    verdict_.expect(other == number || may_be_new(message, now), "a message is delivered twice",
                    numbered(id, number) + " and " + other);
  }
  int& starts = message.starts[number];
  ++starts;
  verdict_.expect(
      starts <= kOrderAttempts + lives_, "an event starts more often than it may",
      numbered(id, number) + ": " + std::to_string(starts) + " times in " + std::to_string(lives_) + " lives");
  Group& group = groups_[message.group];
  verdict_.expect(number >= group.last, "a group is out of order", numbered(id, number) + " comes after " + group.last);
  group.last = std::max(group.last, number);
  for (auto at = group.waiting.begin(); at != group.waiting.end() && at->first < number;) {
    const Message& skipped = messages_.at(at->second);
    verdict_.expect(skipped.starts.at(at->first) > 0 || may_be_given_up(skipped, now), "a message is passed over",
                    numbered(at->second, at->first) + " has not been delivered when " + number + " is");
    at = group.waiting.erase(at);
  }
}

void FifoJudge::at_rest(BootTime now) const {
  for (const auto& [id, message] : messages_) {
    for (const std::string& number : message.accepted) {
      verdict_.expect(message.starts.at(number) > 0 || may_be_given_up(message, now), "an accepted event never starts",
                      numbered(id, number));
    }
    const bool none = message.refused && !message.unsure && message.accepted.empty();
    verdict_.expect(!none || message.starts.empty(), "an event that was refused starts", id);
  }
}

}  // namespace freshet::sim
