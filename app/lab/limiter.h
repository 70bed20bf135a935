// Models of what limits the calls to a downstream, with an explicit now. The limit changes over time by a plan that the
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
  kWindow1s,     // So many calls in each second of a fixed grid.
  kWindow60s,    // So many calls in each minute of a fixed grid.
  kSliding,      // So many calls in any 10 s.
  kShared,       // A token bucket of which somebody else uses a random, changing share, and is served first.
  kConcurrency,  // So many calls under way: those that end at the limit's rate, at the mean service time.
};

struct LimitStep {
  nanoseconds at{0};
  double rate = 0;  // Calls a second from then on; above 0.
};
using LimitPlan = std::vector<LimitStep>;  // Rising; the first is at 0.

// How a limiter of a kind is made.
struct LimiterSpec {
  LimiterKind kind = LimiterKind::kTokenBucket;
  LimitPlan plan;
  double burst_seconds = 1;                // A token bucket holds so many seconds' worth, one token at least.
  nanoseconds offset{0};                   // A fixed window's grid begins that long after the start.
  std::optional<nanoseconds> window = {};  // Another window than that of its kind.
  nanoseconds mean_service{0};             // kConcurrency: calls take that long on average.
  uint64_t seed = 1;                       // kShared: decides what the other one does.
};

// The state of a limiter, which it may tell in headers.
struct Quota {
  double limit = 0;                  // So many calls
  nanoseconds window{0};             // in that time; 0: at once.
  double remaining = 0;              // so many of them are left.
  std::optional<nanoseconds> reset;  // Until all of the limit is there again. kConcurrency knows none.
};

struct LimiterAnswer {
  bool granted = false;
  Quota quota;                             // After the call.
  std::optional<nanoseconds> retry_after;  // After a refusal: until one may be granted. kConcurrency does not know.
};

class Limiter {
 public:
  explicit Limiter(LimitPlan plan) : plan_(std::move(plan)), rate_(plan_.front().rate) {}
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;
  virtual ~Limiter() = default;

  // A call comes. A refused one counts for nothing.
  LimiterAnswer ask(nanoseconds now);
  // A granted call has ended.
  void ended(nanoseconds now);
  // The first moment from `now` on at which a call would be granted if nothing else happened; empty if a call has to
  // end first. ask() may still refuse then where somebody else shares the limit.
  std::optional<nanoseconds> next(nanoseconds now);
  double rate() const { return rate_; }

 protected:
  virtual bool take(nanoseconds now) = 0;
  virtual void leave() {}
  virtual void changed() {}  // rate() has.
  // Whatever happens by itself until `now`, under the rate that is in force.
  virtual void pass(nanoseconds) {}
  virtual std::optional<nanoseconds> wait(nanoseconds now) const = 0;  // Until a call would be granted.
  virtual Quota quota(nanoseconds now) const = 0;

 private:
  void follow(nanoseconds now);

  LimitPlan plan_;
  size_t step_ = 1;  // The next one.
  double rate_;
};

std::unique_ptr<Limiter> make_limiter(const LimiterSpec& spec);
// The longest span over which it counts: what it takes to forget another limit. 1 s for those without a window.
nanoseconds window_of(LimiterKind kind);

std::string_view name_of(LimiterKind kind);
const std::vector<LimiterKind>& limiter_kinds();
// kValidation, naming those that there are.
Result<LimiterKind> limiter_kind_of(std::string_view name);

}  // namespace freshet::lab
