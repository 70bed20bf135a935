// TakeChoice: which pages of the indexes a take reads, which of their tasks it may take, and in which order. There is
// one object per take. Pure state: no store, clock, coroutine or log; the time is passed in. Loop thread.
//
//   while (auto ask = choice.next(now)) { read the page; choice.came(page, now); }
//   use choice.found()
//
// The core outlives it. Between two pages the queue may change in any way.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "functions/queue/core/queue_core.h"
#include "tables/tables.h"

namespace freshet {

// The position of a take in the waiting tasks.
struct TaskWalk {
  // ORDER=deadline goes through these parts, in this order.
  enum class Part { kEnough, kLess, kNoDeadline };
  Item key;
  Part part = Part::kEnough;
  std::optional<WallTime> enough;  // TaskTimes::enough() for the whole walk; set at its first page.
  // When the walk began: the lower bound of kLess. It stays the same for all pages, as a page must not start outside
  // the range.
  WallTime began{};
  size_t least = 0;  // The size of the next page: it grows while all tasks are passed over.
};

// A request for a page of PENDING tasks.
struct PageAsk {
  // kDeadline: a walk by ORDER=deadline.
  enum class From { kNewest, kOldest, kDeadline };
  std::string lane;  // Empty: the whole queue.
  From from = From::kNewest;
  TaskWalk walk;
  uint32_t limit = 1;
  bool may_fail = false;  // If reading fails, use an empty page.
};

struct FoundTasks {
  std::vector<ItemRef> tasks;  // In the order in which they should be taken.
  bool more = false;           // Another call may find more.
  bool cut = false;            // The bound of lanes per call was reached.
  bool newest_first = true;
  std::optional<int64_t> oldest;  // taskCreated of the oldest waiting task, in epoch ms, if it was looked for.
  TaskWalk next;                  // Where to go on, in a queue without lanes.
};

// True if a walk by ORDER=deadline may take the task. `asked`: when its page was requested.
bool is_next_by_deadline(QueueCore& core, const ItemRef& task, const TaskWalk& walk, WallTime asked, const Now& now);

class TakeChoice {
 public:
  static constexpr int kMostTaken = 1000;  // The most tasks that one take gets.
  // kLook: only finds out what a take would find, and changes no state.
  enum class Purpose { kTake, kLook };

  // Chooses at most `wanted` tasks. `by_deadline`: the order was ORDER=deadline when the take began. `start`:
  // FoundTasks::next of the previous choice, for a queue without lanes. The settings are the core's.
  TakeChoice(QueueCore& core, const QueueSettings& settings, size_t wanted, bool by_deadline, TaskWalk start,
             Purpose purpose = Purpose::kTake);
  TakeChoice(const TakeChoice&) = delete;
  TakeChoice& operator=(const TakeChoice&) = delete;

  // The page to read now; empty: the choice is complete. Call came() with each page before the next call.
  std::optional<PageAsk> next(const Now& now);
  void came(Page page, const Now& now);
  FoundTasks& found() { return out_; }
  bool by_lanes() const { return by_lanes_; }

 private:
  // The part of a lane that a take has read.
  struct LaneRead {
    static constexpr int kMostRounds = 6;

    std::vector<ItemRef> tasks;  // Those that can be taken.
    size_t given = 0;            // How many of `tasks` are chosen.
    TaskWalk next;               // Where there may be more.
    bool more = true;
    bool by_deadline = false;
    bool passed = false;  // Tasks were passed over because their group or key is at its limit.
    int rounds = 0;

    // While it is being read.
    bool filling = false;
    int pages = 0;
    size_t least = 0;
    bool any = false;  // There were tasks, whether they can be taken or not.
    uint64_t fillings = 0;

    // True if the lane should be read further, after all tasks read so far are given or passed over.
    bool goes_on() { return passed && more && ++rounds < kMostRounds; }
  };
  // Merges the lanes of keys of one share. The heads of the lanes that were read are kept in order. Another lane is
  // read only if its next task may come before the first head.
  struct KeysRead {
    explicit KeysRead(size_t wanted) : most(2 * wanted + 64) {}

