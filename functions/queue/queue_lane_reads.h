// How far a take has read lanes. Private to Queue.
#pragma once

#include "functions/queue/queue.h"

namespace freshet {

struct Queue::LaneRead {
  static constexpr int kMostRounds = 6;

  std::vector<ItemRef> tasks;  // Those that can be taken.
  size_t given = 0;            // Of them.
  Walk next;                   // From where there may be more.
  bool more = true;
  bool urgent = false;  // The order is ORDER=deadline.
  bool passed = false;  // Tasks were passed over whose group or key is at its limit.
  int rounds = 0;

  // True if it is worth while to read on after all that was read is given or passed over.
  bool goes_on() { return passed && more && ++rounds < kMostRounds; }
};

// The lanes of keys of a share are merged: those that were read have their heads in order, and a lane is read only if
// its next task may come before the first of these.
struct Queue::KeysRead {
  explicit KeysRead(size_t wanted) : most(2 * wanted + 64) {}

  const size_t most;  // Lanes that it looks at.
  size_t looked = 0;
  // Lanes, besides, of which all tasks were passed over. There may be as many as there are keys in work. A take that
  // has looked at more does not go on at once: it would find the same.
  static constexpr size_t kMostPassed = 4096;
  size_t passed = 0;
  bool cut = false;  // There may be more than it may look at.
  std::map<std::string, LaneRead, std::less<>> lanes;
  std::set<FairShares::Place> heads;
  std::optional<FairShares::Place> last;  // The last one that was looked at.
};

}  // namespace freshet
