// The last lines of the daemon's log, kept in memory for who follows it: `freshet logs`.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/mutex.h"
#include "base/scheduler.h"
#include "runtime/ports.h"

namespace freshet {

// Passes every line on and keeps the last `max_bytes` of them, numbered from 1. Any thread.
class RecentLog final : public LogSink {
 public:
  RecentLog(LogSink& next, size_t max_bytes) : next_(next), max_bytes_(max_bytes) {}  // `next` outlives it.
  void write(LogLevel level, std::string_view line) override;

  struct Piece {
    std::string lines;  // Each with a line break.
    uint64_t next = 1;  // The number of the line to go on with.
    uint64_t lost = 0;  // Lines between `from` and the first one here that are no longer kept.
  };
  // At most about `max_bytes`, whole lines.
  Piece since(uint64_t from, size_t max_bytes) const;
  // `wake` is called with the next line, on the thread that writes it; with a later one again if it says false. The one
  // that was asked for last, once.
  void tell_next_line(std::function<bool()> wake);

 private:
  LogSink& next_;
  const size_t max_bytes_;
  mutable Mutex mutex_;
  std::deque<std::string> lines_ FRESHET_GUARDED_BY(mutex_);
  uint64_t first_ FRESHET_GUARDED_BY(mutex_) = 1;  // The number of the first of them.
  std::function<bool()> wake_ FRESHET_GUARDED_BY(mutex_);
  size_t bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
};

// GET /logs[?from=NUMBER][&waitMs=N]: lines from that one on, JSON Lines; waits so long (at most 30 s) for the first.
// X-Freshet-Next of the answer is the `from` of the next request, X-Freshet-Lost says how many were too old. Log,
// scheduler and mailbox outlive the route.
std::unique_ptr<Route> make_log_route(RecentLog& log, Scheduler& scheduler, Mailbox& mailbox);

}  // namespace freshet
