// A scenario of the overload lab gives the arrivals of tasks, their deadlines, and the durations of calls to the
// downstream. Everything follows from the scenario and a seed, so that all policies get the same load.
//
// Service times belong to calls, not to tasks: the n-th task that is started, whichever it is, takes the n-th time of
// the seed's sequence. A downstream whose work is opaque behaves like that, and a clairvoyant scheduler then knows the
// future but cannot pick short tasks, which no queue can see.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"

namespace freshet::lab {

// The quiet group beside a loud one: one task in a thousand.
inline constexpr double kQuietShare = 1.0 / 1001;

enum class Shape { kPoisson, kBursty, kStep, kStall };
enum class Service { kConstant, kExponential, kLognormal, kBimodal };

// Times of a step or a stall: 20 s at 0.8, then the event, then 0.8 again.
inline constexpr seconds kCalm{20};
inline constexpr seconds kStep{10};
inline constexpr seconds kStall{30};
inline constexpr double kCalmLoad = 0.8;
// The longest time that a run continues after the last arrival.
inline constexpr seconds kAfter{60};

struct Scenario {
  Shape shape = Shape::kPoisson;
  double load = 1;  // Arrivals as a multiple of the capacity; for a step, during the step.
  Service service = Service::kExponential;
  int slots = 16;
  nanoseconds mean{milliseconds(100)};
  double deadline = 10;      // In mean service times after creation; 0: a third each of 3, 10 and 100.
  int retries = 0;           // How often a client tries again if it was not served in time.
  double quiet_share = 0;    // Share of tasks that belong to the quiet group; 0: no groups.
  bool quiet_alone = false;  // True: without the loud group, to compare with.
  seconds duration{60};
  double start_rate = 0;   // The most starts per second in a model, as a token bucket; 0: only the slots limit it.
  double start_burst = 1;  // The bucket's size, at least 1.
  // A trace replaces shape, load, service and deadline.
  const struct Trace* trace = nullptr;

  double capacity() const { return slots / std::chrono::duration<double>(mean).count(); }  // Tasks per second.
  std::string name() const;
};

struct Arrival {
  nanoseconds at{0};        // Since the start.
  int64_t deadline_ms = 0;  // Since the start, whole milliseconds, as clients give deadlines.
  bool quiet = false;
};

// The properties with which a task of a trace was created, besides its times.
struct TraceTask {
  std::string group;
  std::string key;
  bool replace = false;  // True: it replaces a waiting task with the same key.
  int priority = 0;
  std::optional<double> cost;
  std::optional<milliseconds> delay;
  std::optional<int> max_attempts;
};

struct Trace {
  std::vector<Arrival> arrivals;      // By time.
  std::vector<nanoseconds> services;  // As observed, in order of their starts.
  std::vector<bool> failed = {};      // Tells which of these calls failed. Empty: none did.
  std::vector<bool> refused = {};     // Tells which of these calls the downstream refused. Empty: none.
  // The actual cost of each of those calls divided by its task's cost. Empty: 1 for each. As service times, they belong
  // to calls, not to tasks.
  std::vector<double> cost_ratios = {};
  double default_cost = 1;            // The cost of a task that names none.
  std::vector<TraceTask> tasks = {};  // One for each arrival. Empty: the tasks have only their times.
};

std::string_view name_of(Shape shape);
std::string_view name_of(Service service);
Result<Shape> shape_of(std::string_view name);
Result<Service> service_of(std::string_view name);

// Refuses a load, a deadline or a number of slots that makes no sense.
Result<void> check(const Scenario& scenario);

// The first attempts of all clients.
std::vector<Arrival> arrivals_of(const Scenario& scenario, uint64_t seed);

// The sequence of service times.
class CallTimes {
 public:
  CallTimes(const Scenario& scenario, uint64_t seed) : scenario_(&scenario), random_(seed ^ 0x5e971ce5u) {}
  // The service time of the n-th call, from 0. The first request for each n must come in order.
  nanoseconds of(size_t n);
  // True if the n-th call fails. Calls beyond the observed ones do not fail.
  bool fails(size_t n) const;
  // True if the downstream refuses the n-th call: its task goes back to the queue. Calls beyond the observed ones are
  // refused as those were.
  bool refuses(size_t n) const;
  // The cost that a call reports at its end, divided by the cost of its task; 1: it reports none.
  double cost_ratio(size_t n) const;
  // The end of a call that begins at `start` and takes `service`: later if the workers stall meanwhile.
  nanoseconds end(nanoseconds start, nanoseconds service) const;

 private:
  nanoseconds draw();

  const Scenario* scenario_;
  Random random_;
  std::vector<nanoseconds> drawn_;
};

// The deadline of a task that a client with `patience` creates at `at`.
int64_t deadline_ms(nanoseconds at, nanoseconds patience);
double exponential(Random& random);

}  // namespace freshet::lab
