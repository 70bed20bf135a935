#include "functions/queue/policy/adaptive_concurrency.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace freshet {

namespace {

constexpr double kGridStep = 0.12;  // The step of the grid, in logarithms: 12 %.
constexpr double kShortest = 0.0005;
constexpr double kSlowest = 3600;
// The variance of counts, divided by that of a Poisson process: 1 for exponential service times, 1.7 for lognormal ones
// with sigma 1.
constexpr double kVariance = 1.5;
// A window ends after kTasks tasks, but not before kLeastSeconds, or after kMostSeconds with fewer tasks.
constexpr double kTasks = 16;
constexpr double kLeastSeconds = 0.02;
constexpr double kMostSeconds = 1;
// The probabilities that, within a full window, one of the two changes to any value; that both do; that they move to a
// neighbour.
constexpr double kGridJump = 3e-4;
constexpr double kBothJump = 1e-4;
constexpr double kDrift = 1e-3;
// To explore, the limit deviates from the knee by kSpread standard deviations of the knee's logarithm, at most by
// kMostSpread and at least by kLeastBelow or kLeastAbove, for kTurn windows at a time. Below kRests, the knee counts as
// known.
constexpr double kSpread = 1.2;
constexpr double kMostSpread = 0.3;
constexpr double kLeastBelow = 0.1;
constexpr double kLeastAbove = 0.2;
constexpr double kRests = 0.2;
constexpr unsigned kTurn = 4;
// Each refusal makes a knee above the number in work less likely by this factor.
constexpr double kRefusal = 0.5;
// The limit is at most twice the largest number that was in work, as nothing is known beyond. That number decays by
// this factor.
constexpr double kForget = 0.99;

std::vector<double> grid(double from, double to) {
  std::vector<double> out{from};
  while (out.back() < to) out.push_back(std::min(out.back() * std::exp(kGridStep), to));
  return out;
}

}  // namespace

AdaptiveConcurrency::AdaptiveConcurrency(size_t least, size_t most)
    : least_(least),
      most_(most),
      services_(grid(kShortest, kSlowest)),
      limit_(least),
      knee_(static_cast<double>(least)) {
  knees_ = grid(static_cast<double>(least), static_cast<double>(most));
  for (const double service : services_) log_services_.push_back(std::log(service));
  belief_.assign(knees_.size() * services_.size(), 1.0 / static_cast<double>(knees_.size() * services_.size()));
}

void AdaptiveConcurrency::set_bounds(size_t least, size_t most) {
  if (least == least_ && most == most_) return;
  const size_t in_work = in_work_;
  *this = AdaptiveConcurrency(least, most);
  in_work_ = in_work;
}

nanoseconds AdaptiveConcurrency::service() const {
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(service_));
}

void AdaptiveConcurrency::pass(BootTime now) {
  if (last_ && in_work_ > 0) {
    const double passed = std::chrono::duration<double>(now - *last_).count();
    spans_[in_work_] += passed;
    seconds_ += passed;
  }
  last_ = now;
}

void AdaptiveConcurrency::started(BootTime now) {
  pass(now);
  ++in_work_;
}

void AdaptiveConcurrency::ended(BootTime now) {
  pass(now);
  if (in_work_ > 0) --in_work_;
  if (settling_ > 0) {
    if (--settling_ > 0) return;
    return clear_window();
  }
  ++tasks_;
  if ((tasks_ >= std::max(kTasks, static_cast<double>(limit_)) && seconds_ >= kLeastSeconds) ||
      seconds_ >= kMostSeconds)
    close_window();
}

void AdaptiveConcurrency::refused(BootTime now) {
  pass(now);
  double sum = 0;
  for (size_t i = 0; i < knees_.size(); ++i) {
    const bool above = knees_[i] >= static_cast<double>(in_work_);
    for (size_t j = 0; j < services_.size(); ++j) sum += at(i, j) *= above ? kRefusal : 1;
  }
  for (double& one : belief_) one /= sum;
  if (in_work_ > 0) --in_work_;
  clear_window();  // Its times are of little use, as others were refused meanwhile.
  choose();
}

void AdaptiveConcurrency::abandoned(BootTime now) {
  pass(now);
  if (in_work_ > 0) --in_work_;
}

