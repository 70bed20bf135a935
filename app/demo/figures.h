// Computes the figures of a run of the demo from the calls that its API noted. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/demo/limited_api.h"
#include "app/demo/story.h"

namespace freshet::demo {

// One queue's run of the story.
struct Run {
  std::string name;
  std::vector<Call> calls;
  // For Freshet only: the final figures of its daemon.
  uint64_t created = 0;                     // Accepted creations.
  std::map<std::string, uint64_t> refused;  // Creations that the queue refused, by code.
  std::map<std::string, uint64_t> states;   // Tasks of the story by state, including those that TTL has removed.
  std::map<std::string, uint64_t> shed;     // By reason.
  std::vector<std::string> explained;       // The life of a task that was shed, one sentence per line.
  bool has_books = false;

  // Every created task is in one state.
  bool books_balance() const;
};

struct Figures {
  uint64_t calls = 0;
  uint64_t refused = 0;  // Calls that the API refused.
  uint64_t done = 0;     // Tasks whose call ended within the run, each once.
  uint64_t in_time = 0;
  uint64_t repeated = 0;           // Calls that did a task again.
  uint64_t possible = 0;           // Tasks that could be done in time.
  double age_p50 = 0;              // Seconds from arrival to the start of the call, for tasks that were done in time.
  double age_p99 = 0;              // The same.
  double quiet_age_p99 = 0;        // The same for the quiet tenant.
  uint64_t quiet = 0, loud = 0;    // Tasks of each tenant.
  uint64_t quiet_in_time = 0;      // Tasks of the quiet tenant.
  uint64_t impatient_in_time = 0;  // Tasks that are worthless after 2 s.

  double share() const { return possible == 0 ? 0 : static_cast<double>(in_time) / static_cast<double>(possible); }
  double refused_share() const { return calls == 0 ? 0 : static_cast<double>(refused) / static_cast<double>(calls); }
};

Figures figures_of(const Story& story, const std::vector<StoryTask>& tasks, const Run& run);

// The number of `moments` per second in each of the equal parts of the run.
std::vector<std::pair<double, double>> rates_over_time(const std::vector<nanoseconds>& moments, const Story& story,
                                                       nanoseconds part);
// The ends of the calls that were in time, one per task.
std::vector<nanoseconds> ends_in_time(const std::vector<StoryTask>& tasks, const Run& run, const Story& story);

}  // namespace freshet::demo
