#include "app/lab/scenario.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace freshet::lab {

namespace {

constexpr std::array<std::string_view, 4> kShapes = {"poisson", "bursty", "step", "stall"};
constexpr std::array<std::string_view, 4> kServices = {"constant", "exponential", "lognormal", "bimodal"};
constexpr double kBurst = 5;  // x the rate between bursts.
constexpr seconds kBurstLength{2};
constexpr seconds kBurstPeriod{10};

// The lognormal distribution has a sigma of 1. In the bimodal one nine of ten are short; the tenth takes ten times as
// long.
constexpr double kShort = 1 / 1.9;
constexpr double kLong = 10 / 1.9;

template <class Enum, size_t n>
Result<Enum> named(const std::array<std::string_view, n>& names, std::string_view name, const char* what) {
  std::string all;
  for (size_t i = 0; i < n; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
    all.append(all.empty() ? "" : ", ").append(names[i]);
  }
  return invalid(std::string(what) + " '" + std::string(name) + "' is none of " + all);
}

double gaussian(Random& random) {
  const double radius = std::sqrt(2 * exponential(random));
  return radius * std::cos(2 * 3.14159265358979323846 * random.unit());
}

// Load at `at`, x capacity, and until when it stays that.
struct Rate {
  double load;
  nanoseconds until;
};

Rate rate_at(const Scenario& scenario, nanoseconds at) {
  constexpr nanoseconds kForEver = std::chrono::hours(24 * 365);
  switch (scenario.shape) {
    case Shape::kPoisson:
      return {scenario.load, kForEver};
    case Shape::kBursty: {
      // `load` is the mean; a period begins with its quiet part.
      const nanoseconds period = at / nanoseconds(kBurstPeriod) * nanoseconds(kBurstPeriod);
      const nanoseconds burst = period + kBurstPeriod - kBurstLength;
      const double share = std::chrono::duration<double>(kBurstLength) / std::chrono::duration<double>(kBurstPeriod);
      const double base = scenario.load / (1 + (kBurst - 1) * share);
      return at < burst ? Rate{base, burst} : Rate{base * kBurst, period + kBurstPeriod};
    }
    case Shape::kStep:
      if (at < kCalm) return {kCalmLoad, kCalm};
      if (at < kCalm + kStep) return {scenario.load, kCalm + kStep};
      return {kCalmLoad, kForEver};
    case Shape::kStall:
      return {scenario.load, kForEver};
  }
  return {scenario.load, kForEver};
}

}  // namespace

double exponential(Random& random) {
  return -std::log(1 - random.unit());
}

std::string_view name_of(Shape shape) {
  return kShapes[static_cast<size_t>(shape)];
}
std::string_view name_of(Service service) {
  return kServices[static_cast<size_t>(service)];
}
Result<Shape> shape_of(std::string_view name) {
  return named<Shape>(kShapes, name, "--shape");
}
Result<Service> service_of(std::string_view name) {
  return named<Service>(kServices, name, "--service");
}

std::string Scenario::name() const {
  if (trace) return "trace";
  auto text = fmt::format("{} {:g} x, {} of {:g} ms at {}, deadline {}", name_of(shape), load, name_of(service),
                          std::chrono::duration<double, std::milli>(mean).count(), slots,
                          deadline > 0 ? fmt::format("{:g} x", deadline) : std::string("mixed"));
  if (retries > 0) text += fmt::format(", {} retries", retries);
  if (quiet_share > 0) text += ", two groups";
  return text;
}

Result<void> check(const Scenario& scenario) {
  const auto wrong = [](std::string what) { return invalid(std::move(what)); };
  if (!(scenario.load > 0 && scenario.load <= 100)) {
    return wrong(
        fmt::format("--load {:g}: it must be above 0 and at most 100 (times what the workers can do)", scenario.load));
  }
  if (scenario.slots < 1 || scenario.slots > 10'000) {
    return wrong(
        fmt::format("{} workers (--scale WORKERSxTIME, or --slots): there must be 1 to 10000", scenario.slots));
  }
  if (scenario.mean < std::chrono::microseconds(100) || scenario.mean > seconds(60)) {
    return wrong("the mean time of a task (--scale WORKERSxTIME) must be from 0.1 ms to 60 s");
  }
  if (scenario.deadline != 0 && !(scenario.deadline >= 1 && scenario.deadline <= 1'000'000)) {
    return wrong(
        fmt::format("--deadline {:g}: it must be from 1 to 1000000 (times the mean time of a task), or 0: a third each "
                    "has 3, 10 and 100",
                    scenario.deadline));
  }
  if (scenario.deadline * std::chrono::duration<double, std::milli>(scenario.mean).count() < 2 &&
      scenario.deadline != 0) {
    return wrong("--deadline times the mean time of a task must be at least 2 ms, as deadlines are whole milliseconds");
  }
  if (scenario.retries < 0 || scenario.retries > 10)
    return wrong(fmt::format("--retries {}: it must be from 0 to 10", scenario.retries));
  if (scenario.duration < seconds(1) || scenario.duration > seconds(3600)) {
    return wrong("a run must last from 1 s to 3600 s (--seconds)");
  }
  const bool event = scenario.shape == Shape::kStep || scenario.shape == Shape::kStall;
  const seconds least = kCalm + (scenario.shape == Shape::kStep ? kStep : kStall) + seconds(10);
  if (event && scenario.duration < least) {
    return wrong(
        fmt::format("--shape {} needs a run of {} s or more (--seconds)", name_of(scenario.shape), least.count()));
  }
  const double tasks = scenario.load * scenario.capacity() * static_cast<double>(scenario.duration.count());
  if (tasks > 20e6)
    return wrong(fmt::format(
        "{:.0f} tasks in a run are too many, at most 20 million: choose less of --load, --seconds or --scale", tasks));
  return {};
}

