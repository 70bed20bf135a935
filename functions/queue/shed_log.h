// The durable, bounded shed log of one queue: what was given up, why, how old it was, at which depth. A ring of lines
// in a system table, shared by all queues; the oldest lines are overwritten. Loop thread; outlives its Asyncs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tables/tables.h"

namespace freshet {

struct ShedLine {
  std::string task;
  std::string reason;  // "ttl" or "deadline".
  std::string by;      // Who noticed: "take", "due" or "sweep".
  std::string state;   // That it was in.
  milliseconds age{0};
  uint64_t depth = 0;  // PENDING tasks then.
  WallTime at{};
};

class ShedLog {
 public:
  static constexpr std::string_view kTable = "freshet.queues";

  // Creates the system table if it is not there.
  static Async<Result<std::unique_ptr<ShedLog>>> open(Tables& tables, std::string queue, uint32_t capacity);
  ShedLog(const ShedLog&) = delete;
  ShedLog& operator=(const ShedLog&) = delete;

  // Appends lines; also remembers `position` (see below).
  Async<Result<void>> add(std::vector<ShedLine> lines);
  // The newest lines, newest first: items of `number`, `taskId`, `reason`, `by`, `state`, `ageMs`, `depth`, `at`.
  Async<Result<std::vector<ItemRef>>> newest(uint32_t limit);
  // Lines ever written, by reason.
  const std::map<std::string, uint64_t>& counts() const { return counts_; }

  // Up to where the queue has read its table's stream; 0 if never. Durable with the next add() or save().
  uint64_t position() const { return position_; }
  void set_position(uint64_t position) { position_ = position; }
  Async<Result<void>> save();

 private:
  ShedLog(Tables& tables, std::string queue, uint32_t capacity)
      : tables_(tables), queue_(std::move(queue)), capacity_(capacity) {}
  Async<Result<void>> load();
  PutItemInput head() const;

  Tables& tables_;
  const std::string queue_;
  const uint32_t capacity_;
  uint64_t written_ = 0;  // Lines ever; the next one goes to slot written_ % capacity_.
  uint64_t position_ = 0;
  uint64_t saved_position_ = 0;
  std::map<std::string, uint64_t> counts_;
};

}  // namespace freshet
