// Runs the story of the demo in real time: `freshet serve` as a child of this process, clients that create the tasks
// and try again while it is down, and the limited API. The daemon, or a rival in its place, is killed in the middle and
// started again on its data.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/demo/figures.h"
#include "app/demo/story.h"
#include "base/result.h"

namespace freshet::demo {

// The state of the run, for people who watch it.
struct Moment {
  nanoseconds at{0};
  double limit = 0;      // Calls a second that the API allows now.
  uint64_t arrived = 0;  // Tasks so far.
  uint64_t in_time = 0;  // Done in time so far.
  uint64_t calls = 0;
  uint64_t refused = 0;  // Calls that the API refused.
};

struct RunOptions {
  std::string name = "Freshet";     // The name of the run.
  std::string rival;                // The command of another queue's driver (contestant.h); empty: Freshet.
  std::string binary;               // This program.
  std::vector<std::string> serve;   // Further options of `freshet serve`, after the story's own.
  std::string durability = "sync";  // The daemon's --durability.
  std::function<bool()> stopped;    // Returns true to end early. Called every 50 ms.
  std::function<void(const Moment&)> on_moment;  // Every five seconds.
  std::function<void()> killed;                  // Called when the queue has been killed and is being started again.
};

// The options of `freshet serve` that the demo uses, for people: `--rate adaptive --late useless ...`.
std::vector<std::string> serve_options();

// Takes as long as the story. kCancelled if it was stopped; kIo and kUnavailable if the daemon cannot be run, with its
// log. Call it on the main thread; it ends every process that it started.
Result<Run> run_story(const Story& story, const std::vector<StoryTask>& tasks, const RunOptions& options);

}  // namespace freshet::demo
