// The learner of RATE_LIMIT=adaptive alone, beside the lab's models of limiters, without a queue: a cell takes
// milliseconds. For whoever changes functions/queue/policy/adaptive_rate.cc; bench/RESULTS.md has the lab's figures.
//
//   limits_trial [--seeds 5] [--first 51] [--phase SECONDS] [--settle SECONDS] [--trace] [--bound] [--each]
//   [LIMITER[/HEADERS]...]
//
// --each prints a line for each seed, too: its bucket in seconds, and share/refused in percent of each phase.
//
// With --bound it says what the best caller of a shared limiter reaches within the bar of refusals, in two steps. The
// first caller knows at every moment what the other one leaves on average, and only not his single calls. The second
// one knows the limit, the bucket and by which law the other one's share changes, but not the share: it weighs 400
// guesses by each answer (a particle filter), and calls when a refusal is unlikely enough. How unlikely is chosen so
// that it gets most.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "app/lab/limiter.h"
#include "base/random.h"
#include "functions/queue/policy/adaptive_rate.h"

using namespace freshet;
using namespace freshet::lab;

namespace {

constexpr double kRates[] = {20, 10, 40};
constexpr double kMeanService = 0.2;
enum class Headers { kNone, kRetryAfter, kRateLimit };
const char* const kHeaders[] = {"none", "retry-after", "ratelimit"};

double in_seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}
nanoseconds of_seconds(double time) {
  return nanoseconds(static_cast<int64_t>(time * 1e9));
}
milliseconds whole(nanoseconds time) {
  return std::chrono::ceil<seconds>(std::max(time, nanoseconds(0)));
}

struct Cell {
  LimiterKind kind;
  Headers headers;
  uint64_t seed;
  double phase;
  double settle;  // Below 0: as in the lab.
  bool trace;
};

struct Figures {
  double taken[3] = {};
  double refused[3] = {};
  double stalled[3] = {}, counted[3] = {};  // Time in which a task that is worthless after 2 s is lost.
};

LimiterSpec spec_of(const Cell& cell) {
  Random random(cell.seed ^ 0x11317u);
  LimiterSpec spec;
  spec.kind = cell.kind;
  for (int i = 0; i < 3; ++i) spec.plan.push_back({of_seconds(cell.phase * i), kRates[i]});
  spec.burst_seconds = 0.1 + 0.9 * random.unit();
  spec.offset = of_seconds(random.unit() * in_seconds(window_of(cell.kind)));
  spec.mean_service = of_seconds(kMeanService);
  spec.seed = random.next();
  return spec;
}

LimitHints hints_of(const Cell& cell, const LimiterAnswer& answer, nanoseconds now) {
  LimitHints out;
  if (cell.headers == Headers::kRetryAfter && answer.retry_after) {
    out.retry_after = std::max(milliseconds(1000), whole(*answer.retry_after));
  }
  if (cell.headers != Headers::kRateLimit) return out;
  const auto form = cell.seed % 3;
  out.limit = answer.quota.limit;
  out.remaining = answer.quota.remaining;
  if (answer.quota.window.count() == 0) {
    out.concurrent = true;
    return out;
  }
  if (form == 0) out.window = whole(answer.quota.window);
  out.reset_is_time = form == 2;
  if (answer.quota.reset) {
    out.reset =
        form == 2
            ? std::chrono::duration_cast<milliseconds>(std::chrono::ceil<seconds>(now + *answer.quota.reset) - now)
            : whole(*answer.quota.reset);
  }
  return out;
}

class Run {
 public:
  explicit Run(const Cell& cell) : cell_(cell), limiter_(make_limiter(spec_of(cell))), random_(cell.seed) {
    settle_ = cell.settle >= 0 ? cell.settle : std::max(10.0, 2 * in_seconds(window_of(cell.kind)));
  }

  Figures oracle() {
    nanoseconds now{0};
    while (now < end()) {
      while (!ends_.empty() && ends_.top().at <= now) ends_.pop(), limiter_->ended(now);
      const auto next = limiter_->next(now);
      if (next && *next <= now) {
        if (take(now).granted) ends_.push({now + service(), {}, {}});
        continue;
      }
      const auto ended = ends_.empty() ? end() : ends_.top().at;
      now = next ? std::min(ended, std::max(*next, now + nanoseconds(1))) : std::max(ended, now + nanoseconds(1));
    }
    return figures_;
  }

