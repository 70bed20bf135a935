// Creates tasks of queues that another daemon of the fleet serves, for the time in which that one does not answer.
//
// The items are those that the queue itself would write (new_item.h), but without a lane: for the daemon that serves
// the queue they are tasks that a client put, and it finds them by its look around. Creates that only that daemon can
// judge are refused: those with a key, those of a queue with bounds, and those whose deadline has passed.
//
// Loop thread. The store, the scheduler and the guard outlive it, and it outlives every Async that it returned.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/wall_guard.h"
#include "functions/queue/sure_writes.h"
#include "functions/settings.h"
#include "runtime/api/task_queue.h"

namespace freshet {

class CreationElsewhere {
 public:
  // `store`: the engine itself, without what a daemon remembers and counts of the tables that it owns. `writer`: as in
  // SureWrites.
  CreationElsewhere(Tables& store, Scheduler& scheduler, Random& random, WallGuard& wall, std::string writer)
      : store_(store),
        scheduler_(scheduler),
        random_(random),
        wall_(wall),
        sure_(store, scheduler, std::move(writer)) {}

  // As TaskQueue::create(). kUnavailable if one of the tasks is for the daemon alone that serves the queue: then none
  // is created.
  Async<Result<std::vector<Result<CreatedTask>>>> create(const std::string& table, const QueueSettings& settings,
                                                         std::vector<NewTask> tasks);

 private:
  using Created = std::vector<Result<CreatedTask>>;
  Async<Result<Created>> write(std::vector<WriteInput> writes, Created out);

  Tables& store_;
  Scheduler& scheduler_;
  Random& random_;
  WallGuard& wall_;
  SureWrites sure_;
  std::map<std::string, WallTime> newest_;  // The newest `taskCreated` given out, by table: it never goes back.
  std::map<std::string, RankSequence> ranks_;
};

}  // namespace freshet
