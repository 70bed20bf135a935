// Connects the limits by group or key (KEY_RATE_LIMIT, KEY_CONCURRENCY) with leases and lanes. policy/key_limits.h
// counts. A lane whose group or key is at its limit gets no turn (policy/fair_share.h). Whatever its lane, a task is
// claimed only if its group or key admits it at that time. docs/policies.md, "Limits by group and by key". Loop thread.
#pragma once

#include <optional>
#include <string_view>

#include "functions/queue/shell/part.h"

namespace freshet {

class LimitWork : QueuePart {
 public:
  using QueuePart::QueuePart;

  // Call it once, when all parts exist.
  void begin();
  // The settings have changed. `before`: the old limits.
  void follow_limits(const LimitSettings& before);
  // The downstream call for a task ended, with or without an answer. True if the limit of its group or key is learnt.
  bool answered(const ItemRef& task, std::string_view lease, CallAnswer answer, const LimitHints& hints,
                std::optional<double> cost);

 private:
  void limit_changed(std::string_view name, bool may_start);
};

}  // namespace freshet
