// Learns how many tasks a downstream can work on at once, from how fast it does them. Pure state with an explicit now.
//
// The model: with n tasks in work, a downstream ends min(n, knee) / service tasks per second. Below the knee, another
// task in work adds throughput; above it, tasks only wait for each other. The knee is the best concurrency, but neither
// it nor the service time without waiting is known, and either may change at any time. When tasks begin to take four
// times as long, does each take more work (the knee stays), or are three quarters of the servers gone (it falls)? Only
// another concurrency can tell.
//
// So this class keeps the probability of each pair of knee and service time (a grid, logarithmic in both). After every
// window of tasks it first mixes in a small probability that one of the two has changed. Then it weighs each pair by
// how well it explains the number of tasks (a Poisson count with the variance of real service times). The limit is the
// median knee, alternately a bit more and a bit less. The deviation grows with the uncertainty of the knee, so that the
// limit explores when it must and is nearly still when the knee is known. Published algorithms compare single latencies
// with the least or the mean seen (Netflix's Gradient2 and Vegas, Envoy's gradient controller); with random service
// times they swing too much for this purpose.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace freshet {

class AdaptiveConcurrency {
 public:
  // 1 <= least <= most. Starts with `least`.
  AdaptiveConcurrency(size_t least, size_t most);

  // Sets new bounds. What was learnt stays only if they are unchanged.
  void set_bounds(size_t least, size_t most);
  size_t least() const { return least_; }
  size_t most() const { return most_; }

  // started(): a task was sent to the downstream. ended(): the downstream has worked on one.
  void started(BootTime now);
  void ended(BootTime now);
  // The downstream refused a task, as it had no room.
  void refused(BootTime now);
  // A task was taken away from the downstream.
  void abandoned(BootTime now);

  // The number of tasks that may be in work, from least() to most().
  size_t limit() const { return limit_; }
  // The estimates of the knee and of the service time without waiting.
  double knee() const { return knee_; }
  nanoseconds service() const;
  size_t in_work() const { return in_work_; }

 private:
  void pass(BootTime now);
  void close_window();
  void clear_window();
  void let_change(double share);
  void weigh(double tasks);
  void choose();
  double looked_around(double spread) const;
  double& at(size_t knee, size_t service) { return belief_[knee * services_.size() + service]; }

  size_t least_;
  size_t most_;
  std::vector<double> knees_;     // The knees of the grid, in tasks, rising.
  std::vector<double> services_;  // Seconds, rising.
  std::vector<double> log_services_;
  std::vector<double> belief_;  // Probability of each pair; knees_.size() rows.
  std::vector<double> work_;    // Seconds of service done in the window, for each knee.

  size_t limit_;
  double knee_;
  double service_ = 0;
  double most_seen_ = 0;  // The most tasks in work recently.
  unsigned windows_ = 0;

  // The window under way.
  size_t in_work_ = 0;
  std::optional<BootTime> last_;
  std::map<size_t, double> spans_;  // Seconds by the number of tasks in work.
  double seconds_ = 0;
  double tasks_ = 0;
  size_t settling_ = 0;  // Tasks that began under another limit and are to end first.
};

}  // namespace freshet
