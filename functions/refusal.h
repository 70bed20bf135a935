// How a downstream refuses a task. The task goes back to the queue, and its attempt does not count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace freshet {

enum class DownstreamRefusal : uint8_t {
  kTooManyRequests,  // HTTP 429.
  kUnavailable,      // HTTP 503.
  kTemporary,        // A program ended with status 75.
  kUnreachable,      // No connection, or the program could not be started.
  kRelease,          // The runner or worker gave it back.
  kNoSlot,           // TASK_RUNNER=fake has no free slot.
};

inline constexpr size_t kRefusals = 6;

// The spelling in metrics, in the order of the enumerators.
inline constexpr std::array<std::string_view, kRefusals> kRefusalNames = {"429",         "503",     "exit-75",
                                                                          "unreachable", "release", "no-slot"};

}  // namespace freshet
