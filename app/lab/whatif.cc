#include "app/lab/whatif.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/lab/model.h"
#include "app/lab/product.h"
#include "app/lab/trace_run.h"
#include "app/lab/whatif_grid.h"
#include "app/lab/windows.h"
#include "base/duration_text.h"
#include "base/log.h"

namespace freshet::lab {
namespace {

constexpr seconds kWindows[] = {seconds(60), seconds(30), seconds(15), seconds(5)};
// With a window that was not asked for, so many of them shall fit into the budget.
constexpr int kLeastWindows = 4;
constexpr const char* kNoTaskCame =
    "no task came in it (tasks at the end of a recording count only once it is known what became of them)";

void drop_refused(Trace& trace) {
  Trace kept;
  for (size_t i = 0; i < trace.services.size(); ++i) {
    if (trace.refused[i]) continue;
    kept.services.push_back(trace.services[i]);
    kept.failed.push_back(trace.failed[i]);
    kept.cost_ratios.push_back(trace.cost_ratios[i]);
  }
  trace.services = std::move(kept.services);
  trace.failed = std::move(kept.failed);
  trace.cost_ratios = std::move(kept.cost_ratios);
  trace.refused.clear();
}

// The most starts a second, and the most at once, that the policy allowed in the window.
void set_start_rate(const Recording& load, Scenario& scenario) {
  double rate = 0;
  double burst = 1;
  const auto look = [&](const Environment& policy) {
    const double here = setting_of(policy, "RATE_COUNTS") == "cost" ? 0 : setting_number(policy, "RATE_LIMIT");
    rate = here == 0 ? 0 : std::max(rate, here);
    const double said = setting_number(policy, "RATE_BURST");
    burst = std::max({burst, said, said == 0 ? here * 0.02 : 0});
    return here > 0;
  };
  if (!look(load.policy)) return;
  for (const PolicyStep& step : load.policy_changes) {
    if (!look(step.policy)) return;
  }
  scenario.start_rate = rate;
  scenario.start_burst = burst;
}

PlayCount count_of(const WindowLoad& window, const Ledger& ledger) {
  PlayCount out;
  const auto& jobs = ledger.jobs();
  for (size_t i = window.waiting; i < jobs.size(); ++i) {
    if (!window.counts(jobs[i].arrival.at)) continue;
    ++out.tasks;
    out.in_time += jobs[i].in_time() && jobs[i].end <= window.load.length;
  }
  return out;
}

class WindowPlayer {
 public:
  WindowPlayer(const std::vector<Alternative>& alternatives, const WhatIfOptions& options)
      : alternatives_(alternatives), options_(options) {}

  Result<PlayCount> play(const WindowLoad& window, const Alternative& one) const {
    return one.policy && !one.policy->product ? play_model(window, *one.policy) : play_queue(window, one);
  }

  Result<WindowPlays> play_all(const WindowLoad& window, uint64_t number) const {
    WindowPlays out;
    out.recorded = {window.tasks, window.in_time};
    out.policies.resize(alternatives_.size() + 1);
    for (int i = 0; i <= options_.resamples; ++i) {
      Random random(options_.seed + 1000 * (number + 1) + static_cast<uint64_t>(i));
      const WindowLoad load = i == 0 ? window : resampled(window, random);
      for (size_t k = 0; k < out.policies.size(); ++k) {
        auto count = play(load, k == 0 ? in_force_ : alternatives_[k - 1]);
        if (!count) return fail(count.error());
        out.policies[k].push_back(*count);
      }
      auto best = play_model(load, clairvoyant());
      if (!best) return fail(best.error());
      out.clairvoyant.push_back(*best);
    }
    return out;
  }

  int plays() const { return static_cast<int>(alternatives_.size() + 1) * (options_.resamples + 1); }
  const Alternative& in_force() const { return in_force_; }

 private:
  static const Policy& clairvoyant() { return policies().front(); }

