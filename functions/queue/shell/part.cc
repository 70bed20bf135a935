#include "functions/queue/shell/part.h"

namespace freshet {

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
  return {shown, boot(), doubted ? wall_guard_.earliest() : shown, doubted};
}

Now QueuePart::now_checked() const {
  return {wall(), boot(), wall_guard_.earliest(), wall_guard_.doubts()};
}

}  // namespace freshet
