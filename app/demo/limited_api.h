// The downstream of the demo: an HTTP API that allows as many calls per second as its limiter says, answers all others
// with 429, and gives no further hint. It notes every call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/demo/story.h"
#include "base/async.h"
#include "runtime/ports.h"

namespace freshet::demo {

struct Call {
  size_t task = 0;  // The task's index in the story.
  nanoseconds at{0};
  bool granted = false;
  nanoseconds end{0};  // The end of a granted call; 0: it is running, or its caller hung up.
};

// Loop thread. The tasks and the scheduler outlive the answers.
class LimitedApi {
 public:
  LimitedApi(const Story& story, const std::vector<StoryTask>& tasks, Scheduler& scheduler)
      : service_(story.service), tasks_(tasks), scheduler_(scheduler), limiter_(lab::make_limiter(story.limiter())) {}

  void begin(BootTime origin) { origin_ = origin; }
  // `body` is a JSON object whose `taskId` is the number of a task. 400 if it is not.
  Async<HttpResponse> answer(std::string body);
  const std::vector<Call>& calls() const { return calls_; }

 private:
  nanoseconds now() const { return scheduler_.clock().boot() - origin_; }

  const nanoseconds service_;
  const std::vector<StoryTask>& tasks_;
  Scheduler& scheduler_;
  std::unique_ptr<lab::Limiter> limiter_;
  BootTime origin_{};
  std::vector<Call> calls_;
};

}  // namespace freshet::demo
