#include "app/lab/whatif_figures.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace freshet::lab {
namespace {

// The 95th percentile of Student's distribution, by degrees of freedom from 1.
constexpr std::array kStudent = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
                                 1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725};
constexpr double kNormal = 1.645;

double student(size_t degrees) {
  if (degrees == 0) return 0;
  return degrees <= kStudent.size() ? kStudent[degrees - 1] : kNormal + 1.6 / static_cast<double>(degrees);
}

double percent_in_time(PlayCount count) {
  return count.tasks == 0 ? 0 : 100.0 * static_cast<double>(count.in_time) / static_cast<double>(count.tasks);
}

// The figure of one window in each of its plays, and how sure it is.
struct WindowSample {
  double value = 0;
  double variance = 0;  // Between the recorded load and a further one.
  size_t degrees = 0;
  double off = 0;     // How far the simulation may be wrong, in either direction.
  double weight = 0;  // The tasks of the window.
};

WindowSample sample_of(const std::vector<double>& plays, double weight) {
  WindowSample out;
  out.value = plays.front();
  out.weight = weight;
  const size_t count = plays.size() - 1;
  if (count < 2) return out;
  double mean = 0;
  for (size_t i = 1; i <= count; ++i) mean += plays[i] / static_cast<double>(count);
  for (size_t i = 1; i <= count; ++i) out.variance += (plays[i] - mean) * (plays[i] - mean);
  out.degrees = count - 1;
  // Chance had its part in the recorded load, and will have it again.
  out.variance *= 2.0 / static_cast<double>(out.degrees);
  return out;
}

// All windows as one; the weights are the tasks.
WindowSample sum_of(const std::vector<WindowSample>& samples) {
  WindowSample out;
  for (const WindowSample& one : samples) out.weight += one.weight;
  if (out.weight == 0) return out;
  double off = 0;
  for (const WindowSample& one : samples) {
    const double share = one.weight / out.weight;
    out.value += share * one.value;
    out.variance += share * share * one.variance;
    out.degrees += one.degrees;
    off += share * one.off;
  }
  out.off = off;
  return out;
}

Bounds bounds_of(const WindowSample& sample) {
  const double half = student(sample.degrees) * std::sqrt(sample.variance) + std::abs(sample.off);
  return {sample.value, std::max(0.0, sample.value - half), std::min(100.0, sample.value + half)};
}

// One policy in all windows.
class PolicyRow {
 public:
  // `off`: how far the simulation of that window was from what was recorded. A regret is a difference of two
  // simulations, which are wrong in the same direction, so it is not wider by that.
  void add(const std::vector<PlayCount>& plays, const std::vector<PlayCount>& best, double off) {
    const auto weight = static_cast<double>(plays.front().tasks);
    std::vector<double> shares;
    std::vector<double> regrets;
    for (size_t i = 0; i < plays.size(); ++i) {
      shares.push_back(percent_in_time(plays[i]));
      regrets.push_back(percent_in_time(best[i]) - shares.back());
    }
    shares_.push_back(sample_of(shares, weight));
    shares_.back().off = off;
    regrets_.push_back(sample_of(regrets, weight));
    counts_.push_back(plays.front());
  }

  PolicyShares result() const {
    PolicyShares out;
    for (size_t i = 0; i < counts_.size(); ++i) {
      out.windows.push_back({counts_[i].tasks, counts_[i].in_time, bounds_of(shares_[i]), bounds_of(regrets_[i])});
      out.all.tasks += counts_[i].tasks;
      out.all.in_time += counts_[i].in_time;
    }
    out.all.share = bounds_of(sum_of(shares_));
    out.all.regret = bounds_of(sum_of(regrets_));
    return out;
  }

 private:
  std::vector<WindowSample> shares_;
  std::vector<WindowSample> regrets_;
  std::vector<PlayCount> counts_;
};

std::vector<PlayCount> best_of(const WindowPlays& window) {
  std::vector<PlayCount> best = window.clairvoyant;
  for (const auto& plays : window.policies) {
    for (size_t i = 0; i < best.size(); ++i) {
      if (percent_in_time(plays[i]) > percent_in_time(best[i])) best[i] = plays[i];
    }
  }
  return best;
}

}  // namespace

WhatIfFigures figures_of(const std::vector<WindowPlays>& windows) {
  WhatIfFigures out;
  if (windows.empty()) return out;
  std::vector<PolicyRow> rows(windows.front().policies.size());
  PolicyRow best_row;
  for (const WindowPlays& window : windows) {
    const auto best = best_of(window);
    const double off = percent_in_time(window.policies.front().front()) - percent_in_time(window.recorded);
    for (size_t i = 0; i < rows.size(); ++i) rows[i].add(window.policies[i], best, off);
    best_row.add(best, best, off);
    out.recorded.tasks += window.recorded.tasks;
    out.recorded.in_time += window.recorded.in_time;
  }
  for (const PolicyRow& row : rows) out.policies.push_back(row.result());
  out.best_known = best_row.result();
  return out;
}

}  // namespace freshet::lab
