// Shedder: when waiting tasks have become hopeless, and which of them are shed in one step. Pure state: no store,
// clock, coroutine or log; the time is passed in. Loop thread.
//
// The queue sheds PENDING tasks that cannot be done by their deadline any more, without waiting for a take to find
// them. It goes through the tasks by deadline, in bounded steps (policy/shed_pace.h). docs/policies.md, "Shedding".
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "functions/queue/core/wall_times.h"
#include "functions/queue/policy/shed_pace.h"
#include "tables/tables.h"

namespace freshet {

class Shedder {
 public:
  // One step. The caller begins it, passes pages to it, and ends it.
  struct Step {
    BootTime began{};
    BootTime until{};          // The latest end of the step; set at the first page.
    bool others_wait = false;  // True while others wait for the disk anyway, so that the step delays nobody.
    WallTime now{};
    WallTime keep_from{};                    // KEEP_MS counts from there.
    WallTime stale_at{};                     // The wall time by which tasks are late: WallGuard::earliest().
    nanoseconds margin{0};                   // The margin that DEADLINE_MARGIN adds.
    uint64_t seen = 0;                       // The value of seen_ when the step began.
    uint64_t shed = 0;                       // The number of shed tasks.
    uint64_t bytes = 0;                      // The bytes of the shed tasks.
    std::optional<milliseconds> first_hope;  // The time left of the first task that is not hopeless.
    bool more = false;                       // There may be more after the last page.
    bool failed = false;                     // A page could not be read.
  };
  // Tasks that are shed for the same reason. Either all or none of them have a ttl that a client set.
  struct Alike {
    std::vector<ItemRef> tasks;
    std::string_view reason;
  };

  Shedder() = default;
  Shedder(const Shedder&) = delete;
  Shedder& operator=(const Shedder&) = delete;

  // True if a step is due.
  bool is_due(WallTime wall, BootTime boot) const { return hopeless_ms_ <= epoch_ms(wall) && boot >= again_; }
  // True if the step is one of many, and so should wait until others wait for the disk anyway.
  bool is_one_of_many() const { return many_; }
  // The times of `step` are set, and no page was read yet.
  void begin(Step& step);
  // Where the next page starts.
  Item next_start() { return std::exchange(from_, Item()); }
  // A page was read, the earliest deadline first. The caller then calls alike() until it returns no tasks.
  void page_came(Step& step, const std::vector<ItemRef>& tasks);
  // The next tasks of the page that are shed for the same reason, from index `looked` on, which is advanced.
  // `in_flight`: another write to the task is under way, so that it cannot be shed now. No tasks: the page is used up,
  // the rest has time left, or the step is over.
  Alike alike(Step& step, const std::vector<ItemRef>& tasks, size_t& looked, BootTime boot, bool ttl_in_milliseconds,
              const std::function<bool(const ItemRef&)>& in_flight);
  // The task was shed.
  static void shed(Step& step, const ItemRef& task);
  // The task could not be shed: it is skipped for now.
  void could_not_shed() { left_ = true; }
  // The page is done. `end`: where the next page starts; empty: it was the last.
  void page_done(Step& step, size_t looked, size_t tasks, Item end);
  // The page could not be read.
  void page_failed(Step& step, WallTime now, milliseconds retry);
  // True if the step reads another page at once.
  bool goes_on(const Step& step, BootTime boot) const {
    return step.more && !left_ && step.others_wait && boot < step.until;
  }
  // The step reads no more pages.
  void pages_over(const Step& step) { many_ = step.shed >= ShedPace::kMany; }
  // The step is over, and its sheds are logged.
  void end(const Step& step, WallTime wall, BootTime boot, milliseconds retry);

  // A task became PENDING with that deadline. True if next_look() is now earlier, so that the timer must be set anew.
  [[nodiscard]] bool due_by(int64_t deadline_ms, nanoseconds margin);
  // The next step is due at once: the clock stepped, a client wrote, or the index was mended.
  void look_again(WallTime now) { hopeless_ms_ = std::min<int64_t>(hopeless_ms_, epoch_ms(now)); }
  void index_mended(WallTime now) { hopeless_ms_ = epoch_ms(now); }
  // When the timer has to look next; BootTime::max() for never.
  BootTime next_look(WallTime wall, BootTime boot) const;

 private:
  int64_t hopeless_ms_ = 0;  // Wall time when the next PENDING task may have become hopeless; never late.
  BootTime again_{};         // No step before this time, while many tasks are being shed.
  Item from_;                // Where the next step goes on, after tasks that could not be shed.
  bool left_ = false;        // A task could not be shed in the current pass over all tasks.
  bool many_ = false;        // The last step shed many.
  uint64_t seen_ = 0;        // Rises whenever hopeless_ms_ may have to be earlier.
};

}  // namespace freshet
