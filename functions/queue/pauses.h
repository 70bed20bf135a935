// Which parts of a queue are paused: all of it, groups, keys. Pure state, and its form in the system table: one item
// per pause. shell/pausing.cc keeps both in step.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "runtime/api/queue_admin.h"
#include "tables/value/item_ref.h"

namespace freshet {

class Pauses {
 public:
  // The most pauses at once. They are in the slots kFirstSlot to kLastSlot of the system table.
  static constexpr size_t kMost = 1'000;
  static constexpr int64_t kLastSlot = -1'000;
  static constexpr int64_t kFirstSlot = kLastSlot - static_cast<int64_t>(kMost) + 1;

  Pauses() = default;
  Pauses(const Pauses&) = delete;
  Pauses& operator=(const Pauses&) = delete;

  bool empty() const { return count_ == 0; }
  bool all() const { return all_.has_value(); }
  bool holds_group(std::string_view group) const { return !groups_.empty() && groups_.contains(group); }
  bool holds_key(std::string_view key) const { return !keys_.empty() && keys_.contains(key); }
  // The number of paused keys.
  size_t keys() const { return keys_.size(); }
  std::vector<std::string_view> groups() const;
  // Null if that part is not paused. Valid until the next change.
  const Pause* find(Pause::Of of, std::string_view name) const;
  // The whole queue first, then groups, then keys, each by name.
  std::vector<Pause> list() const;

  // The slot of the part's pause, or a free one if it is not paused. Empty: all slots are taken.
  std::optional<int64_t> slot_for(Pause::Of of, std::string_view name) const;
  void put(Pause pause, int64_t slot);
  void erase(Pause::Of of, std::string_view name);
  // The earliest end of a pause that ends by itself.
  std::optional<WallTime> next_end() const;
  // The pauses that end by `now`.
  std::vector<Pause> ended(WallTime now) const;

 private:
  struct Entry {
    Pause pause;
    int64_t slot = 0;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  const Entry* entry(Pause::Of of, std::string_view name) const;
  template <class Visit>
  void each(Visit visit) const;

  std::optional<Entry> all_;
  Entries groups_;
  Entries keys_;
  std::map<int64_t, bool> slots_;  // The used ones.
  size_t count_ = 0;
};

// The item of a pause, without its key.
Item pause_item(const Pause& pause);
// Empty if the item is not a pause.
std::optional<Pause> pause_of(const ItemRef& item);
// Names the paused part, as in "queue 'jobs'", "group 'eu' of queue 'jobs'".
std::string pause_subject(Pause::Of of, std::string_view name, std::string_view queue);
// "since 2026-11-24T14:02:07Z by KEY: REASON", "… until …". UTC.
std::string pause_in_words(const Pause& pause);

}  // namespace freshet
