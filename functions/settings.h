// The environment variables of the built-in functions, parsed and checked in one place. docs/settings.md has the table
// of all settings with their defaults. A wrong value is kValidation with the variable, its value and a right one; a
// missing variable has its default.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "functions/keep_times.h"
#include "functions/limit_settings.h"
#include "runtime/invoke/function.h"

namespace freshet {

// kAdaptive: oldest first while the queue drains, newest first while it stands (policy/standing_queue.h). kDeadline:
// the most urgent first, of the tasks that have enough time left (policy/urgency.h).
enum class Order { kNewestFirst, kOldestFirst, kAdaptive, kDeadline };

// How tasks are found by state in a table of an engine (queue/layout.h). On the embedded store both are the same.
enum class Layout { kSample, kFleet };

// kYield: as kP90, but a task that still has time is started rather than leave a slot empty (policy/margin.h).
enum class DeadlineMargin { kOff, kP90, kYield };

// Bounds of waiting tasks, beyond which new ones are refused (policy/admission.h), and whether tasks that would be too
// late are refused, too.
struct AdmissionSettings {
  uint64_t max_waiting = 0;        // PENDING and DELAYED; 0: no bound.
  uint64_t max_waiting_bytes = 0;  // The most bytes of waiting tasks, as stored; 0: no bound.
  double reserved_share = 0.1;     // The share of both bounds for critical tasks. 0..1.
  int critical_priority = 50;      // Tasks of this priority and above are critical.
  bool refuse_late = false;        // policy/outlook.h

  bool is_bounded() const { return max_waiting > 0 || max_waiting_bytes > 0; }
};

// How the processor starts tasks.
struct WorkSettings {
  int concurrency = 1;
  // CONCURRENCY=adaptive: learns how many tasks at a time the downstream can take (policy/adaptive_concurrency.h), from
  // `least` to `most`.
  bool adaptive = false;
  int least = 1;
  int most = 1000;
  int page_limit = 0;     // 0: free slots are filled at once; else page by page with a barrier, as the sample does.
  double rate_limit = 0;  // Starts per second; 0: no limit.
  int rate_burst = 0;     // The most at once; 0: one, or 20 ms worth if that is more.
  // RATE_LIMIT=adaptive: learns the highest rate that is not refused (policy/adaptive_rate.h), from `rate_least` to
  // `rate_most`.
  bool rate_adaptive = false;
  double rate_least = 0.1;
  double rate_most = 10'000;
};

struct BackoffSettings {
  milliseconds base{1000};  // Before the second attempt; 0: never a delay.
  milliseconds max{300'000};
  double factor = 2;    // >= 1.
  double jitter = 0.5;  // 0..1: the share of the delay that is random.
};

// How tasks get done: by workers that take them (kNone), not at all (kFake, for a first look), by an HTTP endpoint, by
// a program, or by a function of this daemon.
enum class RunnerKind { kNone, kFake, kHttp, kExec, kFunction };
// "none", "fake", "http", "exec" or "function".
std::string_view runner_name(RunnerKind kind);

// The settings of a queue, for the processor and (except `work`) for pull workers alike.
struct QueueSettings {
  WorkSettings work;
  Order order = Order::kNewestFirst;
  Layout layout = Layout::kSample;
  milliseconds priority_aging{0};  // A waiting priority gains a step each time this passes (lane_aging.h); 0: never.
  milliseconds lease{60'000};
  int max_attempts = 5;
  bool retry_failures = true;  // False: a failure is final at once.
  BackoffSettings backoff;
  std::optional<milliseconds> default_ttl;
  std::optional<milliseconds> default_deadline;  // Counted from the creation, or from the end of the task's delay.
  KeepTimes keep;
  LimitSettings limits;
  DeadlineMargin deadline_margin = DeadlineMargin::kOff;  // By the p90 of service times.
  AdmissionSettings admission;
  milliseconds created_skew{5'000};
  milliseconds start_retry{5'000};  // `Start` is published again after this long without a processor.
  milliseconds look_around{1'000};  // How often the timer checks leases of others and jumps of the clock.
  uint32_t shed_log_lines = 10'000;
  std::string start_topic;                // Where `Start` is published; empty: nowhere (pull workers only).
  RunnerKind runner = RunnerKind::kNone;  // The kind of the daemon's task runner for this queue. For display only.
};

struct RunnerSettings {
  using Kind = RunnerKind;
  Kind kind = Kind::kNone;
  std::string url;                          // For kHttp.
  std::vector<std::string> argv;            // For kExec.
  std::string function;                     // For kFunction: NAME, NAME:QUALIFIER or an ARN.
  Environment environment;                  // For kExec: the function's own.
  milliseconds timeout{60'000};             // The timeout of one task.
  int fake_slots = 3;                       // For kFake: the tasks at once; the rest bounce.
  milliseconds fake_duration{15'000};       // For kFake.
  std::optional<milliseconds> retry_after;  // Delay of a bounced task that names none itself.
};

struct ProcessSettings {
  std::string queue_table;
  std::string trigger_topic;  // Empty: no tail call.
  RunnerSettings runner;
  milliseconds max_active{60'000};
  milliseconds linger{1'000};  // A run ends when there was no new work for this long.
  QueueSettings queue;         // Applied when the queue is opened or the template deployed; may change later.
};

struct CreateSettings {
  std::string queue_table;
  int tasks = 16;
  milliseconds interval{1'000};
  milliseconds ttl{3'600'000};
};

// The settings that decide how tasks are treated, as variables; queue_settings() reads them back.
Environment policy_environment(const QueueSettings& settings);
// `settings` with some of them changed. kValidation if one is unknown, or the result is not possible.
Result<QueueSettings> with_policy(const QueueSettings& settings, const Environment& changes);
Result<QueueSettings> queue_settings(const Environment& environment);
Result<ProcessSettings> process_settings(const Environment& environment);
Result<CreateSettings> create_settings(const Environment& environment);

// TASK_RUNNER: "none", "fake", "http://HOST:PORT/PATH", "function:NAME" (or NAME:QUALIFIER, or an ARN) or
// "exec:PROGRAM ARGUMENTS" (split at blanks; a part in double quotes may hold blanks).
Result<RunnerSettings> parse_runner(std::string_view text);

// One row of the table in docs/settings.md; a test keeps the two equal. The defaults are those of the structures above.
struct SettingHelp {
  std::string_view name;
  std::string_view value;  // Its form and range.
  std::string fallback;
  std::string_view meaning;
};
const std::vector<SettingHelp>& setting_table();

}  // namespace freshet
