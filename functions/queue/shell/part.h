// The base of all parts of a queue's shell. docs/internals.md, "The shell of a queue", says which part does what. Loop
// thread.
//
// A part executes what the core decides: it reads, writes and waits, and reports the results to the core. It holds only
// the state of its own effects. Parts find each other through QueueParts and call only public members.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/wall_guard.h"
#include "functions/queue/arrows.h"
#include "functions/queue/core/queue_core.h"
#include "functions/queue/identity.h"
#include "functions/queue/layout.h"
#include "functions/queue/sure_writes.h"
#include "functions/settings.h"
#include "runtime/api/audit_log.h"
#include "runtime/api/task_queue.h"
#include "runtime/invoke/function.h"

namespace freshet {

struct QueueParts;

// The state that all parts share. `services` and `wall_guard` outlive it.
struct QueueBase {
  QueueBase(Services& services, const EventLog& log, const QueueIdentity& identity, WallGuard& wall, std::string table,
            QueueSettings settings);

  Services& services;
  const EventLog log;
  const std::string table;
  WallGuard& wall_guard;
  QueueSettings settings;
  QueueCore core;
  const TaskLayout& layout;
  const bool in_fleet;        // QueueIdentity
  SureWrites sure;            // All writes to tasks go through it.
  AuditLog* audit = nullptr;  // For pauses, jobs and policies.
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
  Scope scope{};         // Work of the queue that nobody waits for. It ends when the queue is given up.
  Scope lasting{};       // Work that goes on then: claims in flight, settlements, and calls that somebody waits for.
  Scope left_in_work{};  // Tasks that processors left in work when their run ended.
};

class QueuePart {
 public:
  QueuePart(QueueBase& base, QueueParts& parts);
  QueuePart(const QueuePart&) = delete;
  QueuePart& operator=(const QueuePart&) = delete;

 protected:
  static constexpr int64_t kNever = kNeverMs;

  WallTime wall() const { return services_.scheduler.clock().wall(); }
  // The time from which deadlines, TTLs, KEEP_MS and the lengths of pauses count.
  WallTime counted_from() const { return wall_guard_.latest(); }
  BootTime boot() const { return services_.scheduler.clock().boot(); }
  // For decisions about tasks that were read. While the wall clock is trusted, `earliest` is the shown time.
  Now now() const;
  // For writes that end tasks for good: `earliest` is always computed.
  Now now_checked() const;

  QueueBase& base_;
  QueueParts& parts_;
  Services& services_;
  const EventLog& log_;
  const std::string& table_;
  QueueSettings& settings_;
  QueueCore& core_;
  const TaskLayout& layout_;
  SureWrites& sure_;
  WallGuard& wall_guard_;  // Tasks expired by its earliest() are shed; tasks expired by its latest() are not started.
  Scope& scope_;
};

}  // namespace freshet
