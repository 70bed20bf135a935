#include "tables/owned/recent_pages.h"

#include <algorithm>
#include <utility>

namespace freshet {

namespace {

bool is_same(const QueryInput& a, const QueryInput& b) {
  return a.table == b.table && a.index == b.index && a.forward == b.forward && a.key_condition == b.key_condition &&
         a.filter == b.filter && a.consistent == b.consistent && a.placeholders.names == b.placeholders.names &&
         a.placeholders.values == b.placeholders.values;
}

}  // namespace

const RecentPages::Kept* RecentPages::find(const QueryInput& query, BootTime now) const {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return is_same(kept.query, query); });
  if (found == kept_.end()) return nullptr;
  return now - found->asked > query.may_be_old ? nullptr : &*found;
}

void RecentPages::keep(QueryInput query, Page page, BootTime asked) {
  std::erase_if(kept_, [&](const Kept& kept) { return is_same(kept.query, query); });
  if (kept_.size() == kMost) kept_.erase(kept_.begin());
  kept_.push_back({std::move(query), std::move(page), asked});
}

void RecentPages::forget(const std::string& table) {
  std::erase_if(kept_, [&](const Kept& kept) { return kept.query.table == table; });
}

void RecentPages::shown(const QueryInput& query, const ItemRef& item) {
  std::erase_if(kept_, [&](const Kept& kept) {
    if (kept.query.table != query.table || kept.query.index != query.index) return false;
    const auto& items = kept.page.items;
    return std::none_of(items.begin(), items.end(), [&](const ItemRef& one) { return one.same_bytes(item); });
  });
}

}  // namespace freshet
