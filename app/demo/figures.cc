#include "app/demo/figures.h"

#include <algorithm>

namespace freshet::demo {

namespace {

double seconds_of(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(p * static_cast<double>(values.size()));
  return values[std::min(values.size() - 1, rank)];
}

bool ended_within(const Call& call, const Story& story) {
  return call.granted && call.end > nanoseconds(0) && call.end <= story.length;
}

}  // namespace

bool Run::books_balance() const {
  uint64_t sum = 0;
  for (const auto& [state, count] : states) sum += count;
  return has_books && sum == created;
}

Figures figures_of(const Story& story, const std::vector<StoryTask>& tasks, const Run& run) {
  Figures out;
  std::vector<bool> is_done(tasks.size());
  std::vector<double> ages, quiet_ages;
  for (const Call& call : run.calls) {
    if (call.at > story.length) continue;
    ++out.calls;
    out.refused += call.granted ? 0 : 1;
    if (!ended_within(call, story)) continue;
    const StoryTask& task = tasks[call.task];
    if (is_done[call.task]) {
      ++out.repeated;
      continue;
    }
    is_done[call.task] = true;
    ++out.done;
    if (call.end > task.deadline()) continue;
    ++out.in_time;
    ages.push_back(seconds_of(call.at - task.at));
    out.impatient_in_time += task.patience <= seconds(2) ? 1 : 0;
    if (!task.quiet) continue;
    ++out.quiet_in_time;
    quiet_ages.push_back(ages.back());
  }
  for (const StoryTask& task : tasks) ++(task.quiet ? out.quiet : out.loud);
  out.possible = possible_ends(story, tasks).size();
  out.age_p50 = percentile(ages, 0.5);
  out.age_p99 = percentile(ages, 0.99);
  out.quiet_age_p99 = percentile(quiet_ages, 0.99);
  return out;
}

std::vector<std::pair<double, double>> rates_over_time(const std::vector<nanoseconds>& moments, const Story& story,
                                                       nanoseconds part) {
  const auto parts = static_cast<size_t>(story.length / part);
  std::vector<uint64_t> counts(parts);
  for (const nanoseconds at : moments) {
    const auto place = static_cast<size_t>(at / part);
    if (place < parts) ++counts[place];
  }
  std::vector<std::pair<double, double>> out;
  for (size_t place = 0; place < parts; ++place) {
    const double middle = seconds_of(part) * (static_cast<double>(place) + 0.5);
    out.emplace_back(middle, static_cast<double>(counts[place]) / seconds_of(part));
  }
  return out;
}

std::vector<nanoseconds> ends_in_time(const std::vector<StoryTask>& tasks, const Run& run, const Story& story) {
  std::vector<bool> is_done(tasks.size());
  std::vector<nanoseconds> out;
  for (const Call& call : run.calls) {
    if (!ended_within(call, story) || is_done[call.task]) continue;
    is_done[call.task] = true;
    if (call.end <= tasks[call.task].deadline()) out.push_back(call.end);
  }
  return out;
}

}  // namespace freshet::demo
