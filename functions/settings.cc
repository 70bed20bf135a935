#include "functions/settings.h"

#include <fmt/format.h>

#include <vector>

#include "base/there_are.h"
#include "base/url.h"
#include "functions/late.h"
#include "functions/setting_names.h"
#include "functions/setting_reader.h"
#include "streams/arn.h"

namespace freshet {

namespace {

void read_admission(SettingReader& reader, AdmissionSettings& out) {
  constexpr int64_t kLeastBytes = 1024;
  reader.whole("MAX_WAITING", out.max_waiting, 0, 1'000'000'000);
  if (auto* bytes = reader.find("MAX_WAITING_BYTES"); bytes && *bytes != "0") {
    reader.whole("MAX_WAITING_BYTES", out.max_waiting_bytes, kLeastBytes, int64_t{1} << 50, "0 (no bound) or ");
  }
  reader.real("RESERVED_SHARE", out.reserved_share, 0, 0.9);
  reader.whole("CRITICAL_PRIORITY", out.critical_priority, -100, 100);
  const bool shares = reader.find("RESERVED_SHARE") || reader.find("CRITICAL_PRIORITY");
  if (shares && !out.is_bounded()) {
    reader.report(
        "RESERVED_SHARE and CRITICAL_PRIORITY have no effect without MAX_WAITING or MAX_WAITING_BYTES: set one of "
        "these, too");
  }
  reader.choice("REFUSE_LATE", "on", "off", out.refuse_late);
}

void read_rate(SettingReader& reader, WorkSettings& out) {
  constexpr double kLeast = 0.001;
  constexpr double kMost = 1e9;
  const auto* rate = reader.find("RATE_LIMIT");
  out.rate_adaptive = rate && *rate == "adaptive";
  if (rate && rate->find('/') != std::string::npos) {
    reader.report("RATE_LIMIT is '" + *rate + "': it is a number of starts a second, like 19 or 0.5, or 'adaptive'");
  }
  if (!out.rate_adaptive) reader.real("RATE_LIMIT", out.rate_limit, 0, kMost, "'adaptive' or ");
  reader.whole("RATE_BURST", out.rate_burst, 0, 1'000'000'000);
  reader.real("RATE_MIN", out.rate_least, kLeast, kMost);
  reader.real("RATE_MAX", out.rate_most, kLeast, kMost);
  if (out.rate_burst > 0 && out.rate_adaptive) {
    reader.report("RATE_BURST is for a fixed RATE_LIMIT; RATE_LIMIT=adaptive learns the burst: set one of the two");
  } else if (out.rate_burst > 0 && out.rate_limit == 0) {
    reader.report("RATE_BURST has no effect without RATE_LIMIT: set that, too");
  }
  if (!out.rate_adaptive && (reader.find("RATE_MIN") || reader.find("RATE_MAX"))) {
    reader.report("RATE_MIN and RATE_MAX have no effect without RATE_LIMIT=adaptive: set that, too");
  }
  if (out.rate_least > out.rate_most) {
    reader.report(fmt::format("RATE_MIN is {}, above RATE_MAX, which is {}: it must be at most that", out.rate_least,
                              out.rate_most));
  }
}

void read_work(SettingReader& reader, WorkSettings& out) {
  constexpr int64_t kMost = 100'000;
  const auto* concurrency = reader.find("CONCURRENCY");
  out.adaptive = concurrency && *concurrency == "adaptive";
  if (!out.adaptive) reader.whole("CONCURRENCY", out.concurrency, 1, kMost, "'adaptive' or ");
  reader.whole("CONCURRENCY_MIN", out.least, 1, kMost);
  reader.whole("CONCURRENCY_MAX", out.most, 1, kMost);
  reader.whole("PAGE_LIMIT", out.page_limit, 0, 1000);
  read_rate(reader, out);
  if (!out.adaptive && (reader.find("CONCURRENCY_MIN") || reader.find("CONCURRENCY_MAX"))) {
    reader.report("CONCURRENCY_MIN and CONCURRENCY_MAX have no effect without CONCURRENCY=adaptive: set that, too");
  }
  if (out.least > out.most) {
    reader.report("CONCURRENCY_MIN is " + std::to_string(out.least) + ", above CONCURRENCY_MAX, which is " +
                  std::to_string(out.most) + ": it must be at most that");
  }
  if (out.adaptive && out.page_limit > 0) {
    reader.report("PAGE_LIMIT starts whole pages, so that CONCURRENCY=adaptive decides nothing: set one of the two");
  }
}

void read_backoff(SettingReader& reader, BackoffSettings& out) {
  reader.duration("BACKOFF_BASE_MS", out.base);
  reader.duration("BACKOFF_MAX_MS", out.max);
  reader.real("BACKOFF_FACTOR", out.factor, 1, 100);
  reader.real("BACKOFF_JITTER", out.jitter, 0, 1);
  if (out.base > out.max) {
    reader.report("BACKOFF_BASE_MS is " + std::to_string(out.base.count()) + ", above BACKOFF_MAX_MS, which is " +
                  std::to_string(out.max.count()) + ": it must be at most that");
  }
}

void read_queue(SettingReader& reader, QueueSettings& out) {
  if (const auto* late = reader.find("LATE"); late != nullptr && late_policy(*late) == nullptr) {
    reader.report("LATE is '" + *late + "': it must be 'useless', 'fades' or 'fine'");
  }
  reader.one_of("LAYOUT", {"sample", "fleet"}, out.layout);
  reader.one_of("ORDER", {"lifo", "fifo", "adaptive", "deadline"}, out.order);
  reader.duration("PRIORITY_AGING_S", out.priority_aging, 0, 1000);
  reader.duration("LEASE_MS", out.lease, 10);
  reader.whole("MAX_ATTEMPTS", out.max_attempts, 1, 1'000'000);
  reader.choice("ON_FAILURE", "retry", "fail", out.retry_failures);
  read_backoff(reader, out.backoff);
  milliseconds ttl{0};
  reader.duration("DEFAULT_TTL_S", ttl, 0, 1000);
  if (ttl.count() > 0) out.default_ttl = ttl;
  milliseconds deadline{0};
  reader.duration("DEFAULT_DEADLINE_MS", deadline);
  if (deadline.count() > 0) out.default_deadline = deadline;
  if (auto* text = reader.find("KEEP_MS")) {
    auto keep = KeepTimes::parse(*text);
    if (!keep) {
      reader.report(keep.error().message);
    } else {
      out.keep = *keep;
    }
  }
  reader.one_of("DEADLINE_MARGIN", {"off", "p90", "yield"}, out.deadline_margin);
  read_admission(reader, out.admission);
  read_work(reader, out.work);
  read_limits(reader, out.work.rate_limit > 0 || out.work.rate_adaptive, out.limits);
  reader.duration("CREATED_SKEW_MS", out.created_skew);
  reader.duration("START_RETRY_MS", out.start_retry, 1);
  reader.duration("LOOK_AROUND_MS", out.look_around, 1);
  reader.whole("SHED_LOG_LINES", out.shed_log_lines, 1, 10'000'000);
  reader.text("TRIGGER_TOPIC_ARN", out.start_topic);
}

void read_runner(SettingReader& reader, RunnerSettings& out) {
  if (auto* text = reader.find("TASK_RUNNER")) {
    auto runner = parse_runner(*text);
    if (!runner) return reader.report(runner.error().message);
    out = std::move(*runner);
  }
  reader.duration("TASK_TIMEOUT_MS", out.timeout, 1);
  reader.whole("FAKE_SLOTS", out.fake_slots, 1, 1'000'000);
  reader.duration("FAKE_MS", out.fake_duration);
  milliseconds retry_after{-1};
  reader.duration("BOUNCE_DELAY_MS", retry_after);
  if (retry_after.count() >= 0) out.retry_after = retry_after;
}

// Why a change of that name is refused. `known`: those that can be changed.
std::string cannot_be_changed(const std::string& name, const Environment& known) {
  std::vector<std::string> names;
  for (const auto& [one, value] : known) names.push_back(one);
  const std::string wrong = "'" + name + "' is no setting that can be changed here";
  if (const auto nearest = nearest_setting(name, names); !nearest.empty()) return wrong + nearest;
  for (const SettingHelp& row : setting_table()) {
    if (row.name == name) return wrong + ": it holds from a start on, so write it into the queue's template";
  }
  return wrong + ": " + there_are(names, names.size());
}

}  // namespace

Environment policy_environment(const QueueSettings& settings) {
  constexpr const char* kOrders[] = {"lifo", "fifo", "adaptive", "deadline"};
  constexpr const char* kMargins[] = {"off", "p90", "yield"};
  const auto& admission = settings.admission;
  const auto& work = settings.work;
  Environment out{{"CONCURRENCY", work.adaptive ? "adaptive" : std::to_string(work.concurrency)},
                  {"PAGE_LIMIT", std::to_string(work.page_limit)},
                  {"RATE_LIMIT", work.rate_adaptive ? "adaptive" : fmt::format("{}", work.rate_limit)},
                  {"MAX_WAITING_BYTES", std::to_string(admission.max_waiting_bytes)},
                  {"REFUSE_LATE", admission.refuse_late ? "on" : "off"},
                  {"ORDER", kOrders[static_cast<size_t>(settings.order)]},
                  {"PRIORITY_AGING_S", std::to_string(settings.priority_aging.count() / 1000)},
                  {"DEADLINE_MARGIN", kMargins[static_cast<size_t>(settings.deadline_margin)]},
                  {"MAX_WAITING", std::to_string(admission.max_waiting)},
                  {"LEASE_MS", std::to_string(settings.lease.count())},
                  {"MAX_ATTEMPTS", std::to_string(settings.max_attempts)},
                  {"ON_FAILURE", settings.retry_failures ? "retry" : "fail"},
                  {"BACKOFF_BASE_MS", std::to_string(settings.backoff.base.count())},
                  {"BACKOFF_MAX_MS", std::to_string(settings.backoff.max.count())},
                  {"BACKOFF_FACTOR", fmt::format("{}", settings.backoff.factor)},
                  {"BACKOFF_JITTER", fmt::format("{}", settings.backoff.jitter)},
                  {"DEFAULT_TTL_S", std::to_string(settings.default_ttl.value_or(milliseconds(0)).count() / 1000)},
                  {"DEFAULT_DEADLINE_MS", std::to_string(settings.default_deadline.value_or(milliseconds(0)).count())},
                  {"KEEP_MS", settings.keep.text()}};
  if (work.rate_limit > 0 && !work.rate_adaptive) out["RATE_BURST"] = std::to_string(work.rate_burst);
  if (work.rate_adaptive) {
    out["RATE_MIN"] = fmt::format("{}", work.rate_least);
    out["RATE_MAX"] = fmt::format("{}", work.rate_most);
  }
  if (work.adaptive) {
    out["CONCURRENCY_MIN"] = std::to_string(work.least);
    out["CONCURRENCY_MAX"] = std::to_string(work.most);
  }
  add_limits(settings.limits, work.rate_limit > 0 || work.rate_adaptive, out);
  if (admission.is_bounded()) {
    out["RESERVED_SHARE"] = fmt::format("{}", admission.reserved_share);
    out["CRITICAL_PRIORITY"] = std::to_string(admission.critical_priority);
  }
  return out;
}

Result<QueueSettings> with_policy(const QueueSettings& settings, const Environment& changes) {
  Environment all = policy_environment(settings);
  const auto becomes = [&](const char* name) {
    const auto change = changes.find(name);
    return change == changes.end() ? all[name] : change->second;
  };
  // A setting takes along those that belong to it, unless they are asked for.
  if (becomes("MAX_WAITING") == "0" && becomes("MAX_WAITING_BYTES") == "0") {
    all.erase("RESERVED_SHARE");
    all.erase("CRITICAL_PRIORITY");
  }
  if (becomes("CONCURRENCY") != "adaptive") {
    all.erase("CONCURRENCY_MIN");
    all.erase("CONCURRENCY_MAX");
  }
  if (const auto rate = becomes("RATE_LIMIT"); rate == "0" || rate == "adaptive") all.erase("RATE_BURST");
  if (becomes("RATE_LIMIT") != "adaptive") {
    all.erase("RATE_MIN");
    all.erase("RATE_MAX");
  }
  drop_limits(changes, all);
  if (changes.contains("LATE")) {
    for (const char* name : {"ORDER", "DEADLINE_MARGIN", "REFUSE_LATE"}) all.erase(name);
  }
  QueueSettings full;
  full.limits.rate = 1;
  full.admission.max_waiting = 1;
  full.work.rate_limit = 1;
  full.priority_aging = milliseconds(1000);
  full.work.adaptive = true;
  Environment known = policy_environment(full);
  full.work.rate_adaptive = true;
  known.merge(policy_environment(full));
  known.emplace("LATE", "");
  for (const auto& [name, value] : changes) {
    if (!known.contains(name)) {
      return invalid(cannot_be_changed(name, known));
    }
    all[name] = value;
  }
  auto out = queue_settings(all);
  if (!out) return out;
  out->layout = settings.layout;
  out->created_skew = settings.created_skew;
  out->start_retry = settings.start_retry;
  out->look_around = settings.look_around;
  out->shed_log_lines = settings.shed_log_lines;
  out->start_topic = settings.start_topic;
  out->runner = settings.runner;
  return out;
}

Result<QueueSettings> queue_settings(const Environment& environment) {
  const Environment all = with_late(environment);
  SettingReader reader(all);
  QueueSettings settings;
  read_queue(reader, settings);
  return reader.finish(std::move(settings));
}

Result<ProcessSettings> process_settings(const Environment& environment) {
  const Environment all = with_late(environment);
  SettingReader reader(all);
  ProcessSettings settings;
  reader.table("QUEUE_TABLE", settings.queue_table, "the name of the queue's table");
  reader.text("TRIGGER_TOPIC_ARN", settings.trigger_topic);
  read_runner(reader, settings.runner);
  settings.runner.environment = environment;
  reader.duration("MAX_ACTIVE_MS", settings.max_active, 1);
  reader.duration("LINGER_MS", settings.linger);
  read_queue(reader, settings.queue);
  settings.queue.runner = settings.runner.kind;
  return reader.finish(std::move(settings));
}

Result<CreateSettings> create_settings(const Environment& environment) {
  SettingReader reader(environment);
  CreateSettings settings;
  reader.table("QUEUE_TABLE", settings.queue_table, "the name of the queue's table");
  reader.whole("CREATE_TASKS", settings.tasks, 0, 1'000'000);
  reader.duration("CREATE_INTERVAL_MS", settings.interval);
  reader.duration("CREATE_TTL_S", settings.ttl, 1, 1000);
  return reader.finish(std::move(settings));
}

std::string_view runner_name(RunnerKind kind) {
  constexpr std::string_view kNames[] = {"none", "fake", "http", "exec", "function"};
  return kNames[static_cast<size_t>(kind)];
}

Result<RunnerSettings> parse_runner(std::string_view text) {
  using Kind = RunnerSettings::Kind;
  RunnerSettings out;
  if (text == "none" || text == "fake") {
    out.kind = text == "none" ? Kind::kNone : Kind::kFake;
    return out;
  }
  if (text.starts_with("http://") || text.starts_with("https://")) {
    if (const auto url = parse_url(text); !url) return invalid("TASK_RUNNER: " + url.error().message);
    out.kind = Kind::kHttp;
    out.url = text;
    return out;
  }
  if (text.starts_with("function:")) {
    out.kind = Kind::kFunction;
    out.function = text.substr(9);
    if (!function_name(out.function).empty()) return out;
    return invalid("TASK_RUNNER is '" + std::string(text) +
                   "': behind function: must be the name of a function, NAME:ALIAS or its ARN");
  }
  if (!text.starts_with("exec:")) {
    return invalid("TASK_RUNNER is '" + std::string(text) +
                   "': it must be none, fake, http[s]://HOST:PORT/PATH, function:NAME or exec:PROGRAM ARGUMENTS");
  }
  out.kind = Kind::kExec;
  std::string word;
  bool quoted = false;
  bool any = false;
  auto end_word = [&] {
    if (any) out.argv.push_back(std::exchange(word, {}));
    any = false;
  };
  for (char c : text.substr(5)) {
    if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      end_word();
    } else {
      word += c;
      any = true;
    }
  }
  if (quoted) return invalid("TASK_RUNNER '" + std::string(text) + "' has a quotation mark that is not closed");
  end_word();
  if (out.argv.empty() || out.argv[0].empty()) return invalid("TASK_RUNNER 'exec:' names no program");
  return out;
}

}  // namespace freshet
