// RecentPages keeps the pages that indexes of an engine have shown a moment ago, for queries that accept such a page
// (QueryInput::may_be_old): each query costs a round trip, and half a read unit at least. The pages are as the engine
// has sent them, without the corrections of RecentWrites. Loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tables/tables.h"

namespace freshet {

class RecentPages {
 public:
  struct Kept {
    QueryInput query;
    Page page;
    BootTime asked{};  // When the page was requested.
  };
  // Null if no page of that query is young enough for it. The result is valid until the next call.
  const Kept* find(const QueryInput& query, BootTime now) const;
  // The limit for a request whose page is to be kept: as many items as cost no more than `limit` items do.
  uint32_t wide_limit(const std::string& table, uint32_t limit) const;

  // Changes with each forget() of the table. Read it when the page is requested.
  uint64_t generation(const std::string& table) const;
  // Keeps a page, unless there is a newer one of that query, or the table was forgotten since `generation`.
  void keep(QueryInput query, const Page& page, BootTime asked, uint64_t generation);
  void forget(const std::string& table);

 private:
  // A busy queue has two pages of some kilobytes at a time.
  static constexpr uint64_t kMostBytes = 64 << 10;
  static constexpr uint32_t kMostItems = 8;
  static constexpr uint32_t kUsualItems = 4;  // As long as the size of items is not known.
  static constexpr uint64_t kBilled = 4096;   // An engine bills a query by steps of this many bytes.

  struct OfTable {
    std::vector<Kept> kept{};
    uint64_t generation = 0;
    uint64_t item_bytes = 0;  // The mean size of the items of the last page; 0: not known.
  };
  std::map<std::string, OfTable> tables_;
};

}  // namespace freshet
