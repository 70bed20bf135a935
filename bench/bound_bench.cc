// How much any scheduler can do of what the clairvoyant of the overload lab does, where one slot is so slow that a call
// takes a third of a task's patience: the lab's scenario of one slot of 1 ms and deadlines of 3 ms, solved exactly but
// for a grid of time. docs/overload-experiments.md has what comes of it.
//
// The lab's deadlines are whole milliseconds: a task that comes within the m-th is due at the end of the (m + 3)rd, so
// that at any time those that wait have one of four deadlines. How many have each, and how far the millisecond has
// gone, is all that a scheduler can know that matters (service times belong to calls and are independent). Over a long
// horizon, backwards, step by step, the best choice in each of those states is that of a dynamic program. It also says
// what newest first comes to, which the lab says too: the two must agree, or the program is wrong. "Told the next" is
// the best of those that know how long the next call takes, but not what will come: a check of the lab's clairvoyant,
// which goes by rules of thumb. Of "best" the first figure is what any scheduler can do that knows the distribution of
// service times and what has come so far, the second what it can do if at most one point more of what it finishes is
// late than P(service > deadline), both beside "told the next".
//
// Service times are rounded to the grid so that their mean stays. An arrival is seen at the next point of the grid,
// which costs an idle slot half a step: figures are the straight line through those of --steps and twice as many a
// millisecond.
//
//   bound_bench [--service exponential|lognormal] [--load 0.8,1,1.2] [--steps 4] [--seeds 10] [--first-seed 2001]
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "app/lab/experiment.h"

namespace freshet::lab {
namespace {

constexpr int kDeadlines = 4;  // That tasks which wait can have, in milliseconds from the one that is under way.
constexpr int kMost = 8;       // Tasks counted of each; more of the same deadline are of no use.
constexpr int kBase = kMost + 1;
constexpr int kStates = kBase * kBase * kBase * kBase;
constexpr std::array<int, kDeadlines> kWeight = {1, kBase, kBase* kBase, kBase* kBase* kBase};
constexpr double kMoreLate = 0.01;  // That may be late of the finished, beyond P(service > deadline).
constexpr int kHorizon = 80;        // ms; the second half counts.

using Table = std::vector<float>;  // By state.

int count_of(int state, int deadline) {
  return state / kWeight[static_cast<size_t>(deadline)] % kBase;
}

double share_within(Service service, double time) {
  if (time <= 0) return 0;
  if (service == Service::kExponential) return 1 - std::exp(-time);
  return 0.5 * std::erfc(-(std::log(time) + 0.5) / std::sqrt(2.0));  // Lognormal: sigma 1, mean 1.
}

// How likely a call takes so many steps, rounded so that the mean stays.
std::vector<double> call_lengths(Service service, int steps) {
  constexpr int kFine = 64;
  constexpr int kLongest = 60;  // ms.
  const auto points = static_cast<size_t>(steps * kLongest);
  std::vector<double> below(points + 2, 0);  // The integral of share_within up to each point, in steps.
  for (size_t i = 1; i < below.size(); ++i) {
    double sum = 0;
    for (int k = 0; k < kFine; ++k) {
      sum += share_within(service, (static_cast<double>(i - 1) + (k + 0.5) / kFine) / steps);
    }
    below[i] = below[i - 1] + sum / kFine;
  }
  std::vector<double> out(points + 1);
  out[0] = below[1];
  double left = 1 - out[0];
  for (size_t i = 1; i < out.size(); ++i) {
    out[i] = below[i + 1] - 2 * below[i] + below[i - 1];
    left -= out[i];
  }
  out.back() += left;
  return out;
}

enum class Scheduler { kNewestFirst, kBest, kForesees };

// Goodput of one slot, tasks done in time per millisecond, with `steps` points of time in each.
class Program {
 public:
  Program(Service service, double load, int steps, Scheduler scheduler, double price = 0)
      : steps_(steps),
        soon_(kDeadlines * steps),
        scheduler_(scheduler),
        price_(price),
        allowed_(1 - share_within(service, 3) + kMoreLate),
        lengths_(call_lengths(service, steps)) {
    double chance = std::exp(-load / steps);
    double left = 1;
    for (int n = 0; n < kMost; ++n) {
      arrivals_.push_back(chance);
      left -= chance;
      if (left < 1e-7) break;
      chance *= load / steps / (n + 1);
    }
    arrivals_.back() += left;
  }

