#include "tests/sim/fleet/topic_exams.h"

#include <utility>

#include "tests/sim/fleet/topic_clients.h"

namespace freshet::fleet_sim {

namespace {

constexpr milliseconds kPublishedWithin{4'500};  // The takeover of a dead daemon's topic.
constexpr milliseconds kDeliveredSoon{4'000};    // A program starts for it; the groups wait for each other's programs.
constexpr milliseconds kDeliveredLater{9'000};
constexpr milliseconds kLookAtTopic{10};
constexpr milliseconds kMembersAreBack{9'000};
constexpr int kExamMessages = 6;

enum class End { kNone, kStop, kKill };

// Sends it again until it is accepted.
Async<void> publish_surely(Exam& exam, std::string id, std::string group) {
  FleetStage& stage = exam.stage;
  const BootTime began = exam.cluster.now();
  while (!stage.verdict.is_broken()) {
    const uint16_t port = stage.ports[exam.random.below(stage.ports.size())];
    const bool accepted = co_await publish_message(stage, id, group, port);
    if (accepted) co_return;
    if (exam.cluster.now() - began > kPublishedWithin) {
      co_return stage.verdict.broken("a topic is taken over too late", id + " is not accepted");
    }
    co_await sleep_for(stage.caller.scheduler(), milliseconds(50));
  }
}

Async<void> end_owner(Exam& exam, End end) {
  FleetNode* owner = exam.cluster.member_named(exam.cluster.units().owner(kTopicUnit));
  exam.stage.verdict.insist(owner != nullptr, "nobody serves the topic", kTopicUnit);
  if (owner == nullptr || end == End::kNone) co_return;
  if (end == End::kStop) exam.cluster.stop_member(*owner, milliseconds(1'000));
  if (end == End::kKill) exam.cluster.kill_member(*owner, milliseconds(8'000));
}

Async<void> judge_messages(Exam& exam, std::string name, End end) {
  FleetStage& stage = exam.stage;
  std::vector<std::pair<std::string, std::string>> messages;  // With their groups.
  for (int i = 0; i < kExamMessages; ++i) {
    messages.emplace_back(name + std::to_string(i), "exam-" + std::to_string(i % 2));
    if (i == kExamMessages / 2) co_await end_owner(exam, end);
    co_await publish_surely(exam, messages.back().first, messages.back().second);
  }
  const BootTime sent = exam.cluster.now();
  const milliseconds most = end == End::kNone ? kDeliveredSoon : kDeliveredLater;
  while (!stage.topic.undelivered().empty() && !stage.verdict.is_broken()) {
    if (exam.cluster.now() - sent > most) {
      co_return stage.verdict.broken("a message is delivered too late", stage.topic.undelivered());
    }
    co_await sleep_for(stage.caller.scheduler(), kLookAtTopic);
  }
  for (const auto& [id, group] : messages) co_await publish_surely(exam, id, group);
  co_await sleep_for(stage.caller.scheduler(), kMembersAreBack);
  for (const auto& [id, group] : messages) {
    stage.verdict.insist(end == End::kKill || stage.topic.deliveries(id) == stage.topic.subscriptions(),
                         "a message comes twice although nothing is wrong",
                         id + " has come " + std::to_string(stage.topic.deliveries(id)) + " times");
  }
}

}  // namespace

Async<void> watch_topic(Exam& exam) {
  if (!exam.stage.plan.has_topic || exam.stage.verdict.is_broken()) co_return;
  co_await sleep_for(exam.stage.caller.scheduler(), kMembersAreBack);
  co_await judge_messages(exam, "exam-message-", End::kNone);
  if (!exam.stage.verdict.is_broken()) co_await judge_messages(exam, "stop-message-", End::kStop);
  if (!exam.stage.verdict.is_broken()) co_await judge_messages(exam, "kill-message-", End::kKill);
}

}  // namespace freshet::fleet_sim
