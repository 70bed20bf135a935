// The durable audit log of a store: a line for each change that people make to queues, tables and functions as a whole.
// The newest 10,000 lines are kept, in the system table `freshet.audit`, for all queues together.
//
// A line is durable before its change is, or in the same transaction (writes()). So each acknowledged change has its
// line; a line may be there of a change that a crash prevented.
//
// Loop thread; outlives its Asyncs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "runtime/queue_admin.h"
#include "tables/tables.h"

namespace freshet {

struct AuditLine {
  std::string what;  // "pause", "resume", "purge", "policy", "deploy", …
  Actor actor;
  std::string queue;              // Or the table or function. Empty: the daemon.
  std::string detail;             // In words: which part, which settings.
  std::optional<uint64_t> count;  // Tasks, or things, that were changed.
  std::optional<uint64_t> job;    // The line belongs to the job with that id.
};

class AuditLog {
 public:
  static constexpr std::string_view kTable = "freshet.audit";
  static constexpr uint64_t kLines = 10'000;

  // Both outlive it.
  AuditLog(Tables& tables, const Clock& clock) : tables_(tables), clock_(clock) {}
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Creates the table if it is not there, and finds the newest line. Before writes(); again: does nothing.
  Async<Result<void>> open();
  // The writes that add the line, for a transaction with the change itself, and the line's number.
  std::pair<uint64_t, std::vector<WriteInput>> writes(const AuditLine& line);
  // Adds the line; its number. To be awaited before the change is made.
  Async<Result<uint64_t>> add(AuditLine line);
  // The newest lines, newest first: items of `number`, `at`, `what`, `who`, `from`, `request`, `queue`, `detail`,
  // `count`, `job`, as far as they are known. With a queue's name, those of that queue.
  Async<Result<std::vector<ItemRef>>> newest(uint32_t limit, std::string queue);

 private:
  Tables& tables_;
  const Clock& clock_;
  bool open_ = false;
  uint64_t next_ = 1;
};

}  // namespace freshet
