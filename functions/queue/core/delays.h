// Delays: when DELAYED tasks become PENDING. Pure state: no store, clock, coroutine or log; the time is passed in. Loop
// thread.
//
// A delay is stored as a wall time. When the wall clock is set, the tasks that are delayed at that moment are timed by
// boot time from then on (policy/delay_book.h), so that their delays keep their length. docs/lifecycle.md, "Wake-ups".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/queue/core/wall_times.h"
#include "functions/queue/policy/delay_book.h"
#include "tables/value/item_ref.h"

namespace freshet {

class Delays {
 public:
  Delays() = default;
  Delays(const Delays&) = delete;
  Delays& operator=(const Delays&) = delete;

  // Call it before any other event. If the wall clock was set, returns how far wall time was ahead of boot time before.
  // The caller then passes all DELAYED tasks to note(), and finally calls noted().
  std::optional<milliseconds> follow_clock(WallTime wall, BootTime boot);
  // A page of DELAYED tasks, the earliest first. False: there is no room for more, and the rest stays timed by the wall
  // clock.
  bool note(const std::vector<ItemRef>& page, milliseconds ahead, BootTime boot);
  void noted();

  // A task is delayed from now on. `written` is the wall clock when its `notBefore` was computed: if the clock was set
  // before the store answered, the delay is timed by boot time. True if it is the next one to be due, so that the timer
  // must be set anew.
  [[nodiscard]] bool delayed(std::string_view id, int64_t not_before_ms, WallTime written, BootTime boot);
  // The task is no longer DELAYED.
  void ended(std::string_view id) { book_.forget(id); }
  // The wall clock may have stepped, or a client may have written a task: looks again at once.
  void look_again(WallTime now) { next_due_ms_ = std::min<int64_t>(next_due_ms_, epoch_ms(now)); }
  // The index of delayed tasks was lost and exists again.
  void index_mended(WallTime now) { next_due_ms_ = epoch_ms(now); }

  // At most `most` tasks that are timed by boot time and due. Each is returned again after `retry`, unless ended()
  // comes.
  std::vector<std::string> noted_due(BootTime boot, size_t most, milliseconds retry);
  // True if the task, as just read (null: it does not exist), still has the delay that was noted. If not, forgets the
  // delay.
  bool still_noted(const std::string& id, const ItemRef& task);

  // One look through the DELAYED tasks by the wall clock.
  struct Look {
    WallTime now{};
    uint64_t seen = 0;           // The value of seen_ when the look began.
    int64_t next_ms = kNeverMs;  // The earliest time at which a task is due that is not due yet.
    std::vector<ItemRef> due;
  };
  // True if a look may find something.
  bool may_be_due(WallTime now) const { return !noting_ && next_due_ms_ <= epoch_ms(now); }
  Look begin_look(WallTime now) const { return Look{now, seen_, kNeverMs, {}}; }
  // Sorts a page, the earliest first. `more`: pages follow. True if the next page must be read, because all tasks of
  // this one are timed by boot time.
  bool sort(std::vector<ItemRef>& page, bool more, Look& look) const;
  // The page could not be read.
  void look_failed(WallTime now, milliseconds retry) { next_due_ms_ = epoch_ms(now + retry); }
  // The look is over. `due`: the number of due tasks; `moved`: the number of these that were written; `more`: pages
  // follow. True if more tasks may be due.
  bool end_look(const Look& look, size_t due, size_t moved, bool more, WallTime now, milliseconds retry);

  // When the timer has to look next; BootTime::max() for never.
  BootTime next_look(WallTime wall, BootTime boot) const;

  // times(): true if the task's delay until `not_before_ms` is timed by boot time. due_of(): when that delay ends.
  bool times(std::string_view id, int64_t not_before_ms) const { return book_.times(id, not_before_ms); }
  BootTime due_of(std::string_view id) const { return book_.due_of(id); }

 private:
  DelayBook book_;
  bool noting_ = false;      // The clock was set, and not all delays are noted yet.
  int64_t next_due_ms_ = 0;  // Wall time of the earliest `notBefore`; may be early, never late.
  uint64_t seen_ = 0;        // Rises whenever a task is delayed.
};

}  // namespace freshet
