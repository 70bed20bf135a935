// Admission: which new tasks are refused, and how fast tasks leave the queue. Pure state: no store, clock, coroutine or
// log; the time is passed in. Loop thread.
//
// The caller reads the facts from the store (which tasks wait or exist already). This part decides and gives the
// reason. docs/policies.md, "Admission".
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "functions/queue/policy/admission.h"
#include "functions/queue/policy/outlook.h"
#include "functions/settings.h"
#include "runtime/api/task_queue.h"

namespace freshet {

// Creations that were refused since the start.
struct Refusals {
  uint64_t tasks = 0;   // At MAX_WAITING.
  uint64_t bytes = 0;   // At MAX_WAITING_BYTES.
  uint64_t passed = 0;  // The deadline had passed.
  uint64_t late = 0;    // The task would have been too late (REFUSE_LATE).
  uint64_t lanes = 0;   // No room for another lane.
};

class Admission {
 public:
  static constexpr uint64_t kMostAhead = 10'000;  // Counting of the tasks ahead stops here.

  // `table` and the settings outlive this.
  Admission(const std::string& table, const QueueSettings& settings) : table_(table), settings_(settings) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // `tasks` tasks of `bytes` bytes in all left the queue: they were taken or shed.
  void left(uint64_t tasks, uint64_t bytes, BootTime now);
  // Counts tasks that were taken.
  void taken(uint64_t tasks, BootTime now) { taken_.left(tasks, now); }

  // Creations were refused for that reason.
  void refused(uint64_t Refusals::*why, uint64_t tasks) { refusals_.*why += tasks; }
  const Refusals& refusals() const { return refusals_; }

  // Tasks and bytes that leave the queue per second.
  DrainRates rates(BootTime now) { return {drained_.rate(now), drained_bytes_.rate(now)}; }

  // Checks MAX_WAITING and MAX_WAITING_BYTES for a task that needs the room `more`. `there`: the tasks that wait
  // already. `rates`: rates() at the time of that reading. Empty if the task is admitted.
  std::optional<Refusal> beyond_bound(int priority, TaskRoom there, TaskRoom more, DrainRates rates) const;
  // The refusal as an error. `there`: the tasks that wait already. `size`: the bytes of the task. kTooManyRequests with
  // the time to retry; kValidation if the task alone exceeds the bound.
  Error full(const Refusal& refusal, TaskRoom there, uint64_t size, int priority) const;
  // The name in the shed log of the policy that refused, and the counter for it.
  std::string policy_of(const Refusal& refusal) const;
  static uint64_t Refusals::*count_of(const Refusal& refusal);
  // The additional room for a task that replaces a waiting one of `old` bytes.
  static TaskRoom in_place_of(uint64_t old, uint64_t size) { return {0, size > old ? size - old : 0}; }

  // For REFUSE_LATE: true if the newest task leaves first, so that a fresh one waits behind no backlog.
  bool goes_newest_first() const { return settings_.order != Order::kOldestFirst; }
  // The least time that a task which is created now will wait. `newest_first`: goes_newest_first() when the caller
  // began to count. `ahead`: the number of tasks that start before it, for oldest first. `slot_is_free`: a take waits
  // for work, or no task is in work.
  nanoseconds least_wait(bool newest_first, uint64_t ahead, bool slot_is_free, BootTime now);
  // The error for a task that would be too late. `after`: the time after which a new task with as much time left may be
  // in time.
  Error late(const Outlook& expected, milliseconds after) const;

 private:
  const std::string& table_;
  const QueueSettings& settings_;
  DrainRate drained_;  // Taken or shed.
  DrainRate drained_bytes_;
  DrainRate taken_;
  Refusals refusals_;
};

}  // namespace freshet
