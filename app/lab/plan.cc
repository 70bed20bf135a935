#include "app/lab/plan.h"

#include <charconv>

namespace freshet::lab {

namespace {

struct PoolScale {
  int slots;
  nanoseconds mean;
};
constexpr int64_t kLongestMean = 60'000'000;  // Fits in either unit; check() knows better.
constexpr PoolScale kSlow{16, milliseconds(100)};
constexpr PoolScale kFast{1, milliseconds(1)};

Result<PoolScale> scale_of(const std::string& text) {
  const auto x = text.find('x');
  PoolScale out{0, nanoseconds(0)};
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto slots = std::from_chars(text.data(), end, out.slots);
  if (x != std::string::npos && slots.ec == std::errc() && slots.ptr == text.data() + x) {
    const auto mean = std::from_chars(text.data() + x + 1, end, number);
    const std::string_view unit(mean.ptr, static_cast<size_t>(end - mean.ptr));
    if (number > kLongestMean) number = 0;
    if (mean.ec == std::errc() && unit == "ms") out.mean = milliseconds(number);
    if (mean.ec == std::errc() && unit == "us") out.mean = std::chrono::microseconds(number);
  }
  if (out.slots < 1 || out.mean.count() <= 0) {
    return invalid(
        "--scale '" + text +
        "' must be WORKERSxTIME: how many there are and the mean time of a task, as in 16x100ms, 1x1ms or 4x500us");
  }
  return out;
}

// With short services a fifth of a minute has as many tasks.
seconds length_of(const Plan& plan, Shape shape, PoolScale scale) {
  if (plan.seconds > 0) return seconds(plan.seconds);
  if (shape == Shape::kStep) return kCalm + kStep + seconds(20);
  if (shape == Shape::kStall) return kCalm + kStall + seconds(20);
  if (shape == Shape::kBursty) return seconds(60);
  return scale.mean < milliseconds(10) ? seconds(12) : seconds(60);
}

Scenario scenario(Shape shape, double load, PoolScale scale) {
  Scenario out;
  out.shape = shape;
  out.load = load;
  out.slots = scale.slots;
  out.mean = scale.mean;
  return out;
}

std::vector<Scenario> story(const Plan& plan) {
  std::vector<Scenario> out;
  for (const PoolScale scale : {kSlow, kFast}) {
    for (const double load : kLoads) out.push_back(scenario(Shape::kPoisson, load, scale));
    for (const double load : {3.0, 10.0}) out.push_back(scenario(Shape::kStep, load, scale));
    out.push_back(scenario(Shape::kStall, kCalmLoad, scale));
    out.push_back(scenario(Shape::kBursty, 1, scale));
    out.push_back(scenario(Shape::kPoisson, 2, scale));
    out.back().retries = 2;
    out.push_back(scenario(Shape::kPoisson, 3, scale));
    out.back().quiet_share = kQuietShare;
  }
  for (auto& one : out) one.duration = length_of(plan, one.shape, {one.slots, one.mean});
  return out;
}

template <class T>
std::vector<T> or_usual(const std::vector<T>& given, std::vector<T> usual) {
  return given.empty() ? usual : given;
}

}  // namespace

bool Plan::is_default() const {
  return shapes.empty() && loads.empty() && services.empty() && scales.empty() && deadlines.empty() &&
         retries.empty() && !groups;
}

Plan for_real_time(Plan plan) {
  if (plan.loads.empty()) plan.loads = {0.8, 1, 2, 10};
  if (plan.scales.empty()) plan.scales = {"16x100ms"};
  if (plan.seconds == 0 && plan.shapes.empty()) plan.seconds = 8;
  return plan;
}

Result<std::vector<Scenario>> scenarios_of(const Plan& plan) {
  std::vector<Scenario> out;
  if (plan.is_default()) return story(plan);
  for (const auto& scale_text : or_usual(plan.scales, {"16x100ms", "1x1ms"})) {
    const auto scale = scale_of(scale_text);
    if (!scale) return fail(scale.error());
    for (const auto& shape_text : or_usual(plan.shapes, {"poisson"})) {
      const auto shape = shape_of(shape_text);
      if (!shape) return fail(shape.error());
      for (const auto& service_text : or_usual(plan.services, {"exponential"})) {
        const auto service = service_of(service_text);
        if (!service) return fail(service.error());
        for (const double deadline : or_usual(plan.deadlines, {10.0})) {
          for (const int retries : or_usual(plan.retries, {0})) {
            for (const double load : or_usual(plan.loads, kLoads)) {
              Scenario one = scenario(*shape, load, *scale);
              one.service = *service;
              one.deadline = deadline;
              one.retries = retries;
              one.quiet_share = plan.groups ? kQuietShare : 0;
              one.duration = length_of(plan, *shape, *scale);
              if (auto ok = check(one); !ok) return fail(ok.error());
              out.push_back(one);
            }
          }
        }
      }
    }
  }
  return out;
}

}  // namespace freshet::lab
