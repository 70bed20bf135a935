// The durable audit log of a store: a line for each change that people make to queues, tables and functions as a whole.
// The newest 10,000 lines are kept, in the system table `freshet.audit`, for all queues together.
//
// A line is durable before its change is, or in the same transaction (writes()). So each acknowledged change has its
// line; there may also be a line about a change that a crash prevented. Only the end of a policy's guard comes before
// its line (functions/queue/shell/policy_desk.cc).
//
// Loop thread, but for clock(), which any thread may call; outlives its Asyncs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/api/queue_admin.h"
#include "tables/tables.h"

namespace freshet {

struct AuditLine {
  std::string what;  // "pause", "resume", "purge", "policy", "deploy", …
  Actor actor;
  std::string queue;              // The name of the queue, table or function. Empty: the daemon.
  std::string detail;             // Describes the part or the settings that changed.
  std::optional<uint64_t> count;  // The number of tasks, or other objects, that were changed.
  std::optional<uint64_t> job;    // The id of the job that the line belongs to.
};

// The writes that add a line and remove lines that are too old, for a transaction with the change itself.
struct AuditWrites {
  uint64_t number = 0;  // The number of the line.
  std::vector<WriteInput> actions;
  uint64_t removed = 0;  // Lines up to this number are gone once the transaction is applied.
};

class AuditLog {
 public:
  static constexpr std::string_view kTable = "freshet.audit";
  static constexpr uint64_t kLines = 10'000;

  // Both outlive it.
  AuditLog(Tables& tables, const Clock& clock) : tables_(tables), clock_(clock) {}
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Creates the table if it does not exist, and finds its first and its newest line. Call it before writes(). A
  // second call has no effect.
  Async<Result<void>> open();
  // Pass it to written() once they are applied. A number whose transaction fails is used up.
  AuditWrites writes(const AuditLine& line);
  void written(const AuditWrites& writes);
  // Adds the line and returns its number. Await it before you make the change.
  Async<Result<uint64_t>> add(AuditLine line);
  const Clock& clock() const { return clock_; }
  // The newest lines, newest first: items of `number`, `at`, `what`, `who`, `from`, `request`, `queue`, `detail`,
  // `count`, `job`, as far as they are known. With a queue's name, only those of that queue.
  Async<Result<std::vector<ItemRef>>> newest(uint32_t limit, std::string queue);

 private:
  Tables& tables_;
  const Clock& clock_;
  bool open_ = false;
  uint64_t next_ = 1;
  uint64_t first_ = 1;  // No line has a lower number.
};

}  // namespace freshet
