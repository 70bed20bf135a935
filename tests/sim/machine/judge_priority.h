// Judges a priority queue by its promises (docs/priority-queue.md): what was enqueued is given out until it is removed,
// cancelled or dead; nobody else gets a record before its timeout, or its delay, is over; what was removed or cancelled
// stays away; a receipt that is no longer the last one settles and extends nothing, and the last one extends the
// timeout; a record in flight is not cancelled.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/sim/machine/judge_tasks.h"
#include "tests/sim/machine/wall_history.h"

namespace freshet::sim {

class PriorityJudge {
 public:
  // `wall` outlives it.
  PriorityJudge(Verdict& verdict, const WallHistory& wall) : verdict_(verdict), wall_(wall) {}
  // Strict mode.
  void expect_one_at_a_time() { strict_ = true; }

  // An enqueue is about to be sent, and its answer has come or never will. One of a delayed record ends the delay.
  void begin_enqueue(const std::string& id) {
    Record& record = records_[id];
    ++record.enqueues;
    record.hidden.reset();
  }
  void end_enqueue(const std::string& id) { --records_[id].enqueues; }
  void enqueued(const std::string& id, milliseconds delay, const Span& span);
  // It may arrive yet, and put a record that was removed into the queue again.
  void enqueue_unknown(const std::string& id) { records_[id].may_come_again = true; }
  void peeked(const std::string& id, const std::string& receipt, milliseconds visibility, const Span& span);
  // A settlement is about to be sent: whatever comes of it, somebody else may get the record from now on, if the
  // receipt is still the last one. Without a receipt it always may.
  void begin_settle(const std::string& id, const std::optional<std::string>& receipt);
  void removed(const std::string& id, const std::string& receipt, const Span& span);
  // `is_dead`: it has failed too often, and has no delay.
  void restored(const std::string& id, const std::string& receipt, milliseconds delay, bool is_dead, const Span& span);
  // It may come back from outside, too.
  void begin_restore(const std::string& id) { records_[id].may_be_restored = true; }
  // Nobody gets the record before `until`, by the wall clock.
  struct Hidden {
    BootTime sent{};      // When the request was sent that hides it,
    BootTime answered{};  // and when it was answered.
    WallTime until{};
  };
  // The timeout may be another one from now on. Returns the one before, if its holder has the record for sure.
  std::optional<Hidden> begin_extend(const std::string& id, const std::string& receipt);
  // The answer says that it is not in flight any more; `before` is from begin_extend().
  void extend_refused(const std::string& id, const std::optional<Hidden>& before, const Span& span);
  void extended(const std::string& id, const std::string& receipt, milliseconds visibility, const Span& span);
  void begin_cancel(const std::string& id) { records_[id].may_be_cancelled = true; }
  void cancelled(const std::string& id, const Span& span);
  // True if an enqueue without an answer may yet change the record.
  bool may_come_again(const std::string& id) const { return records_.at(id).may_come_again; }
  // The last ones that were enqueued for sure.
  const std::deque<std::string>& enqueued_lately() const { return enqueued_lately_; }
  // Its status is COMPLETED for sure: no peek gives it out, wherever it stands.
  void completed(const std::string& id, const Span& span) { records_[id].completed = span.answered; }
  // At the end: where each record is.
  void at_rest(const std::string& id, const std::string& place);
  const std::map<std::string, bool>& acknowledged() const { return acknowledged_; }
  void put(const std::string& id) { acknowledged_[id] = true; }

 private:
  struct Record {
    bool enqueued = false;
    int enqueues = 0;  // Those that are under way.
    bool removed = false;
    bool may_come_again = false;
    bool may_be_restored = false;
    bool may_be_cancelled = false;
    bool may_be_completed = false;         // By anybody: that takes no receipt.
    BootTime cancelled = BootTime::max();  // For sure since then.
    // The last one. Peeks whose times overlap may be answered in another order: each of theirs may be it.
    std::set<std::string> receipts;
    BootTime peeked{};  // When the last peek was answered.
    bool in_flight = false;
    std::optional<Hidden> hidden;
    BootTime completed = BootTime::max();
  };
  Hidden hide(milliseconds time, const Span& span) const;
  // True if the record cannot come back before the end of `span`.
  bool is_hidden(const Record& record, const Span& span) const;
  void check_receipt(const Record& record, const std::string& receipt, const Span& span, const char* promise,
                     const std::string& id);

  Verdict& verdict_;
  const WallHistory& wall_;
  std::map<std::string, Record> records_;
  std::map<std::string, bool> acknowledged_;
  std::deque<std::string> enqueued_lately_;
  bool strict_ = false;
};

}  // namespace freshet::sim
