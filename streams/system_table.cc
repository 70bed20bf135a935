#include "streams/system_table.h"

#include <algorithm>
#include <iterator>

#include "base/limits.h"

namespace freshet {

namespace {

TableDefinition definition() {
  TableDefinition table;
  table.name = kSystemTable;
  table.keys = KeySchema{{"kind", Type::kString}, KeyAttribute{"id", Type::kString}};
  table.system = true;
  return table;
}

}  // namespace

Async<Result<void>> ensure_system_table(Tables& tables) {
  auto created = co_await tables.create_table(definition());
  if (!created && created.error().code != ErrorCode::kResourceInUse) co_return fail(std::move(created.error()));
  co_return Result<void>();
}

Item system_item(std::string_view kind, std::string_view id) {
  return Item{{"kind", kind}, {"id", id}};
}

PutItemInput put_system_item(Item item) {
  PutItemInput put;
  put.table = kSystemTable;
  put.item = std::move(item);
  return put;
}

DeleteItemInput delete_system_item(std::string_view kind, std::string_view id) {
  DeleteItemInput input;
  input.table = kSystemTable;
  input.key = system_item(kind, id);
  return input;
}

GetItemInput get_system_item(std::string_view kind, std::string_view id) {
  GetItemInput input;
  input.table = kSystemTable;
  input.key = system_item(kind, id);
  return input;
}

Async<Result<std::vector<ItemRef>>> load_system_items(Tables& tables, std::string kind) {
  return load_items_of(tables, std::string(kSystemTable), std::move(kind), std::string());
}

Async<Result<std::vector<ItemRef>>> load_items_of(Tables& tables, std::string table, std::string kind,
                                                  std::string prefix) {
  std::vector<ItemRef> items;
  Item after;
  do {
    QueryInput query;
    query.table = table;
    query.key_condition = "#k = :k";
    query.placeholders.names.emplace_back("#k", "kind");
    query.placeholders.values.set(":k", kind);
    if (!prefix.empty()) {
      query.key_condition += " AND begins_with(#i, :i)";
      query.placeholders.names.emplace_back("#i", "id");
      query.placeholders.values.set(":i", prefix);
    }
    query.exclusive_start_key = std::move(after);
    query.consistent = true;
    auto page = co_await tables.query(std::move(query));
    if (!page) co_return fail(std::move(page.error()));
    std::move(page->items.begin(), page->items.end(), std::back_inserter(items));
    after = std::move(page->last_evaluated_key);
  } while (!after.empty());
  co_return items;
}

void move_to_table(std::vector<WriteInput>& writes, const std::string& table) {
  for (WriteInput& write : writes) {
    std::visit([&table](auto& one) { one.table = table; }, write);
  }
}

namespace {

Async<Result<void>> write_one(Tables& tables, WriteInput write) {
  if (auto* put = std::get_if<PutItemInput>(&write)) {
    auto done = co_await tables.put_item(std::move(*put));
    if (!done) co_return fail(std::move(done.error()));
  } else if (auto* update = std::get_if<UpdateItemInput>(&write)) {
    auto done = co_await tables.update_item(std::move(*update));
    if (!done) co_return fail(std::move(done.error()));
  } else if (auto* gone = std::get_if<DeleteItemInput>(&write)) {
    auto done = co_await tables.delete_item(std::move(*gone));
    if (!done) co_return fail(std::move(done.error()));
  }
  co_return Result<void>();
}

}  // namespace

Async<Result<void>> write_together(Tables& tables, std::vector<WriteInput> writes) {
  if (writes.size() == 1 && !std::holds_alternative<ConditionCheckInput>(writes.front())) {
    WriteInput only = std::move(writes.front());
    auto done = co_await write_one(tables, std::move(only));
    co_return done;
  }
  for (size_t from = 0; from < writes.size(); from += limits::kMaxTransactionActions) {
    const size_t end = std::min(writes.size(), from + limits::kMaxTransactionActions);
    std::vector<WriteInput> group(std::make_move_iterator(writes.begin() + static_cast<ptrdiff_t>(from)),
                                  std::make_move_iterator(writes.begin() + static_cast<ptrdiff_t>(end)));
    TransactWriteInput transaction;
    transaction.actions = std::move(group);
    auto done = co_await tables.transact_write(std::move(transaction));
    if (!done) co_return fail(std::move(done.error()));
  }
  co_return Result<void>();
}

}  // namespace freshet
