// Decides if the margin before a deadline applies to a task that a take looks at. Pure.
#pragma once

#include "functions/settings.h"

namespace freshet {

// `newest_first`: how the take goes through the queue. `last`: nothing else waits.
//
// With kYield the margin does not apply if it would only leave a slot empty: for newest first, as all other tasks are
// even older; for oldest first, if the task is the last one.
inline bool margin_applies(DeadlineMargin margin, bool newest_first, bool last) {
  return margin == DeadlineMargin::kP90 || (margin == DeadlineMargin::kYield && !newest_first && !last);
}

}  // namespace freshet
