// The shed log as its queue writes it: a line for each task that was shed, bounced or refused. Loop thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "functions/queue/policy/spells.h"
#include "functions/queue/shed_log.h"
#include "functions/queue/shell/part.h"

namespace freshet {

class ShedRecord : QueuePart {
 public:
  using QueuePart::QueuePart;

  // Before anything else is called. `table_id`: lines of a table that was deleted do not count.
  void begin(std::unique_ptr<ShedLog> log, const std::string& table_id);
  ShedLog& log() { return *shed_log_; }

  ShedLine shed_line(const ItemRef& task, std::string_view reason, std::string_view by, WallTime at) const;
  ShedLine refused_line(const NewTask& task, std::string policy, std::string reason) const;
  static milliseconds age_of(const ItemRef& task, WallTime at);
  Async<uint64_t> pending_depth();
  // `position`: up to where the stream that showed them has been read.
  Async<void> log_sheds(std::vector<ShedLine> lines, std::optional<uint64_t> position = {});
  // Logs bounces and refusals. A flood of them is one line that counts, written once a second.
  void log_beside(std::vector<ShedLine> lines);
  // `all`: also those whose line was written a moment ago.
  void write_spells(bool all);
  // The runner handed the task back (`reachable`: itself). True if it took tasks before, or could be reached.
  bool bounced(const ItemRef& task, DownstreamRefusal how, std::string_view reason, bool reachable);
  // Tasks that were bounced, since the start.
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
