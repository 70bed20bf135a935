// Ages and times as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace freshet::cli {

std::string age_text(int64_t milliseconds);  // "9.0 s", "3.5 min", "2.0 h", "7.0 days".
int64_t now_ms();                            // Since the epoch.

}  // namespace freshet::cli
