#include "functions/count/engine_table_count.h"

#include <algorithm>
#include <iterator>

#include "functions/count/state_changes.h"

namespace freshet {

namespace {

constexpr uint32_t kItemsAPage = 1000;

bool has_key(const ItemRef& item, const KeySchema& keys) {
  return item.find(keys.partition.name) && (!keys.sort || item.find(keys.sort->name));
}

Item key_of(const ItemRef& item, const KeySchema& keys) {
  Item key{{keys.partition.name, item.find(keys.partition.name)->decode()}};
  if (keys.sort) key.set(keys.sort->name, item.find(keys.sort->name)->decode());
  return key;
}

}  // namespace

Async<Result<size_t>> EngineTableCount::run(TableDescription table, CountPosition begun) {
  begun.counting = context_.invocation.request_id;
  std::vector<WriteInput> none;
  auto written = co_await advance(std::move(begun), std::move(none));
  if (!written) co_return fail(written.error());
  auto scanned = co_await scan(table.definition);
  if (!scanned) co_return fail(scanned.error());
  auto items = co_await sum_up();
  if (!items) co_return fail(items.error());
  const size_t states = items->size();
  CountPosition next = *position_;
  ++next.sequence;
  next.counting.clear();
  next.cursor = {};
  CountPosition done = next;
  std::optional<CountPosition> seen = position_;
  std::string id = context_.invocation.request_id;
  auto set = co_await counters_.set_items(std::move(*items), std::move(seen), std::move(next), std::move(id));
  if (!set) co_return fail(set.error());
  position_ = std::move(done);
  co_return states;
}

// Makes the writes, with the position one step on.
Async<Result<void>> EngineTableCount::advance(CountPosition next, std::vector<WriteInput> writes) {
  ++next.sequence;
  CountPosition done = next;
  StateChanges none;
  std::optional<CountPosition> seen = position_;
  auto written = co_await counters_.add(std::move(none), std::move(seen), std::move(next), std::move(writes));
  if (written) position_ = std::move(done);
  co_return written;
}

Async<Result<void>> EngineTableCount::scan(const TableDefinition& table) {
  Item start = position_->cursor;
  do {
    ScanInput input;
    input.table = table.name;
    input.exclusive_start_key = std::move(start);
    input.consistent = true;
    input.limit = kItemsAPage;
    auto page = co_await context_.services.tables.scan(std::move(input));
    if (!page) co_return fail(page.error());
    auto remembered = co_await remember(std::move(page->items), table.keys);
    if (!remembered) co_return remembered;
    start = std::move(page->last_evaluated_key);
    co_await sleep_for(context_.services.scheduler, nanoseconds(0));
  } while (!start.empty());
  co_return Result<void>();
}

Async<Result<void>> EngineTableCount::remember(std::vector<ItemRef> items, const KeySchema& keys) {
  KeyHasher hasher(keys);
  for (size_t from = 0; from < items.size(); from += CounterTable::kMost) {
    const size_t end = std::min(items.size(), from + CounterTable::kMost);
    CountPosition next = *position_;
    std::vector<WriteInput> writes;
    for (size_t i = from; i < end; ++i) {
      if (!has_key(items[i], keys)) co_return fail(ErrorCode::kInternal, "the engine has sent an item without its key");
      writes.push_back(states_.put(hasher.hash_of(items[i]), {state_label(items[i], attribute_), next.round}));
    }
    next.cursor = key_of(items[end - 1], keys);
    auto written = co_await advance(std::move(next), std::move(writes));
    if (!written) co_return written;
  }
  co_return Result<void>();
}

// The number of items in each state. Forgets the items that the table does not have any more.
Async<Result<std::map<std::string, int64_t>>> EngineTableCount::sum_up() {
  std::map<std::string, int64_t> items;
  for (size_t part = 0; part < ItemStates::kParts; ++part) {
    Item start;
    do {
      auto page = co_await states_.page(part, std::move(start));
      if (!page) co_return fail(page.error());
      std::vector<WriteInput> gone;
      for (const auto& [hash, state] : page->items) {
        if (state.round == position_->round) {
          ++items[state.state];
        } else {
          gone.push_back(states_.removal(hash));
        }
      }
      auto removed = co_await remove(std::move(gone));
      if (!removed) co_return fail(removed.error());
      start = std::move(page->next);
      co_await sleep_for(context_.services.scheduler, nanoseconds(0));
    } while (!start.empty());
  }
  co_return items;
}

Async<Result<void>> EngineTableCount::remove(std::vector<WriteInput> gone) {
  for (size_t from = 0; from < gone.size(); from += CounterTable::kMost) {
    const auto begin = gone.begin() + static_cast<ptrdiff_t>(from);
    const auto end = gone.begin() + static_cast<ptrdiff_t>(std::min(gone.size(), from + CounterTable::kMost));
    std::vector<WriteInput> some(std::make_move_iterator(begin), std::make_move_iterator(end));
    CountPosition next = *position_;
    auto written = co_await advance(std::move(next), std::move(some));
    if (!written) co_return written;
  }
  co_return Result<void>();
}

}  // namespace freshet
