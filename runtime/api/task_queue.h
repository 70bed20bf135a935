// The interface of a queue. The task API (wire/tasks, the command line) calls it, and functions/queue implements it.
// One Queue object owns every claim on its table, for the processor and for pull workers alike. docs/lifecycle.md has
// the states and transitions.
//
// Loop thread. Tasks travel as ItemRef, so that I/O threads serialise them without another copy.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "runtime/api/in_time.h"
#include "runtime/api/new_task.h"
#include "runtime/api/queue_admin.h"
#include "runtime/api/queue_views.h"
#include "tables/tables.h"

namespace freshet {

struct CreatedTask {
  std::string id;
  bool created = true;  // False: it existed already (same id, or same key without replace).
};

struct TakeInput {
  int max = 1;                        // The most tasks to take, newest first.
  std::string owner;                  // For people: shown on the task.
  std::optional<milliseconds> lease;  // Empty: the queue's default.
  milliseconds wait{0};               // The longest wait for the first task.
  std::optional<double> budget;       // Takes no more tasks once the taken ones cost this much. Empty: no bound.
  bool starts_later = false;          // True: the taker reports when the work on a task begins. False: it begins now.
};

struct TakenTask {
  ItemRef task;                           // As stored after the claim.
  std::string lease;                      // The token of this claim, for settle(). Opaque.
  std::optional<WallTime> waiting_since;  // For a first claim: the time since which the task could be taken.
};

struct Settlement {
  enum class Kind { kComplete, kFail, kRelease, kHeartbeat };
  Kind kind = Kind::kComplete;
  std::string id;
  std::string lease;
  Value result;                       // For kComplete; stored and shown.
  std::string error;                  // For kFail; stored and shown.
  std::optional<milliseconds> delay;  // For kFail and kRelease: the delay before the next attempt; empty: the queue's
                                      // backoff / none.
  bool final = false;                 // For kFail: no further attempt, straight to FAILURE.
  std::optional<double> cost;         // Not for kHeartbeat: the actual cost. Stored; limits count the difference.
  // For the counts of attempts: the time that the work took, if the caller has measured it; else it is the time since
  // the claim. `begun`: false if the work on the task never began.
  std::optional<nanoseconds> worked;
  bool begun = true;
};

struct ListInput {
  std::string state = "PENDING";
  uint32_t limit = 100;
  std::string cursor;  // The cursor of the previous page; empty for the first.
  bool oldest_first = false;
  // Only tasks that match all of these:
  TaskWhere where;
  std::optional<milliseconds> older_than;  // Created at least that long ago.
  std::string text;                        // Is in the task as JSON, its id included. Upper and lower case differ.

