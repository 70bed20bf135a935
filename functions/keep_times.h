// KEEP_MS: how long an ended task is kept, by the state in which it ended. A value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace freshet {

class KeepTimes {
 public:
  // "0": no state is kept by this rule. "3600000": every state for that long, in milliseconds, up to 366 days.
  // "SUCCESS=60000,DEAD=86400000": these states. "3600000,DEAD=86400000": a number without a name is for the states
  // that have none of their own. kValidation says which part is wrong; the message begins with "KEEP_MS".
  static Result<KeepTimes> parse(std::string_view text);

  // parse() reads it back to an equal value.
  std::string text() const;
  // Empty: no rule for tasks that end in `state`, so their ttl stays unchanged.
  std::optional<milliseconds> of(std::string_view state) const;
  bool is_empty() const { return *this == KeepTimes(); }
  bool operator==(const KeepTimes&) const = default;

 private:
  static constexpr size_t kStates = 5;
  std::array<int64_t, kStates> ms_{};  // 0: no rule.
};

}  // namespace freshet