  // `care`: the share of what is left that is asked for; with RateLimit headers how many units have to be left.
  Figures bound(double care) {
    nanoseconds now{0};
    nanoseconds due{0};
    while (now < end()) {
      while (!ends_.empty() && ends_.top().at <= now) ends_.pop(), limiter_->ended(now);
      limiter_->next(now);
      const double left = std::max(limiter_->left_by_others(), 0.1);
      if (due > now) {
        now = std::min(due, now + milliseconds(20));
        continue;
      }
      const auto answer = take(now);
      if (answer.granted) ends_.push({now + service(), {}, {}});
      const auto hints = hints_of(cell_, answer, now);
      const double wait =
          hints.remaining ? std::max(care - *hints.remaining, 0.0) / left : 1 / (std::min(care, 1.5) * left);
      due = now + std::max(of_seconds(wait), nanoseconds(1000));
      if (hints.retry_after) due = std::max(due, now + *hints.retry_after);
    }
    return figures_;
  }

  // `risk`: it calls when a refusal is less likely than that.
  Figures guesser(double risk) {
    constexpr size_t kGuesses = 400;
    constexpr auto kStep = milliseconds(10);
    Random random(cell_.seed ^ 0x9e55u);
    std::vector<Guess> guesses(kGuesses);
    for (auto& guess : guesses) guess = {0.6 * random.unit(), std::max(1.0, kRates[0] * spec_of(cell_).burst_seconds)};
    nanoseconds paused{0};
    for (nanoseconds now{0}; now < end(); now += kStep) {
      limiter_->next(now);
      const double rate = limiter_->rate();
      const double size = std::max(1.0, rate * spec_of(cell_).burst_seconds);
      for (auto& guess : guesses) guess.pass(rate, size, in_seconds(kStep), random);
      for (bool again = true; again && now >= paused;) {
        const auto empty = std::count_if(guesses.begin(), guesses.end(), [](auto& one) { return one.tokens < 1; });
        if (static_cast<double>(empty) >= risk * kGuesses) break;
        const auto answer = take(now);
        const auto hints = hints_of(cell_, answer, now);
        again = answer.granted;
        if (hints.retry_after) paused = now + *hints.retry_after;
        learn(guesses, answer.granted, hints.remaining, random);
      }
    }
    return figures_;
  }

