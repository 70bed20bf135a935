#include <fmt/format.h>

#include "functions/capture/capture_settings.h"
#include "functions/count/count_settings.h"
#include "functions/settings.h"

namespace freshet {

namespace {

template <class Number>
std::string text(Number number) {
  return fmt::format("{}", number);
}

std::string in_ms(milliseconds time) {
  return text(time.count());
}

std::string in_s(milliseconds time) {
  return text(time.count() / 1000);
}

std::string quoted(std::string_view word) {
  return "`" + std::string(word) + "`";
}

// The defaults are those of the settings as they are made. They stand nowhere else in the code.
std::vector<SettingHelp> make_setting_table() {
  const ProcessSettings process;
  const CreateSettings create;
  const CountSettings count;
  const CaptureSettings capture;
  const RunnerSettings& runner = process.runner;
  const QueueSettings& queue = process.queue;
  const WorkSettings& work = queue.work;
  const LimitSettings& limits = queue.limits;
  const BackoffSettings& backoff = queue.backoff;
  const AdmissionSettings& admission = queue.admission;
  const Environment policy = policy_environment(queue);
  return {
      {"QUEUE_TABLE", "table name", "required", "the queue's table"},
      {"TRIGGER_TOPIC_ARN", "ARN", "none",
       "process_tasks: where the tail call and the timer publish `Start`; none: no `Start` is published"},
      {"PROCESS_TASKS_TOPIC_ARN", "ARN", "required by trigger", "trigger: where it publishes `Start`"},
      {"TASK_RUNNER", "`none`, `fake`, `http[s]://HOST:PORT/PATH`, `function:NAME`, `exec:PROGRAM ARGUMENTS`",
       quoted(runner_name(runner.kind)),
       "what does the work; `none`: tasks wait for workers that take them; `fake`, for a "
       "first look: each task becomes SUCCESS after FAKE_MS, with the result `{\"fake\": "
       "true}`, and no work is done. Arguments are split at blanks outside double quotes"},
      {"CONCURRENCY", "1..100000, `adaptive`", text(work.concurrency),
       "the most tasks in work at once; `adaptive`: as many as the runner can handle "
       "([policies.md](policies.md#adaptive-concurrency))"},
      {"CONCURRENCY_MIN", "1..100000", text(work.least),
       "with CONCURRENCY=adaptive: the lower bound, with which it starts"},
      {"CONCURRENCY_MAX", "1..100000", text(work.most), "with CONCURRENCY=adaptive: the upper bound"},
      {"PAGE_LIMIT", "0..1000", text(work.page_limit),
       "0: a free slot takes the newest task at once; n: pages of n, each finished before the next, as the sample "
       "does"},
      {"MAX_ACTIVE_MS", "ms, from 1", in_ms(process.max_active),
       "process_tasks takes tasks for this long. Tasks in work then finish, unless the "
       "function's `Timeout` ends them first (a warning at the start if it may). As soon as "
       "a slot is free the run ends, and the next run uses the free slots beside the tasks "
       "that still run"},
      {"LINGER_MS", "ms", in_ms(process.linger), "process_tasks waits that long for new work before it ends"},
      {"RATE_LIMIT", "starts a second, `adaptive`", text(work.rate_limit),
       "0: no limit; `adaptive`: the highest rate that the downstream does not refuse, as learnt "
       "([policies.md](policies.md#the-limit-learnt))"},
      {"RATE_BURST", "tasks", text(work.rate_burst),
       "with RATE_LIMIT: the most tasks that may start at once after a pause; 0: one, or 20 "
       "ms worth of the rate if that is more"},
      {"RATE_MIN", "0.001..1000000000", text(work.rate_least),
       "with RATE_LIMIT=adaptive: the lower bound, in starts a second"},
      {"RATE_MAX", "0.001..1000000000", text(work.rate_most),
       "with RATE_LIMIT=adaptive: the upper bound, in starts a second"},
      {"KEY_RATE_LIMIT", "starts a second, `adaptive`", text(limits.rate),
       "the most starts a second of each group (or key, see LIMIT_BY); 0: no limit; "
       "`adaptive`: for each, the highest rate that the downstream does not refuse, as "
       "learnt ([policies.md](policies.md#limits-by-group-and-by-key))"},
      {"KEY_RATE_BURST", "tasks", text(limits.burst),
       "with KEY_RATE_LIMIT: the most tasks of a group (or key) that may start at once after"
       " a pause; 0: one, or 20 ms worth of the rate if that is more"},
      {"KEY_CONCURRENCY", "0..1000000", text(limits.concurrency),
       "the most tasks of each group (or key) in work at once; 0: no limit"},
      {"LIMIT_BY", "`group`, `key`", quoted(limits.by_key ? "key" : "group"),
       "with KEY_RATE_LIMIT or KEY_CONCURRENCY: the attribute whose values are limited, each by itself. A task without "
       "it is not limited"},
      {"RATE_COUNTS", "`tasks`, `cost`", quoted(limits.counts_cost ? "cost" : "tasks"),
       "with RATE_LIMIT or KEY_RATE_LIMIT: `cost`: these limits count the cost of tasks "
       "instead of their number"},
      {"DEFAULT_COST", "0.000001..1000000000", text(limits.default_cost), "the cost of a task that names no `cost`"},
      {"TASK_TIMEOUT_MS", "ms, from 1", in_ms(runner.timeout), "a task that takes longer is ended; that is a failure"},
      {"BOUNCE_DELAY_MS", "ms", runner.retry_after ? in_ms(*runner.retry_after) : "none",
       "delay of a task that the runner bounced (429, 503, exit 75, not reached) without naming one; none: back to "
       "PENDING at once"},
      {"FAKE_SLOTS", "1..1000000", text(runner.fake_slots), "fake runner: tasks at once, the rest bounce"},
      {"FAKE_MS", "ms", in_ms(runner.fake_duration), "fake runner: duration of a task"},
      {"LATE", "`useless`, `fades`, `fine`", "none",
       "what a late task is still worth; each word stands for a policy "
       "([table](overload.md#what-lateness-costs)): `useless`: `ORDER=deadline`, `fades`: "
       "`ORDER=lifo`, `fine`: `ORDER=adaptive` with `DEADLINE_MARGIN=yield`. ORDER, "
       "DEADLINE_MARGIN and REFUSE_LATE win over it"},
      {"ORDER", "`lifo`, `fifo`, `adaptive`, `deadline`", quoted(policy.at("ORDER")),
       "newest or oldest first; `adaptive`: oldest first while the queue drains, newest first from when it has stood "
       "for 100 ms, or twice the p90 of service times if that is longer (neither empty nor its oldest task younger "
       "than 5 ms), until it has been empty; `deadline`: the earliest deadline first of the tasks that have enough "
       "time "
       "left, then those that have less, the most first, then those without a deadline, oldest first"},
      {"PRIORITY_AGING_S", "s", in_s(queue.priority_aging),
       "a priority counts as one step higher for every so many seconds since its last start, "
       "so that none starves ([policies.md](policies.md#priorities)); 0: the highest priority always goes first"},
      {"LEASE_MS", "ms, from 10", in_ms(queue.lease),
       "default duration of a lease; the processor sends heartbeats. A change holds for tasks that are taken from then "
       "on: a task keeps the lease that it was taken with"},
      {"MAX_ATTEMPTS", "1..1000000", text(queue.max_attempts), "claims before a task that keeps failing is DEAD"},
      {"ON_FAILURE", "`retry`, `fail`", quoted(policy.at("ON_FAILURE")), "`fail`: a failed task is FAILURE at once"},
      {"BACKOFF_BASE_MS", "ms", in_ms(backoff.base), "delay before the second attempt; 0: attempts are never delayed"},
      {"BACKOFF_FACTOR", "1..100", text(backoff.factor), "each further delay is longer by this factor"},
      {"BACKOFF_MAX_MS", "ms", in_ms(backoff.max), "the longest delay before a retry, before jitter"},
      {"BACKOFF_JITTER", "0..1", text(backoff.jitter), "the share of a delay that is random"},
      {"DEFAULT_TTL_S", "s", policy.at("DEFAULT_TTL_S"),
       "the ttl of tasks that are created without one through the task API; 0: none"},
      {"DEFAULT_DEADLINE_MS", "ms", policy.at("DEFAULT_DEADLINE_MS"),
       "tasks without a deadline get one: this long after their creation, or after the end "
       "of their delay; 0: none"},
      {"KEEP_MS", "ms, or `OUTCOME=ms,…`", policy.at("KEEP_MS"),
       "an ended task and its result are kept this long, whatever its deadline was: its "
       "`ttl` is set when it ends, unless a client has set one. By outcome, as "
       "`SUCCESS=60000,DEAD=86400000` (also FAILURE, SHED, CANCELLED); a number without a "
       "name is for those that are not named. 0: the `ttl` stays as it is"},
      {"DEADLINE_MARGIN", "`off`, `p90`, `yield`", quoted(policy.at("DEADLINE_MARGIN")),
       "`off`: a task is never started after its `deadline`; `p90`: nor if less time is left"
       " than nine of ten tasks took (of the last 512 that succeeded within a minute, from "
       "10 on); `yield`: as `p90`, but a task that still has time is started rather than "
       "leave a slot empty"},
      {"MAX_WAITING", "tasks", text(admission.max_waiting),
       "creation of further tasks is refused (429, with `Retry-After`) while that many are PENDING or DELAYED; 0: no "
       "bound"},
      {"MAX_WAITING_BYTES", "bytes, from 1024", text(admission.max_waiting_bytes),
       "the same while their stored size, with the new task, is above this; 0: no bound"},
      {"RESERVED_SHARE", "0..0.9", text(admission.reserved_share),
       "the share of MAX_WAITING and MAX_WAITING_BYTES that only critical tasks may use"},
      {"CRITICAL_PRIORITY", "-100..100", text(admission.critical_priority),
       "tasks of that priority and above are critical"},
      {"REFUSE_LATE", "`on`, `off`", quoted(policy.at("REFUSE_LATE")),
       "`on`: creation of a task that probably cannot be done by its deadline is refused "
       "(429, with `Retry-After`; [policies.md](policies.md#admission))"},
      {"CREATED_SKEW_MS", "ms", in_ms(queue.created_skew),
       "a task dated further ahead than this waits until it is not"},
      {"START_RETRY_MS", "ms, from 1", in_ms(queue.start_retry),
       "`Start` is published again after that long without a processor; after a minute if TASK_RUNNER is `none`"},
      {"LOOK_AROUND_MS", "ms, from 1", in_ms(queue.look_around),
       "how often the timer checks other processes' leases and clock jumps"},
      {"LAYOUT", "`sample`, `fleet`", "`sample`",
       "on an engine: the index by which the queue finds its tasks ([lifecycle.md](lifecycle.md#layouts)). `sample`: "
       "that of the sample application; `fleet`: a sparse one of the queue's own, for tables that only Freshet writes: "
       "a task takes 7 write units instead of 8"},
      {"SHED_LOG_LINES", "1..10000000", text(queue.shed_log_lines), "lines that the shed log keeps"},
      {"CREATE_TASKS", "0..1000000", text(create.tasks), "create_tasks: how many"},
      {"CREATE_INTERVAL_MS", "ms", in_ms(create.interval), "create_tasks: pause before each task but the first"},
      {"CREATE_TTL_S", "s, from 1", in_s(create.ttl), "create_tasks: the ttl of its tasks"},
      {"METRICS_TABLE", "table name", "required by count_states",
       "count_states: the table that holds the counters ([stream-functions.md](stream-functions.md))"},
      {"COUNT_ATTRIBUTE", "attribute name", count.attribute, "count_states: the attribute whose values are counted"},
      {"CAPTURE_FOLDER", "path", "required by capture_changes",
       "capture_changes: the folder of the files; it must exist and be writable"},
      {"CAPTURE_FILE_BYTES", "1..67108864", text(capture.limits.bytes), "capture_changes: the largest size of a file"},
      {"CAPTURE_FILE_S", "s, from 1", in_s(capture.limits.age),
       "capture_changes: a file is finished this long after its first line"},
      {"CAPTURE_S3_ENDPOINT", "`http[s]://HOST:PORT`", "none",
       "capture_changes: finished files are put into a bucket there and removed from the folder"},
      {"CAPTURE_S3_BUCKET", "name", "required with an endpoint", "the bucket"},
      {"CAPTURE_S3_PREFIX", "text", "none", "the beginning of the objects' keys"},
      {"CAPTURE_S3_REGION", "name", capture.target.region, "the region that requests are signed for"},
      {"CAPTURE_S3_ACCESS_KEY_ID", "text", "required with an endpoint", "the key that requests are signed with"},
      {"CAPTURE_S3_SECRET_ACCESS_KEY", "text", "required with an endpoint", "its secret"},
      {"CAPTURE_S3_TIMEOUT_MS", "ms, from 1", in_ms(capture.target.timeout),
       "the time after which a request is given up and tried again"},
  };
}

}  // namespace

const std::vector<SettingHelp>& setting_table() {
  static const std::vector<SettingHelp> table = make_setting_table();
  return table;
}

}  // namespace freshet
