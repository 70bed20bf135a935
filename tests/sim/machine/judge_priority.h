// Judges a priority queue by its promises (docs/priority-queue.md): an enqueued record is given out until it is
// removed, cancelled or dead; nobody else gets a record before its timeout or delay is over; a removed or cancelled
// record does not come back; a receipt that is not the latest one settles and extends nothing, and the latest one
// extends the timeout; a record in flight is not cancelled.
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
  // The queue is in strict mode.
  void expect_one_at_a_time() { strict_ = true; }

  // begin_enqueue(): an enqueue is about to be sent; for a delayed record, it ends the delay. end_enqueue(): its answer
  // has come, or never will.
  void begin_enqueue(const std::string& id) {
    Record& record = records_[id];
    ++record.enqueues;
    record.hidden.reset();
  }
  void end_enqueue(const std::string& id) { --records_[id].enqueues; }
  void enqueued(const std::string& id, milliseconds delay, const Span& span);
  // The enqueue may still arrive, and put a removed record into the queue again.
  void enqueue_unknown(const std::string& id) { records_[id].may_come_again = true; }
  void peeked(const std::string& id, const std::string& receipt, milliseconds visibility, const Span& span);
  // A settlement is about to be sent. Whatever its outcome, somebody else may get the record from now on if the receipt
  // is still the latest one. Without a receipt that is always so.
  void begin_settle(const std::string& id, const std::optional<std::string>& receipt);
  void removed(const std::string& id, const std::string& receipt, const Span& span);
  // `is_dead`: the record has failed too often, and gets no delay.
  void restored(const std::string& id, const std::string& receipt, milliseconds delay, bool is_dead, const Span& span);
  // A restore is about to be sent: it may bring the record back even if it was removed.
  void begin_restore(const std::string& id) { records_[id].may_be_restored = true; }
  // Nobody may get the record before `until`, by the wall clock.
  struct Hidden {
    BootTime sent{};      // When the request that hides it was sent.
    BootTime answered{};  // When that request was answered.
    WallTime until{};
  };
  // A request that changes the timeout is about to be sent. Returns the timeout before, if the caller certainly holds
  // the record.
  std::optional<Hidden> begin_extend(const std::string& id, const std::string& receipt);
  // The answer says that the record is not in flight any more. `before`: the result of begin_extend().
  void extend_refused(const std::string& id, const std::optional<Hidden>& before, const Span& span);
  void extended(const std::string& id, const std::string& receipt, milliseconds visibility, const Span& span);
  void begin_cancel(const std::string& id) { records_[id].may_be_cancelled = true; }
  void cancelled(const std::string& id, const Span& span);
  // True if an enqueue without an answer may still change the record.
  bool may_come_again(const std::string& id) const { return records_.at(id).may_come_again; }
  // The last records that were certainly enqueued.
  const std::deque<std::string>& enqueued_lately() const { return enqueued_lately_; }
  // Its status is certainly COMPLETED: no peek may give it out, wherever it stands.
  void completed(const std::string& id, const Span& span) { records_[id].completed = span.answered; }
  // At the end, for each record: `place` says where it is.
  void at_rest(const std::string& id, const std::string& place);
  const std::map<std::string, bool>& acknowledged() const { return acknowledged_; }
  void put(const std::string& id) { acknowledged_[id] = true; }

 private:
  struct Record {
    bool enqueued = false;
    int enqueues = 0;  // Enqueues in flight.
    bool removed = false;
    bool may_come_again = false;
    bool may_be_restored = false;
    bool may_be_cancelled = false;
    bool may_be_completed = false;         // By anybody, because that takes no receipt.
    BootTime cancelled = BootTime::max();  // When it was certainly cancelled.
    // The latest receipt. Peeks that overlap may be answered in another order, so each of their receipts may be the
    // latest.
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
