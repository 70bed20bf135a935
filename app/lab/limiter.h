// Models of limiters of the calls to a downstream, with an explicit now. The limit changes over time by a plan that the
// caller of the downstream does not know. Pure state; times count from the start of the run and never go back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace freshet::lab {

enum class LimiterKind {
  kTokenBucket,  // Refills steadily; a call takes a token.
  kWindow1s,     // A limit for each second of a fixed grid.
  kWindow60s,    // A limit for each minute of a fixed grid.
  kSliding,      // A limit for any span of 10 s.
  kShared,       // A token bucket shared with another caller, which takes a random, changing part and is served first.
  kConcurrency,  // A limit of concurrent calls: as many as give the limit's rate at the mean service time.
  kEachGroup,    // A token bucket for each group of tasks. make_limiter() makes the bucket of one group.
};

struct LimitStep {
  nanoseconds at{0};
  double rate = 0;  // Calls per second from then on; above 0.
};
using LimitPlan = std::vector<LimitStep>;  // Rising; the first is at 0.

// The parameters of a limiter.
struct LimiterSpec {
  LimiterKind kind = LimiterKind::kTokenBucket;
  LimitPlan plan;
  double burst_seconds = 1;                // The capacity of a token bucket in seconds' worth of tokens, one token at
                                           // least.
  nanoseconds offset{0};                   // A fixed window's grid begins this long after the start.
  std::optional<nanoseconds> window = {};  // Replaces the window of its kind.
  nanoseconds mean_service{0};             // kConcurrency: the mean duration of calls.
  uint64_t seed = 1;                       // kShared: seeds the other caller's share.
};

// The state of a limiter, which it may report in headers.
struct Quota {
  double limit = 0;                  // The most calls
  nanoseconds window{0};             // in this time; 0: at once.
  double remaining = 0;              // The calls that are left.
  std::optional<nanoseconds> reset;  // The time until the full limit is available again. kConcurrency has none.
};

struct LimiterAnswer {
  bool granted = false;
  Quota quota;                             // After this call.
  std::optional<nanoseconds> retry_after;  // After a refusal: the time until a call may be granted. kConcurrency has
                                           // none.
};

class Limiter {
 public:
  explicit Limiter(LimitPlan plan) : plan_(std::move(plan)), rate_(plan_.front().rate) {}
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;
  virtual ~Limiter() = default;

  // Asks for a call. A refused one does not count.
  LimiterAnswer ask(nanoseconds now);
  // A granted call has ended.
  void ended(nanoseconds now);
  // The first time from `now` on at which a call would be granted if nothing else happened; empty if a call has to end
  // first. If somebody else shares the limit, ask() may still refuse then.
  std::optional<nanoseconds> next(nanoseconds now);
  double rate() const { return rate_; }
  // The rate that other callers of the limit leave at the moment, on average.
  virtual double left_by_others() const { return rate_; }

 protected:
  virtual bool take(nanoseconds now) = 0;
  virtual void leave() {}
  virtual void changed() {}  // Called after rate() has changed.
  // Updates the state until `now`, under the current rate.
  virtual void pass(nanoseconds) {}
  virtual std::optional<nanoseconds> wait(nanoseconds now) const = 0;  // The time until a call would be granted.
  virtual Quota quota(nanoseconds now) const = 0;

 private:
  void follow(nanoseconds now);

  LimitPlan plan_;
  size_t step_ = 1;  // The index of the next step.
  double rate_;
};

std::unique_ptr<Limiter> make_limiter(const LimiterSpec& spec);
// The span over which the limiter counts, and so the time after which an earlier limit has no effect any more. 1 s for
// kinds without a window.
nanoseconds window_of(LimiterKind kind);

std::string_view name_of(LimiterKind kind);
const std::vector<LimiterKind>& limiter_kinds();
// kValidation with the existing names.
Result<LimiterKind> limiter_kind_of(std::string_view name);

}  // namespace freshet::lab
