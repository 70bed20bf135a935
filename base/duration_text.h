// Durations as people write them on a command line: a number with its unit, as in 500ms, 5s, 1.5m, 1h, 2d.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace freshet {

// The duration that the text names, in whole milliseconds. Units: ms, s, m (minutes), h, d (of 24 hours); also several
// together, the largest first, as in 1h30m.
//
// kValidation, with a message that quotes the text and says what would be right: there is no unit, the unit is unknown,
// the number is not one, or the duration is not from `least` to `most`. The message does not name the option.
Result<milliseconds> parse_duration(std::string_view text, milliseconds least, milliseconds most);

// The shortest text that parse_duration() reads as this duration: "1500ms", "90s", "2h". Not negative.
std::string duration_text(milliseconds duration);

}  // namespace freshet
