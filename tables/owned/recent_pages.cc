#include "tables/owned/recent_pages.h"

#include <algorithm>
#include <utility>

namespace freshet {

namespace {

bool is_same(const QueryInput& a, const QueryInput& b) {
  return a.index == b.index && a.forward == b.forward && a.key_condition == b.key_condition && a.filter == b.filter &&
         a.consistent == b.consistent && a.measure == b.measure && a.by_statement == b.by_statement &&
         a.placeholders.names == b.placeholders.names && a.placeholders.values == b.placeholders.values;
}

}  // namespace

const RecentPages::Kept* RecentPages::find(const QueryInput& query, BootTime now) const {
  const auto table = tables_.find(query.table);
  if (table == tables_.end()) return nullptr;
  const auto& kept = table->second.kept;
  const auto found = std::find_if(kept.begin(), kept.end(), [&](const Kept& one) { return is_same(one.query, query); });
  if (found == kept.end() || now - found->asked > query.may_be_old) return nullptr;
  return &*found;
}

uint32_t RecentPages::wide_limit(const std::string& table, uint32_t limit) const {
  const auto known = tables_.find(table);
  const uint64_t bytes = known == tables_.end() ? 0 : known->second.item_bytes;
  const uint64_t items = bytes == 0 ? kUsualItems : std::min<uint64_t>(kBilled / bytes, kMostItems);
  return std::max(limit, static_cast<uint32_t>(items));
}

uint64_t RecentPages::generation(const std::string& table) const {
  const auto known = tables_.find(table);
  return known == tables_.end() ? 0 : known->second.generation;
}

void RecentPages::keep(QueryInput query, const Page& page, BootTime asked, uint64_t generation) {
  OfTable& table = tables_[query.table];
  if (!page.items.empty()) table.item_bytes = page.scanned_bytes / page.items.size();
  if (table.generation != generation || page.scanned_bytes > kMostBytes) return;
  std::erase_if(table.kept, [&](const Kept& one) { return asked - one.asked > query.may_be_old; });
  const auto same =
      std::find_if(table.kept.begin(), table.kept.end(), [&](const Kept& one) { return is_same(one.query, query); });
  if (same == table.kept.end()) {
    table.kept.push_back({std::move(query), page, asked});
  } else if (same->asked <= asked) {
    *same = Kept{std::move(query), page, asked};
  }
}

void RecentPages::forget(const std::string& table) {
  const auto known = tables_.find(table);
  if (known == tables_.end()) return;
  known->second.kept.clear();
  ++known->second.generation;
}

}  // namespace freshet