void AdaptiveConcurrency::close_window() {
  work_.assign(knees_.size(), 0);
  most_seen_ *= kForget;
  for (const auto& [tasks, length] : spans_) {
    const auto in_work = static_cast<double>(tasks);
    most_seen_ = std::max(most_seen_, in_work);
    for (size_t i = 0; i < knees_.size(); ++i) work_[i] += std::min(in_work, knees_[i]) * length;
  }
  let_change(std::min(1.0, tasks_ / kTasks));
  weigh(tasks_);
  clear_window();
  ++windows_;
  const size_t before = limit_;
  choose();
  if (limit_ != before) settling_ = in_work_;
}

void AdaptiveConcurrency::clear_window() {
  spans_.clear();
  seconds_ = tasks_ = 0;
}

// Either value may have changed since the last window.
void AdaptiveConcurrency::let_change(double share) {
  const size_t rows = knees_.size();
  const size_t columns = services_.size();
  std::vector<double> of_knee(rows, 0);
  std::vector<double> of_service(columns, 0);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      of_knee[i] += at(i, j);
      of_service[j] += at(i, j);
    }
  }
  const double jump = kGridJump * share;
  const double both = kBothJump * share;
  const double drift = kDrift * share;
  const std::vector<double> before = belief_;
  const auto old = [&](size_t i, size_t j) { return before[i * columns + j]; };
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      const double beside = old(i == 0 ? 0 : i - 1, j) + old(std::min(i + 1, rows - 1), j) +
                            old(i, j == 0 ? 0 : j - 1) + old(i, std::min(j + 1, columns - 1));
      at(i, j) = (1 - 2 * jump - both - 4 * drift) * old(i, j) + drift * beside +
                 jump * of_service[j] / static_cast<double>(rows) + jump * of_knee[i] / static_cast<double>(columns) +
                 both / static_cast<double>(rows * columns);
    }
  }
}

// Weighs each pair by the log-likelihood of that many tasks, divided by kVariance.
void AdaptiveConcurrency::weigh(double tasks) {
  std::vector<double> logs(belief_.size());
  double best = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < knees_.size(); ++i) {
    const double log_of_work = std::log(work_[i]);
    for (size_t j = 0; j < services_.size(); ++j) {
      double& one = logs[i * services_.size() + j];
      one = (tasks * (log_of_work - log_services_[j]) - work_[i] / services_[j]) / kVariance;
      best = std::max(best, one);
    }
  }
  double sum = 0;
  for (size_t k = 0; k < logs.size(); ++k) sum += belief_[k] *= std::exp(logs[k] - best);
  for (double& one : belief_) one /= sum;
}

// The knee, or a value near it. If the knee is uncertain, the value is below and above it in turns. If it is certain,
// every other turn is the knee itself; the others deviate just far enough to show that something has changed.
double AdaptiveConcurrency::looked_around(double spread) const {
  const unsigned turn = windows_ / kTurn;
  const bool rests = spread < kRests && turn % 2 == 0;
  const bool above = spread < kRests ? turn % 4 == 1 : turn % 2 == 1;
  if (rests) return knee_;
  if (above) return std::max(knee_ * std::exp(std::max(spread, kLeastAbove)), knee_ + 1);
  return knee_ / std::exp(std::max(spread, kLeastBelow));
}

void AdaptiveConcurrency::choose() {
  std::vector<double> of_knee(knees_.size(), 0);
  double service = 0, mean = 0, square = 0;
  for (size_t i = 0; i < knees_.size(); ++i) {
    for (size_t j = 0; j < services_.size(); ++j) {
      of_knee[i] += at(i, j);
      service += at(i, j) * log_services_[j];
    }
    mean += of_knee[i] * std::log(knees_[i]);
    square += of_knee[i] * std::log(knees_[i]) * std::log(knees_[i]);
  }
  service_ = std::exp(service);
  size_t median = 0;
  for (double below = of_knee[0]; below < 0.5 && median + 1 < knees_.size();) below += of_knee[++median];
  knee_ = knees_[median];
  const double spread = std::min(kMostSpread, kSpread * std::sqrt(std::max(0.0, square - mean * mean)));
  const double wanted = looked_around(spread);
  const double tried = std::max(2 * most_seen_, static_cast<double>(least_));
  const double limit = std::round(std::min(wanted, tried));
  limit_ = static_cast<size_t>(std::clamp(limit, static_cast<double>(least_), static_cast<double>(most_)));
}

}  // namespace freshet
