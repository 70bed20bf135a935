// Decides if the margin before a deadline applies to a task that a take looks at. Pure.
#pragma once

#include "functions/settings.h"

namespace freshet {

// `newest_first`: the take goes through the queue from the newest end. `last`: nothing else waits.
//
// With kYield the margin does not apply if it would only leave a slot empty. That is always so with newest first,
// because all other tasks are even older, and with oldest first if the task is the last one.
inline bool margin_applies(DeadlineMargin margin, bool newest_first, bool last) {
  return margin == DeadlineMargin::kP90 || (margin == DeadlineMargin::kYield && !newest_first && !last);
}

}  // namespace freshet