  bool filters() const { return !where.empty() || older_than || !text.empty(); }
};

struct TaskPage {
  std::vector<ItemRef> tasks;
  std::string cursor;   // Empty at the end.
  uint64_t looked = 0;  // Tasks that were read. With a filter a page may end early, after some thousands.
};

// The task runner accepts no tasks now: it is unreachable, or has said so.
struct RunnerTrouble {
  std::string runner;      // Its URL without the query, or its program. Empty: unknown.
  std::string message;     // The last thing that happened.
  bool reachable = false;  // True if it answers: 429, 503, or exit status 75.
  WallTime since{};
  uint64_t bounces = 0;  // Tasks that it has given back since then.
};

// Limits of each group or key (KEY_RATE_LIMIT, KEY_CONCURRENCY).
struct KeyLimitStats {
  std::string by;         // "group" or "key".
  uint64_t at_limit = 0;  // The number that may start no task now.
  uint64_t known = 0;     // The number in memory: recently active ones.
  uint64_t bytes = 0;     // The memory that those take.
};

// The state of CONCURRENCY.
struct ConcurrencyStats {
  uint64_t most = 0;    // The most tasks in work at a time.
  bool learnt = false;  // CONCURRENCY=adaptive.
};

// The state of RATE_LIMIT.
struct RateLimitStats {
  double per_second = 0;     // Tasks per second that may start.
  bool learnt = false;       // RATE_LIMIT=adaptive.
  uint64_t concurrency = 0;  // Concurrent calls that the downstream was found to allow; 0: no such limit is known.
  uint64_t paused_ms = 0;    // The downstream asked for a pause of this length from now.
};

// Settings that decide how a queue treats its tasks, by the names in docs/settings.md.
using QueuePolicy = std::map<std::string, std::string>;

// When a changed policy is reverted.
struct PolicyGuardTerms {
  double points = 0;      // The fall of the share in time, in percentage points: above 0, at most 100.
  milliseconds within{};  // The time after the change in which it counts: 10 s to 24 h.
};
// A policy that is watched.
struct PolicyGuardState {
  PolicyGuardTerms terms;
  double share_before = 0;          // In the minute before the change, from 0 to 1.
  std::optional<double> share_now;  // Since the change. Empty: fewer than 20 tasks have ended.
  milliseconds left{};              // The rest of the time; after it the changed policy stays.
  QueuePolicy back;                 // The earlier values of the settings that were changed.
};

struct QueueStats {
  std::map<std::string, uint64_t> depth;  // By state.
  std::map<std::string, uint64_t> bytes;  // The stored size of the tasks in `depth`.
  std::map<std::string, uint64_t> flow;   // "PENDING->TAKEN" etc., from the books.
  std::map<std::string, uint64_t> shed;   // Since the beginning, by reason.
  uint64_t shed_total = 0;                // The sum of all reasons.
  std::optional<WallTime> newest;         // Created time of the newest and oldest PENDING task.
  std::optional<WallTime> oldest;
  uint64_t running = 0;  // Tasks that this daemon's processor and pull workers hold.
  // The daemon's task runner: "http", "exec", "fake" (tasks end as SUCCESS and nothing is done), or "none" (tasks wait
  // for workers that take them).
  std::string runner = "none";
  std::optional<RunnerTrouble> runner_trouble;
  bool clock_doubted = false;     // True: TTL and sheds wait until the wall clock is trusted.
  std::string state = "running";  // "paused", "breaker open" (the runner takes nothing), "draining" (the daemon stops).
  std::vector<Pause> pauses;
  std::optional<KeyLimitStats> key_limits;      // Set if there are such limits.
  std::optional<RateLimitStats> rate_limit;     // Set if there is one.
  std::optional<ConcurrencyStats> concurrency;  // Where a task runner does the work.
  std::optional<PolicyGuardState> guard;        // Set while a changed policy is watched.
  bool balanced = true;                         // False: the books do not balance.
  InTimeStats in_time;
};

// A fact in words for people, with a code that programs can rely on. docs/task-api.md lists the codes.
struct Reason {
  std::string code;
  std::string message;
};

// Something that happened to a task.
struct LifeEvent {
  std::optional<WallTime> at;  // Empty: the time is unknown, but it is between those of its neighbours.
  Reason what;
};

// All known facts about why a task is in its state.
struct Explanation {
  std::string id;
  ItemRef task;                                             // Null: the task does not exist any more, or never did.
  std::vector<LifeEvent> life;                              // In chronological order.
  std::vector<Reason> why;                                  // The reasons for its present state.
  std::vector<std::pair<std::string, std::string>> policy;  // The queue's settings now, as docs/settings.md spells
                                                            // them.
  std::vector<ItemRef> log;                                 // The lines of the shed log that name it, newest first.
  uint64_t depth = 0;                                       // PENDING tasks.
  std::optional<uint64_t> ahead;  // For PENDING: the tasks of its lane that would be taken before it.
  bool ahead_at_least = false;    // True: there are more; not all were counted.
  std::optional<milliseconds> age;
  std::optional<milliseconds> deadline_in;  // Negative: the deadline has passed.
  std::optional<milliseconds> ttl_in;
};

struct RedriveInput {
  std::string state = "DEAD";    // Or FAILURE, CANCELLED, SHED.
  std::vector<std::string> ids;  // Empty: all tasks in that state.
  uint32_t limit = 1000;
  // Only tasks in which all these attributes have this text: a string, or a number as JSON writes it.
  TaskWhere where;
};

// Settings that apply from a moment on.
struct PolicyChange {
  WallTime at{};                              // As the wall clock showed it.
  std::shared_ptr<const QueuePolicy> policy;  // Never null.
  BootTime boot{};                            // The same moment: this clock is never set.
};
struct PolicyChanges {
  PolicyChange first;                 // When the queue was opened, and its policy then. Each opening numbers anew.
  std::vector<PolicyChange> changes;  // Oldest first.
  uint64_t next = 0;                  // The number of the next change.
  uint64_t missing = 0;               // The number of requested changes that have been forgotten.
};

// A part of a queue was paused, or resumed.
struct PauseChange {
  WallTime at{};  // As the wall clock showed it.
  bool paused = false;
  Pause::Of of = Pause::Of::kQueue;
  std::string name;  // The group or key.
  BootTime boot{};   // The same moment. A pause from before the queue was opened has the time of the opening.
};
struct PauseChanges {
  std::vector<PauseChange> first;    // The parts that were paused before the first of `changes`, since `at`.
  std::vector<PauseChange> changes;  // Oldest first; at most the last 1,000.
  BootTime complete_from{};          // `first` and `changes` say what was paused at any time from here on.
};

class TaskQueue {
 public:
  virtual ~TaskQueue() = default;
  virtual const std::string& name() const = 0;  // The name of the table.
  // One answer each, in order. kValidation for bad fields, kTooManyRequests / kThroughputExceeded when full.
  virtual Async<std::vector<Result<CreatedTask>>> create(std::vector<NewTask> tasks) = 0;
  virtual Async<Result<std::vector<TakenTask>>> take(TakeInput input) = 0;
  // One answer each, in order: the task as stored afterwards. kConflict if the lease is stale: nothing is changed.
  virtual Async<std::vector<Result<ItemRef>>> settle(std::vector<Settlement> settlements) = 0;
  virtual Async<Result<ItemRef>> get(std::string id) = 0;  // kNotFound.
  virtual Async<Result<TaskPage>> list(ListInput input) = 0;
  // PENDING and DELAYED tasks become CANCELLED; a TAKEN one is marked, and its holder learns of it at its next
  // heartbeat.
  virtual Async<std::vector<Result<ItemRef>>> cancel(std::vector<std::string> ids) = 0;
  virtual Async<Result<uint64_t>> redrive(RedriveInput input) = 0;  // Returns the number that went back to PENDING.
  virtual Async<Result<QueueStats>> stats() = 0;
  virtual QueuePolicy policy() = 0;
  // Changes some settings until this daemon closes the queue or the template is deployed: all of them, or none
  // (kValidation with the reason). Returns the new policy. A guard of an earlier change ends.
  virtual Result<QueuePolicy> change_policy(const QueuePolicy& changes) = 0;
  // The same for requests. In a fleet it first stores the change, so that it holds for the daemons that serve the queue
  // later. kValidation; kUnavailable; kUnknownOutcome: nothing is changed here, but a later daemon may have the change.
  virtual Async<Result<QueuePolicy>> change_policy_for_all(QueuePolicy changes) = 0;
  // In a fleet: stores the policy as it is, unless a guard may still revert it.
  virtual Async<Result<void>> keep_policy() = 0;
  // Returns the policy that the changes would make, or the error. Changes nothing.
  virtual Result<QueuePolicy> check_policy(const QueuePolicy& changes) = 0;
  // Returns the counts that a guarded change made now would be compared with: those of the last minute. kValidation if
  // the terms are wrong, if too few tasks have ended, or if too few were in time for a fall that large.
  virtual Result<InTimeCounts> check_guard(const PolicyGuardTerms& terms) = 0;
  // As change_policy(), and reverts the change as the terms say, with a line in the audit log. `before` is the answer
  // of check_guard().
  virtual Result<QueuePolicy> change_policy_guarded(const QueuePolicy& changes, const PolicyGuardTerms& terms,
                                                    const InTimeCounts& before) = 0;
  // Ends the guard of an earlier change and keeps the policy. Returns false if there is none.
  virtual bool end_guard() = 0;
  // Undoes end_guard(). No effect if the policy has changed since.
  virtual void restore_guard() = 0;
  // The changes of the policy since the queue was opened, from that number on; they are numbered from 0. Those before
  // the last 1,000 are forgotten.
  virtual PolicyChanges policy_changes(uint64_t from) const = 0;
  // True if a task's `ttl` that can only be in milliseconds is read as milliseconds.
  virtual bool ttl_in_milliseconds() const = 0;
  virtual PauseChanges pause_changes() const = 0;
  // Once answered, takes give out no task of that part, even after a restart, until it is resumed or its time is over.
  // Tasks in work continue, as do creation, deadlines and TTL. A pause of a paused part replaces its pause.
  // kValidation; kLimitExceeded beyond 1,000 pauses of a queue.
  virtual Async<Result<Pause>> pause(PauseInput input, Actor actor) = 0;
  virtual Async<Result<void>> resume(Pause::Of of, std::string name, Actor actor) = 0;  // kConflict if it is not
                                                                                        // paused.
  // Changes many tasks in the background (functions/queue/bulk_jobs.h). Returns the job as it begins. kValidation;
  // kTooManyRequests.
  virtual Async<Result<BulkJob>> start_job(BulkInput input, Actor actor) = 0;
  virtual std::vector<BulkJob> jobs() = 0;                         // Newest first.
  virtual Result<BulkJob> job(uint64_t id) = 0;                    // kNotFound.
  virtual Result<BulkJob> stop_job(uint64_t id, Actor actor) = 0;  // kNotFound; kConflict if it has ended.
  virtual Async<Result<Explanation>> explain(std::string id) = 0;  // kNotFound if neither task nor log knows it.
  // The newest lines of the durable shed log, newest first.
  virtual Async<Result<std::vector<ItemRef>>> sheds(uint32_t limit) = 0;
  // For the queue's history (queue_series.h).
  virtual Async<Result<QueueReading>> reading() = 0;
  // The groups or keys that share the queue. Counts at most some 10,000 waiting tasks.
  virtual Async<Result<QueueShares>> shares(SharesInput input) = 0;
  // The holders of its tasks; at most `limit` of both holders and tasks.
  virtual QueueHolders holders(uint32_t limit) = 0;
};

// The queues of this daemon, by name. Loop thread.
class TaskQueues {
 public:
  virtual ~TaskQueues() = default;
  // Null if there is none. A queue may be closed at any time: whoever waits for its answer keeps the pointer.
  virtual std::shared_ptr<TaskQueue> find(std::string_view name) = 0;
  virtual std::vector<std::string> names() const = 0;  // Sorted.
};

}  // namespace freshet
