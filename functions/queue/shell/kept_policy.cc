#include "functions/queue/shell/kept_policy.h"

#include <utility>

#include "functions/queue/attributes.h"
#include "functions/queue/served_elsewhere.h"
#include "functions/queue/shell/parts.h"
#include "functions/queue_states.h"

namespace freshet {

namespace {

constexpr int64_t kPolicySlot = -502;  // Below those of the learnt limits.
constexpr const char* kOfTemplate = "template";
constexpr const char* kPolicyChanges = "changes";
constexpr const char* kRevision = "revision";

Value as_value(const QueuePolicy& policy) {
  Map out;
  for (const auto& [name, value] : policy) out.set(name, Value(value));
  return Value(std::move(out));
}

QueuePolicy policy_in(const Item& item, const char* name) {
  QueuePolicy out;
  const Value* value = item.find(name);
  const Map* map = value != nullptr ? value->get_if<Map>() : nullptr;
  if (map == nullptr) return out;
  for (const auto& [setting, text] : *map) {
    if (const auto* word = text.get_if<std::string>()) out.emplace(setting, *word);
  }
  return out;
}

}  // namespace

Async<Result<void>> KeptPolicy::load() {
  of_template_ = parts_.policy.policy();
  if (!base_.in_fleet) co_return Result<void>();
  GetItemInput input;
  input.table = kQueueStates;
  input.key = queue_state_key(table_, kPolicySlot);
  auto stored = co_await services_.tables.get_item(std::move(input));
  if (!stored) co_return fail(stored.error());
  if (!*stored) co_return Result<void>();
  const Item item = stored->decode();
  const QueuePolicy changes = policy_in(item, kPolicyChanges);
  if (changes.empty()) co_return Result<void>();
  std::string why = "the template of this daemon has other settings than when the policy was changed";
  if (policy_in(item, kOfTemplate) == of_template_) {
    auto changed = parts_.policy.change_policy(changes);
    if (changed) co_return Result<void>();
    why = std::move(changed.error().message);
  }
  log_.warn("POLICY_NOT_KEPT", {{"queue", table_}, {"message", why}});
  co_return Result<void>();
}

Async<Result<void>> KeptPolicy::keep(QueuePolicy policy) {
  if (!base_.in_fleet) co_return Result<void>();
  QueuePolicy changes = policy_differences(of_template_, policy);
  const auto seen = co_await revision();
  if (!seen) co_return fail(seen.error());
  auto written = co_await write(*seen, std::move(changes));
  if (!written) co_return written;
  // The next owner may have read the policy before this write. The client asks again, and asks that one.
  if (core_.agenda.given_up()) co_return fail(served_elsewhere(table_));
  co_return Result<void>();
}

Async<Result<int64_t>> KeptPolicy::revision() {
  GetItemInput input;
  input.table = kQueueStates;
  input.key = queue_state_key(table_, kPolicySlot);
  auto stored = co_await services_.tables.get_item(std::move(input));
  if (!stored) co_return fail(stored.error());
  co_return *stored ? int_of(*stored, kRevision, 0) : 0;
}

Async<Result<void>> KeptPolicy::write(int64_t seen, QueuePolicy changes) {
  PutItemInput put;
  put.table = kQueueStates;
  put.item = queue_state_key(table_, kPolicySlot);
  put.item.set(kOfTemplate, as_value(of_template_));
  put.item.set(kPolicyChanges, as_value(changes));
  put.item.set(kRevision, Value::number(seen + 1));
  put.condition = seen == 0 ? "attribute_not_exists(revision)" : "revision = :r";
  if (seen != 0) put.placeholders.values.set(":r", Value::number(seen));
  put.cause = Cause::kQueue;
  const auto written = co_await services_.tables.put_item(std::move(put));
  if (written) co_return Result<void>();
  if (written.error().code != ErrorCode::kConditionalCheckFailed) co_return fail(written.error());
  co_return fail(ErrorCode::kUnavailable, "the policy of queue '" + table_ + "' has changed meanwhile: try again");
}

void KeptPolicy::forget() {
  of_template_ = parts_.policy.policy();
  if (!base_.in_fleet) return;
  scope_.spawn([](KeptPolicy& self) -> Async<void> {
    QueuePolicy policy = self.of_template_;
    const auto kept = co_await self.keep(std::move(policy));
    if (!kept) self.log_.warn("POLICY_NOT_FORGOTTEN", {{"queue", self.table_}, {"message", kept.error().message}});
  }(*this));
}

}  // namespace freshet
