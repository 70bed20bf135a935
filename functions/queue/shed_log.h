// The durable, bounded shed log of one queue: what was given up, why, how old it was, at which depth. Also what was
// bounced by the runner or refused at its creation, of which a flood leaves only some lines. A ring of lines in a
// system table, shared by all queues; the oldest lines are overwritten. Lines that are added together and differ only
// in task and age share an item. Loop thread; outlives its Asyncs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tables/tables.h"

namespace freshet {

struct ShedLine {
  std::string task;
  std::string what = "shed";  // Or "bounced", "refused".
  std::string policy;         // That decided: "ttl", "deadline", "breaker", or a setting, as "DEADLINE_MARGIN=p90".
  std::string reason;         // "ttl", "deadline", "deadline-margin", "max-waiting", or what the runner said.
  std::string by;             // Who noticed: "take", "timer", "due", "sweep", "runner" or "create".
  std::string state;          // That it was in.
  milliseconds age{0};
  uint64_t depth = 0;  // PENDING tasks then.
  WallTime at{};
  uint64_t untold = 0;  // Bounces and refusals before this line that have none.
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
  // The lines about that task among the newest 10,000, newest first.
  Async<Result<std::vector<ItemRef>>> about(std::string task);
  // Sheds ever, by reason.
  const std::map<std::string, uint64_t>& counts() const { return counts_; }

  // Up to where the queue has read its table's stream; 0 if never. Durable with the next add() or save().
  uint64_t position() const { return position_; }
  void set_position(uint64_t position) { position_ = position; }
  Async<Result<void>> save();

 private:
  // Of an item of several lines, what differs between them.
  static constexpr std::string_view kAges = "agesMs";
  static constexpr std::string_view kTasks = "taskIds";
  struct Reading {  // From the newest line to the oldest.
    uint64_t oldest = 0;
    uint64_t next = 0;  // Older lines only.
    std::vector<ItemRef> lines;
    void add(const ItemRef& stored, const std::string& task);
  };
  ShedLog(Tables& tables, std::string queue, uint32_t capacity)
      : tables_(tables), queue_(std::move(queue)), capacity_(capacity) {}
  Async<Result<void>> load();
  PutItemInput head();
  PutItemInput put_of(std::span<ShedLine> lines, uint64_t last) const;
  Async<Result<std::vector<ItemRef>>> read(uint32_t limit, std::string task);
  QueryInput slots(int64_t from, int64_t to, const std::string& task) const;

  Tables& tables_;
  const std::string queue_;
  const uint32_t capacity_;
  uint64_t written_ = 0;  // Lines ever; the next one goes to slot written_ % capacity_.
  uint64_t first_ = 0;    // Lines before this one are in slots of a ring of another size.
  uint64_t heads_ = 0;    // Heads written ever: a store may write two in another order.
  uint64_t position_ = 0;
  uint64_t saved_position_ = 0;
  std::map<std::string, uint64_t> counts_;
};

}  // namespace freshet
