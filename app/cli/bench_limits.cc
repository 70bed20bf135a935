#include "app/cli/bench_limits.h"

#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/progress.h"
#include "app/lab/limits.h"
#include "base/plain_text.h"

namespace freshet::cli {

namespace {

constexpr int kRealSeconds = 60;

template <class T, class Parse>
Result<std::vector<T>> chosen(const std::vector<std::string>& names, const std::vector<T>& all, Parse parse) {
  if (names.empty()) return all;
  std::vector<T> out;
  for (const auto& name : names) {
    auto one = parse(name);
    if (!one) return fail(one.error());
    out.push_back(std::move(*one));
  }
  return out;
}

Result<lab::LimitExperiment> experiment_of(const LimitsOptions& options) {
  lab::LimitExperiment out;
  auto limiters = chosen(options.limiters, lab::limiter_kinds(), lab::limiter_kind_of);
  if (!limiters) return fail(limiters.error());
  auto hints = chosen(options.headers, lab::hint_kinds(), lab::hint_kind_of);
  if (!hints) return fail(hints.error());
  auto policies = chosen(options.policies, lab::limit_policies(), lab::limit_policy_of);
  if (!policies) return fail(policies.error());
  std::erase_if(*policies, [](const lab::LimitPolicy& policy) { return policy.oracle; });  // It runs anyway.
  out.limiters = std::move(*limiters);
  out.hints = std::move(*hints);
  out.policies = std::move(*policies);
  out.first_seed = options.first_seed;
  out.seeds = options.seeds;
  out.jobs = options.real ? 1 : options.jobs;
  out.real = options.real;
  if (options.real && options.limiters.empty()) out.limiters = {lab::LimiterKind::kTokenBucket};
  if (options.real && options.headers.empty()) out.hints = {lab::HintKind::kNone, lab::HintKind::kRateLimit};
  const int length = options.seconds > 0 || !options.real ? options.seconds : kRealSeconds;
  out.phase = std::chrono::ceil<seconds>(milliseconds(length * 1000 / 3));
  return out;
}

}  // namespace

int run_bench_limits(const LimitsOptions& options) {
  const auto wrong = [](const Error& error) {
    std::cerr << "freshet: " << plain_text(error.message) << '\n';
    return error.code == ErrorCode::kValidation ? kUsage : kFailed;
  };
  auto experiment = experiment_of(options);
  if (!experiment) return wrong(experiment.error());
  Progress progress("the first runs have begun");
  experiment->on_progress = [&](size_t done, size_t all) {
    progress.show(std::to_string(done) + " of " + std::to_string(all) + " runs");
  };
  const auto cells = lab::run(*experiment);
  progress.end();
  if (!cells) return wrong(cells.error());
  std::cout << (options.json ? lab::limits_json(*experiment, *cells) : lab::limits_table(*cells));
  return kDone;
}

}  // namespace freshet::cli
