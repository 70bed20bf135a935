// Whose turn it is among the lanes (lanes.h) that hold tasks. Pure state.
//
// The highest priority first. Among lanes of one priority, that whose group has the fewest tasks in work: so groups
// share the slots, however loud they are and however long their tasks take. Among equals, that whose last turn is
// longest ago: so what is left over goes round, a task a turn (deficit round robin with a quantum of one task), and a
// group that comes back after a pause is next. A turn costs the logarithm of the number of lanes that hold tasks; how
// many tasks they hold does not matter.
#pragma once

#include <absl/container/btree_set.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace freshet {

class FairShares {
 public:
  FairShares() = default;
  FairShares(const FairShares&) = delete;
  FairShares& operator=(const FairShares&) = delete;

  // The lanes that are known, whether they hold tasks or not. They stay known.
  bool empty() const { return lanes_.empty(); }
  size_t size() const { return lanes_.size(); }
  bool contains(std::string_view lane) const { return lanes_.find(lane) != lanes_.end(); }
  void add(const std::string& lane);  // It may hold tasks.

  // The lane may hold tasks. Of a lane that is not known nothing happens, here and below.
  void filled(std::string_view lane);
  // How often that was said: it may hold tasks if this has changed since it was looked at.
  uint64_t fillings(std::string_view lane) const;
  // It was looked at, and held none.
  void emptied(std::string_view lane);
  bool may_hold(std::string_view lane) const;
  // A task of it was taken.
  void served(std::string_view lane);
  // So many tasks of the group are in work now.
  void in_work(std::string_view group, uint64_t tasks);

  // The lanes whose turns come next, for one task each, all of one priority; fewer than `wanted` only if there are
  // none. `given` of this take: turns of lanes that were had already and that served() does not know of yet; kPassed:
  // the lane has nothing for this take. They hold while no lane changes.
  static constexpr uint64_t kPassed = UINT64_MAX;
  using Given = std::map<std::string, uint64_t, std::less<>>;
  std::vector<std::string_view> turns(size_t wanted, const Given& given) const;
  // Those that are not thought to hold tasks, from the one after `last` on, at most so many.
  std::vector<std::string> idle(std::string_view last, size_t most) const;

 private:
  struct Lane {
    bool waiting = false;
    uint64_t in_work = 0;  // Of its group.
    uint64_t turn = 0;     // Its last one.
    uint64_t fillings = 0;
  };
  using Lanes = std::map<std::string, Lane, std::less<>>;
  using Key = std::tuple<std::string_view, uint64_t, uint64_t, std::string_view>;  // Level, in work, turn, name.

  static Key key(const Lanes::value_type& lane);
  template <class Change>
  void change(Lanes::value_type& lane, Change what);

  Lanes lanes_;
  std::map<std::string, std::vector<Lanes::value_type*>, std::less<>> groups_;
  std::map<std::string, uint64_t, std::less<>> in_work_;  // Of groups that have any.
  absl::btree_set<Key> waiting_;
  uint64_t turn_ = 0;
};

}  // namespace freshet
