// The faults that can be planted. tests/sim/planted.py checks that this list and the points of the product agree.
#include <utility>

#include "tests/sim/machine/points.h"

namespace freshet::sim {

namespace {
constexpr bool kBack = true;  // It takes back a fix that this project once needed.
constexpr bool kNew = false;

std::vector<PlantedFault> taken_back() {
  return {
      {"message-forgotten-by-a-clock-step", kBack, "a FIFO topic forgets its messages when the clock was set",
       "fifo-topics wall-step"},
      {"page-cache-trusted", kBack, "a start takes what a failed sync left in the page cache for durable",
       "sync-fails"},
      {"failed-store-goes-on", kBack, "an I/O error does not end the store"},
      {"token-lost-by-a-clock-step", kBack, "a step of the wall clock forgets the tokens of transactions",
       "late-repeats"},
      {"pause-half-done", kBack, "a pause whose client hangs up is stored, and not known",
       "late-answers pausers hasty-pauses"},
      {"lease-of-the-settings", kBack, "a heartbeat gives the queue's lease time, and not the task's own", "holders"},
      {"delays-by-the-wall-clock", kBack, "a delay follows a step of the wall clock", "wall-step"},
      {"late-by-a-doubted-clock", kBack, "a take starts what looks late by a clock that is not trusted", "wall-step"},
      {"ttl-by-a-doubted-clock", kBack, "TTL deletes by a clock that is not trusted", "wall-step"},
      {"full-disk-never-asked-again", kBack, "a disk that refused space once counts as full for ever", "full-at-last"},
      {"repeated-create-refused", kBack, "a create that is sent again after its deadline is refused", "late-repeats"},
      {"own-lease-taken-for-foreign", kBack, "a heartbeat makes a lease of this daemon somebody else's",
       "late-answers late-beats lookers"},
      {"unreplaced-forgotten", kBack, "what the store refused to replace runs after the newer task", "heavy-keys"},
      {"folder-not-locked", kBack, "a second daemon gets into the data folder", "second-daemon"},
      {"lease-end-tried-once", kBack, "the end of a lease that the store refuses is not tried again", "full-at-last"},
      {"lease-ended-though-beaten", kBack, "a lease ends although a heartbeat came meanwhile",
       "late-answers late-beats"},
      {"stream-shown-before-durable", kBack, "a stream shows what a power cut takes back", "functions power slow-sync"},
      {"retired-before-its-deletes", kBack, "a segment is retired before the write that made it dead is logged",
       "huge-values"},
      {"trash-cut-before-its-rename", kBack, "a removed segment is cut before its rename is durable", "huge-values"},
      {"removed-before-the-one-before-is-whole", kBack, "a start that dies while it removes segments refuses the next",
       "no-syncs"},
      {"removals-of-before-not-synced", kBack,
       "a start removes a segment before the removal of its successor is durable", "no-syncs"},
      {"unsynced-spare-left", kBack, "space whose sync failed is taken again by the next start", "sync-fails"},
      {"stop-in-start-refused", kBack, "SIGTERM during the start counts as a refused start", "early-stop late-answers"},
      {"sheds-by-a-doubted-clock", kBack, "tasks are shed by a clock that is not trusted", "wall-step"},
      {"timeout-by-a-doubted-clock", kBack, "a record's timeout ends by a clock that is not trusted", "wall-step"},
      {"completed-comes-again", kBack, "a peek gives out a COMPLETED record", "priority-queue"},
      {"one-record-stops-the-queue", kBack, "an item that is no record stops a priority queue", "unreadable-records"},
      {"repeated-assign-forgets", kBack, "a repeated assign does not name the queue again", "filtered-queues"},
      {"stale-entry-believed", kBack, "an assign takes a member by an entry of an earlier stay",
       "filtered-queues foreign-items"},
      {"bad-request-keeps-others-out", kBack, "what is no entry of a request hides those behind it",
       "filtered-queues foreign-items"},
      {"stale-entry-costs-the-attempt", kBack, "an assign with one attempt gives up at a stale entry",
       "filtered-queues"},
      {"far-clock-followed", kBack, "ordered writes follow a clock that was far ahead for a moment", "ordered-writes"},
      {"dropped-index-stays", kBack, "an index that a client drops is not made again", "index-droppers"},
      {"repeated-create-needs-room", kBack, "a create that is sent again is refused at MAX_WAITING", "bounded"},
  };
}

std::vector<PlantedFault> written() {
  return {
      {"answer-before-durable", kNew, "an answer leaves before it is durable", "power"},
      {"reads-answered-before-durable", kNew, "a read shows what a power cut takes back", "power"},
      {"sync-left-out", kNew, "the log is not synced", "power"},
      {"sync-beside-counts-later-batches", kNew, "a sync counts for what was written after it began", "disk"},
      {"segment-named-before-its-sync", kNew, "a segment gets its name before its header is durable", "disk"},
      {"directory-not-synced", kNew, "a new segment's name is not made durable", "disk"},
      {"closed-segment-not-synced", kNew, "a segment is left before it is synced", "disk"},
      {"durable-mark-too-far", kNew, "the log says that more of it is durable than is", "disk"},
      {"removed-before-its-header", kNew, "a segment is removed before the header that retires it", "disk little-data"},
      {"torn-tail-left", kNew, "a torn tail is not cleared", "disk"},
      {"damage-cut", kNew, "damage of what was durable is cut off like a torn tail", "disk"},
      {"recovered-log-not-synced", kNew, "a start does not sync what it goes on from", "disk start-crash"},
      {"last-segment-half-read", kNew, "a start reads half of the last segment", "disk"},
      {"checkpoint-without-books", kNew, "a checkpoint leaves out the books"},
      {"compaction-forgets-an-item", kNew, "compaction moves fifteen items and forgets the sixteenth", "disk"},
      {"stream-loses-at-a-page-end", kNew, "a reader of a stream loses the record behind a full page", "stream"},
      {"token-forgotten", kNew, "the token of a transaction is forgotten", "pairs"},
      {"transaction-in-part", kNew, "a transaction is two batches of the log", "pairs"},
      {"attempt-not-counted", kNew, "a claim does not count as an attempt"},
      {"settle-not-fenced", kNew, "a stale holder may settle"},
      {"claim-not-fenced", kNew, "a claim does not look whether the task has moved", "late-answers hasty-cancels"},
      {"release-counts-as-attempt", kNew, "a released task does not get its attempt back"},
      {"kept-too-short", kNew, "ended tasks go before KEEP_MS is over", "keep"},
      {"cancel-mark-lost", kNew, "a task in work is not marked as cancelled", "cancellers"},
      {"oldest-taken", kNew, "a take gives the oldest task"},
      {"expired-task-started", kNew, "a task is started after its deadline"},
      {"lease-ends-early", kNew, "a lease ends in half of its time"},
      {"pause-forgotten", kNew, "a restart forgets a pause", "pausers"},
      {"heartbeat-not-kept", kNew, "an accepted heartbeat does not prolong the lease"},
      {"create-overwrites", kNew, "a create that is sent again makes the task anew"},
      {"key-not-looked-for", kNew, "a second task of a key is created beside the first", "keys"},
      {"nothing-replaced", kNew, "a task that replaces others leaves them", "keys"},
      {"delay-cut-short", kNew, "a delay ends two seconds early"},
      {"one-attempt-too-many", kNew, "a task has one attempt more than it may"},
      {"shed-before-its-deadline", kNew, "a task is shed three seconds before its deadline"},
      {"dead-leases-left", kNew, "a start leaves the leases of the daemon before"},
      {"no-retry-after", kNew, "a refusal does not say when to come again"},
      {"delete-not-replayed", kNew, "a start does not replay deletes"},
      {"rate-limit-ignored", kNew, "pull workers take more than RATE_LIMIT allows", "rate"},
      {"shed-not-in-the-books", kNew, "the books do not count a shed"},
      {"group-side-by-side", kNew, "messages of one group of a FIFO topic start side by side", "fifo-topics"},
      {"message-sent-again-is-new", kNew, "a message of a FIFO topic that is sent again is another one", "fifo-topics"},
      {"number-given-twice", kNew, "two messages of a FIFO topic have one number", "fifo-topics"},
      {"event-retry-not-counted", kNew, "an event that fails is tried for ever", "functions events"},
      {"event-kept-after-its-outcome", kNew, "an event that has an outcome starts again with the next daemon",
       "destinations"},
      {"outcome-not-sent", kNew, "a destination does not get the outcome of an event", "destinations"},
      {"wait-timer-left", kNew, "a take whose client has hung up leaves its timer", "quiet-end"},
      {"request-of-nobody-kept", kNew, "a request that waits stays when its client has hung up", "quiet-end"},
      {"answered-request-kept", kNew, "a request stays in memory when it is answered", "quiet-end"},
      {"answered-request-in-flight", kNew, "a request counts as in flight when it is answered", "quiet-end"},
      {"closed-connection-kept", kNew, "a connection that is over stays open", "quiet-end"},
      {"left-segment-kept-open", kNew, "the file of a segment stays open when the next one has begun", "quiet-end"},
      {"dead-letter-lost", kNew, "an event that failed is no dead letter", "destinations"},
  };
}

}  // namespace

const std::vector<PlantedFault>& planted_faults() {
  static const std::vector<PlantedFault> all = [] {
    auto both = taken_back();
    for (auto& fault : written()) both.push_back(std::move(fault));
    return both;
  }();
  return all;
}

}  // namespace freshet::sim
