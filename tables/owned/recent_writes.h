// RecentWrites: the items that this process has written lately, as they are now. OwnedTables corrects with them what a
// lagging index shows.
//
// An item is remembered for a while after its write, and longer as long as an index shows something else. If all of
// them take too much memory, those go earlier that indexes have had ample time to show. If that is not enough, there is
// no room for others: their writes have to wait.
//
// Order of images: the answer of a write replaces what is remembered. Of writes that were under way together, the one
// with the higher `version` is the later one. An image that was read replaces what is remembered only if the read began
// after that came. Loop thread.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tables/tables.h"

namespace freshet {

struct RecentWritesLimits {
  seconds remembered{30};  // After a write, or after an index showed something else.
  // After a write or a read by key, whatever indexes show: a client may have changed the item.
  seconds longest{600};
  seconds far_behind{60};  // An index that shows nothing of a write for longer is far behind, if the item is still so.
  // After a write, even without room: this long, or twice as long as an index has lately lagged.
  seconds least{5};
  size_t bytes = 64u << 20;  // All items together, in memory, and those of writes that are under way.
};

class RecentWrites {
 public:
  // `memory` answers at once and is empty; nobody else uses it. It outlives this. `version`: a number attribute that
  // rises with each write that may move the item in an index; items without it count as 0.
  RecentWrites(Tables& memory, std::string version, RecentWritesLimits limits);
  RecentWrites(const RecentWrites&) = delete;
  RecentWrites& operator=(const RecentWrites&) = delete;

  // The table is like that from now on; with another `id` it is another table, and nothing of the old one is
  // remembered. A table that cannot be made in memory stays unknown.
  void know(const TableDefinition& definition, const std::string& id);
  void forget_table(const std::string& table);
  // Its items only: others may have written them since.
  void forget_items(const std::string& table);
  // Null: not known.
  const TableDefinition* definition(const std::string& table) const;
  std::string id(const std::string& table) const;

  // A call of the store begins: its number.
  uint64_t begin_call() { return ++last_call_; }
  // A write was answered: the item is now that; null: it is gone. False if another write of the item was under way, and
  // nothing tells which came last: read it.
  [[nodiscard]] bool wrote(const std::string& table, const Item& key, ItemRef now, uint64_t call, BootTime at);
  // A read by key showed the item. Only of use for items that are remembered.
  void read(const std::string& table, const Item& key, ItemRef now, uint64_t call, BootTime at);
  // A write was refused, as the item is not what its writer saw in an index.
  void refused(const std::string& table, const Item& key, ItemRef now, uint64_t call, BootTime at);
  // A write of the item had no answer. Indexes show it as they like until it is read. `before`: the item without that
  // write; empty: not known.
  void unsure(const std::string& table, const Item& key, const std::optional<ItemRef>& before, Cause cause,
              BootTime at);

  // The item as it is remembered, a null ref if it is gone; empty: it is not remembered.
  std::optional<ItemRef> find(const std::string& table, const Item& key) const;
  // The cause of the write that had no answer; empty: there is none.
  std::optional<Cause> cause_of_unsure(const std::string& table, const Item& key) const;
  size_t size() const { return ages_.size(); }
  size_t bytes() const { return bytes_; }
  size_t most_bytes() const { return limits_.bytes; }
  // Forgets what may go if there is no room for so many bytes, and says if there is now.
  [[nodiscard]] bool make_room(BootTime now, size_t bytes = 0);
  // A write that is under way takes room, until its answer is noted: as much as it may need then.
  static size_t room_of(size_t item_bytes);
  void take_room(size_t bytes) { taken_ += bytes; }
  void give_room(size_t bytes) { taken_ -= bytes; }

  // The page of a query of an index, with remembered items as they are. `masked` counts the items that the index showed
  // and that are remembered. `now`: when the page was asked for. For queries without count_only and projection; others
  // stay as they are.
  Page corrected(const QueryInput& query, Page page, BootTime now, size_t& masked);

  // An index does not show this item as it is remembered: it is behind, or a client has changed the item. Read it.
  struct Doubt {
    std::string table;
    std::string index;
    Item key;
    nanoseconds lag{0};  // For so long.
  };
  std::vector<Doubt> take_doubts() { return std::exchange(doubts_, {}); }
  // An index was found to be that far behind.
  void lagged(nanoseconds lag, BootTime now);

  // Forgets what has been remembered for long enough.
  void expire(BootTime now);

 private:
  struct Age {
    std::string table;
    std::string key;
  };
  using Ages = std::list<Age>;
  struct Entry {
    std::optional<ItemRef> now{};   // Empty: not known.
    std::optional<Cause> unsure{};  // Set: a write had no answer.
    uint64_t came = 0;              // Number of the last call that had begun when the image came.
    uint64_t written = 0;           // The same for the last image that a write gave.
    BootTime at{};
    BootTime until{};
    BootTime since{};       // The item is like that since then.
    BootTime next_doubt{};  // The first time at which it may be reported in a Doubt again.
    Ages::iterator age{};
  };
  struct KnownTable {
    TableDefinition definition;
    std::string id;
    absl::flat_hash_map<std::string, Entry> entries;  // By the encoded key.
  };

  KnownTable* table_of(const std::string& table);
  const Entry* entry_at(const std::string& table, const Item& key) const;
  Entry& entry_of(KnownTable& table, const Item& key);
  void set(KnownTable& table, Entry& entry, const Item& key, ItemRef now, BootTime at);
  void renew(Entry& entry, BootTime at);
  bool show(KnownTable& table, const Item& key, const ItemRef& now);
  void forget(KnownTable& table, const std::string& key);
  void keep_longer(Entry& entry, BootTime now);
  void lags(const QueryInput& query, const KnownTable& table, const ItemRef& item, Entry& entry, BootTime now);
  bool may_teach(nanoseconds lag, BootTime now);
  nanoseconds least(BootTime now);
  void forget_old_lags(BootTime now);
  int64_t version_of(const ItemRef& item) const;
  // The memory has an item of its own.
  static size_t bytes_of(const Entry& entry) { return entry.now && *entry.now ? 2 * entry.now->encoded().size() : 0; }

  Tables& memory_;
  const std::string version_;
  const RecentWritesLimits limits_;
  std::map<std::string, KnownTable> tables_;
  Ages ages_;  // The one that was written first is the first.
  size_t bytes_ = 0;
  size_t taken_ = 0;           // By writes that are under way.
  BootTime full_until_{};      // Nothing may go before.
  nanoseconds lag_{0};         // The longest lag since `window_`,
  nanoseconds lag_before_{0};  // and in the window before.
  BootTime window_{};
  BootTime next_lesson_{};  // Not before that is an item read for a small lag.
  std::vector<Doubt> doubts_;
  uint64_t last_call_ = 0;
};

}  // namespace freshet
