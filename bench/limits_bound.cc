// Bounds: the most that any caller can reach behind the lab's limiters where RATE_LIMIT=adaptive misses its bar: see
// docs/overload-experiments.md, "Limits". Nothing is learnt here: each caller is told more than any learner can know.
//
//   limits_bound [--seeds 10] [--first 8101]
//
// `shared`: the caller is told the limit, the bucket and the other one's share, and after each of its own calls what is
// left in the bucket. It does not know when the other one calls. When to call next is then a question of optimal
// stopping, which is solved exactly, on a grid of a tenth of a unit. Refusals have a price, and the bound is the least
// value of the dual over eight prices, so that no such caller can get more within the bar.
//
// `attempts`: each refusal asks for a pause of a second. The caller is told the limit by each refusal, keeps exactly to
// it, and finds a higher one only by calling until it is refused. It does so once in a fixed number of seconds, the
// best one for all of the seeds.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "base/random.h"

namespace {

constexpr double kRates[] = {20, 10, 40};
constexpr double kPhase = 120, kSettle = 10;  // Seconds.
constexpr int kParts = 10;                    // To a unit. A step lasts until the limit gives one part.
constexpr int kDebt = 8;                      // Units: deeper is counted as that deep, which is in the caller's favour.
constexpr double kLarge = 12;                 // Units: a bucket that holds more is counted as one that refuses nothing.
constexpr double kShares[] = {0.05, 0.15, 0.25, 0.35, 0.45, 0.55};  // The middles of six equal parts of 0 to 60 %.

// The bucket of a seed of the lab (app/lab/limits.cc), in seconds of the limit.
double bucket_of(uint64_t seed) {
  freshet::Random random(seed ^ 0x11317u);
  return 0.1 + 0.9 * random.unit();
}

struct Prices {
  double granted, refused;
};

// One bucket of which somebody else takes `share`. All rates are of the limit, and times in units of it.
class SharedBucket {
 public:
  // `pause`: the steps for which a refusal forbids calls.
  SharedBucket(double size, double share, int pause)
      : levels_(static_cast<int>(std::lround((kDebt + size) * kParts)) + 1), pause_(pause) {
    const double mean = share / kParts;  // Calls of the other one in a step.
    double chance = std::exp(-mean);
    for (int i = 0; i < kMostCalls; ++i) chance_[i] = chance, chance *= mean / (i + 1);
    chance_[kMostCalls - 1] = 1;
    for (int i = 0; i + 1 < kMostCalls; ++i) chance_[kMostCalls - 1] -= chance_[i];
  }

  // The most that a caller can get in a unit's time.
  double best(const Prices& prices) const {
    double low = 0, high = prices.granted;
    std::vector<double> value(static_cast<size_t>(levels_));
    while (high - low > 1e-3) {
      const double middle = (low + high) / 2;
      (can_get(middle, prices, value) ? low : high) = middle;
    }
    return high;
  }

 private:
  static constexpr int kMostCalls = 4;

  // `u` a step earlier.
  void step(const std::vector<double>& u, std::vector<double>& earlier) const {
    for (int level = 0; level < levels_; ++level) {
      const int filled = std::min(level + 1, levels_ - 1);
      double sum = 0;
      for (int i = 0; i < kMostCalls; ++i) sum += chance_[i] * u[static_cast<size_t>(std::max(filled - i * kParts, 0))];
      earlier[static_cast<size_t>(level)] = sum;
    }
  }

