// Texts that sort by priority, then by timestamp, as a queue does. Pure.
#pragma once

#include <string>

#include "functions/priority/settings.h"

namespace freshet::priority {

// "0999999990#2026-11-21T00:08:52.709144906Z": the first text in the index is the next record of the queue, or the last
// if the queue is read backward. `priority` is within +-kLargestPriority.
std::string order_text(const Settings& settings, int64_t priority, const std::string& timestamp);

}  // namespace freshet::priority
