// The durable, bounded shed log of one queue: which tasks were shed, why, how old they were, at which depth. An outage
// of the runner and a spell of refused creations have one line each, which counts (policy/spells.h). A ring of lines in
// a system table, shared by all queues; the oldest lines are overwritten. Lines that are added together and differ only
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
  std::string task;           // In the line of a spell: the first one.
  std::string what = "shed";  // Or "bounced", "refused".
  std::string policy;         // That decided: "ttl", "deadline", "breaker", or a setting, as "DEADLINE_MARGIN=p90".
  std::string reason;         // "ttl", "deadline", "deadline-margin", "max-waiting", or what the runner said.
  std::string by;             // The part that noticed: "take", "timer", "due", "sweep", "runner" or "create".
  std::string state;          // That it was in.
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
  static constexpr std::string_view kTable = "freshet.queues";

  // Creates the system table if it is not there.
  static Async<Result<std::unique_ptr<ShedLog>>> open(Tables& tables, std::string queue, uint32_t capacity);
  ShedLog(const ShedLog&) = delete;
  ShedLog& operator=(const ShedLog&) = delete;

  // Appends lines, each of one task, and saves the position with them: the new `position` if there is one, so that what
  // was read in the stream up to there is never told twice.
  Async<Result<void>> add(std::vector<ShedLine> lines, std::optional<uint64_t> position = {});
  // The number for a line that was written as `before`: the same one while the ring has it, else a new one.
  uint64_t place(std::optional<uint64_t> before);
  // Writes a line there, over what it was before.
  Async<Result<void>> put(ShedLine line, uint64_t place);
  // Sheds are counted for the table with that id: of another table made under the same name, from zero.
  void count_for(const std::string& table_id);
  // The newest lines, newest first: items of `number`, `taskId`, `reason`, `by`, `state`, `ageMs`, `depth`, `at`; of a
  // spell also `count`, `until`, `tasks`.
  Async<Result<std::vector<ItemRef>>> newest(uint32_t limit);
  // Among the newest 10,000 lines those that name that task, and those of outages of the runner, newest first.
  Async<Result<std::vector<ItemRef>>> about(std::string task);
  // Sheds ever, by reason, as far as they have lines.
  const std::map<std::string, uint64_t>& counts() const { return counts_; }

  // Up to where the queue has read its table's stream; 0 if never. Durable with the next add() or save().
  uint64_t position() const { return position_; }
  void set_position(uint64_t position) { position_ = position; }
  Async<Result<void>> save();

 private:
  // An item of several lines has these, which differ between them.
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
  uint64_t written_ = 0;  // Lines ever; the next one goes to slot written_ % capacity_.
  uint64_t first_ = 0;    // Lines before this one are in slots of a ring of another size.
  uint64_t heads_ = 0;    // Heads written ever: a store may write two in another order.
  uint64_t position_ = 0;
  uint64_t saved_position_ = 0;
  std::map<std::string, uint64_t> counts_;
  std::string table_id_;
};

}  // namespace freshet
