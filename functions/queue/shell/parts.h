// The parts of a queue's shell, together. Only they and queue.cc include this. Loop thread.
#pragma once

#include "functions/queue/identity.h"
#include "functions/queue/shell/administration.h"
#include "functions/queue/shell/adoption.h"
#include "functions/queue/shell/bulk_work.h"
#include "functions/queue/shell/counts.h"
#include "functions/queue/shell/creation.h"
#include "functions/queue/shell/explanations.h"
#include "functions/queue/shell/finder.h"
#include "functions/queue/shell/follower.h"
#include "functions/queue/shell/kept_policy.h"
#include "functions/queue/shell/keyed_tasks.h"
#include "functions/queue/shell/learnt_limits.h"
#include "functions/queue/shell/lease_ends.h"
#include "functions/queue/shell/limit_work.h"
#include "functions/queue/shell/pausing.h"
#include "functions/queue/shell/policy_desk.h"
#include "functions/queue/shell/promotion.h"
#include "functions/queue/shell/readings.h"
#include "functions/queue/shell/settlements.h"
#include "functions/queue/shell/shed_record.h"
#include "functions/queue/shell/shedding.h"
#include "functions/queue/shell/table.h"
#include "functions/queue/shell/takes.h"
#include "functions/queue/shell/timer.h"

namespace freshet {

struct QueueParts {
  QueueParts(Services& services, const EventLog& log, const QueueIdentity& identity, WallGuard& wall,
             QueueTable::Prepared prepared, QueueSettings settings);
  QueueParts(const QueueParts&) = delete;
  QueueParts& operator=(const QueueParts&) = delete;
  ~QueueParts();
  // Ends all work of the queue. The ending work may still use the queue, so the owner calls this before it destroys the
  // parts.
  void end();

  QueueBase base;

  QueueTable table;
  TaskCounts counts{base, *this};
  ShedRecord sheds{base, *this};
  TaskFinder finder{base, *this};
  Takes takes{base, *this};
  Settlements settlements{base, *this};
  LeaseEnds lease_ends{base, *this};
  Creation creation{base, *this};
  KeyedTasks keyed{base, *this};
  Adoption adoption{base, *this};
  Promotion promotion{base, *this};
  Shedding shedding{base, *this};
  LimitWork limits{base, *this};
  LearntLimits learnt{base, *this};
  Pausing pausing{base, *this};
  PolicyDesk policy{base, *this};
  KeptPolicy kept{base, *this};
  BulkWork bulk{base, *this};
  Administration admin{base, *this};
  Readings readings{base, *this};
  Explanations explanations{base, *this};
  Follower follower{base, *this};
  QueueTimer timer{base, *this};
};

}  // namespace freshet
