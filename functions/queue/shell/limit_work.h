// Limits of each group or key (KEY_RATE_LIMIT, KEY_CONCURRENCY), where a queue meets them: passes facts between the
// leases, the limits and the lanes. policy/key_limits.h counts; a lane whose group or key is at its limit has no turn
// (policy/fair_share.h); and a task is only claimed if its group or key admits it then, whatever lane it is in.
// docs/policies.md, "Limits by group and by key". Loop thread.
#pragma once

#include <optional>
#include <string_view>

#include "functions/queue/shell/part.h"

namespace freshet {

class LimitWork : QueuePart {
 public:
  using QueuePart::QueuePart;

  // Once, when all parts are there.
  void begin();
  // The settings are others now; the limits were `before`.
  void follow_limits(const LimitSettings& before);
  // The downstream answered the call for a task, or nobody did. True if the limit of its group or key is learnt.
  bool answered(const ItemRef& task, std::string_view lease, CallAnswer answer, const LimitHints& hints,
                std::optional<double> cost);

 private:
  void limit_changed(std::string_view name, bool may_start);
};

}  // namespace freshet
