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
  // A pause of a part that is paused, and the end of one that is not, change nothing.
  void add(PauseChange change);
  PauseChanges changes() const;

 private:
  using Part = std::pair<Pause::Of, std::string>;

  std::map<Part, PauseChange> first_;  // Before the first of `kept_`: the paused parts, and since when.
  std::map<Part, PauseChange> now_;    // After the last of them.
  std::deque<PauseChange> kept_;
  BootTime complete_from_{};
};

}  // namespace freshet
