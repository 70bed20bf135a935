// TakeChoice: which pages of the indexes a take reads, and which of the tasks it read it may take, in which order. One
// for each take. Pure state: no store, clock, coroutine or log; the time is passed in. Loop thread.
//
//   while (auto ask = choice.next(now)) { read the page; choice.came(page, now); }
//   use choice.found()
//
// It lives no longer than the core. Between a page and the next anything may change in the queue.
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

// From where a take goes on through what waits.
struct TaskWalk {
  // ORDER=deadline goes through these parts, in this order.
  enum class Part { kEnough, kLess, kNoDeadline };
  Item key;
  Part part = Part::kEnough;
  std::optional<WallTime> enough;  // For the whole walk. None until its first page.
  // When the walk began: the lower bound of kLess. It must not move between pages, or a page may begin outside.
  WallTime began{};
  size_t least = 0;  // The number to read: more and more, while all are passed over.
};

// A page of PENDING tasks.
struct PageAsk {
  // kDeadline: a walk by ORDER=deadline.
  enum class From { kNewest, kOldest, kDeadline };
  std::string lane;  // Empty: of the whole queue.
  From from = From::kNewest;
  TaskWalk walk;
  uint32_t limit = 1;
  bool may_fail = false;  // If it cannot be read, an empty page will do.
};

struct FoundTasks {
  std::vector<ItemRef> tasks;  // In the order in which they should be taken.
  bool more = false;           // Asking again may find others.
  bool cut = false;            // It has looked at as many lanes as it may at a time.
  bool newest_first = true;
  std::optional<int64_t> oldest;  // taskCreated of the oldest that waits, in epoch ms, if it was looked for.
  TaskWalk next;                  // From where, in a queue without lanes.
};

// True if a walk by ORDER=deadline may take the task, which `page` asked for. `asked`: when it did.
bool is_next_by_deadline(QueueCore& core, const ItemRef& task, const TaskWalk& walk, WallTime asked, const Now& now);

class TakeChoice {
 public:
  static constexpr int kMostTaken = 1000;  // By one take.
  // kLook: only to see what a take would find. It changes nothing about the end that takes go from.
  enum class Purpose { kTake, kLook };

  // At most `wanted` tasks. `by_deadline`: ORDER=deadline held when the take began. `start`: as the choice before said;
  // for a queue without lanes. The settings are the core's.
  TakeChoice(QueueCore& core, const QueueSettings& settings, size_t wanted, bool by_deadline, TaskWalk start,
             Purpose purpose = Purpose::kTake);
  TakeChoice(const TakeChoice&) = delete;
  TakeChoice& operator=(const TakeChoice&) = delete;

  // The page to read now; empty: the choice is made. After each page call came() first.
  std::optional<PageAsk> next(const Now& now);
  void came(Page page, const Now& now);
  FoundTasks& found() { return out_; }
  bool by_lanes() const { return by_lanes_; }

 private:
  // How far a take has read a lane.
  struct LaneRead {
    static constexpr int kMostRounds = 6;

    std::vector<ItemRef> tasks;  // Those that can be taken.
    size_t given = 0;            // The number of them.
    TaskWalk next;               // From where there may be more.
    bool more = true;
    bool by_deadline = false;
    bool passed = false;  // Tasks were passed over whose group or key is at its limit.
    int rounds = 0;

    // While it is being read.
    bool filling = false;
    int pages = 0;
    size_t least = 0;
    bool any = false;  // There were tasks, whether they can be taken or not.
    uint64_t fillings = 0;

    // True if it is worth while to read on after all that was read is given or passed over.
    bool goes_on() { return passed && more && ++rounds < kMostRounds; }
  };
  // The lanes of keys of one share are merged: those that were read have their heads in order, and a lane is read only
  // if its next task may come before the first of these.
  struct KeysRead {
    explicit KeysRead(size_t wanted) : most(2 * wanted + 64) {}

    // Lanes, besides, of which all tasks were passed over. There may be as many as there are keys in work. A take that
    // has looked at more does not go on at once: it would find the same.
    static constexpr size_t kMostPassed = 4096;
    const size_t most;  // Lanes that it looks at.
    size_t looked = 0;
    size_t passed = 0;
    bool cut = false;  // There may be more than it may look at.
    std::map<std::string, LaneRead, std::less<>> lanes;
    std::set<FairShares::Place> heads;
    std::optional<FairShares::Place> last;  // The last one that was looked at.
    // While a page of one of them is read:
    std::string opening;  // Its first page. Empty: none.
    // The page behind the task that was chosen.
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

  size_t page_ = 0;             // The tasks that it needs of a page. By deadline more are read.
  std::optional<PageAsk> ask_;  // The page that is being read, and
  WallTime asked_at_{};         // since when.
  bool is_made_ = false;

  // A queue with lanes.
  bool has_begun_ = false;
  std::map<std::string, LaneRead, std::less<>> reads_;
  std::map<std::string, KeysRead, std::less<>> of_keys_;
  LaneRead* reading_ = nullptr;  // The one whose page is being read.
  ChosenByName chosen_;
  FairShares::Given given_;
  size_t held_ = 0;                                     // Lanes that were looked at in vain.
  std::vector<std::string> turns_;                      // The lanes of this round.
  std::vector<std::pair<std::string, size_t>> shares_;  // The tasks that each lane is to give in it.
  size_t share_ = 0;                                    // The next one to read,
  size_t turn_ = 0;                                     // and then the next one to give a task.
  bool in_turn_ = false;                                // It waits for a page.
  bool by_keys_ = false;                                // Its keys have lanes.
};

// Looks for anything that a take would find, expired tasks included. For a queue whose lanes need no look at their
// limits. Used as TakeChoice is.
class WorkLook {
 public:
  explicit WorkLook(QueueCore& core) : core_(core) {}
  std::optional<PageAsk> next();
  void came(Page page, const Now& now);
  // True too if it has looked at as much as it may.
  bool found() const { return found_; }

 private:
  QueueCore& core_;
  TaskWalk walk_;
  size_t limit_ = 0;
  int pages_ = 0;
  bool found_ = false;
};

}  // namespace freshet
