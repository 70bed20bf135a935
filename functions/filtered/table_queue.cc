#include "functions/filtered/table_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "functions/cancelled.h"
#include "functions/provide_table.h"
#include "functions/queue/policy/backoff.h"
#include "tables/traits.h"

namespace freshet::filtered {
namespace {

// As the sample's scripts write it: %Y/%m/%d-%H:%M:%S.%f. In UTC.
std::string format_time(int64_t epoch_us) {
  using namespace std::chrono;
  const sys_time<microseconds> time{microseconds(epoch_us)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss<microseconds> clock(time - day);
  return fmt::format("{:04}/{:02}/{:02}-{:02}:{:02}:{:02}.{:06}", int{date.year()}, unsigned{date.month()},
                     unsigned{date.day()}, clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

Result<void> check_table(const TableDefinition& table, const Settings& settings) {
  const KeySchema wanted = table_of(settings, table.name).keys;
  if (table.keys == wanted) return {};
  return invalid("queue '" + settings.name + "': table '" + table.name + "' must have the keys " +
                 wanted.partition.name + " (S) and " + wanted.sort->name + " (S)");
}

}  // namespace

TableQueue::TableQueue(Services& services, Settings settings, Combinations combinations)
    : services_(services), settings_(std::move(settings)), combinations_(std::move(combinations)) {}

Async<Result<std::unique_ptr<TableQueue>>> TableQueue::open(Services& services, Settings settings) {
  if (auto valid = validate(settings); !valid) co_return fail(valid.error());
  const std::string who = "filtered queue '" + settings.name + "'";
  const auto can = require_traits(services.tables.traits(), who, {Trait::kTransactions});
  if (!can) co_return fail(can.error());
  auto combinations = Combinations::make(settings);
  if (!combinations) co_return fail(combinations.error());
  const std::vector<std::string> tables{settings.table, settings.members_in(), settings.queues_in()};
  for (const std::string& name : tables) {
    TableDefinition wanted = table_of(settings, name);
    auto table = co_await provide_table(services.tables, std::move(wanted));
    if (!table) co_return fail(table.error().code, "queue '" + settings.name + "': " + table.error().message);
    if (auto fits = check_table(*table, settings); !fits) co_return fail(fits.error());
  }
  std::unique_ptr<TableQueue> queue(new TableQueue(services, std::move(settings), std::move(*combinations)));
  auto provided = co_await queue->provide_queues();
  if (!provided) co_return fail(provided.error().code, "queue '" + queue->name() + "': " + provided.error().message);
  co_return queue;
}

// An item for each queue, as the sample makes them; those that are there stay as they are.
Async<Result<void>> TableQueue::provide_queues() {
  constexpr size_t kAtOnce = 100;
  for (size_t next = 0; next < combinations_.size();) {
    std::vector<WriteInput> puts;
    for (; next < combinations_.size() && puts.size() < kAtOnce; ++next) {
      PutItemInput put;
      put.table = settings_.queues_in();
      put.item = items_.queue_key(next);
      put.item.set(settings_.names.version, Value::number(0));
      put.item.set(settings_.names.depth, Value::number(0));
      put.condition = "attribute_not_exists(#pk)";
      put.placeholders.names = {{"#pk", settings_.names.partition}};
      put.cause = Cause::kQueue;
      puts.emplace_back(std::move(put));
    }
    auto written = co_await services_.tables.write_many(std::move(puts));
    for (const auto& one : written) {
      if (!one && one.error().code != ErrorCode::kConditionalCheckFailed) co_return fail(one.error());
    }
    if (next < combinations_.size()) co_await sleep_for(services_.scheduler, nanoseconds(0));
  }
  co_return Result<void>();
}

// Rises with every call, so that members stand in the order in which they were queued here.
std::string TableQueue::stamp() {
  const int64_t now_us = epoch_ms(services_.scheduler.clock().wall()) * 1000;
  last_stamp_us_ = std::max(now_us, last_stamp_us_ + 1);
  return format_time(last_stamp_us_);
}

Async<TableQueue::Attempt<bool>> TableQueue::commit(TransactWriteInput transaction) {
  auto written = co_await services_.tables.transact_write(std::move(transaction));
  if (written) co_return std::optional(true);
  Error cause = cause_of_failure(written.error());
  const bool lost = cause.code == ErrorCode::kConditionalCheckFailed || cause.code == ErrorCode::kTransactionConflict;
  if (!lost) co_return fail(std::move(cause));
  co_return std::optional<bool>();
}

// After an attempt that somebody was faster than: waits, or gives up.
Async<Result<void>> TableQueue::again(int attempt, std::string what) {
  if (attempt >= settings_.retry.attempts) {
    co_return fail(ErrorCode::kTooManyRequests, what + ": other callers were faster " + std::to_string(attempt) +
                                                    " times; nothing was changed, try again");
  }
  const double unit = services_.random.unit();
  co_await sleep_for(services_.scheduler, backoff_delay(settings_.retry.backoff, attempt, unit));
  co_return Result<void>();
}

Async<Result<ItemRef>> TableQueue::read(std::string table, Item key) const {
  GetItemInput get;
  get.table = std::move(table);
  get.key = std::move(key);
  return services_.tables.get_item(std::move(get));
}

Async<Result<FilteredMember>> TableQueue::find_member(std::string id) const {
  if (auto right = items_.check_id(id, "member"); !right) co_return fail(right.error());
  Item key = items_.member_key(id);
  auto item = co_await read(settings_.members_in(), std::move(key));
  if (!item) co_return fail(item.error());
  if (!*item) co_return fail(ErrorCode::kNotFound, "queue '" + name() + "' has no member '" + id + "'");
  co_return items_.member(*item);
}

Async<Result<RequestFacts>> TableQueue::find_request(std::string id) const {
  if (auto right = items_.check_id(id, "request"); !right) co_return fail(right.error());
  Item key = items_.request_key(id);
  auto item = co_await read(settings_.table, std::move(key));
  if (!item) co_return fail(item.error());
  if (!*item) co_return fail(ErrorCode::kNotFound, "queue '" + name() + "' has no request '" + id + "'");
  co_return items_.request(*item);
}

// As they are at one moment.
Async<TableQueue::Attempt<TableQueue::Seen>> TableQueue::look_at(QueueSet queues) const {
  std::sort(queues.begin(), queues.end());
  std::vector<GetItemInput> gets(queues.size());
  for (size_t i = 0; i < queues.size(); ++i) {
    gets[i].table = settings_.queues_in();
    gets[i].key = items_.queue_key(queues[i]);
  }
  auto read = co_await services_.tables.transact_get(std::move(gets));
  if (!read) {
    Error cause = cause_of_failure(read.error());
    if (cause.code != ErrorCode::kConditionalCheckFailed) co_return fail(std::move(cause));
    co_return std::optional<Seen>();
  }
  Seen seen;
  for (size_t i = 0; i < queues.size(); ++i) seen.emplace_back(queues[i], std::move((*read)[i].item));
  co_return std::optional(std::move(seen));
}

Result<QueueFacts> TableQueue::facts_in(const Seen& seen, size_t queue, bool must_be_there) const {
  const auto found = std::lower_bound(seen.begin(), seen.end(), queue,
                                      [](const auto& one, size_t wanted) { return one.first < wanted; });
  return items_.queue(found->second, queue, must_be_there);
}

// With a prefix, only the items whose sort key begins with it.
Async<Result<Page>> TableQueue::page_of(std::string table, std::string partition, uint32_t limit, Item start,
                                        bool forward, std::string prefix) const {
  QueryInput query;
  query.table = std::move(table);
  query.key_condition = "#pk = :pk";
  query.placeholders.names = {{"#pk", settings_.names.partition}};
  query.placeholders.values.set(":pk", Value(std::move(partition)));
  if (!prefix.empty()) {
    query.key_condition += " AND begins_with(#sk, :prefix)";
    query.placeholders.names.emplace_back("#sk", settings_.names.sort);
    query.placeholders.values.set(":prefix", Value(std::move(prefix)));
  }
  query.limit = limit;
  query.exclusive_start_key = std::move(start);
  query.forward = forward;
  query.consistent = true;
  return services_.tables.query(std::move(query));
}

tl::unexpected<Error> TableQueue::wrong_state(const FilteredMember& member, const std::string& wanted) const {
  return fail(ErrorCode::kConflict, "member '" + member.id + "' is '" + member.status + "', not '" + wanted + "' (" +
                                        items_.name_of(member.item) + ")");
}

}  // namespace freshet::filtered
