#include "app/demo/story.h"

#include <algorithm>
#include <queue>
#include <random>

namespace freshet::demo {

namespace {

constexpr double kLoudOverQuiet = 1000;
constexpr seconds kSoon{2};
constexpr seconds kLater{30};

void add_arrivals(std::vector<StoryTask>& tasks, const Story& story, double rate, bool quiet, std::mt19937_64& random) {
  std::exponential_distribution<double> gap(rate);
  std::bernoulli_distribution is_patient(0.5);
  for (double at = gap(random); at < std::chrono::duration<double>(story.length).count(); at += gap(random)) {
    const bool patient = is_patient(random) && !quiet;
    tasks.push_back(
        {std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(at)), patient ? kLater : kSoon, quiet});
  }
}

// Makes a call whenever the limit allows one and `waits(now)` says that a task waits. `come` is given each task when it
// arrives; `call` takes the next one and says whether it is in time. Ends of the calls that are.
template <class Come, class Waits, class Call>
std::vector<nanoseconds> calls_at_the_limit(const Story& story, const std::vector<StoryTask>& tasks, Come come,
                                            Waits waits, Call call) {
  const auto limiter = lab::make_limiter(story.limiter());
  std::vector<nanoseconds> ends;
  size_t arrived = 0;
  for (nanoseconds now{0}; now + story.service <= story.length;) {
    while (arrived < tasks.size() && tasks[arrived].at <= now) come(tasks[arrived++]);
    if (!waits(now)) {
      if (arrived == tasks.size()) break;
      now = tasks[arrived].at;
      continue;
    }
    const auto next = limiter->next(now);
    if (!next) break;
    if (*next > now) {
      now = *next;
    } else if (!limiter->ask(now).granted) {
      now += milliseconds(1);
    } else if (call()) {
      ends.push_back(now + story.service);
    }
  }
  return ends;
}

}  // namespace

lab::LimiterSpec Story::limiter() const {
  lab::LimiterSpec spec;
  spec.kind = lab::LimiterKind::kTokenBucket;
  spec.plan = {{nanoseconds(0), 20}, {length / 3, 10}, {length / 3 * 2, 40}};
  spec.seed = seed;
  return spec;
}

double Story::limit_at(nanoseconds at) const {
  double rate = 0;
  for (const auto& step : limiter().plan) {
    if (step.at <= at) rate = step.rate;
  }
  return rate;
}

std::vector<StoryTask> tasks_of(const Story& story) {
  std::mt19937_64 random(story.seed);
  const double quiet = story.arrivals / (kLoudOverQuiet + 1);
  std::vector<StoryTask> tasks;
  add_arrivals(tasks, story, story.arrivals - quiet, false, random);
  add_arrivals(tasks, story, quiet, true, random);
  std::stable_sort(tasks.begin(), tasks.end(), [](const auto& one, const auto& two) { return one.at < two.at; });
  return tasks;
}

std::vector<nanoseconds> possible_ends(const Story& story, const std::vector<StoryTask>& tasks) {
  // By deadline; those that would be late are not called for.
  std::priority_queue<nanoseconds, std::vector<nanoseconds>, std::greater<>> deadlines;
  return calls_at_the_limit(
      story, tasks, [&](const StoryTask& task) { deadlines.push(task.deadline()); },
      [&](nanoseconds now) {
        while (!deadlines.empty() && deadlines.top() < now + story.service) deadlines.pop();
        return !deadlines.empty();
      },
      [&] {
        deadlines.pop();
        return true;
      });
}

std::vector<nanoseconds> fifo_ends(const Story& story, const std::vector<StoryTask>& tasks) {
  std::queue<nanoseconds> deadlines;
  nanoseconds end{0};
  return calls_at_the_limit(
      story, tasks, [&](const StoryTask& task) { deadlines.push(task.deadline()); },
      [&](nanoseconds now) {
        end = now + story.service;
        return !deadlines.empty();
      },
      [&] {
        const bool in_time = deadlines.front() >= end;
        deadlines.pop();
        return in_time;
      });
}

}  // namespace freshet::demo