  Figures learner() {
    AdaptiveRate rate(0.1, 10'000);
    const BootTime origin(seconds(1000));
    nanoseconds now{0};
    double said = 0;
    while (now < end()) {
      for (; !ends_.empty() && ends_.top().at <= now; ends_.pop()) {
        limiter_->ended(now);
        rate.accepted(ends_.top().start, origin + now, ends_.top().hints);
      }
      if (cell_.trace && in_seconds(now) >= said) {
        std::printf("%7.1f rate %6.2f cap %zu level\n", in_seconds(now), rate.rate(), rate.concurrency());
        said += 1;
      }
      if (ends_.size() < 64 && rate.allowed(origin + now, 1) > 0) {
        const auto start = rate.started(origin + now);
        const auto answer = take(now);
        const auto hints = hints_of(cell_, answer, now);
        if (cell_.trace && !answer.granted) std::printf("%7.3f refused at %.2f\n", in_seconds(now), rate.rate());
        if (answer.granted) {
          ends_.push({now + service(), start, hints});
        } else {
          rate.refused(start, origin + now, hints);
        }
        continue;
      }
      const nanoseconds next =
          ends_.size() < 64 ? std::max(rate.next(origin + now) - origin, now + nanoseconds(1)) : end();
      now = ends_.empty() ? next : std::min(next, std::max(ends_.top().at, now));
    }
    return figures_;
  }

 private:
  struct End {
    nanoseconds at;
    AdaptiveRate::Start start;
    LimitHints hints;
    bool operator<(const End& other) const { return at > other.at; }
  };
  // A guess at what the other caller is doing.
  struct Guess {
    double share = 0;
    double tokens = 0;
    void pass(double rate, double size, double time, Random& random) {
      if (random.unit() < time / 10) share = 0.6 * random.unit();
      tokens = std::min(size, tokens + rate * time);
      for (double at = -std::log(1 - random.unit()); at < share * rate * time; at -= std::log(1 - random.unit()))
        tokens -= 1;
    }
  };
  // Those that agree with the answer are copied over the others. If none does, the level is taken as it was told.
  static void learn(std::vector<Guess>& guesses, bool granted, std::optional<double> remaining, Random& random) {
    std::vector<Guess> right;
    for (auto guess : guesses) {
      if ((guess.tokens >= 1) != granted) continue;
      if (granted) guess.tokens -= 1;
      if (remaining && std::floor(std::max(guess.tokens, 0.0)) != *remaining) continue;
      right.push_back(guess);
    }
    if (right.empty()) {
      for (auto& guess : guesses) guess.tokens = remaining ? *remaining + random.unit() : granted ? 0 : random.unit();
      return;
    }
    for (auto& guess : guesses) {
      guess = right[random.below(right.size())];
      guess.share = std::clamp(guess.share + 0.01 * (random.unit() - 0.5), 0.0, 0.6);
    }
  }
  nanoseconds end() const { return of_seconds(3 * cell_.phase); }
  nanoseconds service() { return of_seconds(-kMeanService * std::log(1 - random_.unit())); }

  LimiterAnswer take(nanoseconds now) {
    const auto answer = limiter_->ask(now);
    const double at = in_seconds(now);
    const int phase = std::min(2, static_cast<int>(at / cell_.phase));
    const bool counts = at - phase * cell_.phase >= settle_;
    if (counts) (answer.granted ? figures_.taken : figures_.refused)[phase] += 1;
    if (answer.granted) {
      if (counts) {
        const double gap = at - last_;
        figures_.stalled[phase] += std::max(0.0, gap - 1.8);
        figures_.counted[phase] += gap;
      }
      last_ = at;
    }
    return answer;
  }

  const Cell cell_;
  std::unique_ptr<Limiter> limiter_;
  Random random_;
  double settle_;
  double last_ = 0;
  Figures figures_;
  std::priority_queue<End> ends_;
};

struct Options {
  int seeds = 5;
  uint64_t first = 51;
  double phase = 0;
  double settle = -1;
  bool trace = false;
  bool bound = false;
  bool each = false;
  std::vector<std::string> wanted;
};

double sum(const double (&of)[3]) {
  return of[0] + of[1] + of[2];
}

// The best of `tries` ways to call within the bar.
void best_bound(LimiterKind kind, Headers headers, const Options& options, const char* who, int tries,
                const std::function<Figures(Run&, int)>& call) {
  double best = 0, its_refused = 0;
  for (int way = 0; way < tries; ++way) {
    double taken = 0, refused = 0, possible = 0;
    for (int i = 0; i < options.seeds; ++i) {
      const double phase = options.phase > 0 ? options.phase : kind == LimiterKind::kWindow60s ? 240 : 120;
      const Cell cell{kind, headers, options.first + static_cast<uint64_t>(i), phase, options.settle, false};
      Run run(cell);
      const Figures came = call(run, way);
      taken += sum(came.taken), refused += sum(came.refused), possible += sum(Run(cell).oracle().taken);
    }
    const double share = refused / (taken + refused);
    if (share > (headers == Headers::kNone ? 0.02 : 0.01) || taken / possible <= best) continue;
    best = taken / possible, its_refused = share;
  }
  std::printf("%-13s %-12s %s: %5.1f, refused %5.2f %%\n", std::string(name_of(kind)).c_str(),
              kHeaders[static_cast<int>(headers)], who, 100 * best, 100 * its_refused);
}

void bound_cell(LimiterKind kind, Headers headers, const Options& options) {
  const bool has_headers = headers == Headers::kRateLimit;
  best_bound(kind, headers, options, "knows the share", 30,
             [has_headers](Run& run, int way) { return run.bound(has_headers ? 1 + 0.5 * way : 0.4 + 0.03 * way); });
  if (kind != LimiterKind::kShared) return;
  constexpr double kRisks[] = {0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2};
  best_bound(kind, headers, options, "guesses the share", 8,
             [&](Run& run, int way) { return run.guesser(kRisks[way]); });
}

void print_seed(const Cell& cell, const Figures& learner, const Figures& oracle) {
  std::printf("%8llu bucket %4.2f s", static_cast<unsigned long long>(cell.seed), spec_of(cell).burst_seconds);
  for (int p = 0; p < 3; ++p) {
    std::printf(" %6.1f/%4.1f", 100 * learner.taken[p] / oracle.taken[p],
                100 * learner.refused[p] / (learner.taken[p] + learner.refused[p]));
  }
  std::printf("\n");
}

void run_cell(LimiterKind kind, Headers headers, const Options& options) {
  Figures all, best;
  double worst = 9;
  for (int i = 0; i < options.seeds; ++i) {
    const double phase = options.phase > 0 ? options.phase : kind == LimiterKind::kWindow60s ? 240 : 120;
    const Cell cell{kind, headers, options.first + static_cast<uint64_t>(i), phase, options.settle, options.trace};
    const Figures oracle = Run(cell).oracle();
    const Figures learner = Run(cell).learner();
    for (int p = 0; p < 3; ++p) {
      all.taken[p] += learner.taken[p], all.refused[p] += learner.refused[p], best.taken[p] += oracle.taken[p];
    }
    for (int at = 0; at < 3; ++at) all.stalled[at] += learner.stalled[at], all.counted[at] += learner.counted[at];
    worst = std::min(worst, sum(learner.taken) / sum(oracle.taken));
    if (options.each) print_seed(cell, learner, oracle);
  }
  const double share = 100 * sum(all.taken) / sum(best.taken);
  const double refused = 100 * sum(all.refused) / (sum(all.taken) + sum(all.refused));
  std::printf(
      "%-13s %-12s %6.1f (worst %5.1f; %5.1f %5.1f %5.1f) refused %5.2f %% (%4.1f %4.1f %4.1f) stalled %4.2f %% (%4.1f "
      "%4.1f %4.1f) %s%s\n",
      std::string(name_of(kind)).c_str(), kHeaders[static_cast<int>(headers)], share, 100 * worst,
      100 * all.taken[0] / best.taken[0], 100 * all.taken[1] / best.taken[1], 100 * all.taken[2] / best.taken[2],
      refused, 100 * all.refused[0] / (all.taken[0] + all.refused[0]),
      100 * all.refused[1] / (all.taken[1] + all.refused[1]), 100 * all.refused[2] / (all.taken[2] + all.refused[2]),
      100 * (all.stalled[0] + all.stalled[1] + all.stalled[2]) / (all.counted[0] + all.counted[1] + all.counted[2]),
      100 * all.stalled[0] / all.counted[0], 100 * all.stalled[1] / all.counted[1],
      100 * all.stalled[2] / all.counted[2], share < 95 ? "SHARE " : "",
      refused > (headers == Headers::kNone ? 2 : 1) ? "REFUSED" : "");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool more = i + 1 < argc;
    if (arg == "--trace")
      options.trace = true;
    else if (arg == "--bound")
      options.bound = true;
    else if (arg == "--each")
      options.each = true;
    else if (arg == "--seeds" && more)
      options.seeds = std::atoi(argv[++i]);
    else if (arg == "--first" && more)
      options.first = std::strtoull(argv[++i], nullptr, 10);
    else if (arg == "--phase" && more)
      options.phase = std::atof(argv[++i]);
    else if (arg == "--settle" && more)
      options.settle = std::atof(argv[++i]);
    else
      options.wanted.push_back(arg);
  }
  for (const auto kind : limiter_kinds()) {
    for (const auto headers : {Headers::kNone, Headers::kRetryAfter, Headers::kRateLimit}) {
      const std::string name = std::string(name_of(kind)) + "/" + kHeaders[static_cast<int>(headers)];
      const bool wanted = options.wanted.empty() || std::any_of(options.wanted.begin(), options.wanted.end(),
                                                                [&](auto& one) { return name.starts_with(one); });
      if (wanted) (options.bound ? bound_cell : run_cell)(kind, headers, options);
    }
  }
}
