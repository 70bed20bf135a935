// The policies that the lab compares. Those of Freshet run in the real queue and processor; the others in a model of a
// queue (model.h) that asks the same policy objects (functions/queue/policy).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/lab/scenario.h"
#include "base/result.h"
#include "functions/settings.h"

namespace freshet::lab {

// kEarliestDeadline: even if the task cannot be done in time. kDeadline: as ORDER=deadline.
enum class TakeFrom { kNewest, kOldest, kAdaptive, kEarliestDeadline, kDeadline };
enum class Dropper { kNone, kCodel, kServerCodel };

struct Policy {
  std::string name;
  std::string title;  // For people.
  TakeFrom from = TakeFrom::kOldest;
  bool ttl = false;                              // Sheds tasks that are past their deadline.
  DeadlineMargin margin = DeadlineMargin::kOff;  // Sheds tasks that would not be done by their deadline.
  bool bounded = false;                          // Refuses tasks while bound_of() tasks wait.
  bool refuses_late = false;                     // Refuses tasks that are expected to be too late.
  bool searches = false;  // Adapts the number of tasks in work to what the downstream can bear, instead of using
                          // all slots.
  Dropper dropper = Dropper::kNone;
  bool clairvoyant = false;  // Knows the duration of the next call.
  bool product = false;      // Runs in the real queue.
  Environment settings;      // Further settings of the queue; in real time only.
  std::string command;       // Starts a rival's driver (real/rival.h). Rivals run in real time only.
};

// The most waiting tasks under a bounded policy: as many as can be served in half a deadline.
size_t bound_of(const Scenario& scenario);

// In the order of display; the clairvoyant first.
const std::vector<Policy>& policies();
// kValidation with the existing names.
Result<Policy> policy_of(std::string_view name);

}  // namespace freshet::lab
