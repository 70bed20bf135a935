#include "functions/queue/shell/kept_policy.h"

#include <algorithm>
#include <utility>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/served_elsewhere.h"
#include "functions/queue/shell/parts.h"
#include "functions/queue_states.h"

namespace freshet {

namespace {

constexpr int64_t kPolicySlot = -502;  // The learnt limits have -500 and -501.
constexpr int kMostTries = 4;
constexpr int kMostKeeps = 30;
constexpr seconds kKeepAgain{1};
constexpr const char* kTurn = "policy";
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

// A later release may have more settings.
bool is_same(const QueuePolicy& stored, const QueuePolicy& mine) {
  return std::all_of(stored.begin(), stored.end(), [&](const auto& setting) {
    const auto here = mine.find(setting.first);
    return here == mine.end() || here->second == setting.second;
  });
}

}  // namespace

Async<Result<void>> KeptPolicy::load() {
  of_template_ = parts_.policy.policy();
  if (!base_.in_fleet || FRESHET_PLANTED("fleet-policy-unread")) co_return Result<void>();
  QueuePolicy changes;
  QueuePolicy of_template;
  const auto revision = co_await read(&changes, &of_template);
  if (!revision) co_return fail(revision.error());
  revision_ = *revision;
  if (revision_ == 0) co_return Result<void>();
  std::string why;
  if (!changes.empty()) {
    why = "the template of this daemon has other settings than when the policy was changed";
    if (is_same(of_template, of_template_)) {
      auto changed = parts_.policy.change_policy(changes);
      why = changed ? std::string() : std::move(changed.error().message);
    }
  }
  if (!why.empty()) log_.warn("POLICY_ENDED", {{"queue", table_}, {"message", why}});
  QueuePolicy policy = parts_.policy.policy();
  co_return co_await store_policy(std::move(policy));
}

Async<Result<QueuePolicy>> KeptPolicy::change(QueuePolicy changes) {
  if (!base_.in_fleet) co_return parts_.policy.change_policy(changes);
  co_await turns_.wait(kTurn);
  const NamedTurns::Turn turn(turns_, kTurn);
  for (int tries = 0; tries < kMostTries; ++tries) {
    const QueuePolicy before = parts_.policy.policy();
    const QueuePolicy of_template = of_template_;
    auto policy = parts_.policy.check_policy(changes);
    if (!policy) co_return fail(policy.error());
    auto stored = co_await store_policy(std::move(*policy));
    if (!stored) co_return fail(stored.error());
    // The template may have been deployed meanwhile, or a guard may have reverted its change.
    if (parts_.policy.policy() != before || of_template_ != of_template) continue;
    co_return parts_.policy.change_policy(changes);
  }
  co_return fail(ErrorCode::kUnavailable, "the policy of queue '" + table_ + "' keeps changing: try again");
}

Async<Result<void>> KeptPolicy::keep() {
  if (!base_.in_fleet) co_return Result<void>();
  co_await turns_.wait(kTurn);
  const NamedTurns::Turn turn(turns_, kTurn);
  for (int tries = 0; tries < kMostTries && !parts_.policy.guard_state(); ++tries) {
    const QueuePolicy policy = parts_.policy.policy();
    QueuePolicy copy = policy;
    auto stored = co_await store_policy(std::move(copy));
    if (!stored || policy == parts_.policy.policy()) co_return stored;
  }
  co_return Result<void>();
}

void KeptPolicy::deployed() {
  of_template_ = parts_.policy.policy();
  guard_ended();
}

void KeptPolicy::guard_ended() {
  if (base_.in_fleet) base_.lasting.spawn(keep_at_last());
}

Async<void> KeptPolicy::keep_at_last() {
  for (int tries = 0; tries < kMostKeeps && !core_.agenda.given_up(); ++tries) {
    if (tries > 0) co_await sleep_for(services_.scheduler, kKeepAgain);
    const auto kept = co_await keep();
    if (kept) co_return;
    log_.warn("POLICY_NOT_STORED", {{"queue", table_}, {"message", kept.error().message}});
  }
}

Async<Result<void>> KeptPolicy::store_policy(QueuePolicy policy) {
  QueuePolicy changes = policy_differences(of_template_, policy);
  if (FRESHET_PLANTED("fleet-policy-unstored")) co_return Result<void>();
  if (changes.empty() && revision_ == 0) co_return Result<void>();
  auto stored = co_await store(std::move(changes));
  if (!stored) co_return stored;
  // The client asks again, and asks the next owner.
  if (core_.agenda.given_up()) co_return fail(served_elsewhere(table_));
  co_return Result<void>();
}

Async<Result<int64_t>> KeptPolicy::read(QueuePolicy* changes, QueuePolicy* of_template) {
  GetItemInput input;
  input.table = kQueueStates;
  input.key = queue_state_key(table_, kPolicySlot);
  auto stored = co_await services_.tables.get_item(std::move(input));
  if (!stored) co_return fail(stored.error());
  if (!*stored) co_return 0;
  const Item item = stored->decode();
  *changes = policy_in(item, kPolicyChanges);
  *of_template = policy_in(item, kOfTemplate);
  co_return item.int_or(kRevision, 0);
}

// Writes the item over the one that is known. If an answer is lost, it looks at what is there and writes again.
Async<Result<void>> KeptPolicy::store(QueuePolicy changes) {
  const int64_t seen = revision_;
  const QueuePolicy of_template = of_template_;
  Error why;
  for (int tries = 0; tries < kMostTries; ++tries) {
    PutItemInput put;
    put.table = kQueueStates;
    put.item = queue_state_key(table_, kPolicySlot);
    put.item.set(kOfTemplate, as_value(of_template));
    put.item.set(kPolicyChanges, as_value(changes));
    put.item.set(kRevision, Value::number(seen + 1));
    put.condition = seen == 0 ? "attribute_not_exists(revision)" : "revision = :r";
    if (FRESHET_PLANTED("fleet-policy-unconditional")) put.condition.clear();
    if (seen != 0 && !put.condition.empty()) put.placeholders.values.set(":r", Value::number(seen));
    put.cause = Cause::kQueue;
    const auto written = co_await services_.tables.put_item(std::move(put));
    if (written) {
      revision_ = seen + 1;
      co_return Result<void>();
    }
    why = written.error();
    const bool is_refused = why.code == ErrorCode::kConditionalCheckFailed;
    if (!is_refused && why.code != ErrorCode::kUnknownOutcome) co_return fail(why);
    QueuePolicy there;
    QueuePolicy under;
    const auto revision = co_await read(&there, &under);
    if (!revision) continue;
    if (*revision == seen) continue;  // Not written yet. Of two such writes only one can succeed.
    revision_ = *revision;
    if (*revision == seen + 1 && there == changes && under == of_template) co_return Result<void>();
    co_return fail(ErrorCode::kUnavailable, "the policy of queue '" + table_ + "' has changed meanwhile: try again");
  }
  co_return fail(why);
}

}  // namespace freshet
