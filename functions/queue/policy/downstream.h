// The facts about whoever works on a queue's tasks. They outlive the processor's runs, as a downstream that has asked
// to be left alone does not care that a run has ended. Pure state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "functions/queue/policy/adaptive_concurrency.h"
#include "functions/queue/policy/breaker.h"
#include "functions/queue/policy/token_bucket.h"
#include "functions/settings.h"
#include "runtime/task_queue.h"

namespace freshet {

struct Downstream {
  Breaker breaker;                                 // Opens when something is bounced.
  TokenBucket bucket{0};                           // RATE_LIMIT, of all runs together.
  std::optional<AdaptiveConcurrency> concurrency;  // With CONCURRENCY=adaptive; of all runs together.
  uint64_t concurrency_number = 0;                 // Which one it is: it may be switched off and on.
  size_t busy = 0;                                 // Tasks of all runs that are claimed and not done.
  size_t left = 0;                                 // Slots in use by runs that are over.
  std::string runner;                              // Who works on the tasks, for people: a URL or a program.
  std::optional<RunnerTrouble> trouble;            // From its first bounce on, until it takes something.

  // Somebody else may work on them from now on.
  void set_runner(std::string name) {
    if (name != runner) trouble.reset();
    runner = std::move(name);
  }
  // Something was bounced. True if that is news: before, the runner took tasks, or could be reached and cannot now.
  bool bounced(std::string_view message, bool reachable, WallTime now) {
    const bool is_news = !trouble || (trouble->reachable && !reachable);
    if (!trouble) trouble = RunnerTrouble{runner, {}, reachable, now, 0};
    trouble->message = message;
    trouble->reachable = reachable;
    ++trouble->bounces;
    return is_news;
  }

  // The settings are these now.
  void follow(const WorkSettings& work) {
    bucket.set(work.rate_limit, work.rate_burst);
    const auto least = static_cast<size_t>(work.least);
    const auto most = static_cast<size_t>(work.most);
    if (!work.adaptive) return concurrency.reset();
    if (concurrency) return concurrency->set_bounds(least, most);
    concurrency.emplace(least, most);
    ++concurrency_number;
  }
};

}  // namespace freshet
