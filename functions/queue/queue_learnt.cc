// The limit that RATE_LIMIT=adaptive has learnt is kept across restarts, in a slot of the system table.
// docs/policies.md, "The limit, learnt".
#include <cmath>

#include "functions/queue/queue.h"

namespace freshet {

namespace {

constexpr int64_t kSlot = -500;  // Beside the shed log's head and below its lines, above the pauses.
constexpr std::string_view kRate = "rateMilli";
constexpr std::string_view kConcurrency = "concurrency";

Item key_of_slot(const std::string& queue) {
  Item key;
  key.set("queue", Value(queue));
  key.set("slot", Value::number(kSlot));
  return key;
}

}  // namespace

// Before anything is taken. A store that has nothing readable there has learnt nothing.
Async<Result<void>> Queue::load_learnt() {
  GetItemInput input;
  input.table = ShedLog::kTable;
  input.key = key_of_slot(table_);
  auto stored = co_await services_.tables.get_item(std::move(input));
  if (!stored) co_return fail(stored.error());
  if (!*stored) co_return Result<void>();
  const Item item = stored->decode();
  const auto milli = item.int_or(kRate, 0);
  const auto concurrency = item.int_or(kConcurrency, 0);
  if (milli <= 0 || concurrency < 0) co_return Result<void>();
  const LearntLimit limit{static_cast<double>(milli) / 1000, static_cast<uint64_t>(concurrency)};
  if (!core_.limits.remembered(limit, boot())) co_return Result<void>();
  log_.info("LIMIT_REMEMBERED", {{"queue", table_}, {"rate", limit.rate}, {"concurrency", limit.concurrency}});
  co_return Result<void>();
}

Async<void> Queue::write_learnt(LearntLimit limit) {
  core_.limits.kept(limit);
  PutItemInput put;
  put.table = ShedLog::kTable;
  put.unhurried = true;
  put.item = key_of_slot(table_);
  put.item.set(std::string(kRate), Value::number(std::llround(1000 * limit.rate)));
  put.item.set(std::string(kConcurrency), Value::number(static_cast<int64_t>(limit.concurrency)));
  put.cause = Cause::kQueue;
  auto written = co_await services_.tables.put_item(std::move(put));
  if (!written) log_.debug("LIMIT_NOT_KEPT", {{"queue", table_}, {"message", written.error().message}});
}

}  // namespace freshet