  double goodput() {
    const auto tables = static_cast<size_t>(soon_) + 1;
    busy_.assign(tables, Table(kStates, 0));
    next_busy_ = busy_;
    if (scheduler_ == Scheduler::kForesees) {
      foreseen_.assign(tables, Table(kStates, 0));
      next_foreseen_ = foreseen_;
      foreseen_long_.assign(lengths_.size(), 0);
    }
    afar_.assign(lengths_.size(), 0);
    double middle = 0;
    for (int ms = 0; ms < kHorizon; ++ms) {
      if (ms == kHorizon / 2) middle = busy_[0][0];
      for (int step = steps_ - 1; step >= 0; --step) back(step);
    }
    return (busy_[0][0] - middle) / (kHorizon / 2);
  }

 private:
  // busy_[r]: what is still to come, on average, while a call goes on for r steps more; [0]: the slot is free. Of those
  // that wait when a call of kDeadlines ms and more begins none is left at its end: afar_[k] is busy_[soon_] k steps
  // from now.
  void back(int step) {
    busy_.swap(next_busy_);
    foreseen_.swap(next_foreseen_);
    const bool last = step == steps_ - 1;
    for (size_t r = busy_.size() - 1; r > 0; --r) pass_step(next_busy_[r - 1], last, busy_[r]);
    std::fill(busy_.back().begin(), busy_.back().end(), busy_.back()[0]);
    afar_.push_front(busy_.back()[0]);
    afar_.pop_back();
    double long_calls = 0;
    for (size_t j = static_cast<size_t>(soon_) + 1; j < lengths_.size(); ++j) long_calls += lengths_[j] * after_long(j);
    pass_step(next_busy_[0], last, busy_[0]);  // A free slot that stays so; what is better comes below.
    if (scheduler_ == Scheduler::kForesees) {
      foresee(step, last);
    } else {
      choose(step, long_calls);
    }
  }
  double after_long(size_t length) const { return afar_[length - static_cast<size_t>(soon_)]; }

  // Tasks come for a step; with the last of a millisecond those are lost that were due then.
  void pass_step(const Table& next, bool last, Table& out) {
    const Table* from = &next;
    if (last) {
      for (size_t state = 0; state < kStates; ++state) shifted_[state] = next[state / kBase];
      from = &shifted_;
    }
    constexpr auto kOthers = static_cast<size_t>(kWeight[kDeadlines - 1]);
    std::fill(out.begin(), out.end(), 0.0F);
    for (size_t newest = 0; newest < kBase; ++newest) {
      float* to = out.data() + newest * kOthers;
      for (size_t n = 0; n < arrivals_.size(); ++n) {
        const auto chance = static_cast<float>(arrivals_[n]);
        const float* then = from->data() + std::min<size_t>(newest + n, kMost) * kOthers;
        for (size_t i = 0; i < kOthers; ++i) to[i] += chance * then[i];
      }
    }
  }

  void choose(int step, double long_calls) {
    // By what is left after the start of a task: what comes once its call is over.
    Table after(kStates, static_cast<float>(long_calls));
    for (size_t j = 1; j < busy_.size(); ++j) {
      const auto chance = static_cast<float>(lengths_[j]);
      for (size_t state = 0; state < kStates; ++state) after[state] += chance * busy_[j][state];
    }
    std::array<double, kDeadlines> in_time{};
    for (int d = 0; d < kDeadlines; ++d) {
      for (int j = 0; j <= (d + 1) * steps_ - step; ++j) {
        in_time[static_cast<size_t>(d)] += lengths_[static_cast<size_t>(j)];
      }
    }
    for (int state = 1; state < kStates; ++state) {
      for (int d = kDeadlines - 1; d >= 0; --d) {
        if (count_of(state, d) == 0) continue;
        const auto left = static_cast<size_t>(state - kWeight[static_cast<size_t>(d)]);
        const double good = in_time[static_cast<size_t>(d)];
        const double value = good - price_ * (1 - good - allowed_) + after[left] + lengths_[0] * busy_[0][left];
        auto& best = busy_[0][static_cast<size_t>(state)];
        if (scheduler_ == Scheduler::kNewestFirst) {
          best = static_cast<float>(value);
          break;
        }
        best = std::max(best, static_cast<float>(value));
      }
    }
  }

