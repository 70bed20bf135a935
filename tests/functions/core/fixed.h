// The table and the times that the tests of the core's parts share. The parts read no clock: these are passed in.
#pragma once

#include <string>

#include "base/clock.h"

namespace freshet::fixed {

inline const std::string kTable = "T";
inline const WallTime kWall(milliseconds(1'000'000));
inline const BootTime kNow(seconds(100));
inline const BootTime kBoot(milliseconds(500));
inline constexpr milliseconds kRetry{1000};

}  // namespace freshet::fixed
