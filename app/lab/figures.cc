#include "app/lab/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace freshet::lab {

namespace {

using Fate = Job::Fate;

double ms(nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double percentile(std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(p * static_cast<double>(sorted.size())));
  return sorted[std::min(sorted.size() - 1, rank == 0 ? 0 : rank - 1)];
}

// The most intervals that overlap at any time.
uint64_t most_at_once(std::vector<std::pair<nanoseconds, int>> changes) {
  std::sort(changes.begin(), changes.end());  // At one time, ends (-1) come first.
  int64_t now = 0;
  int64_t most = 0;
  for (const auto& change : changes) {
    now += change.second;
    most = std::max(most, now);
  }
  return static_cast<uint64_t>(most);
}

class Reading {
 public:
  explicit Reading(const Ledger& ledger) : scenario_(ledger.scenario()), jobs_(ledger.jobs()) {}

  Figures read() {
    count();
    ages();
    backlog();
    needless();
    if (scenario_.quiet_share > 0) groups();
    time_line();
    return std::move(out_);
  }

 private:
  double capacity() const { return scenario_.capacity() * static_cast<double>(scenario_.duration.count()); }
  void set(const char* name, double value) { out_.values[name] = value; }

  void count() {
    std::array<uint64_t, 4> fates{};
    uint64_t late = 0, good = 0, past = 0, finished = 0, first = 0;
    nanoseconds wasted{0};
    for (const auto& job : jobs_) {
      ++fates[static_cast<size_t>(job.fate)];
      first += job.tries_left == scenario_.retries;
      if (job.fate != Fate::kStarted) continue;
      past += job.left >= milliseconds(job.arrival.deadline_ms);
      if (job.end > scenario_.duration) continue;
      ++finished;
      good += job.in_time();
      late += !job.in_time();
      if (!job.in_time()) wasted += job.end - job.left;
    }
    const double all = std::max<double>(1, static_cast<double>(jobs_.size()));
    set("tasks", static_cast<double>(jobs_.size()));
    set("offered", static_cast<double>(first) / capacity());
    set("goodput", static_cast<double>(good) / capacity());
    set("lateShare", finished == 0 ? 0 : static_cast<double>(late) / static_cast<double>(finished));
    set("startsPastDeadline", static_cast<double>(past));
    set("wastedShare", ms(wasted) / (ms(scenario_.duration) * scenario_.slots));
    set("shedShare", static_cast<double>(fates[static_cast<size_t>(Fate::kShed)]) / all);
    set("rejectedShare", static_cast<double>(fates[static_cast<size_t>(Fate::kRejected)]) / all);
  }

  void ages() {
    std::vector<double> ages;
    for (const auto& job : jobs_) {
      if (job.fate == Fate::kStarted) ages.push_back(ms(job.left - job.arrival.at));
    }
    if (ages.empty()) return;
    std::sort(ages.begin(), ages.end());
    set("ageP50Ms", percentile(ages, 0.5));
    set("ageP99Ms", percentile(ages, 0.99));
    for (int p = 0; p <= 100; ++p) out_.ages.push_back(percentile(ages, p / 100.0));
  }

  // Tasks that wait, and those among them whose deadline has passed.
  void backlog() {
    const nanoseconds end = scenario_.duration;
    std::vector<std::pair<nanoseconds, int>> waiting, stale;
    for (const auto& job : jobs_) {
      const nanoseconds left = job.fate == Fate::kWaiting ? end : job.left;
      if (job.fate == Fate::kRejected || left <= job.arrival.at) continue;
      waiting.insert(waiting.end(), {{job.arrival.at, 1}, {left, -1}});
      const nanoseconds due = milliseconds(job.arrival.deadline_ms);
      if (left > due) stale.insert(stale.end(), {{due, 1}, {left, -1}});
    }
    set("peakBacklog", static_cast<double>(most_at_once(std::move(waiting))));
    set("peakStaleBacklog", static_cast<double>(most_at_once(std::move(stale))));
  }

  // Shed or refused before their deadline, while a slot stood idle.
  void needless() {
    std::vector<std::pair<nanoseconds, int>> changes;
    for (const auto& job : jobs_) {
      if (job.fate == Fate::kStarted) changes.insert(changes.end(), {{job.left, 1}, {job.end, -1}});
    }
    std::sort(changes.begin(), changes.end());
    std::vector<nanoseconds> given_up;
    for (const auto& job : jobs_) {
      const bool gone = job.fate == Fate::kShed || job.fate == Fate::kRejected;
      if (gone && job.left < milliseconds(job.arrival.deadline_ms)) given_up.push_back(job.left);
    }
    std::sort(given_up.begin(), given_up.end());
    uint64_t needless = 0;
    int busy = 0;
    size_t next = 0;
    for (const nanoseconds at : given_up) {
      for (; next < changes.size() && changes[next].first <= at; ++next) busy += changes[next].second;
      needless += busy < scenario_.slots;
    }
    set("needlesslyShed", static_cast<double>(needless));
    set("needlesslyRefused", needlessly_refused(changes));
  }

