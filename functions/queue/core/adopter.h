// Adopter: what tasks that clients wrote directly to the table lack, and when to search all tasks for it. Pure state:
// no store, clock, coroutine or log; the time is passed in. Loop thread.
//
// Tasks that clients put lack what Freshet gives its own tasks: a lane (in a queue with lanes), the `liveKey` by which
// the `key` is found, deadline and ttl from the queue's settings, and in layout `fleet` their place and the name of
// their ttl (layout.h). Wrong values are corrected the same way (a lane that does not exist, the lane or liveKey of a
// task that a client ended), so that no such task blocks others or waits for ever. The caller knows the lanes
// (core/lanes.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "functions/queue/layout.h"
#include "functions/settings.h"
#include "tables/tables.h"

namespace freshet {

class Adopter {
 public:
  // `table` and the settings outlive this.
  Adopter(const std::string& table, const QueueSettings& settings) : table_(table), settings_(settings) {}
  // `layout` has static storage.
  void use(const TaskLayout& layout) { layout_ = &layout; }
  Adopter(const Adopter&) = delete;
  Adopter& operator=(const Adopter&) = delete;

  // True if the task lacks what a queue needs to serve it. Runs for every record of the stream, so it is cheap.
  bool needs_adoption(const ItemRef& task, bool lacks_lane) const;
  // The write that gives the task what it lacks, on the condition that it is as it was read; empty if it lacks nothing.
  // `known_lane`: the lane for it if it lacks one; empty: not known yet.
  std::optional<UpdateItemInput> adoption(const ItemRef& task, bool lacks_lane, std::string_view known_lane) const;
  // The write that gives a client's task the default deadline (DEFAULT_DEADLINE_MS) when it is put, and the ttl
  // (KEEP_MS) when it ends, unless it has its own. `is_new`: the client has just put it. Both count from `from`, the
  // time at which this daemon sees the change, because clients' clocks differ. Cheap if there is nothing to do.
  std::optional<EditItemInput> times_for(const ItemRef& task, bool is_new, WallTime from) const;

  // True if a walk through all waiting and held tasks may begin. False: one is under way; there will be another one at
  // the next look around.
  [[nodiscard]] bool begin_walk();
  void end_walk() { walking_ = false; }
  // A task could not be adopted: the next look around tries again.
  void try_again() { again_ = true; }
  // At a look around: true if another walk is needed.
  [[nodiscard]] bool take_again() { return std::exchange(again_, false); }

  // Tasks that clients wrote without what a task needs to be served, since the start.
  void count_unserved() { ++unserved_; }
  uint64_t unserved() const { return unserved_; }

 private:
  const std::string& table_;
  const QueueSettings& settings_;
  const TaskLayout* layout_ = &sample_layout();
  bool walking_ = false;
  bool again_ = false;  // At the next look around.
  uint64_t unserved_ = 0;
};

}  // namespace freshet
