// Adopter: what tasks that clients wrote by themselves lack, and when all tasks are to be looked through for it. Pure
// state: no store, clock, coroutine or log; the time is passed in. Loop thread.
//
// Tasks that clients put lack what Freshet itself gives a task: its lane (in a queue with lanes), the `liveKey` by
// which its `key` is found, and the deadline and ttl that the queue's settings give. What is wrong (a lane that there
// is not, the lane or liveKey of a task that a client ended) is put right the same way, so that nothing stands in the
// way of others or waits for ever. The caller says what the lanes are (core/lanes.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "functions/settings.h"
#include "tables/tables.h"

namespace freshet {

class Adopter {
 public:
  // `table` and the settings outlive this.
  Adopter(const std::string& table, const QueueSettings& settings) : table_(table), settings_(settings) {}
  Adopter(const Adopter&) = delete;
  Adopter& operator=(const Adopter&) = delete;

  // True if the task lacks what a queue needs to serve it. Runs for every record of the stream, so it is cheap.
  static bool needs_adoption(const ItemRef& task, bool lacks_lane);
  // The write that gives the task what it lacks, under what was seen of it; empty if there is nothing to write.
  // `known_lane`: the lane that it gets if it lacks one; empty: none yet.
  std::optional<UpdateItemInput> adoption(const ItemRef& task, bool lacks_lane, std::string_view known_lane) const;
  // The write that gives a client's task what the queue's settings give to all: a deadline (DEFAULT_DEADLINE_MS) when
  // it is put, and a ttl (KEEP_MS) when it ends; unless it has one of its own. `is_new`: the client has just put it.
  // The deadline counts from `now`, when the stream shows the task, as clients' clocks differ. Cheap where there is
  // nothing.
  std::optional<EditItemInput> times_for(const ItemRef& task, bool is_new, WallTime now) const;

  // A walk through all tasks that wait or are held may begin. False: another walk is under way; it is repeated at the
  // next look around.
  [[nodiscard]] bool begin_walk();
  void end_walk() { walking_ = false; }
  // Something could not be adopted now: the next look around tries again.
  void try_again() { again_ = true; }
  // At a look around: whether to walk again.
  [[nodiscard]] bool take_again() { return std::exchange(again_, false); }

  // Tasks that clients wrote without what a task needs to be served, since the start.
  void count_unserved() { ++unserved_; }
  uint64_t unserved() const { return unserved_; }

 private:
  const std::string& table_;
  const QueueSettings& settings_;
  bool walking_ = false;
  bool again_ = false;  // At the next look around.
  uint64_t unserved_ = 0;
};

}  // namespace freshet
