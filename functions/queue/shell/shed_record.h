// Writes the shed log of a queue: a line for each task that was shed, bounced or refused. Loop thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "functions/queue/policy/spells.h"
#include "functions/queue/shed_log.h"
#include "functions/queue/shell/part.h"
#include "functions/refusal.h"

namespace freshet {

class ShedRecord : QueuePart {
 public:
  using QueuePart::QueuePart;

  // Call it before anything else. `table_id`: lines of a deleted table do not count.
  void begin(std::unique_ptr<ShedLog> log, const std::string& table_id);
  ShedLog& log() { return *shed_log_; }

  ShedLine shed_line(const ItemRef& task, std::string_view reason, std::string_view by, WallTime at) const;
  ShedLine refused_line(const NewTask& task, std::string policy, std::string reason) const;
  static milliseconds age_of(const ItemRef& task, WallTime at);
  Async<uint64_t> pending_depth();
  // `position`: how far the stream that showed the sheds has been read.
  Async<void> log_sheds(std::vector<ShedLine> lines, std::optional<uint64_t> position = {});
  // Logs bounces and refusals. Many of them become one line with a count, written once a second.
  void log_beside(std::vector<ShedLine> lines);
  // `all`: also those whose line was written a moment ago.
  void write_spells(bool all);
  // The runner did not take the task. `reachable`: it was reached and refused. True if it took tasks before, or was
  // reached.
  bool bounced(const ItemRef& task, DownstreamRefusal how, std::string_view reason, bool reachable);
  // The number of tasks that were bounced since the start.
  uint64_t bounced_tasks() const { return bounced_; }
  Async<void> save();  // The position in the stream.
  Async<Result<std::vector<ItemRef>>> sheds(uint32_t limit);

 private:
  Async<void> write_spell(Spell& spell);

  std::unique_ptr<ShedLog> shed_log_;
  Spells spells_;  // Bounces and refusals.
  uint64_t bounced_ = 0;
};

}  // namespace freshet
