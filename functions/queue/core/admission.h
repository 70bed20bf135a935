// Admission: which new tasks are refused, and how fast tasks leave the queue. Pure state: no store, clock, coroutine or
// log; the time is passed in. Loop thread.
//
// The caller brings the facts that are read from the store (what waits, what is there already); this part decides and
// says why. docs/policies.md, "Admission".
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
  uint64_t passed = 0;  // Their deadline had passed.
  uint64_t late = 0;    // They would have been too late (REFUSE_LATE).
  uint64_t lanes = 0;   // There was no room for another lane.
};

class Admission {
 public:
  static constexpr uint64_t kMostAhead = 10'000;  // With more tasks before it, nobody needs to count on.

  // `table` and the settings outlive this.
  Admission(const std::string& table, const QueueSettings& settings) : table_(table), settings_(settings) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // Tasks left the queue: they were taken or shed, and had so many bytes.
  void left(uint64_t tasks, uint64_t bytes, BootTime now);
  // Counts tasks that were taken.
  void taken(uint64_t tasks, BootTime now) { taken_.left(tasks, now); }

  // Creations were refused for that reason.
  void refused(uint64_t Refusals::*why, uint64_t tasks) { refusals_.*why += tasks; }
  const Refusals& refusals() const { return refusals_; }

  // How much leaves the queue a second.
  DrainRates rates(BootTime now) { return {drained_.rate(now), drained_bytes_.rate(now)}; }

  // Checks MAX_WAITING and MAX_WAITING_BYTES for a task that needs the room `more`. `there`: what waits; `rates`: as
  // they were when `there` was read. Empty if the task may come.
  std::optional<Refusal> beyond_bound(int priority, Room there, Room more, DrainRates rates) const;
  // The refusal as an error: `there` waits, and the task has `size` bytes. kTooManyRequests with when to try again;
  // kValidation if the task is larger than all that may wait.
  Error full(const Refusal& refusal, Room there, uint64_t size, int priority) const;
  // The policy that refused, as the shed log names it, and the count that it adds to.
  std::string policy_of(const Refusal& refusal) const;
  static uint64_t Refusals::*count_of(const Refusal& refusal);
  // The room that a task takes which replaces a waiting one of `old` bytes.
  static Room in_place_of(uint64_t old, uint64_t size) { return {0, size > old ? size - old : 0}; }

  // For REFUSE_LATE: true if the newest task leaves first, so that a fresh one waits behind no backlog.
  bool goes_newest_first() const { return settings_.order != Order::kOldestFirst; }
  // How long a task that is created now waits at least. `newest_first`: as goes_newest_first() said when the caller
  // began to count. `ahead`: the tasks that are started before it where the queue goes oldest first. `slot_is_free`:
  // somebody waits for work, or nothing is in work.
  nanoseconds least_wait(bool newest_first, uint64_t ahead, bool slot_is_free, BootTime now);
  // The task would be too late; one with as much time may have a chance after `after`.
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
