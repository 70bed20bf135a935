// Judges a priority queue by its promises (docs/priority-queue.md): what was enqueued is given out until it is removed
// or dead; nobody else gets a record before its timeout, or its delay, is over; what was removed stays away; a receipt
// that is no longer the last one settles nothing.
#pragma once

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

  void may_be_enqueued(const std::string& id) { records_[id]; }
  void enqueued(const std::string& id, milliseconds delay, const Span& span);
  // It may arrive yet, and put a record that was removed into the queue again.
  void enqueue_unknown(const std::string& id) { records_[id].may_come_again = true; }
  void peeked(const std::string& id, const std::string& receipt, milliseconds visibility, const Span& span);
  // A settlement is about to be sent: whatever comes of it, somebody else may get the record from now on, if the
  // receipt is still the last one. Without a receipt it always may.
  void begin_settle(const std::string& id, const std::optional<std::string>& receipt);
  void removed(const std::string& id, const std::string& receipt, const Span& span);
  void restored(const std::string& id, const std::string& receipt, milliseconds delay, const Span& span);
  // Its status is COMPLETED for sure: no peek gives it out, wherever it stands.
  void completed(const std::string& id, const Span& span) { records_[id].completed = span.answered; }
  // At the end: where each record is.
  void at_rest(const std::string& id, const std::string& place);
  const std::map<std::string, bool>& acknowledged() const { return acknowledged_; }
  void put(const std::string& id) { acknowledged_[id] = true; }

 private:
  // Nobody gets the record before `until`, by the wall clock.
  struct Hidden {
    BootTime sent{};      // When the request was sent that hides it,
    BootTime answered{};  // and when it was answered.
    WallTime until{};
  };
  struct Record {
    bool enqueued = false;
    bool removed = false;
    bool may_come_again = false;
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
  bool strict_ = false;
};

}  // namespace freshet::sim
