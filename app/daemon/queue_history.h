// Keeps the history of the queues that have a place in it (runtime/api/queue_series.h): reads each at the end of every
// second, for the flight recorder, too. Loop thread; queues, scheduler and recorder outlive it.
#pragma once

#include "base/async.h"
#include "base/scheduler.h"
#include "functions/queue/flight_recorder.h"
#include "runtime/api/queue_series.h"
#include "runtime/api/task_queue.h"

namespace freshet {

class QueueHistory {
 public:
  // `recorder` may be null.
  QueueHistory(TaskQueues& queues, Scheduler& scheduler, FlightRecorder* recorder = nullptr)
      : queues_(queues), scheduler_(scheduler), recorder_(recorder) {}
  QueueHistory(const QueueHistory&) = delete;
  QueueHistory& operator=(const QueueHistory&) = delete;
  ~QueueHistory();

  void begin();  // Call it once.
  const SeriesBook& book() const { return book_; }

 private:
  void arm();
  void tick();
  Async<void> read_all();

  TaskQueues& queues_;
  Scheduler& scheduler_;
  FlightRecorder* const recorder_;
  SeriesBook book_;
  TimerId timer_ = 0;
  bool reading_ = false;  // True while a slow store still answers for the previous second.
  Scope work_;            // The last member, so that it is destroyed first.
};

}  // namespace freshet