  // foreseen_[j]: a free slot whose next call takes j steps. A call of more than soon_ is nobody's: it is spent on
  // whoever waits, or on the first that comes (foreseen_long_).
  void foresee(int step, bool last) {
    for (size_t j = 0; j < foreseen_.size(); ++j) pass_step(next_foreseen_[j], last, foreseen_[j]);
    double empty = 0;
    for (size_t j = static_cast<size_t>(soon_) + 1; j < lengths_.size(); ++j) {
      foreseen_long_[j] =
          arrivals_[0] * foreseen_long_[j] + (1 - arrivals_[0]) * after_long(j + 1);  // From a step later on.
      empty += lengths_[j] * foreseen_long_[j];
    }
    double spent = 0;
    for (size_t j = static_cast<size_t>(soon_) + 1; j < lengths_.size(); ++j) spent += lengths_[j] * after_long(j);
    for (int state = 0; state < kStates; ++state) {
      double free = state == 0 ? empty : spent;
      for (size_t j = 0; j < foreseen_.size(); ++j) {
        auto& best = foreseen_[j][static_cast<size_t>(state)];
        for (int d = 0; d < kDeadlines; ++d) {
          if (count_of(state, d) == 0) continue;
          const auto left = static_cast<size_t>(state - kWeight[static_cast<size_t>(d)]);
          const float done = static_cast<int>(j) <= (d + 1) * steps_ - step ? 1 : 0;
          best = std::max(best, done + busy_[j][left]);
        }
        free += lengths_[j] * best;
      }
      busy_[0][static_cast<size_t>(state)] = static_cast<float>(free);
    }
  }

  const int steps_;
  const int soon_;  // Steps after which nothing is left of what waits.
  const Scheduler scheduler_;
  const double price_;    // The price of a late task, for policies that may not be late; in tasks done in time.
  const double allowed_;  // Share of the finished that may be late.
  const std::vector<double> lengths_;
  std::vector<double> arrivals_;  // How likely so many come in a step.
  Table shifted_ = Table(kStates);
  std::vector<Table> busy_, next_busy_, foreseen_, next_foreseen_;
  std::vector<double> foreseen_long_;
  std::deque<double> afar_;
};

struct Options {
  Service service = Service::kExponential;
  std::vector<double> loads = {0.8, 0.95, 1, 1.05, 1.2, 1.5, 2};
  int steps = 4;
  int seeds = 10;
  uint64_t first_seed = 2001;
};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bound_bench: %s\n", why.c_str());
  std::exit(2);
}

Options options_of(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) give_up(name + " needs a value");
    const std::string value = argv[i + 1];
    if (name == "--service") {
      auto service = service_of(value);
      if (!service) give_up(service.error().message);
      out.service = *service;
      if (out.service != Service::kExponential && out.service != Service::kLognormal) {
        give_up("--service is exponential or lognormal");
      }
    } else if (name == "--load") {
      out.loads.clear();
      for (const char* at = value.c_str(); *at != 0;) {
        char* end = nullptr;
        out.loads.push_back(std::strtod(at, &end));
        if (end == at || (*end != ',' && *end != 0) || out.loads.back() <= 0 || out.loads.back() > 3) {
          give_up("--load: numbers above 0 and up to 3, with commas between them");
        }
        at = *end == ',' ? end + 1 : end;
      }
    } else if (name == "--steps" || name == "--seeds") {
      const int number = std::atoi(value.c_str());
      if (number < 2 || number > 64) give_up(name + " is 2 to 64");
      (name == "--steps" ? out.steps : out.seeds) = number;
    } else if (name == "--first-seed") {
      out.first_seed = std::strtoull(value.c_str(), nullptr, 10);
    } else {
      give_up("'" + name + "' is none of --service, --load, --steps, --seeds, --first-seed");
    }
  }
  return out;
}

