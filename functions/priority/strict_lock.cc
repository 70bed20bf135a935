#include "functions/priority/strict_lock.h"

#include "functions/queue_states.h"

namespace freshet::priority {
namespace {

constexpr int64_t kSlot = -1;
constexpr std::string_view kRecord = "record";
constexpr std::string_view kClaims = "claims";

}  // namespace

Async<Result<void>> StrictLock::provide(Tables& tables) {
  return provide_queue_states(tables);
}

// The prefix cannot clash with a queue of tasks: the name of a table has no slash.
StrictLock::StrictLock(Tables& tables, const std::string& queue)
    : tables_(tables), key_(queue_state_key("priority/" + queue, kSlot)) {}

Async<Result<StrictLock::Seen>> StrictLock::read() const {
  GetItemInput input;
  input.table = kQueueStates;
  input.key = key_;
  auto item = co_await tables_.get_item(std::move(input));
  if (!item) co_return fail(item.error());
  Seen seen;
  if (*item) {
    const Item read = item->decode();
    seen.record = read.string_or(kRecord);
    seen.claims = read.int_or(kClaims, 0);
  }
  co_return seen;
}

UpdateItemInput StrictLock::claim(const Seen& seen, const std::string& record) const {
  UpdateItemInput update;
  update.table = kQueueStates;
  update.key = key_;
  update.update = "SET #record = :record, #claims = :claims";
  update.placeholders.names = {{"#record", std::string(kRecord)}, {"#claims", std::string(kClaims)}};
  update.placeholders.values.set(":record", Value(record));
  update.placeholders.values.set(":claims", Value::number(seen.claims + 1));
  if (seen.claims == 0) {
    update.condition = "attribute_not_exists(#claims)";
  } else {
    update.condition = "#claims = :seen";
    update.placeholders.values.set(":seen", Value::number(seen.claims));
  }
  update.cause = Cause::kQueue;
  return update;
}

}  // namespace freshet::priority
