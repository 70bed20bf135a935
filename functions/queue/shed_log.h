// The durable, bounded shed log of one queue: which tasks were shed, why, how old they were, at which depth. An outage
// of the runner, or a spell of refused creations, has one line with a count (policy/spells.h). The lines are a ring in
// a system table that all queues share; new lines overwrite the oldest. Lines that are added together and differ only
// in task and age share an item. Loop thread; outlives its Asyncs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tables/tables.h"

namespace freshet {

struct ShedLine {
  std::string task;           // In the line of a spell: its first task.
  std::string what = "shed";  // Or "bounced", "refused".
  std::string policy;         // The decider: "ttl", "deadline", "breaker", or a setting: "DEADLINE_MARGIN=p90".
  std::string reason;         // "ttl", "deadline", "deadline-margin", "max-waiting", or what the runner said.
  std::string by;             // The part that noticed: "take", "timer", "due", "sweep", "search", "runner" or "create".
  std::string state;          // The task's state before.
  milliseconds age{0};
  uint64_t depth = 0;  // PENDING tasks then.
  WallTime at{};
  // A spell of bounces or refusals is one line with these:
  uint64_t count = 1;              // The number of them.
  WallTime until{};                // When the last one was.
  std::vector<std::string> tasks;  // Some of them, each once.
};

class ShedLog {
 public:
  // Creates the table of queue_states.h if it is not there.
  static Async<Result<std::unique_ptr<ShedLog>>> open(Tables& tables, std::string queue, uint32_t capacity);
  ShedLog(const ShedLog&) = delete;
  ShedLog& operator=(const ShedLog&) = delete;

  // Appends lines, each of one task, together with `position` if given. So nothing that was read from the stream up to
  // there is ever logged twice.
  Async<Result<void>> add(std::vector<ShedLine> lines, std::optional<uint64_t> position = {});
  // The number for a new version of the line `before`: the same number while the ring still has that line, else a new
  // one.
  uint64_t place(std::optional<uint64_t> before);
  // Writes the line with that number, over its older version.
  Async<Result<void>> put(ShedLine line, uint64_t place);
  // Sheds are counted per table id: if the table is deleted and made again, counts begin at zero.
  void count_for(const std::string& table_id);
  // The newest lines, newest first: items with `number`, `taskId`, `reason`, `by`, `state`, `ageMs`, `depth`, `at`, and
  // for a spell also `count`, `until`, `tasks`.
  Async<Result<std::vector<ItemRef>>> newest(uint32_t limit);
  // The lines that name the task and those of runner outages, among the newest 10,000 lines, newest first.
  Async<Result<std::vector<ItemRef>>> about(std::string task);
  // All sheds that were ever logged, by reason.
  const std::map<std::string, uint64_t>& counts() const { return counts_; }

  // The position up to which the queue has read its table's stream; 0: never. Durable with the next add() or save().
  uint64_t position() const { return position_; }
  void set_position(uint64_t position) { position_ = position; }
  Async<Result<void>> save();

 private:
  // In an item of several lines, these hold a value per line.
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
  Async<Result<void>> write(std::vector<WriteInput> writes);
  PutItemInput put_of(std::span<ShedLine> lines, uint64_t last) const;
  Async<Result<std::vector<ItemRef>>> read(uint32_t limit, std::string task);
  QueryInput slots(int64_t from, int64_t to, const std::string& task) const;

  Tables& tables_;
  const std::string queue_;
  const uint32_t capacity_;
  uint64_t written_ = 0;  // The number of lines so far; the next one goes to slot written_ % capacity_.
  uint64_t first_ = 0;    // Lines before this one are in slots of a ring of another size.
  uint64_t heads_ = 0;    // The number of heads written: a store may carry out two of them in another order.
  uint64_t position_ = 0;
  uint64_t saved_position_ = 0;
  std::map<std::string, uint64_t> counts_;
  std::string table_id_;
};

}  // namespace freshet
