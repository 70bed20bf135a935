// A scenario of the overload lab says when tasks come, when they are due, and how long calls to the downstream take.
// Everything follows from the scenario and a seed, so that all policies see the same.
//
// Service times belong to calls, not to tasks: the n-th task that is started, whichever it is, takes the n-th time of
// the seed's sequence. That is how a downstream behaves whose work is opaque, and it lets a clairvoyant scheduler know
// the future without letting it pick short tasks, which no queue can see.
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
// For that long at most a run goes on when no more tasks come.
inline constexpr seconds kAfter{60};

struct Scenario {
  Shape shape = Shape::kPoisson;
  double load = 1;  // x capacity; of a step: during it.
  Service service = Service::kExponential;
  int slots = 16;
  nanoseconds mean{milliseconds(100)};
  double deadline = 10;      // x mean after creation; 0: a third each of 3, 10 and 100.
  int retries = 0;           // How often a client tries again that was not served in time.
  double quiet_share = 0;    // Share of tasks that belong to the quiet group; 0: no groups.
  bool quiet_alone = false;  // Without the loud group, to compare with.
  seconds duration{60};
  // A trace replaces shape, load, service and deadline.
  const struct Trace* trace = nullptr;

  double capacity() const { return slots / std::chrono::duration<double>(mean).count(); }  // Tasks a second.
  std::string name() const;
};

struct Arrival {
  nanoseconds at{0};        // Since the start.
  int64_t deadline_ms = 0;  // Since the start, whole milliseconds, as clients give deadlines.
  bool quiet = false;
};

// How a task of a trace was created, beside its times.
struct TraceTask {
  std::string group;
  std::string key;
  bool replace = false;  // It takes the place of the one of its key that waits.
  int priority = 0;
  std::optional<double> cost;
  std::optional<milliseconds> delay;
  std::optional<int> max_attempts;
};

struct Trace {
  std::vector<Arrival> arrivals;      // By time.
  std::vector<nanoseconds> services;  // As observed, in order of their starts.
  std::vector<bool> failed = {};      // The calls among them that failed. Empty: none did.
  // How much more than its task's cost each of those calls turned out to cost. Empty: each as much. As with services,
  // that belongs to calls, not to tasks.
  std::vector<double> cost_ratios = {};
  double default_cost = 1;            // Of a task that names none.
  std::vector<TraceTask> tasks = {};  // One for each arrival. Empty: they have nothing but their times.
};

std::string_view name_of(Shape shape);
std::string_view name_of(Service service);
Result<Shape> shape_of(std::string_view name);
Result<Service> service_of(std::string_view name);

// Refuses a load, a deadline or numbers of slots that make no sense.
Result<void> check(const Scenario& scenario);

// First attempts of all clients.
std::vector<Arrival> arrivals_of(const Scenario& scenario, uint64_t seed);

// The sequence of service times.
class CallTimes {
 public:
  CallTimes(const Scenario& scenario, uint64_t seed) : scenario_(&scenario), random_(seed ^ 0x5e971ce5u) {}
  // The service time of the n-th call, from 0. The first request for each n must come in order.
  nanoseconds of(size_t n);
  // The n-th call fails. Beyond what was observed, none does.
  bool fails(size_t n) const;
  // The cost that a call reports at its end, divided by the cost of its task; 1: it reports none.
  double cost_ratio(size_t n) const;
  // When a call ends that begins at `start` and takes `service`: later if the workers stall meanwhile.
  nanoseconds end(nanoseconds start, nanoseconds service) const;

 private:
  nanoseconds draw();

  const Scenario* scenario_;
  Random random_;
  std::vector<nanoseconds> drawn_;
};

// Deadline of a task that a client creates at `at`, when it says that it has `patience`.
int64_t deadline_ms(nanoseconds at, nanoseconds patience);
double exponential(Random& random);

}  // namespace freshet::lab
