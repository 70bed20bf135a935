// The indexes that a queue needs: clients may drop one, or put one of another kind in its place (UpdateTable).
#include <algorithm>

#include "functions/priority/table_queue.h"
#include "functions/table_built.h"

namespace freshet::priority {

// Makes what is lacking anew. An index of a client's own with the right keys will do in its place, as at the start.
Async<TableQueue::IndexLook> TableQueue::look_at_indexes() {
  IndexLook look;
  const std::string table = "the table '" + settings_.states_in() + "' of priority queue '" + settings_.name + "' ";
  auto there = co_await services_.tables.describe_table(settings_.states_in());
  if (!there) {
    look.broken = table + "cannot be looked at: " + there.error().message;
    co_return look;
  }
  Settings found = asked_;
  auto wanted = as_priority_table(there->definition, found);
  if (!wanted) {
    look.broken = unfit_ = table + "cannot be a queue: " + wanted.error().message;
    co_return look;
  }
  unfit_.clear();
  if (*wanted != there->definition) {
    std::string lost = lacking(*wanted, there->definition);
    TableDefinition change = *wanted;
    auto altered = co_await services_.tables.alter_table(std::move(change));
    if (!altered) {
      look.broken = table + "lacks " + lost + ", and cannot have it again: " + altered.error().message;
      co_return look;
    }
    look.lost = std::move(lost);
    there = std::move(*altered);
  }
  settings_.queue_index = found.queue_index;
  settings_.dead_index = found.dead_index;
  settings_.visible_index = found.visible_index;
  for (const IndexState& index : there->indexes) {
    if (!index.building || !needs_index(index.name)) continue;
    look.broken = table + "has lost its index '" + index.name + "', which is built again: try again in a moment";
    look.building = true;
    break;
  }
  co_return look;
}

bool TableQueue::needs_index(const std::string& name) const {
  return name == settings_.queue_index || name == settings_.dead_index || name == settings_.visible_index;
}

// A page of an index. Where the store finds fault with a query, the index may be gone, or be built again.
Async<Result<Page>> TableQueue::read_index(QueryInput query) const {
  if (!unfit_.empty()) co_return fail(ErrorCode::kUnavailable, unfit_);
  const std::string index = query.index;
  auto page = co_await services_.tables.query(std::move(query));
  if (page) co_return page;
  if (page.error().code == ErrorCode::kValidation || page.error().code == ErrorCode::kResourceNotFound) {
    const auto described = co_await services_.tables.describe_table(settings_.states_in());
    if (!described) co_return page;
    const auto same = [&](const IndexState& state) { return state.name == index && !state.building; };
    if (std::none_of(described->indexes.begin(), described->indexes.end(), same)) {
      co_return fail(ErrorCode::kUnavailable, "table '" + settings_.states_in() + "' has lost its index '" + index +
                                                  "', which queue '" + settings_.name +
                                                  "' makes again: try again in a moment");
    }
  }
  co_return page;
}

}  // namespace freshet::priority
