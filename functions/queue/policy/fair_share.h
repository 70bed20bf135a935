// Decides which of the lanes (lanes.h) that hold tasks has the next turn. Pure state.
//
// The lanes of one priority and group are a share. The highest priority comes first. Among its shares, the one whose
// group has the fewest tasks in work comes first, so groups share the slots, however many tasks they have and however
// long these take. Among equals, the one whose last turn is longest ago comes first, so the rest goes round, one task
// per turn (deficit round robin with a quantum of one task), and a group that comes back after a pause is next. A turn
// costs the logarithm of the number of shares that hold tasks, whatever the number of tasks.
//
// A share has one lane, or, while limits are by key, one for each key. Lanes of keys have places: the smallest place
// belongs to the lane whose next task is to be taken first. The place of a lane that was not read may be too small;
// reading the lane corrects it.
//
// A lane that is held back (its group or key is at its limit) has no turn and costs nothing until it is allowed again.
#pragma once

#include <absl/container/btree_set.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace freshet {

class FairShares {
 public:
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();  // A place: the lane must be read.

  FairShares() = default;
  FairShares(const FairShares&) = delete;
  FairShares& operator=(const FairShares&) = delete;

  // The lanes that are known, whether they hold tasks or not.
  bool empty() const { return lanes_.empty(); }
  size_t size() const { return lanes_.size(); }
  bool contains(std::string_view lane) const { return lanes_.find(lane) != lanes_.end(); }
  // Adds a lane, which may hold tasks. `stays`: it is never forgotten.
  void add(const std::string& lane, bool stays = true, int64_t place = kUnknown);
  // The lane was checked and held no tasks. It is forgotten after `idle` without tasks, unless it stays.
  void found_empty(std::string_view lane, BootTime now, nanoseconds idle);

  // The lane may hold tasks; the first to be taken has a place of at least `place`. Unknown lanes are ignored, here and
  // below.
  void filled(std::string_view lane, int64_t place = kUnknown);
  // The number of filled() calls: if it has changed since the lane was read, the lane may hold tasks.
  uint64_t fillings(std::string_view lane) const;
  // The lane was read and held no tasks.
  void emptied(std::string_view lane);
  bool may_hold(std::string_view lane) const;
  // A task of the lane was taken.
  void served(std::string_view lane);
  // Notes how many tasks of the group are in work now.
  void in_work(std::string_view group, uint64_t tasks);

  // Holds back the group's lanes without a key, or the lanes of a key: existing and future ones have no turn until they
  // are allowed again.
  enum class Of { kGroup, kKey };
  void hold(Of of, std::string_view name);
  void allow(Of of, std::string_view name);
  void allow_all();

  // The shares whose turns come next, for one task each, all of one priority; fewer than `wanted` only if there are
  // none. `given`: turns that this take has already used and that served() does not know of yet; kPassed: the share has
  // nothing for this take. The views are valid until a lane changes.
  static constexpr uint64_t kPassed = UINT64_MAX;
  using Given = std::map<std::string, uint64_t, std::less<>>;
  // `level`: only shares of that priority (lane_level()); empty: the highest one that has any.
  std::vector<std::string_view> turns(size_t wanted, const Given& given, std::string_view level = {}) const;
  // The priorities that have a turn, the highest first.
  std::vector<std::string_view> levels(const Given& given) const;
  // True if a lane that is held back may hold tasks.
  bool any_held() const { return held_ > 0; }
  // Adds the shares of that group to `given` as passed: none of them has a turn in this take.
  void pass_group(std::string_view group, Given& given) const;
  // Lanes that may hold tasks, held back or not, by name. Looks at no more than `most` lanes, from the one after `last`
  // on. Sets `last` to the last one it looked at, or to empty at the end.
  std::vector<std::string> holding(std::string& last, size_t most) const;
  // At most `most` lanes that seem to hold no tasks, from the one after `last` on.
  std::vector<std::string> idle(std::string_view last, size_t most) const;

  // True if the share has lanes of keys.
  bool is_divided(std::string_view share) const;
  using Place = std::pair<int64_t, std::string>;  // The place and the lane.
  // The lane of the share that comes next after `last`, of those that may hold tasks and are not held back.
  std::optional<Place> next(std::string_view share, const std::optional<Place>& last) const;
  // The lane was read: this is its place.
  void placed(std::string_view lane, int64_t place);
  // Forgets all places, as the order has changed.
  void forget_places();

 private:
  struct Share {
    std::string_view group;
    uint64_t in_work = 0;                                         // Tasks in work of its group.
    uint64_t turn = 0;                                            // The number of its last turn.
    size_t known = 0;                                             // Lanes.
    size_t of_keys = 0;                                           // The number of lanes of keys.
    absl::btree_set<std::pair<int64_t, std::string_view>> lanes;  // Those that may have a turn.
  };
  using Shares = std::map<std::string, Share, std::less<>>;
  struct Lane {
    Shares::value_type* share = nullptr;
    bool waiting = false;
    bool held = false;
    bool stays = true;
    int64_t place = kUnknown;
    uint64_t fillings = 0;
    BootTime empty_since{};  // BootTime{}: it was not found empty since it was filled.
  };
  using Lanes = std::map<std::string, Lane, std::less<>>;
  using Key = std::tuple<std::string_view, uint64_t, uint64_t, std::string_view>;  // Level, in work, turn, name.
  using Names = std::set<std::string, std::less<>>;

  static Key key(const Shares::value_type& share);
  Shares::value_type& share_for(const std::string& lane);
  template <class Change>
  void change(Shares::value_type& share, Change what);
  template <class Change>
  void change(Lanes::value_type& lane, Change what);
  void set_held(Of of, std::string_view name, bool held);
  Lanes::value_type* find(std::string_view lane);
  void forget(Lanes::iterator it);

  Lanes lanes_;
  Shares shares_;
  std::map<std::string, std::vector<Shares::value_type*>, std::less<>> groups_;
  std::map<std::string, std::vector<Lanes::value_type*>, std::less<>> keys_;
  std::map<std::string, uint64_t, std::less<>> in_work_;  // Groups that have any.
  Names held_groups_;
  Names held_keys_;
  absl::btree_set<Key> waiting_;
  size_t held_ = 0;  // Lanes that are held back and may hold tasks.
  uint64_t turn_ = 0;
};

}  // namespace freshet
