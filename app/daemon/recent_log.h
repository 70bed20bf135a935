// Keeps the last lines of the daemon's log in memory for `freshet logs`.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/mutex.h"
#include "base/scheduler.h"
#include "runtime/ports.h"

namespace freshet {

// Passes each line on and keeps the last `max_bytes` of lines, numbered from 1. Any thread.
class RecentLog final : public LogSink {
 public:
  RecentLog(LogSink& next, size_t max_bytes) : next_(next), max_bytes_(max_bytes) {}  // `next` outlives it.
  void write(LogLevel level, std::string_view line) override;

  struct Piece {
    std::string lines;  // Each ends with a line break.
    uint64_t next = 1;  // The number of the next line.
    uint64_t lost = 0;  // The number of lines between `from` and the first one here that are no longer kept.
  };
  // At most about `max_bytes`, whole lines; only those that contain `mark`, unless that is empty.
  Piece since(uint64_t from, size_t max_bytes, std::string_view mark = {}) const;
  // The newest `count` lines that contain `mark`, unless that is empty.
  Piece newest(uint64_t count, std::string_view mark) const;
  // Calls `wake` once, at the next line, on the thread that writes that line. If it returns false, it is called again
  // at a later line. Each call of on_next_line() replaces the `wake` before.
  void on_next_line(std::function<bool()> wake);

 private:
  LogSink& next_;
  const size_t max_bytes_;
  mutable Mutex mutex_;
  std::deque<std::string> lines_ FRESHET_GUARDED_BY(mutex_);
  uint64_t first_ FRESHET_GUARDED_BY(mutex_) = 1;  // The number of the first kept line.
  std::function<bool()> wake_ FRESHET_GUARDED_BY(mutex_);
  size_t bytes_ FRESHET_GUARDED_BY(mutex_) = 0;
};

// GET /logs[?from=NUMBER|newest=COUNT][&waitMs=N][&function=NAME]: lines from that number on, or the newest ones, as
// JSON Lines; waits up to N ms (at most 30 s) for the first. With `function` only the lines of that function. The
// response's X-Freshet-Next is the `from` of the next request, X-Freshet-Lost the number of lines that were too old.
// Log, scheduler and mailbox outlive the route.
std::unique_ptr<Route> make_log_route(RecentLog& log, Scheduler& scheduler, Mailbox& mailbox);

}  // namespace freshet
