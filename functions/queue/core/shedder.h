// Shedder: when waiting tasks have become hopeless, and which of them are shed together. Pure state: no store, clock,
// coroutine or log; the time is passed in. Loop thread.
//
// The queue sheds PENDING tasks that cannot be done by their deadline any more, without waiting for a take to find
// them. It goes through them by deadline in bounded steps (policy/shed_pace.h). docs/policies.md, "Shedding".
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
    BootTime until{};          // The step lasts at most until then; known from the first page on.
    bool others_wait = false;  // While others wait for the disk anyway, the step takes nobody's time.
    WallTime now{};
    WallTime stale_at{};                     // The wall time by which tasks are late: WallGuard::earliest().
    nanoseconds margin{0};                   // The margin that DEADLINE_MARGIN adds.
    uint64_t seen = 0;                       // The tasks that became more urgent before the step.
    uint64_t shed = 0;                       // How many tasks were shed,
    uint64_t bytes = 0;                      // and the bytes that they had.
    std::optional<milliseconds> first_hope;  // For how long the first task that has time will have it.
    bool more = false;                       // There may be more behind what was looked at.
    bool failed = false;                     // A page could not be read.
  };
  // Tasks that are shed for one reason. Of all of them, or of none, the ttl is a client's.
  struct Alike {
    std::vector<ItemRef> tasks;
    std::string_view reason;
  };

  Shedder() = default;
  Shedder(const Shedder&) = delete;
  Shedder& operator=(const Shedder&) = delete;

  // True if a step is due.
  bool is_due(WallTime wall, BootTime boot) const { return hopeless_ms_ <= epoch_ms(wall) && boot >= again_; }
  // True if the step should wait for a time when others wait anyway, as it is one of many.
  bool is_one_of_many() const { return many_; }
  // `step` has its times; nothing of a page yet.
  void begin(Step& step);
  // Where the next page starts.
  Item next_start() { return std::exchange(from_, Item()); }
  // A page came, the earliest deadline first. Its tasks are then taken apart by alike() until that returns none.
  void page_came(Step& step, const std::vector<ItemRef>& tasks);
  // The next tasks of the page from `looked` on, which is moved on. `in_flight`: another write to the task is under
  // way, so that it cannot be shed now. None: the page is used up, the rest has time, or the step is over.
  Alike alike(Step& step, const std::vector<ItemRef>& tasks, size_t& looked, BootTime boot, bool ttl_in_milliseconds,
              const std::function<bool(const ItemRef&)>& in_flight);
  // The task was shed.
  static void shed(Step& step, const ItemRef& task);
  // The task could not be shed: it is passed over, and looked at again later.
  void could_not_shed() { left_ = true; }
  // The page is done. `end`: where the next page starts, empty if there is none.
  void page_done(Step& step, size_t looked, size_t tasks, Item end);
  // The page could not be read.
  void page_failed(Step& step, WallTime now, milliseconds retry);
  // True if the step reads another page at once.
  bool goes_on(const Step& step, BootTime boot) const {
    return step.more && !left_ && step.others_wait && boot < step.until;
  }
  // The pages of the step are over.
  void pages_over(const Step& step) { many_ = step.shed >= ShedPace::kMany; }
  // The step is over, and what it shed is logged.
  void end(const Step& step, WallTime wall, BootTime boot, milliseconds retry);

  // A task became PENDING with that deadline. True if the timer must not sleep longer than next_look() says.
  [[nodiscard]] bool due_by(int64_t deadline_ms, nanoseconds margin);
  // Looks again at once: clocks step, clients write, the index was mended.
  void look_again(WallTime now) { hopeless_ms_ = std::min<int64_t>(hopeless_ms_, epoch_ms(now)); }
  void index_mended(WallTime now) { hopeless_ms_ = epoch_ms(now); }
  // When the timer has to look next; BootTime::max() for never.
  BootTime next_look(WallTime wall, BootTime boot) const;

 private:
  int64_t hopeless_ms_ = 0;  // Wall time when the next PENDING task may have become hopeless; never late.
  BootTime again_{};         // No step before that, as many are shed at once.
  Item from_;                // Where the next step goes on, past what could not be shed.
  bool left_ = false;        // Something could not be shed since all were looked at last.
  bool many_ = false;        // The last step shed many.
  uint64_t seen_ = 0;        // Rises whenever hopeless_ms_ may have to be earlier.
};

}  // namespace freshet
