// Which parts of a queue were paused, and when, since the queue was opened: for recordings of it. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/api/task_queue.h"

namespace freshet {

class PauseHistory {
 public:
  static constexpr size_t kMost = 1'000;  // Older changes are forgotten.

  // Sets the pauses that were there when the queue was opened. Call it before the first add().
  void begin(BootTime now, const std::vector<Pause>& pauses);
  // Ignores a pause of a part that is paused already, and the end of a pause that is not there.
  void add(PauseChange change);
  PauseChanges changes() const;

 private:
  using Part = std::pair<Pause::Of, std::string>;

  std::map<Part, PauseChange> first_;  // The paused parts before the first of `kept_`.
  std::map<Part, PauseChange> now_;    // The paused parts after the last of `kept_`.
  std::deque<PauseChange> kept_;
  BootTime complete_from_{};
};

}  // namespace freshet
