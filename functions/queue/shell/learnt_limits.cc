#include "functions/queue/shell/learnt_limits.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "functions/queue/shell/parts.h"
#include "functions/queue_states.h"

namespace freshet {

namespace {

constexpr int64_t kSlot = -500;  // It is below the shed log's head and lines, and above the pauses.
constexpr int64_t kKeysSlot = -501;
constexpr std::string_view kRate = "rateMilli";
constexpr std::string_view kConcurrency = "concurrency";
constexpr std::string_view kHighest = "highestMilli";  // If it is absent, no such limit was known.
constexpr std::string_view kKeys = "keys";
constexpr std::string_view kNameOfKey = "name";
constexpr std::string_view kByKey = "byKey";  // 1: the names are those of keys; 0: of groups.

void set_limit(Item& item, const LearntLimit& limit) {
  item.set(kRate, Value::number(std::llround(1000 * limit.rate)));
  item.set(kConcurrency, Value::number(static_cast<int64_t>(limit.concurrency)));
  item.set(kHighest, Value::number(std::llround(1000 * limit.highest)));
}

// Empty if the item cannot be read.
std::optional<LearntLimit> limit_of(const Item& item) {
  const auto milli = item.int_or(kRate, 0);
  const auto concurrency = item.int_or(kConcurrency, 0);
  if (milli <= 0 || concurrency < 0) return std::nullopt;
  const auto highest = std::max<int64_t>(item.int_or(kHighest, 0), 0);
  return LearntLimit{static_cast<double>(milli) / 1000, static_cast<uint64_t>(concurrency),
                     static_cast<double>(highest) / 1000};
}

std::vector<LearntKey> keys_of(const Item& item) {
  std::vector<LearntKey> out;
  const Value* keys = item.find(kKeys);
  const List* list = keys != nullptr ? keys->get_if<List>() : nullptr;
  if (list == nullptr) return out;
  for (const auto& element : list->elements) {
    const Map* one = element.get_if<Map>();
    const auto limit = one != nullptr ? limit_of(*one) : std::nullopt;
    if (limit) out.push_back({std::string(one->string_or(kNameOfKey)), *limit});
  }
  return out;
}

}  // namespace

// Runs before anything is taken. Without a readable item, nothing was learnt.
Async<Result<void>> LearntLimits::load_learnt() {
  for (const auto slot : {kSlot, kKeysSlot}) {
    GetItemInput input;
    input.table = kQueueStates;
    input.key = queue_state_key(table_, slot);
    auto stored = co_await services_.tables.get_item(std::move(input));
    if (!stored) co_return fail(stored.error());
    if (*stored) slot == kSlot ? remember(stored->decode()) : remember_keys(stored->decode());
  }
  co_return Result<void>();
}

void LearntLimits::remember(const Item& item) {
  const auto limit = limit_of(item);
  if (!limit) return;
  if (!core_.limits.remembered(*limit, boot())) return;
  log_.info("LIMIT_REMEMBERED", {{"queue", table_}, {"rate", limit->rate}, {"concurrency", limit->concurrency}});
}

void LearntLimits::remember_keys(const Item& item) {
  auto keys = keys_of(item);
  const size_t known = keys.size();
  if (!core_.limits.remembered_names(std::move(keys), item.int_or(kByKey, 0) != 0, boot())) return;
  log_.info("LIMITS_REMEMBERED", {{"queue", table_}, {"keys", known}});
}

Async<void> LearntLimits::keep_learnt_at_stop() {
  if (const auto limit = core_.limits.to_keep()) co_await write_learnt(*limit);
  if (auto keys = core_.limits.names_to_keep(boot(), true)) co_await write_learnt_keys(std::move(*keys));
}

Async<void> LearntLimits::write_learnt(LearntLimit limit) {
  core_.limits.kept(limit);
  Item item = queue_state_key(table_, kSlot);
  set_limit(item, limit);
  if (!co_await write_slot(std::move(item))) core_.limits.not_kept();
}

Async<void> LearntLimits::write_learnt_keys(std::vector<LearntKey> keys) {
  List list;
  for (auto& key : keys) {
    Map one;
    one.set(kNameOfKey, Value(std::move(key.key)));
    set_limit(one, key.limit);
    list.elements.emplace_back(std::move(one));
  }
  Item item = queue_state_key(table_, kKeysSlot);
  item.set(kKeys, Value(std::move(list)));
  item.set(kByKey, Value::number(settings_.limits.by_key ? 1 : 0));
  if (!co_await write_slot(std::move(item))) core_.limits.names_not_kept();
}

Async<bool> LearntLimits::write_slot(Item item) {
  PutItemInput put;
  put.table = kQueueStates;
  put.unhurried = true;
  put.item = std::move(item);
  put.cause = Cause::kQueue;
  auto written = co_await services_.tables.put_item(std::move(put));
  if (!written) log_.debug("LIMIT_NOT_KEPT", {{"queue", table_}, {"message", written.error().message}});
  co_return written.has_value();
}

}  // namespace freshet
