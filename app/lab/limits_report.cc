#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/lab/limits.h"

namespace freshet::lab {

namespace {

using Json = nlohmann::json;

// One limiter with one kind of headers, over one seed.
struct Round {
  LimitFigures oracle;
  std::vector<LimitFigures> policies;
  std::vector<LimitFigures> alone;
};

double percentile_99(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::ceil(0.99 * static_cast<double>(values.size())));
  return values[std::max<size_t>(rank, 1) - 1];
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

class Rounds {
 public:
  explicit Rounds(const LimitExperiment& experiment)
      : experiment_(experiment),
        seeds_(static_cast<size_t>(experiment.seeds)),
        rounds_(experiment.limiters.size() * experiment.hints.size() * seeds_) {}

  Result<std::vector<LimitCell>> run() {
    std::vector<std::thread> threads;
    for (int i = 1; i < experiment_.jobs; ++i) threads.emplace_back([this] { work(); });
    work();
    for (auto& thread : threads) thread.join();
    if (error_) return fail(*error_);
    std::vector<LimitCell> out;
    for (size_t cell = 0; cell * seeds_ < rounds_.size(); ++cell) add_cells(cell, out);
    return out;
  }

 private:
  LimiterKind limiter_of(size_t cell) const { return experiment_.limiters[cell / experiment_.hints.size()]; }
  HintKind hints_of(size_t cell) const { return experiment_.hints[cell % experiment_.hints.size()]; }

  void work() {
    for (;;) {
      const size_t next = next_++;
      if (next >= rounds_.size()) return;
      auto round = one(next);
      const std::lock_guard lock(mutex_);
      if (round) {
        rounds_[next] = std::move(*round);
      } else if (!error_) {
        error_ = round.error();
        next_ = rounds_.size();
      }
      ++done_;
      if (experiment_.on_progress) experiment_.on_progress(done_, rounds_.size());
    }
  }

  Result<Round> one(size_t number) {
    LimitCase here{limiter_of(number / seeds_), hints_of(number / seeds_), experiment_.first_seed + number % seeds_,
                   false, experiment_.phase};
    Round out;
    const auto put = [&](const LimitPolicy& policy, LimitFigures& where) -> Result<void> {
      const bool real = experiment_.real && policy.product;
      auto figures = real ? run_limits_real(here, policy, *experiment_.real) : run_limits(here, policy);
      if (!figures) {
        return fail(figures.error().code,
                    fmt::format("{}, {}, {}, seed {}: {}", name_of(here.limiter), name_of(here.hints), policy.name,
                                here.seed, figures.error().message));
      }
      where = std::move(*figures);
      return {};
    };
    if (auto ok = put(limit_policies().front(), out.oracle); !ok) return fail(ok.error());
    for (const auto& policy : experiment_.policies) {
      here.quiet_alone = false;
      if (auto ok = put(policy, out.policies.emplace_back()); !ok) return fail(ok.error());
      here.quiet_alone = true;
      auto& alone = out.alone.emplace_back();
      if (experiment_.real) continue;  // Too few tasks for a percentile.
      if (auto ok = put(policy, alone); !ok) return fail(ok.error());
    }
    return out;
  }

  void add_cells(size_t cell, std::vector<LimitCell>& out) const {
    const size_t first = out.size();
    for (size_t policy = 0; policy < experiment_.policies.size(); ++policy) out.push_back(cell_of(cell, policy));
    double best = 0;
    for (size_t i = first; i < out.size(); ++i) {
      if (!out[i].is_product) best = std::max(best, out[i].of_oracle);
    }
    for (size_t i = first; i < out.size(); ++i) out[i].best_other = best;
  }

  LimitCell cell_of(size_t cell, size_t policy) const {
    LimitCell out;
    out.limiter = limiter_of(cell);
    out.hints = hints_of(cell);
    out.policy = experiment_.policies[policy].name;
    out.is_product = experiment_.policies[policy].product;
    out.of_oracle_least = 1e9;
    uint64_t calls = 0, refused = 0, all_calls = 0, all_refused = 0;
    std::vector<double> quiet, alone;
    for (size_t seed = 0; seed < seeds_; ++seed) {
      const Round& round = rounds_[cell * seeds_ + seed];
      const LimitFigures& figures = round.policies[policy];
      const double of_oracle = share(figures.in_time, round.oracle.in_time);
      out.of_oracle += of_oracle / static_cast<double>(seeds_);
      out.of_oracle_least = std::min(out.of_oracle_least, of_oracle);
      out.by_phase.resize(figures.in_time_by_phase.size());
      for (size_t phase = 0; phase < out.by_phase.size(); ++phase) {
        out.by_phase[phase] +=
            share(figures.in_time_by_phase[phase], round.oracle.in_time_by_phase[phase]) / static_cast<double>(seeds_);
      }
      out.simulated += figures.simulated / static_cast<double>(seeds_);
      calls += figures.calls;
      refused += figures.refused;
      all_calls += figures.calls_in_all;
      all_refused += figures.refused_in_all;
      quiet.insert(quiet.end(), figures.quiet_ms.begin(), figures.quiet_ms.end());
      const auto& by_itself = round.alone[policy].quiet_ms;
      alone.insert(alone.end(), by_itself.begin(), by_itself.end());
    }
    out.refused = share(refused, calls);
    out.refused_in_all = share(all_refused, all_calls);
    out.quiet_p99_ms = percentile_99(std::move(quiet));
    out.quiet_alone_p99_ms = percentile_99(std::move(alone));
    return out;
  }

