#include "functions/queue/shell/part.h"

namespace freshet {

QueueBase::QueueBase(Services& of, const EventLog& events, const QueueIdentity& identity, WallGuard& wall,
                     std::string name, QueueSettings begins_with)
    : services(of),
      log(events),
      table(std::move(name)),
      wall_guard(wall),
      settings(std::move(begins_with)),
      core(table, settings, services.random, identity.node, identity.incarnation),
      layout(task_layout(settings.layout, services.tables.traits())),
      in_fleet(identity.in_fleet),
      sure(services.tables, services.scheduler, identity.node + ":" + identity.incarnation, layout) {}

QueuePart::QueuePart(QueueBase& base, QueueParts& parts)
    : base_(base),
      parts_(parts),
      services_(base.services),
      log_(base.log),
      table_(base.table),
      settings_(base.settings),
      core_(base.core),
      layout_(base.layout),
      sure_(base.sure),
      wall_guard_(base.wall_guard),
      scope_(base.scope) {}

Now QueuePart::now() const {
  const auto shown = wall();
  const bool doubted = wall_guard_.doubts();
  if (!doubted) return {shown, boot(), shown, shown, false};
  return {shown, boot(), wall_guard_.earliest(), wall_guard_.latest(), true};
}

Now QueuePart::now_checked() const {
  const auto earliest = wall_guard_.earliest();
  return {wall(), boot(), earliest, counted_from(), wall_guard_.doubts()};
}

}  // namespace freshet
