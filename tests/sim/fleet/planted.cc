// The faults of a fleet that can be planted: all whose names begin with "fleet-", and some that freshet_sim has, too.
// tests/sim/planted.py checks that this list and the points of the product agree.
#include "tests/sim/machine/points.h"

namespace freshet::sim {

const std::vector<PlantedFault>& planted_faults() {
  static const std::vector<PlantedFault> all = {
      {"fleet-no-self-fence", false, "a member that does not reach the engine goes on serving", "no-engine"},
      {"fleet-dead-at-half-lease", false, "a member counts as dead at half its lease", "no-engine"},
      {"fleet-holder-ignored", false, "a unit is started although another member holds it", "move"},
      {"fleet-second-read-left-out", false, "a unit is started by a read from before the write that holds it",
       "deploy slow-engine"},
      {"fleet-plan-unconditional", false, "an old leader's plan replaces a newer one"},
      {"fleet-shared-name", false, "two members have one name"},
      {"fleet-lost-write-taken-for-done", false, "a write without an answer that was not done counts as done"},
      {"fleet-unknown-taken-for-refusal", false, "a write without an answer counts as refused"},
      {"fleet-leases-of-others-ended", false, "a new owner ends the leases that others gave out"},
      {"fleet-leave-unsaid", false, "a member that stops does not say so"},
      {"fleet-clock-not-checked", false, "a member whose clock is off serves queues"},
      {"fleet-memory-kept", false, "a new owner goes by what it knew when it last had the queue"},
      {"fleet-epoch-kept", false, "a new life of a member has the epoch of the last one"},
      {"fleet-beat-unconditional", false, "a heartbeat that comes late replaces newer ones", "late-write kill"},
      {"fleet-units-unconditional", false, "what a member holds is replaced by what it held before", "late-write move"},
      {"fleet-dead-counts-as-alive", false, "a member that is dead counts as alive"},
      {"fleet-dead-holds-kept", false, "a member that starts again waits for those that died long ago", "kill"},
      {"fleet-dead-leader-kept", false, "nobody replaces a dead leader"},
      {"fleet-fence-from-the-answer", false, "a member times its lease from the answer to its heartbeat"},
      {"fleet-nothing-levelled", false, "a member that joins gets no queues of others"},
      {"fleet-queue-left-open", false, "a member goes on with a queue that it has given up"},
      {"fleet-free-queue-unannounced", false, "a member that gives a queue up does not say so to the others"},
      {"fleet-own-settle-taken-for-foreign", false, "a settlement that is sent again is refused"},
      {"fleet-overtaken-taken-for-done", false, "a write without an answer counts as done although another one was"},
      {"fleet-rev-unchecked", false, "a change of a task does not look whether the last write is unchanged"},
      {"fleet-anothers-write-taken-for-own", false, "a write without an answer counts as done by its number alone"},
      {"fleet-doubt-forgotten", false, "a write that was sent again counts as refused"},
      {"fleet-server-error-is-refusal", false, "a write that an engine's error has answered counts as not done"},
      {"fleet-own-writes-forgotten", false, "a daemon goes by an index that lags", "lag"},
      {"fleet-tasks-of-others-hidden", false, "a new owner does not see the tasks of the last one"},
      {"fleet-schedule-claim-unconditional", false, "a schedule fires although another member has fired it"},
      {"fleet-events-left", false, "nobody takes over the events of a dead member"},
      {"fleet-event-moved-nowhere", false, "an event of a dead member is deleted and not stored by the next one"},
      {"fleet-mark-unconditional", false, "a position that is stored late replaces newer ones", "late-write"},
      {"fleet-mark-moved-back", false, "a member stores its position although another one is further"},
      {"fleet-mapping-goes-on", false, "a member goes on with a mapping that it has given up"},
      {"fleet-unit-ends-early", false, "a member that gives up a mapping does not finish its batch first"},
      {"fleet-old-position-kept", false, "a member that gets a mapping again does not read its position", "move"},
      {"fleet-position-before-work", false, "the position is stored before the function is called", "kill"},
      {"fleet-misplaced-left", false, "a task that a client put gets no place in layout fleet"},
      {"fleet-own-writes-not-in-page", false,
       "a take that uses the page of another one does not see what was written since"},
      {"fleet-left-unsaid", false, "a member that gives up a queue does not say what it has in work", "runs"},
      {"fleet-left-ends-early", false, "a member says too early that it has nothing of a queue in work any more",
       "runs"},
      {"fleet-left-ignored", false, "a new owner does not count what the last one has in work", "runs"},
      {"fleet-own-left-ignored", true, "a queue that comes back to a daemon does not count what that one has in work",
       "runs"},
      {"fleet-runs-outlive-their-owner", false, "what runs for an owner that is dead goes on", "runs"},
      {"fleet-runs-stay-here", false, "an owner gives no tasks to other members", "runs"},
      {"create-overwrites", false, "a late create replaces the task that is there"},
      {"claim-not-fenced", false, "a claim does not look whether the task has moved"},
      {"settle-not-fenced", false, "a stale holder may settle"},
      {"lease-ends-early", false, "a lease ends in half of its time"},
      {"oldest-taken", false, "a take gives the oldest task"},
  };
  return all;
}

}  // namespace freshet::sim
