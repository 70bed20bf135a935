// The part of OwnedTables for definitions and books: it completes descriptions, and counts tables.
#include <algorithm>
#include <utility>

#include "tables/owned/kept.h"

namespace freshet {

namespace {

constexpr int kCountShare = 20;           // The pause after a count is at least this many times longer than the count.
constexpr int kDoubtShare = 10;           // In doubt, the least pause is shorter by this factor.
constexpr seconds kLongestWrite{600};     // A count that waits longer than this for a write is begun anew.
constexpr milliseconds kFirstPause{200};  // The pause after a failed page; it is then doubled.
constexpr milliseconds kLongestPause{30'000};
// An engine that starts again may deny a table for a moment. All that is remembered of a table goes with it.
constexpr seconds kSecondLook{3};

// The status as in the books of the embedded store (tables/engine/books_keeper.h).
std::string state_of(const std::optional<ValueView>& status) {
  constexpr size_t kLongestStatus = 64;
  constexpr int64_t kLargestNumber = 999;
  const std::string unknown = "?";
  if (status && status->type() == Type::kNumber) {
    bool fits = false;
    const int64_t number = status->number().to_int64(fits);
    return fits && number >= 0 && number <= kLargestNumber ? std::to_string(number) : unknown;
  }
  if (!status || status->type() != Type::kString) return unknown;
  const std::string_view text = status->bytes();
  return text.empty() || text.size() > kLongestStatus ? unknown : std::string(text);
}

}  // namespace

uint64_t OwnedTables::memory_bytes() const {
  uint64_t bytes = recent_.bytes();
  for (const auto& [table, kept] : kept_) bytes += kept->books.memory_bytes();
  return bytes;
}

void OwnedTables::doubt_books(const std::string& table) {
  if (KeptBooks* books = books_of(table)) books->doubt();
  wake_counter(table);
}

// Call it when the books have changed: wakes the counter if it waits for that.
void OwnedTables::wake_counter(const std::string& table) {
  const auto there = kept_.find(table);
  if (there == kept_.end() || there->second->awaited == nullptr) return;
  Kept& kept = *there->second;
  if ((kept.books.*kept.awaited)()) kept.woken->set(true);
}

Async<void> OwnedTables::wait_for(std::shared_ptr<Kept> kept, bool (KeptBooks::*done)() const, BootTime until) {
  if (kept->is_over || (kept->books.*done)()) co_return;
  kept->woken.emplace(scheduler_);
  kept->awaited = done;
  const Promise<bool> woken = *kept->woken;
  struct Timer {
    Scheduler& scheduler;
    TimerId id;
    ~Timer() { scheduler.cancel(id); }
  };
  const Timer timer{scheduler_, scheduler_.call_at(until, [woken] { woken.set(true); })};
  co_await woken.future();
  kept->awaited = nullptr;
}

KeptBooks* OwnedTables::books_of(const std::string& table) {
  const auto kept = kept_.find(table);
  return kept == kept_.end() ? nullptr : &kept->second->books;
}

bool OwnedTables::is_counted(const std::string& table) const {
  const auto kept = kept_.find(table);
  return kept != kept_.end() && kept->second->is_counted;
}

std::optional<KeptBooks::At> OwnedTables::place_of(const std::string& table, const std::optional<ItemRef>& item) const {
  const auto kept = kept_.find(table);
  if (!item || kept == kept_.end()) return std::nullopt;
  if (!*item) return KeptBooks::At();
  const auto status = item->find(kept->second->definition.status_attribute);
  return KeptBooks::Place{state_of(status), item->encoded().size()};
}

void OwnedTables::know(TableDescription& description) {
  TableDefinition& definition = description.definition;
  const auto kept = kept_.find(definition.name);
  if (kept != kept_.end() && kept->second->table_id != description.id) end_books(definition.name);
  if (recent_.id(definition.name) != description.id) pages_.forget(definition.name);
  recent_.know(definition, description.id);
  const auto still = kept_.find(definition.name);
  if (still != kept_.end()) definition.books = still->second->definition;
}

void OwnedTables::end_books(const std::string& table) {
  const auto kept = kept_.find(table);
  if (kept == kept_.end()) return;
  kept->second->is_over = true;
  if (kept->second->woken) kept->second->woken->set(true);
  kept_.erase(kept);
}

void OwnedTables::keep_books(const TableDefinition& wanted, const std::string& id) {
  const auto there = kept_.find(wanted.name);
  const bool is_same = there != kept_.end() && wanted.books == there->second->definition;
  if (is_same) return;
  end_books(wanted.name);
  if (!wanted.books) return;
  auto kept = std::make_shared<Kept>(Kept{*wanted.books, id});
  kept_[wanted.name] = kept;
  scope_.spawn(count(wanted.name, kept));
}

void OwnedTables::start_over(const std::string& table) {
  recent_.forget_items(table);
  pages_.forget(table);
  const auto kept = kept_.find(table);
  if (kept == kept_.end()) return;
  const std::string id = kept->second->table_id;
  TableDefinition again;
  again.name = table;
  again.books = kept->second->definition;
  end_books(table);
  keep_books(again, id);
}

Async<Result<TableDescription>> OwnedTables::create_table(TableDefinition definition) {
  TableDefinition plain = definition;
  plain.books.reset();
  auto created = co_await store_.create_table(std::move(plain));
  if (!created) co_return created;
  know(*created);
  keep_books(definition, created->id);
  created->definition.books = definition.books;
  co_return created;
}

Async<Result<TableDescription>> OwnedTables::alter_table(TableDefinition definition) {
  TableDefinition plain = definition;
  plain.books.reset();
  auto altered = co_await store_.alter_table(std::move(plain));
  if (!altered) co_return altered;
  know(*altered);
  keep_books(definition, altered->id);
  altered->definition.books = definition.books;
  co_return altered;
}

Async<Result<TableDescription>> OwnedTables::describe_table(std::string table) {
  std::string name = table;
  auto described = co_await store_.describe_table(std::move(name));
  const auto is_missing = [&described] { return !described && described.error().code == ErrorCode::kResourceNotFound; };
  if (is_missing() && recent_.definition(table) != nullptr) {
    co_await sleep_for(scheduler_, kSecondLook);
    name = table;
    described = co_await store_.describe_table(std::move(name));
  }
  if (described) know(*described);
  if (is_missing()) {
    end_books(table);
    recent_.forget_table(table);
    pages_.forget(table);
  }
  co_return described;
}

Async<Result<TableDescription>> OwnedTables::delete_table(std::string table) {
  std::string name = table;
  auto gone = co_await store_.delete_table(std::move(name));
  if (!gone) co_return gone;
  end_books(table);
  recent_.forget_table(table);
  pages_.forget(table);
  co_return gone;
}

Async<Result<Books>> OwnedTables::books(std::string table) {
  const auto kept = kept_.find(table);
  if (kept == kept_.end()) return Result<Books>(invalid("table '" + table + "' has no books"));
  return Result<Books>(kept->second->books.books());
}

// Counts the items of the table from time to time, as long as it has books.
Async<void> OwnedTables::count(std::string table, std::shared_ptr<Kept> kept) {
  for (;;) {
    const BootTime began = now();
    std::string name = table;
    co_await count_once(std::move(name), kept);
    if (kept->is_over) co_return;
    kept->is_counted = true;
    const nanoseconds took = now() - began;
    const BootTime next = now() + std::max<nanoseconds>(options_.recount, kCountShare * took);
    const BootTime in_doubt = now() + std::max<nanoseconds>(options_.recount / kDoubtShare, kCountShare * took);
    co_await sleep_until(scheduler_, in_doubt);
    co_await wait_for(kept, &KeptBooks::is_doubted, next);
    if (kept->is_over) co_return;
  }
}

// Reads at most half of the time, so that it leaves capacity to others. A failed page is requested again.
Async<void> OwnedTables::count_once(std::string table, std::shared_ptr<Kept> kept) {
  kept->books.begin_count();
  Item start;
  milliseconds pause = kFirstPause;
  for (;;) {
    ScanInput scan;
    scan.table = table;
    scan.consistent = true;
    scan.exclusive_start_key = start;
    const BootTime began = now();
    auto page = co_await store_.scan(std::move(scan));
    if (kept->is_over) co_return;
    if (!page) {
      co_await sleep_for(scheduler_, std::exchange(pause, std::min(2 * pause, kLongestPause)));
      if (kept->is_over) co_return;
      continue;
    }
    pause = kFirstPause;
    for (const ItemRef& item : page->items) {
      const Item key = key_in(item.decode(), table);
      std::string bytes;
      append_encoded(bytes, key);
      // A remembered item counts in its remembered state, because a later read moves it from there.
      const auto known = recent_.find(table, key);
      if (const auto at = place_of(table, known ? known : item))
        kept->books.counted(std::hash<std::string>{}(bytes), *at);
    }
    start = std::move(page->last_evaluated_key);
    if (start.empty()) break;
    co_await sleep_for(scheduler_, now() - began);
    if (kept->is_over) co_return;
  }
  kept->books.end_count();
  co_await wait_for(kept, &KeptBooks::is_counted, now() + kLongestWrite);
}

}  // namespace freshet