    // The bound of lanes whose tasks were all passed over; these do not count for `most`. There may be one for each key
    // in work. A take that reaches this bound does not go on at once, as it would find the same lanes.
    static constexpr size_t kMostPassed = 4096;
    const size_t most;  // The bound of lanes to look at.
    size_t looked = 0;
    size_t passed = 0;
    bool cut = false;  // The bound was reached.
    std::map<std::string, LaneRead, std::less<>> lanes;
    std::set<FairShares::Place> heads;
    std::optional<FairShares::Place> last;  // The last lane that was looked at.
    // While a page of one of them is read:
    std::string opening;  // The lane whose first page is being read. Empty: none.
    // A further page of the lane from which a task was just chosen.
    struct Refill {
      std::string lane;
      ItemRef task;
      bool room;
    };
    std::optional<Refill> refill;
  };

  bool may_go_on(const std::string& share) const;
  bool begins_newest_first(BootTime now);
  void read_queue(const Now& now);
  void queue_came(Page page, const Now& now);
  void read_lanes(const Now& now);
  void begin_round(const Now& now);
  bool read_share(const std::string& lane, size_t wanted, const Now& now);
  bool give_turn(const std::string& lane, const Now& now);
  void ask_for(size_t tasks, TaskWalk walk, size_t least, const Now& now);
  uint32_t begin_walk(TaskWalk& walk, uint32_t limit, const Now& now);
  void begin_fill(const std::string& lane, LaneRead& read);
  bool fill(const std::string& lane, LaneRead& read, size_t wanted, const Now& now);
  void ask_lane(const std::string& lane, LaneRead& read, size_t wanted, const Now& now);
  void take_page(Page page, TaskWalk& walk, std::vector<ItemRef>& into, bool& more, const Now& now);
  ItemRef next_of_lane(std::string_view lane, LaneRead& read, const Now& now);
  bool next_of_keys(const std::string& share, KeysRead& read, const Now& now, ItemRef& task);
  void choose_head(KeysRead& read, const Now& now);
  void begin_open(const std::string& lane, KeysRead& read, const Now& now);
  void end_open(const std::string& lane, KeysRead& read);
  void end_lanes();

  QueueCore& core_;
  const QueueSettings& settings_;
  const size_t wanted_;
  const Purpose purpose_;
  const bool by_lanes_;
  FoundTasks out_;

  size_t page_ = 0;             // The number of tasks needed from a page. A walk by deadline reads more.
  std::optional<PageAsk> ask_;  // The page that is being read.
  WallTime asked_at_{};         // When that page was requested.
  bool is_made_ = false;

  // A queue with lanes.
  bool has_begun_ = false;
  std::map<std::string, LaneRead, std::less<>> reads_;
  std::map<std::string, KeysRead, std::less<>> of_keys_;
  LaneRead* reading_ = nullptr;  // The lane whose page is being read.
  ChosenByName chosen_;
  FairShares::Given given_;
  size_t held_ = 0;                                     // Lanes in which nothing was found.
  std::vector<std::string> turns_;                      // The lanes of this round.
  std::vector<std::pair<std::string, size_t>> shares_;  // The number of tasks that each lane gives in this round.
  size_t share_ = 0;                                    // The next of `shares_` to read.
  size_t turn_ = 0;                                     // The next of `turns_` to give a task, after all reads.
  bool in_turn_ = false;                                // The turn waits for a page.
  bool by_keys_ = false;                                // Keys have lanes of their own.
};

// Finds out whether a take would find anything, expired tasks included. For queues in which limits do not depend on
// lanes. Use it like TakeChoice.
class WorkLook {
 public:
  explicit WorkLook(QueueCore& core) : core_(core) {}
  std::optional<PageAsk> next();
  void came(Page page, const Now& now);
  // Also true if the bound of pages was reached.
  bool found() const { return found_; }

 private:
  QueueCore& core_;
  TaskWalk walk_;
  size_t limit_ = 0;
  int pages_ = 0;
  bool found_ = false;
};

}  // namespace freshet