  // Is it possible to get more than `gain` a unit's time? `value` is kept from one question to the next.
  bool can_get(double gain, const Prices& prices, std::vector<double>& value) const {
    constexpr int kRounds = 3000;
    const int wait = 3 * kDebt * kParts;
    const auto count = static_cast<size_t>(levels_);
    std::vector<double> at_call(count), earlier(count), after(count), refused(count);
    for (int round = 0; round < kRounds; ++round) {
      // Below 1 unit a call is refused; the value of being there then is in `refused_`.
      if (refused_.size() != count || round == 0) refused_.assign(value.begin(), value.end());
      for (int level = 0; level < levels_; ++level) {
        const bool granted = level >= (kDebt + 1) * kParts;
        const auto at = static_cast<size_t>(level);
        at_call[at] =
            granted ? prices.granted + value[static_cast<size_t>(level - kParts)] : refused_[at] - prices.refused;
      }
      after.assign(count, -1e9);
      refused.assign(count, -1e9);
      for (int k = 0; k <= pause_ + wait; ++k) {
        for (size_t i = 0; i < count; ++i) {
          if (k <= wait) after[i] = std::max(after[i], at_call[i]);
          if (k >= std::max(pause_, 1)) refused[i] = std::max(refused[i], at_call[i]);
        }
        step(at_call, earlier);
        for (double& one : earlier) one -= gain / kParts;
        at_call.swap(earlier);
      }
      double least = 1e9, most = -1e9;
      for (size_t i = 0; i < count; ++i) {
        least = std::min({least, after[i] - value[i], refused[i] - refused_[i]});
        most = std::max({most, after[i] - value[i], refused[i] - refused_[i]});
      }
      value = after;
      refused_ = refused;
      if (least > 0) return true;
      if (most < 0) return false;
      const double base = value.back();
      for (double& one : value) one -= base;
      for (double& one : refused_) one -= base;
    }
    return true;  // In the caller's favour.
  }

  const int levels_;
  const int pause_;
  double chance_[kMostCalls];
  mutable std::vector<double> refused_;
};

struct Options {
  int seeds = 10;
  uint64_t first = 8101;
};

// As a share of what the oracle gets.
double shared_bound(const Options& options, double bar, bool pauses, double price) {
  const Prices prices{1 + price * bar, price * (1 - bar)};
  double gets = 0, oracle = 0;
  for (int i = 0; i < options.seeds; ++i) {
    for (const double rate : kRates) {
      const double size = std::max(1.0, rate * bucket_of(options.first + static_cast<uint64_t>(i)));
      for (const double share : kShares) {
        oracle += rate * (1 - share);
        if (size > kLarge) {
          gets += rate * (1 - share) * prices.granted;
          continue;
        }
        const int pause = pauses ? static_cast<int>(std::lround(rate * kParts)) : 0;
        gets += rate * std::min(SharedBucket(size, share, pause).best(prices), (1 - share) * prices.granted);
      }
    }
  }
  return gets / oracle;
}

void print_shared(const Options& options, const char* headers, double bar, bool pauses) {
  double best = 1e9;
  for (const double price : {1.0, 2.0, 4.0, 7.0, 12.0, 20.0, 40.0, 80.0}) {
    best = std::min(best, shared_bound(options, bar, pauses, price));
  }
  std::printf("shared %-12s at most %5.1f %% of the oracle within %.0f %% refused\n", headers, 100 * best, 100 * bar);
  std::fflush(stdout);
}

// `holds`: the seconds of the limit that the limiter keeps during a pause.
void print_attempts(const char* name, const Options& options, const std::function<double(uint64_t)>& holds) {
  double best = 0, at = 0;
  for (double every = 2; every <= 120; every += 0.5) {
    double gets = 0, all = 0;
    for (int i = 0; i < options.seeds; ++i) {
      const double lost = std::max(0.0, 1 - holds(options.first + static_cast<uint64_t>(i))) / (every + 1);
      // The limit rises at any moment between two attempts, alike.
      const double late = every > kSettle ? (every - kSettle) * (every - kSettle) / (2 * every) : 0;
      for (const double rate : kRates) {
        const double share = rate == kRates[2] ? late / (kPhase - kSettle) * (1 - kRates[1] / kRates[2]) : 0;
        gets += rate * (1 - lost) * (1 - share);
        all += rate;
      }
    }
    if (gets / all > best) best = gets / all, at = every;
  }
  std::printf("attempts %-12s retry-after: %5.1f %% of the oracle, one in %.1f s\n", name, 100 * best, at);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seeds") == 0) options.seeds = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--first") == 0) options.first = std::strtoull(argv[i + 1], nullptr, 10);
  }
  print_attempts("token-bucket", options, bucket_of);
  print_attempts("window-1s", options, [](uint64_t) { return 0.0; });
  print_shared(options, "ratelimit", 0.01, false);
  print_shared(options, "none", 0.02, false);
  print_shared(options, "retry-after", 0.01, true);
}
