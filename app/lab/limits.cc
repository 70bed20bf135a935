#include "app/lab/limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/lab/limits_model.h"
#include "app/lab/product.h"
#include "app/lab/real/real.h"

namespace freshet::lab {

namespace {

constexpr double kArrivals = 200;  // A second.
constexpr std::array kRates = {20.0, 10.0, 40.0};
constexpr std::array kDeadlines = {seconds(2), seconds(30)};
constexpr nanoseconds kMeanService = milliseconds(200);
constexpr size_t kServiceTimes = 20'000;
constexpr seconds kLearning{10};
constexpr int kSlots = 64;
constexpr auto kInfinite = std::numeric_limits<double>::infinity();

seconds phase_of(const LimitCase& one) {
  if (one.phase.count() > 0) return one.phase;
  return one.limiter == LimiterKind::kWindow60s ? seconds(240) : seconds(120);
}

// The part of a phase that counts.
struct Span {
  nanoseconds from, to;
};
std::vector<Span> spans_of(const LimitCase& one) {
  std::vector<Span> out;
  const nanoseconds phase = phase_of(one);
  for (size_t i = 0; i < kRates.size(); ++i) {
    const nanoseconds start = phase * static_cast<int64_t>(i);
    out.push_back({start + std::max<nanoseconds>(kLearning, 2 * window_of(one.limiter)), start + phase});
  }
  return out;
}

LimiterSpec spec_of(const LimitCase& one) {
  Random random(one.seed ^ 0x11317u);
  LimiterSpec spec;
  spec.kind = one.limiter;
  for (size_t i = 0; i < kRates.size(); ++i) {
    spec.plan.push_back({phase_of(one) * static_cast<int64_t>(i), kRates[i]});
  }
  spec.burst_seconds = 0.1 + 0.9 * random.unit();
  spec.offset = nanoseconds(static_cast<int64_t>(random.unit() * static_cast<double>(window_of(one.limiter).count())));
  spec.mean_service = kMeanService;
  spec.seed = random.next();
  return spec;
}

Trace load_of(const LimitCase& one) {
  Random random(one.seed);
  Trace out;
  const nanoseconds end = phase_of(one) * static_cast<int64_t>(kRates.size());
  const auto draw = [&random](double mean_ns) {
    return nanoseconds(std::max<int64_t>(1, static_cast<int64_t>(exponential(random) * mean_ns)));
  };
  for (nanoseconds now = draw(1e9 / kArrivals); now < end; now += draw(1e9 / kArrivals)) {
    Arrival arrival;
    arrival.at = now;
    arrival.deadline_ms = deadline_ms(now, kDeadlines[random.below(kDeadlines.size())]);
    arrival.quiet = random.unit() < kQuietShare;
    if (arrival.quiet || !one.quiet_alone) out.arrivals.push_back(arrival);
  }
  for (size_t i = 0; i < kServiceTimes; ++i) {
    out.services.push_back(draw(static_cast<double>(kMeanService.count())));
  }
  return out;
}

LimitFigures figures_of(const LimitCase& one, const std::vector<LimitedCall>& calls, const Ledger& ledger) {
  LimitFigures out;
  for (const auto& call : calls) {
    ++out.calls_in_all;
    out.refused_in_all += !call.granted;
  }
  for (const auto& span : spans_of(one)) {
    const auto counts = [&span](nanoseconds at) { return at >= span.from && at < span.to; };
    for (const auto& call : calls) {
      out.calls += counts(call.at);
      out.refused += counts(call.at) && !call.granted;
    }
    uint64_t in_time = 0;
    for (const auto& job : ledger.jobs()) {
      in_time += job.in_time() && counts(job.left);
      // A task that comes at the very end of a span meets the next limit.
      if (!job.arrival.quiet || !counts(job.arrival.at) || !counts(job.arrival.at + kDeadlines[0])) continue;
      out.quiet_ms.push_back(job.in_time() ? std::chrono::duration<double, std::milli>(job.end - job.arrival.at).count()
                                           : kInfinite);
    }
    out.in_time += in_time;
    out.in_time_by_phase.push_back(in_time);
  }
  return out;
}

std::vector<LimitPolicy> make_limit_policies() {
  std::vector<LimitPolicy> out;
  out.push_back({"oracle", "an oracle that knows the limit", true});
  const auto product = [&out](const char* name, const char* title, Environment settings) {
    settings["CONCURRENCY"] = std::to_string(kSlots);
    out.push_back({name, title, false, true, std::move(settings)});
  };
  product("adaptive", "Freshet, RATE_LIMIT=adaptive", {{"RATE_LIMIT", "adaptive"}});
  product("fixed", "Freshet, RATE_LIMIT=20", {{"RATE_LIMIT", "20"}, {"RATE_BURST", "1"}});
  out.push_back({"bucket-lifo", "token bucket of 20/s, newest first", false, false, {}, true});
  out.push_back({"bucket-fifo", "token bucket of 20/s, oldest first", false, false, {}, false});
  return out;
}

Scenario scenario_of(const LimitCase& one, const Trace& load) {
  Scenario scenario;
  scenario.trace = &load;
  scenario.slots = kSlots;
  scenario.mean = kMeanService;
  scenario.quiet_share = kQuietShare;
  scenario.duration = phase_of(one) * static_cast<int>(kRates.size());
  return scenario;
}

HintForm form_of(const LimitCase& one) {
  return static_cast<HintForm>(one.seed % 3);
}

// A limit of each group is set, or learnt, for each group.
Environment environment_of(const LimitCase& one, const LimitPolicy& policy) {
  Environment out = policy.settings;
  if (one.limiter != LimiterKind::kEachGroup) return out;
  auto rate = out.extract("RATE_LIMIT");
  rate.key() = "KEY_RATE_LIMIT";
  out.insert(std::move(rate));
  out.erase("RATE_BURST");
  return out;
}

Result<QueueSettings> settings_of(const LimitCase& one, const LimitPolicy& policy) {
  QueueSettings settings;
  settings.shed_log_lines = 1000;
  return with_policy(settings, environment_of(one, policy));
}

}  // namespace

const std::vector<LimitPolicy>& limit_policies() {
  static const std::vector<LimitPolicy> all = make_limit_policies();
  return all;
}

Result<LimitPolicy> limit_policy_of(std::string_view name) {
  std::string names;
  for (const auto& policy : limit_policies()) {
    if (policy.name == name) return policy;
    names.append(names.empty() ? "" : ", ").append(policy.name);
  }
  return invalid("--policy '" + std::string(name) + "' is none of " + names);
}

Result<LimitFigures> run_limits(const LimitCase& one, const LimitPolicy& policy) {
  const Trace load = load_of(one);
  const Scenario scenario = scenario_of(one, load);
  Ledger ledger(scenario, one.seed);
  if (!policy.product) {
    const auto limiter = make_limiter(spec_of(one));
    Caller caller;
    caller.oracle = policy.oracle;
    caller.rate = kRates[0];
    caller.newest_first = policy.oracle || policy.newest_first;
    caller.obeys_retry_after = one.hints == HintKind::kRetryAfter;
    caller.workers = kSlots;
    const auto calls = run_caller(caller, load.arrivals, *limiter, ledger);
    return figures_of(one, calls, ledger);
  }
  auto settings = settings_of(one, policy);
  if (!settings) return fail(settings.error());
  const bool each = one.limiter == LimiterKind::kEachGroup;
  LimiterEach limiters(spec_of(one), [&ledger, each](size_t number) {
    return each && ledger.jobs()[number].arrival.quiet ? "quiet" : "loud";
  });
  LimitedDownstream downstream(limiters, {one.hints, form_of(one)});
  ProductSetup setup;
  setup.settings = std::move(*settings);
  setup.downstream = &downstream;
  auto end = run_product(setup, one.seed, ledger);
  if (!end) return fail(end.error());
  return figures_of(one, downstream.calls(), ledger);
}

Result<LimitFigures> run_limits_real(const LimitCase& one, const LimitPolicy& policy, const RealOptions& options) {
  const Trace load = load_of(one);
  const Scenario scenario = scenario_of(one, load);
  Ledger ledger(scenario, one.seed);
  RealOptions with_limit = options;
  with_limit.limit = std::make_shared<RealLimit>();
  const auto each = one.limiter == LimiterKind::kEachGroup ? LimitedBy::kGroup : LimitedBy::kAll;
  with_limit.limit->downstream = {spec_of(one), each, {one.hints, form_of(one)}};
  if (one.quiet_alone) with_limit.check_simulate = false;  // Hardly any tasks.
  Policy daemon = *policy_of("freshet");
  daemon.settings = environment_of(one, policy);
  const auto ran = run_real(daemon, one.seed, ledger, with_limit);
  if (!ran) return fail(ran.error());
  auto figures = figures_of(one, with_limit.limit->calls, ledger);
  const auto simulated = ran->find("simulatedInTimeOverReal");
  if (simulated != ran->end()) figures.simulated = simulated->second;
  return figures;
}

}  // namespace freshet::lab
