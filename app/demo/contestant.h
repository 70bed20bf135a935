// A queue that runs the story of the demo: Freshet's daemon, or a rival's driver. A child of this process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/demo/run_story.h"
#include "app/demo/story.h"
#include "base/result.h"

namespace freshet::demo {

// Use it only on the thread that launched it. Its destructor kills the program.
class Contestant {
 public:
  virtual ~Contestant() = default;
  // Starts its program, or restarts it. kIo if it cannot be started.
  virtual Result<void> launch() = 0;
  virtual void kill() = 0;
  virtual bool is_ready() = 0;
  virtual bool has_ended() = 0;
  // The time on the wall at which the story's times begin.
  virtual void begin(WallTime) {}
  // http://HOST:PORT of the daemon, once it is ready; empty for a rival, which makes the tasks itself.
  virtual std::string url() const { return {}; }
  // An error with `what` and the log of the program.
  virtual Error gone(const std::string& what) const = 0;
};

// `freshet serve` with the options of the demo, whose tasks are POSTed to `handler`. Works in `folder`. `options`
// outlives it.
std::unique_ptr<Contestant> make_served_queue(std::string folder, std::string handler, const RunOptions& options);

// The driver of another queue, `options.rival`, started in a shell. Its environment says what to do:
//   LAB_HANDLER   the URL to POST {"taskId": "N"} to for task N
//   LAB_ARRIVALS  a file with a line for each task, from 0: when it is created, its deadline (both in milliseconds from
//                 the start) and its tenant
//   LAB_SLOTS     how many calls at once
//   LAB_RATE      how many calls a second the API allows at the start
//   LAB_DATA      a folder for what it stores
// It prints `ready`, reads `start EPOCH_MS` and runs until it is ended. In the middle it is killed as Freshet is
// (SIGKILL), and started again with the same environment and the same EPOCH_MS. `options` outlives it.
std::unique_ptr<Contestant> make_rival(std::string folder, std::string handler, const RunOptions& options,
                                       const Story& story, const std::vector<StoryTask>& tasks);

}  // namespace freshet::demo
