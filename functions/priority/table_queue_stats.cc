#include <algorithm>

#include "functions/priority/table_queue.h"
#include "functions/priority/timestamp.h"
#include "tables/traits.h"

namespace freshet::priority {
namespace {

constexpr uint32_t kFirstIds = 100;
constexpr uint32_t kPage = 250;

void keep_ids(const std::vector<ItemRef>& items, const KeySchema& keys, char separator,
              std::vector<std::string>& into) {
  for (const auto& item : items) {
    if (into.size() < kFirstIds) into.push_back(id_of(item, keys, separator));
  }
}

}  // namespace

// Reads the partition of the index, not the table.
Async<Result<uint64_t>> TableQueue::count(std::string index, std::string attribute, int64_t number) const {
  uint64_t n = 0;
  Item start;
  do {
    QueryInput query;
    query.table = settings_.states_in();
    query.index = index;
    query.key_condition = "#q = :q";
    query.placeholders.names = {{"#q", attribute}};
    query.placeholders.values.set(":q", Value::number(number));
    query.limit = 1000;
    query.count_only = true;
    query.exclusive_start_key = std::move(start);
    auto page = co_await read_index(std::move(query));
    if (!page) co_return fail(page.error());
    n += page->count;
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  co_return n;
}

// The index has nothing but dead letters, unless another queue shares it. An engine counts it now and then only.
Async<Result<uint64_t>> TableQueue::count_dead() const {
  if (!shares_dead_index_ && services_.tables.traits().has(Trait::kImmediate)) {
    auto described = co_await services_.tables.describe_table(settings_.states_in());
    if (!described) co_return fail(described.error());
    for (const auto& index : described->indexes) {
      if (index.name == settings_.dead_index && !index.building) co_return index.items;
    }
  }
  co_return co_await count(settings_.dead_index, settings_.names.dead, settings_.numbers.dead);
}

// From the books, which the store keeps by `queued`; without them by counting.
Async<Result<void>> TableQueue::count_places(PriorityStats& stats) const {
  const Numbers& n = settings_.numbers;
  auto described = co_await services_.tables.describe_table(settings_.states_in());
  if (!described) co_return fail(described.error());
  const auto& kept = described->definition.books;
  if (kept && kept->status_attribute == settings_.names.queued) {
    auto books = co_await services_.tables.books(settings_.states_in());
    if (books) {
      stats.ready = books->stock[std::to_string(n.ready)];
      stats.in_flight = books->stock[std::to_string(n.in_flight)];
      stats.delayed = books->stock[std::to_string(n.delayed)];
      co_return Result<void>();
    }
  }
  stats.counted = false;
  const std::pair<int64_t, uint64_t*> parts[] = {
      {n.ready, &stats.ready}, {n.in_flight, &stats.in_flight}, {n.delayed, &stats.delayed}};
  for (const auto& [number, into] : parts) {
    auto counted = co_await count(settings_.queue_index, settings_.names.queued, number);
    if (!counted) co_return fail(counted.error());
    *into = *counted;
  }
  co_return Result<void>();
}

// In place nothing but the record itself says whether it is in flight: the queue's index is read, as the sample does.
Async<Result<void>> TableQueue::count_in_place(PriorityStats& stats) const {
  stats.counted = false;
  stats.ready = stats.in_flight = 0;
  stats.first_ids.clear();
  stats.first_in_flight.clear();
  Item start;
  do {
    auto page = co_await heads(settings_.numbers.ready, kPage, std::move(start));
    if (!page) co_return fail(page.error());
    keep_ids(page->items, keys_, settings_.key_separator, stats.first_ids);
    for (const auto& item : page->items) {
      const auto facts = facts_of(item);
      const bool in_flight = facts && facts->place == RecordPlace::kInFlight;
      ++(in_flight ? stats.in_flight : stats.ready);
      if (in_flight && stats.first_in_flight.size() < kFirstIds) stats.first_in_flight.push_back(facts->id);
    }
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(services_.scheduler, nanoseconds(0));
  } while (!start.empty());
  co_return Result<void>();
}

Async<Result<std::vector<ItemRef>>> TableQueue::head_items(int64_t number) const {
  Item start;
  auto page = co_await heads(number, kFirstIds, std::move(start));
  if (!page) co_return fail(page.error());
  co_return std::move(page->items);
}

Async<Result<PriorityStats>> TableQueue::stats() {
  PriorityStats stats;
  auto counted = co_await count_places(stats);
  if (!counted) co_return fail(counted.error());
  auto dead = co_await count_dead();
  if (!dead) co_return fail(dead.error());
  stats.dead = *dead;
  auto ready = co_await head_items(settings_.numbers.ready);
  if (!ready) co_return fail(ready.error());
  if (!ready->empty()) {
    const auto text = ready->front().find(settings_.names.last_updated);
    const auto at = text && text->type() == Type::kString ? parse_timestamp(text->bytes()) : std::nullopt;
    if (at) stats.oldest_ms = *at / 1'000'000;
  }
  if (settings_.in_place) {
    counted = co_await count_in_place(stats);
    if (!counted) co_return fail(counted.error());
  } else {
    auto in_flight = co_await head_items(settings_.numbers.in_flight);
    if (!in_flight) co_return fail(in_flight.error());
    keep_ids(*in_flight, keys_, settings_.key_separator, stats.first_in_flight);
    keep_ids(*ready, keys_, settings_.key_separator, stats.first_ids);
    keep_ids(*in_flight, keys_, settings_.key_separator, stats.first_ids);
  }
  if (redrive_) stats.redrive = *redrive_;
  co_return stats;
}

Async<Result<DeadStats>> TableQueue::dlq_stats() {
  DeadStats stats;
  auto dead = co_await count_dead();
  if (!dead) co_return fail(dead.error());
  stats.dead = *dead;
  RedriveRecordsInput all;
  Item start;
  std::string until;
  auto page = co_await dead_page(all, std::move(until), std::move(start));
  if (!page) co_return fail(page.error());
  keep_ids(page->items, keys_, settings_.key_separator, stats.first_ids);
  co_return stats;
}

}  // namespace freshet::priority
