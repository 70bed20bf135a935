#include "functions/queue/shell/parts.h"

namespace freshet {

QueueParts::QueueParts(Services& services, const EventLog& log, const QueueIdentity& identity, WallGuard& wall,
                       QueueTable::Prepared prepared, QueueSettings settings)
    : base(services, log, identity, wall, prepared.definition.name, std::move(settings)),
      table(base, *this, std::move(prepared)) {
  base.core.adopter.use(base.layout);
  limits.begin();
}

QueueParts::~QueueParts() {
  end();
}

void QueueParts::end() {
  timer.end();
  base.left_in_work.clear();  // Gives back the tasks that it holds.
  base.scope.clear();
  base.lasting.clear();
  base.core.claims.table_lost();  // This comes first, because the calls of the leases refer to the downstream.
}

}  // namespace freshet
