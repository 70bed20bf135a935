// How many tasks a downstream can bear at once, learnt from how fast it does them. Pure state with an explicit now.
//
// The model: with n in work a downstream ends min(n, knee) / service tasks a second. Below the knee one more in work is
// one more done; above it tasks only wait for each other there. The knee is the best concurrency, but neither it nor
// the service time without waiting is known, and either may change at any time. When tasks begin to take four times as
// long, does each take more work (the knee stays), or are three quarters of the servers gone (it falls)? Only another
// concurrency can tell.
//
// So it keeps how likely each pair of the two is (a grid, logarithmic in both), and after every window of tasks weighs
// it by how well the pair explains their number (a Poisson count with the variance of real service times), having let
// in a little of "one of the two has changed" before. The limit is the median knee, alternately a bit more and less:
// as much as the knee is uncertain, so that it looks around when it has to and rests, mostly, when it knows. Published
// algorithms compare single latencies with the least or the mean seen (Netflix's Gradient2 and Vegas, Envoy's gradient
// controller); with random service times they swing by more than what is asked for here.
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

  // Other bounds, from now on. What was learnt stays if they are the same.
  void set_bounds(size_t least, size_t most);
  size_t least() const { return least_; }
  size_t most() const { return most_; }

  // A task is handed to the downstream; it gives one back on which it has worked.
  void started(BootTime now);
  void ended(BootTime now);
  // It gives one back that it had no room for.
  void refused(BootTime now);
  // One was taken from it.
  void abandoned(BootTime now);

  // How many may be in work. least..most.
  size_t limit() const { return limit_; }
  // The knee as it is believed to be, and the time of a task without waiting.
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
  double most_seen_ = 0;  // In work, of late.
  unsigned windows_ = 0;

  // The window under way.
  size_t in_work_ = 0;
  std::optional<BootTime> last_;
  std::map<size_t, double> spans_;  // Seconds by what was in work.
  double seconds_ = 0;
  double tasks_ = 0;
  size_t settling_ = 0;  // Tasks that began under another limit and are to end first.
};

}  // namespace freshet
