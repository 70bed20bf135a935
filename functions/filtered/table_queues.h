// The filtered queues of this daemon, by name, and the timer of each, which gives waiting requests members that other
// programs have queued. Loop thread. Services outlive it; it outlives every Async that a queue returned.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "functions/by_name.h"
#include "functions/filtered/table_queue.h"

namespace freshet::filtered {

class TableQueues final : public FilteredQueues {
 public:
  TableQueues(Services& services, EventLog log) : services_(services), log_(log) {}
  TableQueues(const TableQueues&) = delete;
  TableQueues& operator=(const TableQueues&) = delete;

  // Errors as TableQueue::open() says; kConflict for a name that is taken, or keys that another queue of the table has.
  Async<Result<TableQueue*>> open(Settings settings);
  // Other daemons have the queues, too, and only one of them runs each timer. Call it before begin().
  void share() { is_shared_ = true; }
  // At readiness: the timers start, unless the queues are shared.
  void begin();
  // This daemon runs the timer of the shared queue from now on, or no longer.
  void serve(const std::string& name, bool is_mine);

  FilteredQueue* find(std::string_view name) override { return queues_.find(name); }
  std::vector<std::string> names() const override { return queues_.names(); }

 private:
  Result<void> check_apart(const Settings& settings) const;
  Async<void> keep_matching(TableQueue& queue);

  Services& services_;
  const EventLog log_;
  ByName<TableQueue> queues_;
  bool is_shared_ = false;
  std::map<std::string, Scope> timers_;  // By name. The last member: the timers use the queues.
};

}  // namespace freshet::filtered
