// Explainer: why a task is where it is. It asks each part of the core, through the part's public members only. Pure: no
// store, clock, coroutine or log; the time is passed in. Loop thread.
//
// The shell reads the task and what comes before it (shell/explanations.h); this class adds the reasons, in words.
#pragma once

#include <string>

#include "functions/settings.h"
#include "runtime/api/task_queue.h"

namespace freshet {

class QueueCore;
struct Now;

// Facts that the core does not know.
struct ExplainFacts {
  const Now& now;             // `earliest` is computed even while the clock is trusted.
  bool stops = false;         // The daemon is stopping, or the table does not exist.
  bool anyone_waits = false;  // A take waits for work.
  bool makes_room = false;    // The task is in work, and a newer one of its key waits for it.
  bool has_no_place = false;  // The index of layout `fleet` does not show the task in its state.
};

class Explainer {
 public:
  // Both outlive this.
  Explainer(QueueCore& core, const QueueSettings& settings) : core_(core), settings_(settings) {}

  // Adds the reasons to `out`, in which task, id and counts are set.
  void explain(Explanation& out, const ExplainFacts& at);

 private:
  std::string order_in_words(const ItemRef& task, const Now& now);
  void waiting(Explanation& out, const ExplainFacts& at);
  void lateness(Explanation& out, const ExplainFacts& at);
  void pace(Explanation& out, const ExplainFacts& at);
  void rate(Explanation& out, const ExplainFacts& at);
  void runner(Explanation& out, const ExplainFacts& at);
  void not_waiting(Explanation& out, const ExplainFacts& at);
  void delay(Explanation& out, const ExplainFacts& at);
  void claim(Explanation& out, const ExplainFacts& at);
  void limits(Explanation& out, const ExplainFacts& at);
  void pauses(Explanation& out);

  QueueCore& core_;
  const QueueSettings& settings_;
};

}  // namespace freshet
