#include "tests/sim/fleet/policy_clients.h"

#include <utility>

namespace freshet::fleet_sim {

namespace {

using Json = nlohmann::json;

constexpr milliseconds kPolicyPatience{3'000};
constexpr milliseconds kLongPolicyPatience{15'000};
// Nothing else of a run depends on them.
constexpr const char* kSettings[] = {"MAX_ATTEMPTS", "BACKOFF_MAX_MS"};

std::string policy_path(const std::string& queue) {
  return "/queues/" + queue + "/policy";
}

uint16_t one_of(FleetStage& stage, Random& random) {
  return stage.ports[random.below(stage.ports.size())];
}

}  // namespace

Async<bool> change_policy(FleetStage& stage, std::string queue, std::string setting, uint16_t port) {
  const std::string value = std::to_string(2'001 + stage.policy_changes++);
  stage.policies.sent(queue, setting, value, stage.caller.now());
  Json body = {{setting, value}};
  std::string path = policy_path(queue);
  const auto patience = stage.policy_changes % 2 == 0 ? kLongPolicyPatience : kPolicyPatience;
  const Reply reply = co_await stage.caller.post(port, std::move(path), std::move(body), patience);
  const bool may_fail = reply.status == 0 || reply.status == 429 || reply.status >= 500;
  stage.verdict.expect(reply.ok() || may_fail, "a change of a policy is refused",
                       queue + " " + setting + ": " + std::to_string(reply.status));
  if (!reply.ok()) {
    stage.policies.unknown(queue, setting, value, stage.caller.now());
    co_return false;
  }
  ++stage.operations;
  stage.verdict.expect(text_in(reply.body, setting.c_str()) == value,
                       "a change of a policy is answered with another one", queue + " " + setting + " " + value);
  stage.policies.done(queue, setting, value, reply.answered);
  co_return true;
}

Async<bool> read_policy(FleetStage& stage, std::string queue, uint16_t port) {
  std::string path = policy_path(queue);
  const Reply reply = co_await stage.caller.get(port, std::move(path), kPolicyPatience);
  if (!reply.ok()) co_return false;
  ++stage.operations;
  for (const char* setting : kSettings) {
    stage.policies.read(queue, setting, text_in(reply.body, setting), reply.sent, reply.answered);
  }
  co_return true;
}

Async<void> change_policies(FleetStage& stage, Random random) {
  ++stage.creators;
  while (!stage.calm && !stage.verdict.is_broken()) {
    const std::string queue = stage.plan.queues[random.below(stage.plan.queues.size())];
    const std::string setting = kSettings[random.below(2)];
    const uint16_t port = one_of(stage, random);
    co_await change_policy(stage, queue, setting, port);
    co_await pause_for(stage, random, milliseconds(1), milliseconds(random.below(4) == 0 ? 3'000 : 500));
  }
  --stage.creators;
}

Async<void> read_policies(FleetStage& stage, Random random) {
  while (!stage.verdict.is_broken()) {
    const std::string queue = stage.plan.queues[random.below(stage.plan.queues.size())];
    const uint16_t port = one_of(stage, random);
    co_await read_policy(stage, queue, port);
    co_await pause_for(stage, random, milliseconds(1), milliseconds(stage.calm ? 4'000 : 400));
  }
}

}  // namespace freshet::fleet_sim
