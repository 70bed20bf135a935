// The priority queues of this daemon, by name, and the timers of each: records that were in flight for too long or
// delayed come back in time, even if nobody peeks, and an index that a client drops is made again. Loop thread.
// Services outlive it; it outlives every Async that a queue returned.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "functions/by_name.h"
#include "functions/priority/definition.h"
#include "functions/priority/table_queue.h"

namespace freshet::priority {

class TableQueues final : public PriorityQueues {
 public:
  // `wall` says if the wall clock is trusted, and outlives it; null: it always is.
  TableQueues(Services& services, EventLog log, WallGuard* wall = nullptr)
      : services_(services), log_(log), wall_(wall) {}
  TableQueues(const TableQueues&) = delete;
  TableQueues& operator=(const TableQueues&) = delete;

  // One daemon of a fleet at a time serves each queue. Call it before open().
  void share() { is_shared_ = true; }
  // Errors as TableQueue::open() says; kConflict for a name that is taken, or numbers that another queue of the table
  // has.
  Async<Result<TableQueue*>> open(Definition definition);
  // Why queues cannot serve all requests now, one line for each; "" if all can.
  std::string broken() const;
  // At readiness: the timers start, unless the queues are shared.
  void begin();
  // This daemon serves the shared queue from now on, or no longer: its timers start, or end.
  void serve(const std::string& name, bool is_mine);
  // The table that has the queue's attributes; empty if there is no such queue.
  std::string table_of(const std::string& name) const;

  PriorityQueue* find(std::string_view name) override { return queues_.find(name); }
  std::vector<std::string> names() const override { return queues_.names(); }

 private:
  Result<void> check_apart(const Settings& settings) const;
  Async<void> keep_time(TableQueue& queue);
  Async<void> keep_indexes(TableQueue& queue);
  void start_timers(const std::string& name, TableQueue& queue);

  Services& services_;
  const EventLog log_;
  WallGuard* const wall_;
  ByName<TableQueue> queues_;
  std::map<std::string, std::string> broken_;  // By name of the queue.
  bool is_shared_ = false;
  std::map<std::string, Scope> timers_;  // By name. The last member: the timers use the queues.
};

}  // namespace freshet::priority