// Runs the lab: newest first in its model, ours, and the clairvoyant.
std::vector<Cell> measure(const Options& options, double load) {
  Experiment experiment;
  Scenario scenario;
  scenario.load = load;
  scenario.service = options.service;
  scenario.slots = 1;
  scenario.mean = milliseconds(1);
  scenario.deadline = 3;
  scenario.duration = seconds(12);
  experiment.scenarios.push_back(scenario);
  for (const char* name : {"clairvoyant", "lifo-ttl", "freshet-deadline"}) {
    experiment.policies.push_back(*policy_of(name));
  }
  experiment.first_seed = options.first_seed;
  experiment.seeds = options.seeds;
  auto cells = run(experiment);
  if (!cells) give_up(cells.error().message);
  return std::move(*cells);
}

// Goodput in percent of the slot: the limit of ever finer steps.
double limit_of(const Options& options, double load, Scheduler scheduler, double price = 0) {
  const double coarse = Program(options.service, load, options.steps, scheduler, price).goodput();
  const double fine = Program(options.service, load, 2 * options.steps, scheduler, price).goodput();
  return 100 * (2 * fine - coarse);
}

// The most that a scheduler can do that is at most a point late. Whatever a late task costs: who keeps to that pays
// nothing on the whole, so the best of those that pay does as much at least. The least of it over the prices is the
// bound (Lagrange); it falls and then rises.
double limit_if_hardly_late(const Options& options, double load) {
  double low = 0;
  double high = 2;
  const auto at = [&](double price) {
    return Program(options.service, load, options.steps, Scheduler::kBest, price).goodput();
  };
  for (int i = 0; i < 8; ++i) {
    const double one = low + (high - low) * 0.382;
    const double two = low + (high - low) * 0.618;
    (at(one) < at(two) ? high : low) = at(one) < at(two) ? two : one;
  }
  return limit_of(options, load, Scheduler::kBest, (low + high) / 2);
}

void print_load(const Options& options, double load) {
  const double newest = limit_of(options, load, Scheduler::kNewestFirst);
  const double foreseen = limit_of(options, load, Scheduler::kForesees);
  const double best = limit_of(options, load, Scheduler::kBest);
  const double hardly_late = limit_if_hardly_late(options, load);
  const auto cells = measure(options, load);
  const auto percent = [&](size_t policy, const char* figure) {
    const Estimate& one = cells[policy].figures.at(figure);
    return Estimate{100 * one.mean, 100 * one.half_width};
  };
  const Estimate lifo = percent(1, "goodput"), knowing = percent(0, "goodput"), ours = percent(2, "ofClairvoyant");
  const double late = percent(2, "lateShare").mean - 100 * (1 - share_within(options.service, 3));
  std::printf("%5g | %5.1f %5.1f +-%3.1f | %5.1f %5.1f +-%3.1f | %5.1f %5.1f | %5.1f +-%3.1f %4.1f\n", load, newest,
              lifo.mean, lifo.half_width, foreseen, knowing.mean, knowing.half_width, 100 * best / foreseen,
              100 * hardly_late / foreseen, ours.mean, ours.half_width, late);
  std::fflush(stdout);
}

}  // namespace

int bound_main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  std::printf("One slot of 1 ms, %s, deadlines of 3 ms; goodput in %% of the slot\n", name_of(options.service).data());
  std::printf("      | newest first     | told the next    | best, %% of it | by deadline, lab\n");
  std::printf(" load | program and lab  | program and lab  | any  1 pt late | %% of clairv., pts late\n");
  for (const double load : options.loads) print_load(options, load);
  return 0;
}

}  // namespace freshet::lab

int main(int argc, char** argv) {
  return freshet::lab::bound_main(argc, argv);
}
