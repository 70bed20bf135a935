#include "functions/queue/core/admission.h"

#include "runtime/api/retry_later.h"

namespace freshet {

void Admission::left(uint64_t tasks, uint64_t bytes, BootTime now) {
  drained_.left(tasks, now);
  drained_bytes_.left(bytes, now);
}

std::optional<Refusal> Admission::beyond_bound(int priority, TaskRoom there, TaskRoom more, DrainRates rates) const {
  return refused_for(settings_.admission, priority, there, more, rates);
}

std::string Admission::policy_of(const Refusal& refusal) const {
  const auto& bounds = settings_.admission;
  return refusal.reason == "max-waiting" ? "MAX_WAITING=" + std::to_string(bounds.max_waiting)
                                         : "MAX_WAITING_BYTES=" + std::to_string(bounds.max_waiting_bytes);
}

uint64_t Refusals::*Admission::count_of(const Refusal& refusal) {
  return refusal.reason == "max-waiting" ? &Refusals::tasks : &Refusals::bytes;
}

Error Admission::full(const Refusal& refusal, TaskRoom there, uint64_t size, int priority) const {
  const auto& bounds = settings_.admission;
  // A task that is larger than all that may wait will never have room.
  const uint64_t most = bounds.max_waiting_bytes;
  const uint64_t its_room = usable(most, bounds, priority);
  if (most > 0 && size > its_room) {
    return {ErrorCode::kValidation,
            "the task would be stored with " + std::to_string(size) + " bytes, and tasks of its priority may have " +
                std::to_string(its_room) + " of MAX_WAITING_BYTES, which is " + std::to_string(most) +
                ": it can never wait here",
            nullptr};
  }
  // The caller may see fewer waiting tasks than the bound, so the message says why the queue is full.
  const auto of_bound = [&](const char* name, uint64_t bound) {
    const uint64_t room = usable(bound, bounds, priority);
    const std::string what = std::string(name) + " is " + std::to_string(bound);
    return room == bound ? what : what + ", of which tasks of its priority may use " + std::to_string(room);
  };
  std::string message = "queue '" + table_ + "' is full: ";
  if (refusal.reason == "max-waiting") {
    message += std::to_string(there.tasks) + " tasks wait and " + of_bound("MAX_WAITING", bounds.max_waiting);
  } else {
    message += std::to_string(there.bytes) + " bytes wait, the task has " + std::to_string(size) + " and " +
               of_bound("MAX_WAITING_BYTES", bounds.max_waiting_bytes);
  }
  message += "; at the present rate there is room in " + std::to_string(refusal.after.count()) + " ms";
  return {ErrorCode::kTooManyRequests, std::move(message), std::make_shared<RetryLater>(refusal.after)};
}

nanoseconds Admission::least_wait(bool newest_first, uint64_t ahead, bool slot_is_free, BootTime now) {
  // A shed task gives way, but frees no slot.
  const double rate = newest_first ? taken_.rate(now) : drained_.rate(now);
  return freshet::least_wait(newest_first, ahead, slot_is_free, rate);
}

Error Admission::late(const Outlook& expected, milliseconds after) const {
  const auto ms = [](nanoseconds time) {
    return std::to_string(std::chrono::floor<milliseconds>(time).count()) + " ms";
  };
  return {ErrorCode::kTooManyRequests,
          "the task would be too late: in queue '" + table_ + "' it would wait for " + ms(expected.wait) +
              " and take " + ms(expected.service) + " at least; one with as much time may have a chance in " +
              ms(after),
          std::make_shared<RetryLater>(after)};
}

}  // namespace freshet
