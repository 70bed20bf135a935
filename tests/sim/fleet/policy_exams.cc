#include "tests/sim/fleet/policy_exams.h"

#include <utility>

#include "tests/sim/fleet/policy_clients.h"

namespace freshet::fleet_sim {

namespace {

constexpr milliseconds kServedAgain{5'000};
constexpr milliseconds kMembersThere{15'000};
constexpr milliseconds kReadAgain{100};

Async<void> read_at_all(Exam& exam, std::string queue) {
  const BootTime began = exam.cluster.now();
  for (const uint16_t port : exam.stage.ports) {
    for (;;) {
      const FleetNode& node = exam.cluster.member_at(port);
      if (exam.stage.verdict.is_broken() || !node.is_up() || node.is_stopping()) break;
      const bool is_read = co_await read_policy(exam.stage, queue, port);
      if (is_read) break;
      if (exam.cluster.now() - began > kServedAgain) {
        co_return exam.stage.verdict.broken("a policy cannot be read although nothing is wrong", queue);
      }
      co_await sleep_for(exam.stage.caller.scheduler(), kReadAgain);
    }
  }
}

}  // namespace

Async<void> watch_policies(Exam& exam) {
  FleetStage& stage = exam.stage;
  if (!stage.plan.has_policies || stage.verdict.is_broken()) co_return;
  co_await sleep_for(stage.caller.scheduler(), kMembersThere);
  for (const bool is_killed : {false, true}) {
    const std::string queue = stage.plan.queues[exam.random.below(stage.plan.queues.size())];
    const uint16_t port = stage.ports[exam.random.below(stage.ports.size())];
    bool done = false;
    // The first one may find a change that nobody knew to be stored, and is to be made again.
    for (int tries = 0; !done && tries < 2; ++tries) {
      done = co_await change_policy(stage, queue, "BACKOFF_MAX_MS", port);
    }
    stage.verdict.insist(done, "a change of a policy fails although nothing is wrong", queue);
    co_await read_at_all(exam, queue);
    FleetNode* owner = exam.cluster.member_named(exam.cluster.units().owner("queue/" + queue));
    stage.verdict.insist(owner != nullptr, "nobody serves a queue", queue);
    if (stage.verdict.is_broken()) co_return;
    if (is_killed) {
      exam.cluster.kill_member(*owner, milliseconds(8'000));
    } else {
      exam.cluster.stop_member(*owner, milliseconds(8'000));
    }
    co_await read_at_all(exam, queue);
    co_await sleep_for(stage.caller.scheduler(), kMembersThere);
    co_await read_at_all(exam, queue);
  }
}

}  // namespace freshet::fleet_sim