  Result<PlayCount> play_queue(const WindowLoad& window, const Alternative& one) const {
    auto policy = recorded_policy(window.load, one.set);
    if (!policy) return fail(policy.error());
    Scenario scenario = scenario_of(window.load, 0);
    if (const auto slots = static_cast<int>(setting_number(one.set, "CONCURRENCY"))) {
      scenario.slots = std::max(scenario.slots, slots);
    }
    ProductSetup setup;
    if (one.policy) {
      setup = setup_of(*one.policy, scenario);
    } else {
      setup.settings = std::move(policy->settings);
      setup.changes = std::move(policy->changes);
    }
    setup.length = window.load.length;
    Ledger ledger(scenario, options_.seed);
    if (!options_.downstream.limiter) {
      if (auto end = run_product(setup, options_.seed, ledger); !end) return fail(end.error());
      return count_of(window, ledger);
    }
    WindowLoad granted = window;
    drop_refused(granted.load.trace);
    if (granted.load.trace.services.empty()) return PlayCount{window.tasks, 0};
    scenario.trace = &granted.load.trace;
    LimiterEach limiters(*options_.downstream.limiter, caller_of(granted.load.trace, options_.downstream.each));
    LimitedDownstream limited(limiters, options_.downstream.hints);
    setup.downstream = &limited;
    if (auto end = run_product(setup, options_.seed, ledger); !end) return fail(end.error());
    return count_of(window, ledger);
  }

  // The models know no refusals: a call that was refused is none.
  Result<PlayCount> play_model(const WindowLoad& window, const Policy& policy) const {
    WindowLoad granted = window;
    drop_refused(granted.load.trace);
    if (granted.load.trace.services.empty()) return PlayCount{window.tasks, 0};
    Scenario scenario = scenario_of(granted.load, 0);
    set_start_rate(window.load, scenario);
    Ledger ledger(scenario, options_.seed);
    run_model(policy, options_.seed, ledger);
    return count_of(window, ledger);
  }

