// Decides which shards of a stream may be read now: a shard only when each of its parents was read to its end, or is
// gone. Pure; one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "streams/shards/engine_streams.h"

namespace freshet {

class ShardPlan {
 public:
  static constexpr int kAbsences = 10;

  struct Gone {
    std::vector<std::string> lost;       // They were not read to their end, and nobody reads them now.
    std::vector<std::string> forgotten;  // They were read to their end.
  };
  // Takes the complete list of the stream's shards, of all pages. Returns the shards that are no longer listed, and
  // forgets them. A shard is forgotten only after kAbsences lists without it, because a list may lack a shard by
  // mistake: it must not be read again from its beginning, nor its children before it.
  Gone listed(const std::vector<ListedShard>& all);
  // The shard was known in an earlier life: read to its end, or not.
  void known(const std::string& shard, bool over);
  // The shard was read to its end, or the rest of it is gone. Children may be read as soon as all their parents are
  // over.
  void over(const std::string& shard);
  // Returns the shards that may be read and that nobody reads yet, and counts them as read from now on.
  std::vector<std::string> begin();

  bool misses_any() const;  // True if the last list lacked a shard that is still to be read.
  bool all_over() const;    // True if there is nothing left to read in the listed shards.
  size_t reading() const;   // The number of shards that are being read.
  bool knows(const std::string& shard) const { return shards_.contains(shard); }

 private:
  enum class State { kWaiting, kReading, kOver };
  struct Shard {
    State state = State::kWaiting;
    std::vector<std::string> parents;
    int absences = 0;  // The number of lists in a row without it.
  };
  bool may_begin(const Shard& shard) const;

  std::map<std::string, Shard> shards_;
};

}  // namespace freshet
