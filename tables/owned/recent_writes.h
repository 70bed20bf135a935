// RecentWrites remembers the current state of the items that this process has written lately. OwnedTables uses it to
// correct the results of an index that lags behind.
//
// An item is remembered for a while after its write, and for longer while an index shows another state. If that takes
// too much memory, items that the indexes have had ample time to show are forgotten early. If that is not enough, there
// is no room for further items, and their writes have to wait.
//
// Order of images: the answer of a write replaces the remembered image. If two writes of an item were in flight
// together, the one with the higher `version` is the later one. An image that was read replaces the remembered one only
// if the read began after the remembered one had arrived. Loop thread.
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

// True if both items have the same values of these keys.
bool same_place(const KeySchema& index, const ItemRef& a, const ItemRef& b);

struct RecentWritesLimits {
  seconds remembered{30};  // How long an item is remembered after a write, or after an index showed another state.
  // The longest time after a write or a read by key, whatever indexes show: a client may have changed the item.
  seconds longest{600};
  seconds far_behind{60};  // An index that does not show a write for longer than this is far behind, if the item is
                           // still in that state.
  // The shortest time after a write, even without room. Twice the recent lag of indexes if that is longer, but at most
  // `remembered`.
  seconds least{5};
  size_t bytes = 64u << 20;  // The most memory of all remembered items and of the writes in flight.
};

class RecentWrites {
 public:
  // `memory` is an empty store that answers at once. Nobody else uses it, and it must outlive this. `version` names a
  // number attribute that rises with each write that may move the item in an index; it counts as 0 where it is missing.
  RecentWrites(Tables& memory, std::string version, RecentWritesLimits limits);
  RecentWrites(const RecentWrites&) = delete;
  RecentWrites& operator=(const RecentWrites&) = delete;

  // Sets the definition of a table. Another `id` means that it is a new table of the same name: all items of the old
  // one are forgotten. A table that cannot be created in `memory` stays unknown.
  void know(const TableDefinition& definition, const std::string& id);
  void forget_table(const std::string& table);
  // Forgets the items of a table but not its definition, because others may have written them since.
  void forget_items(const std::string& table);
  // Null if the table is not known.
  const TableDefinition* definition(const std::string& table) const;
  std::string id(const std::string& table) const;

  // Begins a call of the store, and returns its number.
  uint64_t begin_call() { return ++last_call_; }
  // Records the answer of a write. `now` is the item afterwards, null if it is gone. Returns false if another write of
  // the item was in flight and it is unknown which came last: then read the item.
  [[nodiscard]] bool wrote(const std::string& table, const Item& key, ItemRef now, uint64_t call, BootTime at);
  // Records the result of a read by key. Has no effect for an item that is not remembered.
  void read(const std::string& table, const Item& key, ItemRef now, uint64_t call, BootTime at);
  // Records that a write was refused, or an item left out of a page, because the item differs from what an index shows.
  void refused(const std::string& table, const Item& key, ItemRef now, uint64_t call, BootTime at);
  // Records that a write of the item got no answer. Until the item is read, index results are not corrected for it.
  // `before`: the item without that write; empty if it is not known.
  void unsure(const std::string& table, const Item& key, const std::optional<ItemRef>& before, Cause cause,
              BootTime at);

  // The remembered item, a null ref if it is gone; empty if it is not remembered.
  std::optional<ItemRef> find(const std::string& table, const Item& key) const;
  // True if the item is remembered as a write left it that was answered since `call` began, with a version above that
  // of `seen`.
  bool is_beyond(const std::string& table, const Item& key, const ItemRef& seen, uint64_t call) const;
  // The cause of a write that got no answer; empty if there is none.
  std::optional<Cause> cause_of_unsure(const std::string& table, const Item& key) const;
  size_t size() const { return ages_.size(); }
  size_t bytes() const { return bytes_; }
  size_t most_bytes() const { return limits_.bytes; }
  // Forgets items that may be forgotten if there is no room for `bytes`. Returns true if there is room then.
  [[nodiscard]] bool make_room(BootTime now, size_t bytes = 0);
  // A write in flight reserves the memory that its answer may need, until the answer is recorded.
  static size_t room_of(size_t item_bytes);
  void take_room(size_t bytes) { taken_ += bytes; }
  void give_room(size_t bytes) { taken_ -= bytes; }

  // Returns the page of an index query with the remembered items in their current state. Adds to `masked` the number of
  // remembered items that the page contained. `now`: when the page was requested. The pages of queries with count_only
  // or a projection stay unchanged.
  Page corrected(const QueryInput& query, Page page, BootTime now, size_t& masked);
  // False: corrected() leaves all pages of the query unchanged.
  bool can_correct(const QueryInput& query) const;

  // An item that an index shows in another state than the remembered one: the index is behind, or a client has changed
  // the item. A read of the item decides.
  struct Doubt {
    std::string table;
    std::string index;
    Item key;
    nanoseconds lag{0};  // The time since the item came into its remembered state.
  };
  std::vector<Doubt> take_doubts() { return std::exchange(doubts_, {}); }
  // Records that an index was found to be that far behind.
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
    std::optional<ItemRef> now{};   // Empty if it is not known.
    std::optional<Cause> unsure{};  // Set: a write had no answer.
    uint64_t came = 0;              // Number of the last call that had begun when the image came.
    uint64_t written = 0;           // The same for the last image that a write gave.
    BootTime at{};
    BootTime until{};
    BootTime since{};       // When the item came into this state.
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
  // Counts the item twice, because `memory_` has a copy.
  static size_t bytes_of(const Entry& entry) { return entry.now && *entry.now ? 2 * entry.now->encoded().size() : 0; }

  Tables& memory_;
  const std::string version_;
  const RecentWritesLimits limits_;
  std::map<std::string, KnownTable> tables_;
  Ages ages_;  // Oldest write first, but those that could not go yet are at the end.
  size_t bytes_ = 0;
  size_t taken_ = 0;           // Reserved by writes in flight.
  BootTime full_until_{};      // Until then, make_room() does not look again.
  nanoseconds lag_{0};         // The longest lag since `window_`.
  nanoseconds lag_before_{0};  // The longest lag in the window before.
  BootTime window_{};
  BootTime next_lesson_{};  // Until then, no item is read because of a small lag.
  std::vector<Doubt> doubts_;
  uint64_t last_call_ = 0;
};

}  // namespace freshet
