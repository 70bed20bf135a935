// The definitions of tables and their books: what OwnedTables adds to descriptions, and how it counts.
#include <algorithm>
#include <utility>

#include "tables/owned/kept.h"

namespace freshet {

namespace {

constexpr std::string_view kNoStatus = "?";  // As in Arrow.
constexpr milliseconds kCountAgain{1000};    // After a count that failed.

}  // namespace

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
  const bool is_text = status && status->type() == Type::kString;
  return KeptBooks::Place{std::string(is_text ? status->bytes() : kNoStatus), item->encoded().size()};
}

void OwnedTables::know(TableDescription& description) {
  TableDefinition& definition = description.definition;
  const auto kept = kept_.find(definition.name);
  if (kept != kept_.end() && kept->second->table_id != description.id) {
    kept->second->is_over = true;
    kept_.erase(kept);
    recent_.forget_table(definition.name);
  }
  recent_.know(definition);
  const auto still = kept_.find(definition.name);
  if (still != kept_.end()) definition.books = still->second->definition;
}

void OwnedTables::keep_books(const TableDefinition& wanted, const std::string& id) {
  const auto there = kept_.find(wanted.name);
  const bool is_same = there != kept_.end() && wanted.books == there->second->definition;
  if (is_same) return;
  if (there != kept_.end()) {
    there->second->is_over = true;
    kept_.erase(there);
  }
  if (!wanted.books) return;
  auto kept = std::make_shared<Kept>(Kept{*wanted.books, id});
  kept_[wanted.name] = kept;
  scope_.spawn(count(wanted.name, kept));
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
  if (described) know(*described);
  co_return described;
}

Async<Result<TableDescription>> OwnedTables::delete_table(std::string table) {
  std::string name = table;
  auto gone = co_await store_.delete_table(std::move(name));
  if (!gone) co_return gone;
  const auto kept = kept_.find(table);
  if (kept != kept_.end()) {
    kept->second->is_over = true;
    kept_.erase(kept);
  }
  recent_.forget_table(table);
  co_return gone;
}

Async<Result<Books>> OwnedTables::books(std::string table) {
  const auto kept = kept_.find(table);
  if (kept == kept_.end()) return Result<Books>(invalid("table '" + table + "' has no books"));
  return Result<Books>(kept->second->books.books());
}

// While the table has books: counts its items, and again whenever they are in doubt.
Async<void> OwnedTables::count(std::string table, std::shared_ptr<Kept> kept) {
  for (;;) {
    std::string name = table;
    const bool is_done = co_await count_once(std::move(name), kept);
    kept->is_counted = kept->is_counted || is_done;
    if (!is_done) kept->books.drop_count();
    do {
      co_await sleep_for(scheduler_, is_done ? nanoseconds(options_.recount) : nanoseconds(kCountAgain));
      if (kept->is_over) co_return;
    } while (is_done && !kept->books.is_doubted());
  }
}

Async<bool> OwnedTables::count_once(std::string table, std::shared_ptr<Kept> kept) {
  kept->books.begin_count();
  Item start;
  do {
    ScanInput scan;
    scan.table = table;
    scan.consistent = true;
    scan.exclusive_start_key = std::move(start);
    auto page = co_await store_.scan(std::move(scan));
    if (!page || kept->is_over) co_return false;
    for (const ItemRef& item : page->items) {
      std::string key;
      append_encoded(key, key_in(item.decode(), table));
      const auto place = place_of(table, item);
      if (place && *place) kept->books.counted(std::hash<std::string>{}(key), **place);
    }
    start = std::move(page->last_evaluated_key);
    if (!start.empty()) co_await sleep_for(scheduler_, nanoseconds(0));
  } while (!start.empty());
  kept->books.end_count();
  co_return true;
}

}  // namespace freshet
