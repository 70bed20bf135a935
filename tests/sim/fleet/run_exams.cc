#include "tests/sim/fleet/run_exams.h"

#include <utility>

namespace freshet::fleet_sim {

namespace {

using Json = nlohmann::json;

constexpr milliseconds kCreatePatience{5'000};
constexpr milliseconds kLookAtRuns{10};
constexpr milliseconds kAllAreBack{8'000};
constexpr milliseconds kNoTrouble{8'000};
constexpr milliseconds kHandedOver{16'000};  // The next owner starts its processor within 5 seconds.
constexpr milliseconds kRunsAgain{30'000};   // The timeout, 5 seconds more, and then the rest.
constexpr int kRounds = 4;

enum class Harm { kNone, kStop, kKill };

std::string ms_passed(nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(time).count()) + " ms";
}

Async<std::vector<std::string>> create_all(Exam& exam, std::string name) {
  FleetStage& stage = exam.stage;
  std::vector<std::string> ids;
  Json tasks = Json::array();
  for (int i = 0; i < kRounds * stage.plan.run_limit; ++i) {
    ids.push_back(name + std::to_string(i));
    stage.ledger.create_sent(kRunQueue, ids.back(), stage.caller.now());
    tasks.push_back({{"taskId", ids.back()}, {"payload", 1}});
  }
  std::string path = std::string("/queues/") + kRunQueue + "/tasks";
  const uint16_t port = stage.ports[exam.random.below(stage.ports.size())];
  Json body = {{"tasks", std::move(tasks)}};
  const Reply reply = co_await stage.caller.post(port, std::move(path), std::move(body), kCreatePatience);
  stage.verdict.insist(reply.ok(), "a create is refused although nothing is wrong", std::to_string(reply.status));
  for (const std::string& id : ids) {
    if (reply.ok()) stage.ledger.created(id, reply.answered);
  }
  co_return ids;
}

// Once a task is in work on another member than the owner, one of the two is stopped or killed.
Async<void> harm_one(Exam& exam, Harm harm) {
  FleetStage& stage = exam.stage;
  RunsJudge& runs = exam.cluster.runs();
  const BootTime began = exam.cluster.now();
  while (runs.elsewhere() == 0 && !stage.verdict.is_broken()) {
    const nanoseconds passed = exam.cluster.now() - began;
    if (passed > kNoTrouble) co_return stage.verdict.broken("no task runs on another member", ms_passed(passed));
    co_await sleep_for(stage.caller.scheduler(), milliseconds(1));
  }
  const std::string owner = exam.cluster.units().owner(std::string("queue/") + kRunQueue);
  std::string victim = owner;
  if (exam.random.below(2) == 0) {
    for (const auto& [node, starts] : runs.starts_by_node()) victim = node == owner ? victim : node;
  }
  FleetNode* node = exam.cluster.member_named(victim);
  stage.verdict.insist(node != nullptr, "nobody serves a queue", kRunQueue);
  if (node == nullptr) co_return;
  if (harm == Harm::kKill) {
    exam.cluster.kill_member(*node, milliseconds(6'000));
  } else {
    exam.cluster.stop_member(*node, milliseconds(6'000));
  }
}

Async<void> judge_runs(Exam& exam, std::string name, Harm harm) {
  FleetStage& stage = exam.stage;
  RunsJudge& runs = exam.cluster.runs();
  runs.count_anew();
  const auto ids = co_await create_all(exam, std::move(name));
  const BootTime created = exam.cluster.now();
  if (harm != Harm::kNone && !stage.verdict.is_broken()) co_await harm_one(exam, harm);
  const milliseconds most = harm == Harm::kNone ? kNoTrouble : harm == Harm::kStop ? kHandedOver : kRunsAgain;
  for (const std::string& id : ids) {
    while (!runs.is_done(id) && !stage.verdict.is_broken()) {
      const nanoseconds passed = exam.cluster.now() - created;
      if (passed > most)
        co_return stage.verdict.broken("a task of programs is done too late", id + ": " + ms_passed(passed));
      co_await sleep_for(stage.caller.scheduler(), kLookAtRuns);
    }
    if (stage.verdict.is_broken()) co_return;
    stage.verdict.insist(harm == Harm::kKill || runs.starts(id) == 1, "a task runs twice although nothing is wrong",
                         id + " has begun " + std::to_string(runs.starts(id)) + " times");
  }
  const auto limit = static_cast<size_t>(stage.plan.run_limit);
  stage.verdict.insist(harm == Harm::kKill || runs.most() == limit, "fewer tasks are in work than CONCURRENCY",
                       std::to_string(runs.most()) + " of " + std::to_string(limit));
  const size_t wanted = std::min(limit, exam.cluster.members());
  stage.verdict.insist(harm != Harm::kNone || runs.starts_by_node().size() >= wanted, "a member gets no tasks",
                       std::to_string(runs.starts_by_node().size()) + " of " + std::to_string(wanted) + " get some");
  co_await sleep_for(stage.caller.scheduler(), kAllAreBack);
}

}  // namespace

Async<void> watch_runs(Exam& exam, RunPrograms& programs) {
  if (!exam.stage.plan.has_runs || exam.stage.verdict.is_broken()) co_return;
  programs.set_length(milliseconds(300), milliseconds(900));
  co_await sleep_for(exam.stage.caller.scheduler(), kAllAreBack);
  co_await judge_runs(exam, "exam-run-", Harm::kNone);
  if (!exam.stage.verdict.is_broken()) co_await judge_runs(exam, "stop-run-", Harm::kStop);
  if (!exam.stage.verdict.is_broken()) co_await judge_runs(exam, "kill-run-", Harm::kKill);
}

}  // namespace freshet::fleet_sim
