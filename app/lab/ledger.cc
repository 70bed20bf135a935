#include "app/lab/ledger.h"

namespace freshet::lab {

size_t Ledger::add(const Arrival& arrival, int tries_left) {
  jobs_.push_back(Job{arrival, Job::Fate::kWaiting, tries_left});
  return jobs_.size() - 1;
}

nanoseconds Ledger::start(size_t job, nanoseconds now) {
  leave(job, Job::Fate::kStarted, now);
  jobs_[job].failed = calls_.fails(starts_);
  jobs_[job].refused = calls_.refuses(starts_);
  jobs_[job].cost_ratio = calls_.cost_ratio(starts_);
  jobs_[job].end = calls_.end(now, calls_.of(starts_++));
  return jobs_[job].end;
}

std::optional<double> Ledger::reported_cost(size_t job) const {
  const Trace* trace = scenario_.trace;
  if (trace == nullptr || job >= trace->tasks.size() || jobs_[job].cost_ratio == 1) return std::nullopt;
  return jobs_[job].cost_ratio * trace->tasks[job].cost.value_or(trace->default_cost);
}

std::optional<Arrival> Ledger::retry(size_t job) const {
  const Job& done = jobs_[job];
  if (done.tries_left == 0 || done.in_time()) return std::nullopt;
  Arrival again = done.arrival;
  again.at = milliseconds(done.arrival.deadline_ms);
  again.deadline_ms = deadline_ms(again.at, again.at - done.arrival.at);
  return again;
}

}  // namespace freshet::lab