  const std::vector<Alternative>& alternatives_;
  const WhatIfOptions& options_;
  const Alternative in_force_{"in force"};
};

double seconds_of(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

class Comparison {
 public:
  Comparison(const Recording& recording, const std::vector<Alternative>& alternatives, const WhatIfOptions& options)
      : recording_(recording),
        options_(options),
        player_(alternatives, options),
        cpu_begun_(options.cpu_time()),
        wall_begun_(options.within ? options.wall_time() : nanoseconds(0)) {}

  Result<WhatIf> run() {
    if (auto measured = measure(); !measured) return fail(measured.error());
    WindowCutter cutter(recording_, windows_of(recording_, length_, options_.last));
    const size_t count = cutter.windows().size();
    if (count == 0) return invalid("all that was recorded happened at the same moment, so nothing can be compared");
    std::vector<std::optional<WindowPlays>> plays(count);
    std::vector<std::string> why(count);
    size_t done = 0;
    for (const size_t index : spread_order(count)) {
      why[index] = reason_to_skip(cutter, index);
      if (why[index].empty()) {
        auto played = play(cutter, index);
        if (!played) return fail(played.error());
        plays[index] = std::move(*played);
      }
      options_.progress(++done, count);
    }
    return result(cutter, plays, why);
  }

 private:
  // The CPU time for one task of a window, and the length of a window.
  Result<void> measure() {
    for (const nanoseconds length : kWindows) {
      length_ = options_.window.value_or(length);
      WindowCutter cutter(recording_, windows_of(recording_, length_, options_.last));
      if (per_task_ == nanoseconds(0)) {
        if (auto measured = measure_last(cutter); !measured) return measured;
      }
      size_t most = 0;
      for (size_t i = 0; i < cutter.windows().size(); ++i) most = std::max(most, cutter.size_of(i));
      const bool fits = options_.cpu_time() + cost_of(most) * kLeastWindows <= options_.budget;
      if (options_.window || fits) break;
    }
    return {};
  }

  Result<void> measure_last(const WindowCutter& cutter) {
    for (size_t i = cutter.windows().size(); i-- > 0;) {
      if (cutter.counted(i) == 0 || !cutter.has_calls(i)) continue;
      const nanoseconds begun = options_.cpu_time();
      const WindowLoad window = cutter.cut(i);
      const nanoseconds cut = options_.cpu_time();
      auto count = player_.play(window, player_.in_force());
      if (!count) return fail(count.error());
      const nanoseconds all = cut - begun + (options_.cpu_time() - cut) * player_.plays();
      per_task_ = all / static_cast<int64_t>(window.load.trace.arrivals.size());
      break;
    }
    return {};
  }

  nanoseconds cost_of(size_t tasks) const { return per_task_ * static_cast<int64_t>(tasks); }

  std::string budget_used_up() const {
    return fmt::format("the budget of {:.3g} s of CPU time is used up", seconds_of(options_.budget));
  }

  // Without a cut of the window, so that the many that are skipped cost next to nothing.
  std::string reason_to_skip(const WindowCutter& cutter, size_t index) const {
    if (cutter.counted(index) == 0) return kNoTaskCame;
    if (!cutter.has_calls(index)) return "no call ended, so it is not known how long one takes";
    const nanoseconds spent = options_.cpu_time();
    const nanoseconds cost = cost_of(cutter.size_of(index));
    if (spent + cost > options_.budget) {
      return budget_used_up();
    }
    if (!options_.within) return {};
    const nanoseconds passed = options_.wall_time();
    // Before the comparison the process may have waited for its input, which says nothing about the machine.
    const double worked = seconds_of(spent - cpu_begun_);
    const double slower = worked > 0 ? std::max(1.0, seconds_of(passed - wall_begun_) / worked) : 1;
    if (seconds_of(passed) + seconds_of(cost) * slower <= seconds_of(*options_.within)) return {};
    return fmt::format("the machine was too busy to play it within {:.3g} s", seconds_of(*options_.within));
  }

  Result<WindowPlays> play(const WindowCutter& cutter, size_t index) {
    const nanoseconds begun = options_.cpu_time();
    const WindowLoad window = cutter.cut(index);
    auto played = player_.play_all(window, index);
    if (!played) return played;
    // The next windows will cost as much as this one, task for task.
    per_task_ = (options_.cpu_time() - begun) / static_cast<int64_t>(window.load.trace.arrivals.size());
    return played;
  }

  WallTime wall(nanoseconds at) const { return recording_.start + std::chrono::floor<milliseconds>(at); }

  Result<WhatIf> result(const WindowCutter& cutter, std::vector<std::optional<WindowPlays>>& plays,
                        const std::vector<std::string>& why) const {
    WhatIf out;
    const auto& windows = cutter.windows();
    out.from = wall(windows.front().from);
    out.to = wall(windows.back().to);
    out.window = std::chrono::floor<milliseconds>(windows.front().to - windows.front().from);
    std::vector<WindowPlays> played;
    for (size_t i = 0; i < windows.size(); ++i) {
      if (plays[i]) {
        out.played.push_back(wall(windows[i].from));
        out.recorded.push_back(plays[i]->recorded);
        played.push_back(std::move(*plays[i]));
      } else if (i > 0 && !out.skipped.empty() && why[i - 1] == why[i]) {
        out.skipped.back().to = wall(windows[i].to);
      } else {
        out.skipped.push_back({wall(windows[i].from), wall(windows[i].to), why[i]});
      }
    }
    if (played.empty()) return nothing(out, cutter);
    out.figures = figures_of(played);
    return out;
  }

  tl::unexpected<Error> nothing(const WhatIf& out, const WindowCutter& cutter) const {
    size_t most = 0;
    for (size_t i = 0; i < cutter.windows().size(); ++i) most = std::max(most, cutter.size_of(i));
    // A window without tasks is no reason where there are others.
    const auto other = std::find_if(out.skipped.rbegin(), out.skipped.rend(),
                                    [](const auto& span) { return span.why != kNoTaskCame; });
    const std::string& why = other == out.skipped.rend() ? out.skipped.back().why : other->why;
    std::string said = fmt::format("nothing can be compared of the {:.3g} s from {} on: {}",
                                   seconds_of(out.to - out.from), iso8601(out.from), why);
    if (why == budget_used_up() && cpu_begun_ > options_.budget) {
      said +=
          fmt::format(". Reading the recording alone took {:.3g} s of it: allow more CPU time (--budget, or budgetMs)",
                      seconds_of(cpu_begun_));
    } else if (options_.cpu_time() + cost_of(most) > options_.budget) {
      said += fmt::format(
          ". Playing one window of {:g} s takes about {:.0f} s of CPU time: compare fewer settings, play shorter "
          "windows (--window, or windowMs in the API), or allow more CPU time (--budget, or budgetMs)",
          seconds_of(out.window), std::ceil(seconds_of(cost_of(most))));
    }
    return invalid(said);
  }

  const Recording& recording_;
  const WhatIfOptions& options_;
  const WindowPlayer player_;
  const nanoseconds cpu_begun_;  // Spent before the comparison.
  const nanoseconds wall_begun_;
  nanoseconds length_{0};
  nanoseconds per_task_{0};  // For the cut of its window and all plays, out of the last one that was played.
};

bool learns(const Environment& policy) {
  return setting_of(policy, "RATE_LIMIT") == "adaptive" || setting_of(policy, "CONCURRENCY") == "adaptive";
}

// True if a policy that is played learns a limit from refusals that another run met at other rates.
bool learns_from_the_recorded(const Recording& recording, const std::vector<Alternative>& alternatives,
                              const WhatIfOptions& options) {
  if (recording.real.refused == 0 || options.downstream.limiter) return false;
  const auto& changes = recording.policy_changes;
  return learns(recording.policy) ||
         std::any_of(changes.begin(), changes.end(), [](const PolicyStep& step) { return learns(step.policy); }) ||
         std::any_of(alternatives.begin(), alternatives.end(), [](const Alternative& one) { return learns(one.set); });
}

// The limits of the policies in force that the best known does not keep to, in a sentence.
std::string limits_beyond(const Recording& recording) {
  bool learnt = false;
  bool keyed = false;
  bool cost = false;
  const auto look = [&](const Environment& policy) {
    const auto has = [&](const char* name) {
      return setting_of(policy, name) == "adaptive" || setting_number(policy, name) > 0;
    };
    learnt = learnt || learns(policy);
    keyed = keyed || has("KEY_RATE_LIMIT") || has("KEY_CONCURRENCY");
    cost = cost || (setting_of(policy, "RATE_COUNTS") == "cost" && has("RATE_LIMIT"));
  };
  look(recording.policy);
  for (const PolicyStep& step : recording.policy_changes) look(step.policy);
  std::string kinds;
  for (const auto& [is_there, kind] :
       {std::pair{learnt, "that are learnt"}, {keyed, "for each group or key"}, {cost, "that count costs"}}) {
    if (is_there) kinds += (kinds.empty() ? "" : ", ") + std::string(kind);
  }
  if (kinds.empty()) return {};
  return "The best known does not keep to limits " + kinds + ", so it may do more than any policy could.";
}

}  // namespace

std::vector<size_t> spread_order(size_t count) {
  std::vector<size_t> order;
  size_t end = 1;
  int bits = 0;
  for (; end < count; end *= 2) ++bits;
  for (size_t i = 0; i < end; ++i) {
    size_t mirrored = 0;
    for (int bit = 0; bit < bits; ++bit) mirrored |= (i >> bit & 1) << (bits - 1 - bit);
    if (mirrored < count) order.push_back(count - 1 - mirrored);
  }
  return order;
}

Result<WhatIf> what_if(const Recording& recording, const std::vector<Alternative>& alternatives,
                       const WhatIfOptions& options) {
  for (const Alternative& one : alternatives) {
    if (auto policy = recorded_policy(recording, one.set); !policy) return fail(policy.error());
    if (one.policy && !one.policy->product && options.downstream.limiter) {
      return invalid("policy '" + one.policy->name +
                     "' is a model that knows no limiter: leave it out, or --downstream");
    }
  }
  return Comparison(recording, alternatives, options).run();
}

std::vector<std::string> assumptions_of(const Recording& recording, const std::vector<Alternative>& alternatives,
                                        const WhatIfOptions& options, milliseconds window) {
  std::vector<std::string> out;
  const auto& real = recording.real;
  out.push_back(options.downstream.limiter
                    ? "It is assumed that the downstream's times would have been the same under every policy, however "
                      "many calls are under way, and that its limiter is as --downstream (downstream in the API) says."
                    : "It is assumed that the downstream's times and refusals would have been the same under every "
                      "policy, however many calls are under way.");
  if (learns_from_the_recorded(recording, alternatives, options)) {
    out.push_back(
        "A limit that is learnt learns from refusals. Those of the recording came at the rates of then, so its play "
        "may be far from what it would do, and intervals are wide: say which limiter stands behind the queue "
        "(--downstream, or downstream in the API).");
  }
  const bool more = std::any_of(alternatives.begin(), alternatives.end(), [&](const Alternative& one) {
    return setting_number(one.set, "CONCURRENCY") > std::max(real.most_in_work, scenario_of(recording, 0).slots);
  });
  if (more) {
    out.push_back(fmt::format(
        "The recording never had more than {} calls under way at once. Whether the downstream bears more is not known.",
        real.most_in_work));
  }
  if (std::string others = limits_beyond(recording); !others.empty()) out.push_back(std::move(others));
  if (patience_of(recording) > window) {
    out.push_back(
        fmt::format("Tasks may wait for longer than a window ({}). What a policy would have done later than one window "
                    "after it counts as not done: play longer windows (--window, or windowMs in the API).",
                    duration_text(window)));
  }
  if (real.refused > 0 && real.pulled > 0 && !options.downstream.limiter) {
    out.push_back(fmt::format("Workers gave {} calls back. Here they are not made.", real.refused));
  }
  if (real.pulled > 0) {
    out.push_back(fmt::format(
        "Workers that pull take a task as soon as they are free, and are as many as were in work at once: {} at most.",
        real.most_in_work));
  }
  if (real.cancelled > 0) {
    out.push_back(fmt::format("Clients cancelled {} tasks. Here these go on.", real.cancelled));
  }
  return out;
}

}  // namespace freshet::lab