  // The share of refused tasks before whose deadline a slot stood idle for a tenth of a task at least. `changes` says
  // when slots were taken and free again.
  double needlessly_refused(const std::vector<std::pair<nanoseconds, int>>& changes) const {
    std::vector<std::pair<nanoseconds, nanoseconds>> idle{{nanoseconds(0), nanoseconds::max()}};  // From, until.
    int busy = 0;
    const auto drop_short = [&] {
      if (idle.back().second - idle.back().first < scenario_.mean / 10) idle.pop_back();
    };
    for (const auto& [at, change] : changes) {
      const bool was_idle = busy < scenario_.slots;
      busy += change;
      if (was_idle && busy >= scenario_.slots) {
        idle.back().second = at;
        drop_short();
      }
      if (!was_idle && busy < scenario_.slots) idle.emplace_back(at, nanoseconds::max());
    }
    uint64_t refused = 0;
    uint64_t needless = 0;
    for (const auto& job : jobs_) {
      if (job.fate != Fate::kRejected) continue;
      ++refused;
      const auto later =
          std::partition_point(idle.begin(), idle.end(), [&](const auto& one) { return one.second <= job.left; });
      needless += later != idle.end() && later->first < milliseconds(job.arrival.deadline_ms);
    }
    return refused > 0 ? static_cast<double>(needless) / static_cast<double>(refused) : 0;
  }

  // Fairness: what each group got done in time, over what it could claim: its demand or half of the capacity.
  void groups() {
    std::array<double, 2> good{}, created{};
    std::vector<double> quiet_waits, quiet_times;
    for (const auto& job : jobs_) {
      const size_t group = job.arrival.quiet ? 1 : 0;
      ++created[group];
      good[group] += job.in_time();
      if (group == 0 || job.fate != Fate::kStarted) continue;
      quiet_waits.push_back(ms(job.left - job.arrival.at));
      quiet_times.push_back(ms(job.end - job.arrival.at));
    }
    double sum = 0, squares = 0;
    // The quiet group first: what it leaves of its half belongs to the other.
    const double quiet_claim = std::max(1.0, std::min(created[1], capacity() / 2));
    const double loud_claim = std::max(1.0, std::min(created[0], capacity() - quiet_claim));
    for (const double share : {good[1] / quiet_claim, good[0] / loud_claim}) {
      sum += share;
      squares += share * share;
    }
    set("jain", squares > 0 ? sum * sum / (2 * squares) : 0);
    std::sort(quiet_waits.begin(), quiet_waits.end());
    set("quietAgeP99Ms", percentile(quiet_waits, 0.99));
    std::sort(quiet_times.begin(), quiet_times.end());
    set("quietDoneP99Ms", percentile(quiet_times, 0.99));
    set("quietInTimeShare", good[1] / std::max(1.0, created[1]));
  }

  void time_line() {
    auto& bins = out_.bins;
    bins.resize(static_cast<size_t>(scenario_.duration / kBin) + 1);
    for (const auto& job : jobs_) {
      const auto bin = static_cast<size_t>(job.arrival.at / kBin);
      if (bin >= bins.size()) continue;
      ++bins[bin].created;
      bins[bin].in_time += job.in_time();
    }
    if (auto recovery = recovered(bins)) set("recoveryMs", *recovery);
  }

  // From the end of the step or stall until nine of ten tasks created in the next second are done in time.
  std::optional<double> recovered(const std::vector<Bin>& bins) const {
    const bool step = scenario_.shape == Shape::kStep;
    if (scenario_.trace || (!step && scenario_.shape != Shape::kStall)) return std::nullopt;
    const seconds end = kCalm + (step ? kStep : kStall);
    constexpr size_t kSecond = seconds(1) / kBin;
    for (auto first = static_cast<size_t>(end / kBin); first + kSecond < bins.size(); ++first) {
      Bin second;
      for (size_t i = first; i < first + kSecond; ++i) {
        second.created += bins[i].created;
        second.in_time += bins[i].in_time;
      }
      if (second.share() >= 0.9) return ms(kBin * first) - ms(end);
    }
    return ms(scenario_.duration) - ms(end);  // Not within the run.
  }

  const Scenario& scenario_;
  const std::vector<Job>& jobs_;
  Figures out_;
};

}  // namespace

Figures figures_of(const Ledger& ledger) {
  return Reading(ledger).read();
}

Estimate estimate(const std::vector<double>& samples) {
  // Student's t for 95 %, by degrees of freedom from 1.
  constexpr std::array kT = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                             2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  Estimate out;
  const auto n = static_cast<double>(samples.size());
  if (samples.empty()) return out;
  for (const double sample : samples) out.mean += sample / n;
  if (samples.size() < 2) return out;
  double squares = 0;
  for (const double sample : samples) squares += (sample - out.mean) * (sample - out.mean);
  const double t = samples.size() - 2 < kT.size() ? kT[samples.size() - 2] : 1.96;
  out.half_width = t * std::sqrt(squares / (n - 1) / n);
  return out;
}

}  // namespace freshet::lab
