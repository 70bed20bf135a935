// The events of a run as lines of text. They are hashed, so that two runs can be compared. The last ones are kept, so
// that the report of a fault has the events before it. They are printed while the run goes on, if you ask for that.
// Counts how often each kind of event was there. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"

namespace freshet::sim {

class Trace final : public LogSink {
 public:
  explicit Trace(bool print) : print_(print) {}

  // The clock of the times in front of lines; outlives the trace.
  void set_clock(const Clock& clock) { clock_ = &clock; }
  void note(std::string_view line);
  // The daemon's log. Each event's name counts as seen.
  void write(LogLevel level, std::string_view line) override;
  uint64_t logged_bytes() const { return logged_bytes_; }  // All that the daemon has logged.

  // Counts something that must happen now and then, or the simulation does not test what it should.
  void saw(const std::string& what) { ++seen_[what]; }
  const std::map<std::string, uint64_t>& seen() const { return seen_; }

  uint64_t hash() const { return hash_; }
  uint64_t lines() const { return lines_; }
  // The last lines, oldest first.
  const std::deque<std::string>& last() const { return last_; }

 private:
  uint64_t logged_bytes_ = 0;
  const bool print_;
  const Clock* clock_ = nullptr;
  uint64_t hash_ = 14695981039346656037ull;
  uint64_t lines_ = 0;
  std::deque<std::string> last_;
  std::map<std::string, uint64_t> seen_;
};

}  // namespace freshet::sim
