// The faults of a fleet that can be planted: all whose names begin with "fleet-", and some that freshet_sim has, too.
// tests/sim/planted.py checks that this list and the points of the product agree.
#include "tests/sim/machine/points.h"

namespace freshet::sim {

const std::vector<PlantedFault>& planted_faults() {
  static const std::vector<PlantedFault> all = {
      {"fleet-no-self-fence", false, "a member that does not reach the engine goes on serving", "no-engine"},
      {"fleet-dead-at-half-lease", false, "a member counts as dead at half its lease", "no-engine"},
      {"fleet-holder-ignored", false, "a unit is started although another member holds it"},
      {"fleet-second-read-left-out", false, "a unit is started by a read from before the write that holds it"},
      {"fleet-plan-unconditional", false, "an old leader's plan replaces a newer one"},
      {"fleet-shared-name", false, "two members have one name"},
      {"fleet-lost-write-taken-for-done", false, "a write without an answer that was not done counts as done"},
      {"fleet-unknown-taken-for-refusal", false, "a write without an answer counts as refused"},
      {"fleet-leases-of-others-ended", false, "a new owner ends the leases that others gave out"},
      {"fleet-leave-unsaid", false, "a member that stops does not say so"},
      {"fleet-clock-not-checked", false, "a member whose clock is off serves queues"},
      {"fleet-memory-kept", false, "a new owner goes by what it knew when it last had the queue"},
      {"claim-not-fenced", false, "a claim does not look whether the task has moved"},
      {"settle-not-fenced", false, "a stale holder may settle"},
      {"lease-ends-early", false, "a lease ends in half of its time"},
      {"oldest-taken", false, "a take gives the oldest task"},
  };
  return all;
}

}  // namespace freshet::sim
