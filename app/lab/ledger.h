// The ledger records the outcome of every task of one run. The model or the run of the real queue writes it; figures.h
// reads it.
#pragma once

#include <optional>
#include <vector>

#include "app/lab/scenario.h"

namespace freshet::lab {

struct Job {
  enum class Fate : uint8_t { kWaiting, kStarted, kShed, kRejected };
  static constexpr nanoseconds kNever{-1};

  Arrival arrival;
  Fate fate = Fate::kWaiting;
  int tries_left = 0;         // The tries that its client has left after this one.
  nanoseconds left = kNever;  // The time at which it was started, shed or rejected.
  nanoseconds end = kNever;   // Set with kStarted.

  double cost_ratio = 1;  // kStarted: CallTimes::cost_ratio() of its last call.
  bool failed = false;    // kStarted: its last call failed.
  bool refused = false;   // kStarted: the downstream refused its last call.

  bool done() const { return fate == Fate::kStarted && !failed && !refused; }
  bool in_time() const { return done() && end <= milliseconds(arrival.deadline_ms); }
};

class Ledger {
 public:
  Ledger(const Scenario& scenario, uint64_t seed) : scenario_(scenario), calls_(scenario, seed) {}

  // A client creates a task; returns its number.
  size_t add(const Arrival& arrival, int tries_left);
  // A call begins; returns when it will end.
  nanoseconds start(size_t job, nanoseconds now);
  // The cost that a call reported at its end, in a trace; empty: it reported none.
  std::optional<double> reported_cost(size_t job) const;
  // In real time: sets the actual end.
  void ended(size_t job, nanoseconds now) { jobs_[job].end = now; }
  void shed(size_t job, nanoseconds now) { leave(job, Job::Fate::kShed, now); }
  void reject(size_t job, nanoseconds now) { leave(job, Job::Fate::kRejected, now); }
  // The next attempt of the client, at the task's deadline; empty if the task was served in time, or no tries are left.
  std::optional<Arrival> retry(size_t job) const;
  // The duration of the next call, for the clairvoyant.
  nanoseconds next_service() { return calls_.of(starts_); }

  // Replaces this ledger by the other one, of the same scenario and seed.
  void take(Ledger&& other) {
    calls_ = std::move(other.calls_);
    jobs_ = std::move(other.jobs_);
    starts_ = other.starts_;
  }
  const std::vector<Job>& jobs() const { return jobs_; }
  const Scenario& scenario() const { return scenario_; }

 private:
  void leave(size_t job, Job::Fate fate, nanoseconds now) {
    jobs_[job].fate = fate;
    jobs_[job].left = now;
  }

  const Scenario& scenario_;
  CallTimes calls_;
  size_t starts_ = 0;
  std::vector<Job> jobs_;
};

}  // namespace freshet::lab
