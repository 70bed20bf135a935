// True if the margin before a deadline counts for a task that a take looks at. Pure.
#pragma once

#include "functions/settings.h"

namespace freshet {

// `newest_first`: how the take goes through the queue. `last`: nothing else waits.
//
// kYield gives way where keeping the margin would only leave a slot empty: newest first, all that is left is older
// still; oldest first, when it is the last one.
inline bool margin_applies(DeadlineMargin margin, bool newest_first, bool last) {
  return margin == DeadlineMargin::kP90 || (margin == DeadlineMargin::kYield && !newest_first && !last);
}

}  // namespace freshet
