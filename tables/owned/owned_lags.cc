// Indexes that are behind what the daemon has written.
#include <utility>

#include "tables/owned/owned_tables.h"

namespace freshet {

// If the item is as it is remembered, the index is behind, and no client has changed the item.
Async<void> OwnedTables::look_at_lag(RecentWrites::Doubt doubt) {
  const auto known = recent_.find(doubt.table, doubt.key);
  GetItemInput get;
  get.table = doubt.table;
  get.key = doubt.key;
  const auto read = co_await get_item(std::move(get));
  if (!read || !known) co_return;
  const bool is_same = *known ? *read && known->same_bytes(*read) : !*read;
  if (!is_same) co_return;
  recent_.lagged(doubt.lag, now());
  if (doubt.lag <= options_.recent.far_behind) co_return;
  const bool is_new = lags_.insert_or_assign({doubt.table, doubt.index}, now()).second;
  if (is_new && options_.on_lag) options_.on_lag(doubt.table, doubt.index, true);
}

void OwnedTables::end_lags() {
  for (auto lag = lags_.begin(); lag != lags_.end();) {
    if (now() - lag->second <= 2 * options_.recent.far_behind) {
      ++lag;
      continue;
    }
    if (options_.on_lag) options_.on_lag(lag->first.first, lag->first.second, false);
    lag = lags_.erase(lag);
  }
}

std::string OwnedTables::trouble() const {
  std::string out;
  for (const auto& [which, when] : lags_) {
    if (now() - when > 2 * options_.recent.far_behind) continue;
    out.append("index '").append(which.second).append("' of table '").append(which.first);
    out.append("' is far behind: the engine has not shown a write in it for more than a minute\n");
  }
  return out;
}

}  // namespace freshet
