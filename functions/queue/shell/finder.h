// Finds the tasks that a take may choose, in the order in which it should: the newest of the queue or of the lanes
// whose turn it is, or by ORDER=deadline. Reads only; core/head_window.h, core/lanes.h and core/limits.h decide. Loop
// thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "functions/queue/shell/part.h"

namespace freshet {

class TaskFinder : QueuePart {
 public:
  static constexpr std::string_view kLaneIndex = "freshet-lane-index";
  static constexpr int kMostTaken = 1000;  // By one take.

  // From where a take goes on through what waits.
  struct Walk {
    // ORDER=deadline goes through these parts, in this order.
    enum class Part { kEnough, kLess, kNoDeadline };
    Item key;
    Part part = Part::kEnough;
    std::optional<WallTime> enough;  // For the whole walk. None until its first page.
    // When the walk began: the lower bound of kLess. It must not move between pages, or a page may begin outside.
    WallTime began{};
    size_t least = 0;  // The number to read: more and more, while all are passed over.
  };
  struct Candidates {
    std::vector<ItemRef> tasks;  // In the order in which they should be taken.
    bool more = false;           // Asking again may find others.
    bool cut = false;            // It has looked at as many lanes as it may at a time.
    bool newest_first = true;
    std::optional<int64_t> oldest;  // taskCreated of the oldest that waits, in epoch ms, if it was looked for.
    Walk next;                      // From where, in a queue without lanes.
  };

  using QueuePart::QueuePart;

  // The next tasks to take, at most `wanted`. `urgent`: ORDER=deadline held when the take began. `start`: as the page
  // before said.
  Async<Result<Candidates>> candidates(size_t wanted, bool urgent, Walk start);
  // True if a take would find something now, expired tasks included.
  Async<Result<bool>> has_work();
  // The take has found that. `hungry`: it would have taken more.
  void tell_order(const Candidates& found, bool hungry);
  // Why the task must not be started any more; empty if it may be.
  std::string_view stale(const ItemRef& task) const;

  // Which end the next take goes from.
  bool newest_first() const;
  nanoseconds deadline_margin(bool newest_first, bool last) const;
  // For ORDER=deadline: the tasks of its lane that come before this one, and those that have a deadline.
  QueryInput more_urgent(const ItemRef& task);
  QueryInput with_deadline(std::string_view lane);
  Async<Result<Page>> lane_heads(std::string lane, uint32_t limit, bool newest_first, Item start);

 private:
  struct WalkPage {
    std::vector<ItemRef> tasks;
    bool any = false;  // There were tasks, whether they can be taken or not.
    bool more = true;  // `next` may have others.
    Walk next;
  };
  struct LaneRead;  // How far a take has read a lane.
  struct KeysRead;  // The same for the lanes of keys of one share.

  Async<Result<Candidates>> plain_candidates(size_t wanted, Walk start);
  Async<Result<Candidates>> urgent_candidates(size_t wanted, Walk start);
  // urgent.cc
  QueryInput urgent_query(std::string_view lane, const Walk& walk) const;
  bool is_next(const ItemRef& task, const Walk& walk, WallTime now, const Now& at);
  Async<Result<WalkPage>> urgent_page(std::string lane, uint32_t limit, Walk walk);
  // lanes.cc
  Async<Result<Candidates>> lane_candidates(size_t wanted);
  Async<Result<WalkPage>> lane_page(std::string lane, uint32_t limit, bool newest_first, Walk walk);
  Async<Result<void>> read_lane(std::string lane, LaneRead& read, size_t wanted, bool newest_first);
  ItemRef next_of_lane(std::string_view lane, LaneRead& read, ChosenByName& chosen);
  Async<Result<void>> open_lane(std::string lane, KeysRead& read, bool newest_first);
  Async<Result<ItemRef>> next_of_keys(std::string share, KeysRead& read, ChosenByName& chosen, bool newest_first);
};

}  // namespace freshet