  const LimitExperiment& experiment_;
  const size_t seeds_;
  std::vector<Round> rounds_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  size_t done_ = 0;
  std::optional<Error> error_;
};

std::string ms_text(double ms) {
  return std::isfinite(ms) ? fmt::format("{:.0f}", ms) : std::string("never");
}

std::string missed(const LimitCell& cell) {
  if (!cell.is_product) return "";
  std::string out;
  const auto add = [&out](bool holds, const char* what) {
    if (!holds) out.append(out.empty() ? "" : ", ").append(what);
  };
  add(cell.reaches_goodput(), "goodput");
  add(cell.spares_calls(), "refusals");
  add(cell.serves_quiet(), "quiet");
  return out.empty() ? "none" : out;
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace

Result<std::vector<LimitCell>> run(const LimitExperiment& experiment) {
  if (experiment.policies.empty() || experiment.limiters.empty() || experiment.hints.empty() || experiment.seeds < 1) {
    return invalid("an experiment needs a limiter, a kind of headers, a policy and a seed");
  }
  for (const auto limiter : experiment.limiters) {
    const auto learning = std::max<nanoseconds>(seconds(10), 2 * window_of(limiter));
    if (experiment.phase.count() == 0 || experiment.phase > learning) continue;
    return invalid(
        fmt::format("runs with three limits, of {} s each, are too short for the limiter {}: they need more "
                    "than {} s",
                    experiment.phase.count(), name_of(limiter), 3 * std::chrono::ceil<seconds>(learning).count()));
  }
  return Rounds(experiment).run();
}

std::string limits_table(const std::vector<LimitCell>& cells) {
  std::string out =
      "| limiter | headers | policy | of the oracle, % | worst seed | at 20, 10, 40/s | refused, % | and while "
      "learning "
      "| quiet p99, ms | alone | best other, % | bars missed |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& cell : cells) {
    std::string phases;
    for (const double phase : cell.by_phase) phases += fmt::format("{}{:.0f}", phases.empty() ? "" : ", ", 100 * phase);
    out +=
        fmt::format("| {} | {} | {} | {:.1f} | {:.1f} | {} | {:.2f} | {:.2f} | {} | {} | {:.0f} | {} |\n",
                    name_of(cell.limiter), name_of(cell.hints), cell.policy, 100 * cell.of_oracle,
                    100 * cell.of_oracle_least, phases, 100 * cell.refused, 100 * cell.refused_in_all,
                    ms_text(cell.quiet_p99_ms), ms_text(cell.quiet_alone_p99_ms), 100 * cell.best_other, missed(cell));
  }
  return out;
}

std::string limits_json(const LimitExperiment& experiment, const std::vector<LimitCell>& cells) {
  Json out{{"firstSeed", experiment.first_seed}, {"seeds", experiment.seeds}, {"cells", Json::array()}};
  for (const auto& cell : cells) {
    out["cells"].push_back(Json{{"limiter", name_of(cell.limiter)},
                                {"headers", name_of(cell.hints)},
                                {"policy", cell.policy},
                                {"ofOracle", cell.of_oracle},
                                {"ofOracleWorstSeed", cell.of_oracle_least},
                                {"ofOracleByPhase", cell.by_phase},
                                {"refusedShare", cell.refused},
                                {"refusedShareInAll", cell.refused_in_all},
                                {"quietP99Ms", number(cell.quiet_p99_ms)},
                                {"quietAloneP99Ms", number(cell.quiet_alone_p99_ms)},
                                {"simulatedInTimeOverReal", cell.simulated},
                                {"ofOracleBestOther", cell.best_other},
                                {"barsMissed", missed(cell)}});
  }
  return out.dump() + "\n";
}

}  // namespace freshet::lab
