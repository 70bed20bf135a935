// RecentPages keeps the pages that indexes of an engine have shown a moment ago, for queries that accept such a page
// (QueryInput::may_be_old): each query costs a round trip and a read unit. The pages are as the engine has sent them,
// without the corrections of RecentWrites. Loop thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tables/tables.h"

namespace freshet {

class RecentPages {
 public:
  // A page that is kept has at least that many items, so that it serves several calls. Four items of 1 KB cost what
  // one item costs.
  static constexpr uint32_t kLeastItems = 4;

  struct Kept {
    QueryInput query;
    Page page;
    BootTime asked{};  // When the page was requested.
  };
  // Null if no page of that query is young enough for it. The result is valid until the next call.
  const Kept* find(const QueryInput& query, BootTime now) const;
  void keep(QueryInput query, Page page, BootTime asked);
  void forget(const std::string& table);
  // An index has shown an item that nobody here has written. Forgets the pages of that index that lack it.
  void shown(const QueryInput& query, const ItemRef& item);

 private:
  static constexpr size_t kMost = 32;
  std::vector<Kept> kept_;  // The oldest first.
};

}  // namespace freshet
