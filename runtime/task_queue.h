// What the task API (wire/tasks, the command line) asks of a queue. functions/queue fulfils it; one Queue object owns
// every claim on its table, for the processor and for pull workers alike. States and arrows: docs/lifecycle.md.
//
// Loop thread. Tasks travel as ItemRef, so that I/O threads serialise them without another copy.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "runtime/in_time.h"
#include "runtime/queue_admin.h"
#include "tables/tables.h"

namespace freshet {

struct NewTask {
  std::string id;  // Chosen by the client: creating it again answers with the task that is there. Empty: one is made.
  Value payload;   // Plain JSON as a value.
  std::optional<milliseconds> ttl;          // From now; empty: the queue's default.
  std::optional<WallTime> deadline;         // Never started after that.
  std::optional<milliseconds> deadline_in;  // The same, from the creation on; not both.
  std::optional<milliseconds> delay;        // Not before now + delay.
  std::string key;  // With `replace`: the waiting task of that key is replaced; else deduplicated.
  bool replace = false;
  std::string group;
  int priority = 0;  // Higher first. -100..100.
  std::optional<int> max_attempts;
  std::optional<double> cost;  // What it takes of a limit that counts cost. Empty: the queue's default.
  Map attributes;              // Further attributes of the item; reserved names are refused.
};

struct CreatedTask {
  std::string id;
  bool created = true;  // False: it was there already (same id, or same key without replace).
};

struct TakeInput {
  int max = 1;                        // At most that many, newest first.
  std::string owner;                  // For people: shown on the task.
  std::optional<milliseconds> lease;  // Empty: the queue's default.
  milliseconds wait{0};               // Waits up to that long for the first task.
  std::optional<double> budget;       // Takes no more tasks once those that it has cost as much. Empty: no bound.
  bool starts_later = false;          // The taker tells the queue when the work on a task begins; else that is now.
};

struct TakenTask {
  ItemRef task;                           // As stored after the claim.
  std::string lease;                      // Token: names this claim in settle(). Opaque.
  std::optional<WallTime> waiting_since;  // Of a first claim: from when the task could be taken.
};

struct Settlement {
  enum class Kind { kComplete, kFail, kRelease, kHeartbeat };
  Kind kind = Kind::kComplete;
  std::string id;
  std::string lease;
  Value result;                       // Of kComplete; kept and shown.
  std::string error;                  // Of kFail; kept and shown.
  std::optional<milliseconds> delay;  // Of kFail and kRelease: not before that; empty: the queue's backoff / none.
  bool final = false;                 // Of kFail: no further attempt, straight to FAILURE.
  std::optional<double> cost;         // Not of kHeartbeat: what it really cost. Kept, and limits count the difference.
  // For the counts of attempts: how long the work took, if whoever settles has measured it; else it is the time since
  // the claim. `begun`: false if the work on the task never began.
  std::optional<nanoseconds> worked;
  bool begun = true;
};

struct ListInput {
  std::string state = "PENDING";
  uint32_t limit = 100;
  std::string cursor;  // From the previous page; empty for the first.
  bool oldest_first = false;
};

struct TaskPage {
  std::vector<ItemRef> tasks;
  std::string cursor;  // Empty at the end.
};

// The task runner takes nothing at the moment: it cannot be reached, or has said so.
struct RunnerTrouble {
  std::string runner;      // Its URL, without the query, or its program. Empty: not known.
  std::string message;     // What happened last.
  bool reachable = false;  // It has answered: 429, 503, or exit status 75.
  WallTime since{};
  uint64_t bounces = 0;  // Tasks that were handed back since then.
};

// Limits of each group or key (KEY_RATE_LIMIT, KEY_CONCURRENCY).
struct KeyLimitStats {
  std::string by;         // "group" or "key".
  uint64_t at_limit = 0;  // That may start no task now.
  uint64_t known = 0;     // That are kept in memory: they were at work lately.
  uint64_t bytes = 0;     // Of memory that those take.
};

// Of RATE_LIMIT.
struct RateLimitStats {
  double per_second = 0;     // Tasks that may start.
  bool learnt = false;       // RATE_LIMIT=adaptive.
  uint64_t concurrency = 0;  // Calls that the downstream was found to allow at a time; 0: no such limit is known.
  uint64_t paused_ms = 0;    // The downstream asked not to be called for so long from now.
};

struct QueueStats {
  std::map<std::string, uint64_t> depth;  // By state.
  std::map<std::string, uint64_t> bytes;  // Of them, as they are stored.
  std::map<std::string, uint64_t> flow;   // "PENDING->TAKEN" etc., from the books.
  std::map<std::string, uint64_t> shed;   // Ever, by reason.
  uint64_t shed_total = 0;                // Of all reasons.
  std::optional<WallTime> newest;         // Created time of the newest and oldest PENDING task.
  std::optional<WallTime> oldest;
  uint64_t running = 0;  // Held by this daemon's processor and pull workers.
  // The daemon's task runner: "http", "exec", "fake" (tasks end as SUCCESS and nothing is done), or "none" (tasks wait
  // for workers that take them).
  std::string runner = "none";
  std::optional<RunnerTrouble> runner_trouble;
  bool clock_doubted = false;     // TTL and sheds wait until the wall clock is trusted.
  std::string state = "running";  // "paused", "breaker open" (the runner takes nothing), "draining" (the daemon stops).
  std::vector<Pause> pauses;
  std::optional<KeyLimitStats> key_limits;   // Where there are such limits.
  std::optional<RateLimitStats> rate_limit;  // Where there is one.
  InTimeStats in_time;
};

// A fact in words for people, with a code that programs can rely on. docs/task-api.md lists the codes.
struct Reason {
  std::string code;
  std::string message;
};

// Something that happened to a task.
struct LifeEvent {
  std::optional<WallTime> at;  // Empty: it is not known when, but that it was between its neighbours.
  Reason what;
};

// Everything that is known of why a task is where it is.
struct Explanation {
  std::string id;
  ItemRef task;                                             // Null: it is not there any more, or never was.
  std::vector<LifeEvent> life;                              // In the order in which it happened.
  std::vector<Reason> why;                                  // Why it is where it is now.
  std::vector<std::pair<std::string, std::string>> policy;  // The queue's settings now, as they are spelt.
  std::vector<ItemRef> log;                                 // The lines of the shed log that name it, newest first.
  uint64_t depth = 0;                                       // PENDING tasks.
  std::optional<uint64_t> ahead;  // Of PENDING: tasks of its lane that would be taken before it.
  bool ahead_at_least = false;    // They are more; not all were counted.
  std::optional<milliseconds> age;
  std::optional<milliseconds> deadline_in;  // Negative: passed.
  std::optional<milliseconds> ttl_in;
};

struct RedriveInput {
  std::string state = "DEAD";    // Or FAILURE, CANCELLED, SHED.
  std::vector<std::string> ids;  // Empty: all of that state.
  uint32_t limit = 1000;
  // Only tasks whose attributes are all as text says: a string, or a number as JSON writes it.
  TaskWhere where;
};

// Settings that decide what becomes of a queue's tasks, by name, as docs/settings.md spells them.
using QueuePolicy = std::map<std::string, std::string>;

// The settings that are in force from a moment on.
struct PolicyChange {
  WallTime at{};
  QueuePolicy policy;
};
struct PolicyChanges {
  std::vector<PolicyChange> changes;  // The oldest first.
  uint64_t next = 0;                  // The number of the next change.
};

class TaskQueue {
 public:
  virtual ~TaskQueue() = default;
  virtual const std::string& name() const = 0;  // Of the table.
  // One answer each, in order. kValidation for bad fields, kTooManyRequests / kThroughputExceeded when full.
  virtual Async<std::vector<Result<CreatedTask>>> create(std::vector<NewTask> tasks) = 0;
  virtual Async<Result<std::vector<TakenTask>>> take(TakeInput input) = 0;
  // One answer each, in order: the task as stored afterwards. kConflict when the lease is stale: nothing is changed.
  virtual Async<std::vector<Result<ItemRef>>> settle(std::vector<Settlement> settlements) = 0;
  virtual Async<Result<ItemRef>> get(std::string id) = 0;  // kNotFound.
  virtual Async<Result<TaskPage>> list(ListInput input) = 0;
  // PENDING and DELAYED tasks become CANCELLED; a TAKEN one is marked and its holder learns at the next heartbeat.
  virtual Async<std::vector<Result<ItemRef>>> cancel(std::vector<std::string> ids) = 0;
  virtual Async<Result<uint64_t>> redrive(RedriveInput input) = 0;  // How many went back to PENDING.
  virtual Async<Result<QueueStats>> stats() = 0;
  virtual QueuePolicy policy() = 0;
  // Changes some of them, from now on and until the daemon starts anew or the template is deployed: all of them, or
  // none (kValidation with what is wrong). The policy as it is then.
  virtual Result<QueuePolicy> change_policy(const QueuePolicy& changes) = 0;
  // The policy as it would be then, or what is wrong. Changes nothing.
  virtual Result<QueuePolicy> check_policy(const QueuePolicy& changes) = 0;
  // The changes of the policy since the queue was opened, from that number on; they are numbered from 0. Those before
  // the last 1,000 are forgotten.
  virtual PolicyChanges policy_changes(uint64_t from) const = 0;
  // From the answer on takes give out nothing of that part, also after a restart, until it is resumed or its time is
  // over. Tasks in work go on, as do creation, deadlines and ttl. A pause of a part that is paused takes its place.
  // kValidation; kLimitExceeded beyond 1,000 pauses of a queue.
  virtual Async<Result<Pause>> pause(PauseInput input, Actor actor) = 0;
  virtual Async<Result<void>> resume(Pause::Of of, std::string name, Actor actor) = 0;  // kConflict: it is not paused.
  // Changes many tasks by and by (functions/queue/bulk_jobs.h). The job as it begins. kValidation; kTooManyRequests.
  virtual Async<Result<BulkJob>> start_job(BulkInput input, Actor actor) = 0;
  virtual std::vector<BulkJob> jobs() = 0;                         // The newest first.
  virtual Result<BulkJob> job(uint64_t id) = 0;                    // kNotFound.
  virtual Result<BulkJob> stop_job(uint64_t id, Actor actor) = 0;  // kNotFound; kConflict: it has ended.
  virtual Async<Result<Explanation>> explain(std::string id) = 0;  // kNotFound: neither task nor log know of it.
  // The newest lines of the durable shed log, newest first.
  virtual Async<Result<std::vector<ItemRef>>> sheds(uint32_t limit) = 0;
};

// The queues of this daemon, by name. Loop thread.
class TaskQueues {
 public:
  virtual ~TaskQueues() = default;
  virtual TaskQueue* find(std::string_view name) = 0;  // Null if there is none. Lives as long as this.
  virtual std::vector<std::string> names() const = 0;  // Sorted.
};

}  // namespace freshet
