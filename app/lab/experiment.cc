#include "app/lab/experiment.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "app/lab/model.h"
#include "app/lab/product.h"
#include "app/lab/real/real.h"

namespace freshet::lab {

namespace {

using Values = std::map<std::string, double>;

// Fills the ledger. Figures that it does not hold.
Result<Values> fill(const Experiment& experiment, const Policy& policy, uint64_t seed, Ledger& ledger) {
  if (experiment.real && experiment.real->is_stopped()) return fail(stopped_early());
  if (experiment.real && !policy.clairvoyant) return run_real(policy, seed, ledger, *experiment.real);
  if (!policy.product) {
    run_model(policy, seed, ledger);
    return Values();
  }
  auto end = run_product(policy, seed, ledger);
  if (!end) return fail(end.error());
  return Values{{"storeBytes", static_cast<double>(end->peak_store_bytes)}};
}

Result<Figures> run_of(const Experiment& experiment, const Scenario& scenario, const Policy& policy, uint64_t seed) {
  Ledger ledger(scenario, seed);
  auto more = fill(experiment, policy, seed, ledger);
  if (!more) {
    return fail(more.error().code,
                scenario.name() + ", " + policy.name + ", seed " + std::to_string(seed) + ": " + more.error().message);
  }
  auto figures = figures_of(ledger);
  figures.values.merge(*more);
  return figures;
}

// With a quiet group also how it fares alone.
Result<Figures> run_one(const Experiment& experiment, const Scenario& scenario, const Policy& policy, uint64_t seed) {
  auto figures = run_of(experiment, scenario, policy, seed);
  if (!figures || scenario.quiet_share <= 0) return figures;
  Scenario alone = scenario;
  alone.quiet_alone = true;
  auto beside = run_of(experiment, alone, policy, seed);
  if (!beside) return beside;
  figures->values["quietAloneDoneP99Ms"] = beside->values["quietDoneP99Ms"];
  return figures;
}

class Runs {
 public:
  explicit Runs(const Experiment& experiment)
      : experiment_(experiment),
        seeds_(static_cast<size_t>(experiment.seeds)),
        results_(experiment.scenarios.size() * experiment.policies.size() * seeds_) {}

  Result<std::vector<Cell>> run() {
    std::vector<std::thread> threads;
    for (int i = 1; i < experiment_.jobs; ++i) threads.emplace_back([this] { work(); });
    work();
    for (auto& thread : threads) thread.join();
    if (error_) return fail(*error_);
    std::vector<Cell> cells;
    for (size_t scenario = 0; scenario < experiment_.scenarios.size(); ++scenario) {
      for (size_t policy = 0; policy < experiment_.policies.size(); ++policy) cells.push_back(cell(scenario, policy));
    }
    return cells;
  }

 private:
  size_t place(size_t scenario, size_t policy, size_t seed) const {
    return (scenario * experiment_.policies.size() + policy) * seeds_ + seed;
  }

  void work() {
    for (;;) {
      const size_t next = next_++;
      if (next >= results_.size()) return;
      const size_t seed = next % seeds_;
      const size_t policy = next / seeds_ % experiment_.policies.size();
      const size_t scenario = next / seeds_ / experiment_.policies.size();
      auto figures = run_one(experiment_, experiment_.scenarios[scenario], experiment_.policies[policy],
                             experiment_.first_seed + seed);
      const std::lock_guard lock(mutex_);
      if (figures) {
        if (seed > 0) figures->bins.clear();
        results_[next] = std::move(*figures);
      } else if (!error_) {
        error_ = figures.error();
        next_ = results_.size();
      }
      ++done_;
      if (experiment_.on_progress) experiment_.on_progress(done_, results_.size());
    }
  }

  Cell cell(size_t scenario, size_t policy) {
    Cell out{experiment_.scenarios[scenario], experiment_.policies[policy], {}, {}};
    std::map<std::string, std::vector<double>> samples;
    const auto& all = experiment_.policies;
    const auto clairvoyant = static_cast<size_t>(
        std::find_if(all.begin(), all.end(), [](const Policy& one) { return one.clairvoyant; }) - all.begin());
    for (size_t seed = 0; seed < seeds_; ++seed) {
      auto& values = results_[place(scenario, policy, seed)].values;
      for (const auto& [name, value] : values) samples[name].push_back(value);
      if (clairvoyant == all.size()) continue;
      const double best = results_[place(scenario, clairvoyant, seed)].values["goodput"];
      if (best > 0) samples["ofClairvoyant"].push_back(values["goodput"] / best);
    }
    for (const auto& [name, values] : samples) out.figures[name] = estimate(values);
    out.first = results_[place(scenario, policy, 0)];
    return out;
  }

  const Experiment& experiment_;
  const size_t seeds_;
  std::vector<Figures> results_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  size_t done_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<Cell>> run(const Experiment& experiment) {
  for (const auto& scenario : experiment.scenarios) {
    if (auto ok = check(scenario); !ok) return fail(ok.error());
    for (const auto& policy : experiment.policies) {
      if (!experiment.real || policy.clairvoyant) continue;
      if (auto ok = runs_in_real_time(policy, scenario); !ok) return fail(ok.error());
    }
  }
  if (experiment.policies.empty() || experiment.scenarios.empty() || experiment.seeds < 1) {
    return invalid("an experiment needs a scenario, a policy and a seed");
  }
  return Runs(experiment).run();
}

}  // namespace freshet::lab
