// Pauses of the queue, its groups and its keys: durable, with a line in the audit log. docs/running-queues.md,
// "Pausing". Loop thread.
#pragma once

#include <string>

#include "functions/queue/named_turns.h"
#include "functions/queue/pause_history.h"
#include "functions/queue/shell/part.h"

namespace freshet {

class Pausing : QueuePart {
 public:
  using QueuePart::QueuePart;

  // At startup: reads the stored pauses.
  Async<Result<void>> load_pauses();
  void begin_history() { history_.begin(boot(), core_.pauses.list()); }
  PauseChanges changes() const { return history_.changes(); }

  Async<Result<Pause>> pause(PauseInput input, Actor actor);
  Async<Result<void>> resume(Pause::Of of, std::string name, Actor actor);
  // Ends the pauses whose time is over.
  void end_pauses();
  // The timer does not look for pauses that end before that.
  BootTime next_try() const { return next_try_; }

 private:
  Async<Result<void>> write_pause(WriteInput write, AuditLine line);
  Async<Result<Pause>> pause_now(PauseInput input, Actor actor);
  Async<Result<void>> resume_now(Pause::Of of, std::string name, Actor actor);
  std::string not_paused(Pause::Of of, std::string_view name) const;
  void resumed(Pause::Of of);
  Async<void> remove_pause(DeleteItemInput gone, Pause pause);

  PauseHistory history_;
  BootTime next_try_{};
  NamedTurns turns_{services_.scheduler};  // One pause is changed at a time.
};

}  // namespace freshet
