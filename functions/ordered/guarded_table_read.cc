// Reads: what the table shows, without its tombstones.
#include <utility>

#include "functions/ordered/guarded_table.h"
#include "tables/expression/expression.h"

namespace freshet::ordered {

GetItemInput GuardedTable::get_of(OrderedGet input) const {
  GetItemInput get;
  get.table = settings_.table;
  get.key = std::move(input.key);
  return get;
}

ItemRef GuardedTable::shown(ItemRef item, bool tombstones) const {
  return item && !tombstones && is_tombstone(item, settings_) ? ItemRef() : item;
}

Async<Result<ItemRef>> GuardedTable::get(OrderedGet input) {
  if (auto no = check_key(input.key)) co_return invalid(std::move(no->why));
  const bool tombstones = input.tombstones;
  GetItemInput get = get_of(std::move(input));
  auto item = co_await tables_.get_item(std::move(get));
  if (!item) co_return fail(item.error());
  co_return shown(std::move(*item), tombstones);
}

Async<std::vector<Result<ItemRef>>> GuardedTable::batch_get(std::vector<OrderedGet> inputs) {
  std::vector<bool> tombstones;
  std::vector<GetItemInput> gets;
  for (OrderedGet& input : inputs) {
    if (auto no = check_key(input.key)) {
      const Result<ItemRef> wrong = invalid("key " + std::to_string(gets.size() + 1) + ": " + no->why);
      co_return std::vector<Result<ItemRef>>(inputs.size(), wrong);
    }
    tombstones.push_back(input.tombstones);
    gets.push_back(get_of(std::move(input)));
  }
  auto read = co_await tables_.read_many(std::move(gets));
  std::vector<Result<ItemRef>> out;
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i]) {
      out.emplace_back(shown(std::move(read[i]->item), tombstones[i]));
    } else {
      out.emplace_back(fail(read[i].error()));
    }
  }
  co_return out;
}

// An item may have an attribute of that name of another type, if others write it: only `true` is a tombstone's.
// The reader's filter is parsed on its own first: its errors then quote only what the reader wrote, and no bracket in
// it can close the one around it.
template <class Input>
Result<void> GuardedTable::leave_out_tombstones(Input& input) const {
  if (!input.filter.empty()) {
    const auto own = compile_condition(input.filter, ExpressionKind::kFilter);
    if (!own) return fail(own.error());
  }
  const std::string live = "(attribute_not_exists(#freshet_deleted) OR #freshet_deleted <> :freshet_true)";
  input.filter = input.filter.empty() ? live : "(" + input.filter + ") AND " + live;
  input.placeholders.names.emplace_back("#freshet_deleted", settings_.names.deleted);
  input.placeholders.values.set(":freshet_true", Value::boolean(true));
  return {};
}

Async<Result<Page>> GuardedTable::query(OrderedQuery input) {
  QueryInput& query = input.query;
  query.table = settings_.table;
  if (input.partition) {
    if (!query.key_condition.empty()) return Result<Page>(invalid("'partition' and a key condition: give one of them"));
    if (!query.index.empty())
      return Result<Page>(invalid("'partition' is of the table; of an index give a key condition"));
    query.key_condition = "#freshet_partition = :freshet_partition";
    query.placeholders.names.emplace_back("#freshet_partition", keys_.partition.name);
    query.placeholders.values.set(":freshet_partition", std::move(*input.partition));
  }
  if (!input.tombstones) {
    if (auto right = leave_out_tombstones(query); !right) return Result<Page>(fail(right.error()));
  }
  return tables_.query(std::move(query));
}

Async<Result<Page>> GuardedTable::scan(OrderedScan input) {
  input.scan.table = settings_.table;
  if (!input.tombstones) {
    if (auto right = leave_out_tombstones(input.scan); !right) return Result<Page>(fail(right.error()));
  }
  return tables_.scan(std::move(input.scan));
}

}  // namespace freshet::ordered