int64_t deadline_ms(nanoseconds at, nanoseconds patience) {
  return std::chrono::ceil<milliseconds>(at + patience).count();
}

std::vector<Arrival> arrivals_of(const Scenario& scenario, uint64_t seed) {
  if (scenario.trace) return scenario.trace->arrivals;
  Random random(seed);
  std::vector<Arrival> out;
  const double capacity = scenario.capacity() / 1e9;  // A nanosecond.
  const nanoseconds end = scenario.duration;
  nanoseconds now{0};
  while (now < end) {
    const Rate rate = rate_at(scenario, now);
    const double wait = exponential(random) / (rate.load * capacity);
    // Memoryless: at a change of the rate the next gap is drawn anew.
    if (wait >= static_cast<double>((rate.until - now).count())) {
      now = rate.until;
      continue;
    }
    now += nanoseconds(static_cast<int64_t>(wait));
    if (now >= end) break;
    constexpr std::array kMixed = {3.0, 10.0, 100.0};
    const double patience = scenario.deadline > 0 ? scenario.deadline : kMixed[random.below(3)];
    Arrival arrival;
    arrival.at = now;
    arrival.deadline_ms =
        deadline_ms(now, nanoseconds(static_cast<int64_t>(patience * static_cast<double>(scenario.mean.count()))));
    arrival.quiet = scenario.quiet_share > 0 && random.unit() < scenario.quiet_share;
    if (arrival.quiet || !scenario.quiet_alone) out.push_back(arrival);
  }
  return out;
}

nanoseconds CallTimes::draw() {
  if (scenario_->trace) {
    const auto& seen = scenario_->trace->services;
    // As they came; beyond what was observed, any of them.
    return drawn_.size() < seen.size() ? seen[drawn_.size()] : seen[random_.below(seen.size())];
  }
  double time = 1;
  switch (scenario_->service) {
    case Service::kConstant:
      break;
    case Service::kExponential:
      time = exponential(random_);
      break;
    case Service::kLognormal:
      time = std::exp(gaussian(random_) - 0.5);
      break;
    case Service::kBimodal:
      time = random_.unit() < 0.9 ? kShort : kLong;
      break;
  }
  return nanoseconds(std::max<int64_t>(1, static_cast<int64_t>(time * static_cast<double>(scenario_->mean.count()))));
}

nanoseconds CallTimes::of(size_t n) {
  while (drawn_.size() <= n) drawn_.push_back(draw());
  return drawn_[n];
}

bool CallTimes::fails(size_t n) const {
  return scenario_->trace && n < scenario_->trace->failed.size() && scenario_->trace->failed[n];
}

bool CallTimes::refuses(size_t n) const {
  if (scenario_->trace == nullptr || scenario_->trace->refused.empty()) return false;
  return scenario_->trace->refused[n % scenario_->trace->refused.size()];
}

double CallTimes::cost_ratio(size_t n) const {
  if (scenario_->trace == nullptr || scenario_->trace->cost_ratios.empty()) return 1;
  return scenario_->trace->cost_ratios[n % scenario_->trace->cost_ratios.size()];
}

nanoseconds CallTimes::end(nanoseconds start, nanoseconds service) const {
  if (scenario_->shape != Shape::kStall || scenario_->trace) return start + service;
  const nanoseconds from = kCalm;
  const nanoseconds to = kCalm + kStall;
  if (start >= to || start + service <= from) return start + service;
  return std::max(start, from) == start ? to + service : start + service + kStall;
}

}  // namespace freshet::lab
