// Judges a priority queue by its promises (docs/priority-queue.md): what was enqueued is given out until it is removed
// or dead; nobody else gets a record before its timeout; what was removed stays away; a receipt that is no longer the
// last one settles nothing.
#pragma once

#include <map>
#include <string>

#include "tests/sim/machine/judge_tasks.h"

namespace freshet::sim {

class PriorityJudge {
 public:
  explicit PriorityJudge(Verdict& verdict) : verdict_(verdict) {}
  // The wall clock was set: timeouts go by it.
  void disturbed(BootTime now) { last_disturbance_ = now; }
  // Strict mode.
  void expect_one_at_a_time() { strict_ = true; }

  void enqueued(const std::string& id) { records_[id].enqueued = true; }
  void may_be_enqueued(const std::string& id) { records_[id]; }
  // It may arrive yet, and put a record that was removed into the queue again.
  void enqueue_unknown(const std::string& id) { records_[id].may_come_again = true; }
  void peeked(const std::string& id, const std::string& receipt, milliseconds visibility, const Span& span);
  // A settlement is about to be sent: whatever comes of it, somebody else may get the record from now on.
  void begin_settle(const std::string& id);
  void removed(const std::string& id, const std::string& receipt, const Span& span);
  // Its status is COMPLETED for sure: no peek gives it out, wherever it stands.
  void completed(const std::string& id, const Span& span) { records_[id].completed = span.answered; }
  // At the end: where each record is.
  void at_rest(const std::string& id, const std::string& place);
  const std::map<std::string, bool>& acknowledged() const { return acknowledged_; }
  void put(const std::string& id) { acknowledged_[id] = true; }

 private:
  struct Record {
    bool enqueued = false;
    bool removed = false;
    bool may_come_again = false;
    std::string receipt;
    BootTime peek_sent{};  // When the last peek was sent: a disturbance after it may change what the timeout means,
    BootTime peeked{};     // and when it was answered.
    BootTime sure_until{};
    BootTime completed = BootTime::max();
  };
  Verdict& verdict_;
  std::map<std::string, Record> records_;
  std::map<std::string, bool> acknowledged_;
  BootTime last_disturbance_{};
  bool strict_ = false;
};

}  // namespace freshet::sim
