// Checks of option values, with errors that a person can read. The library's own print bounds of numbers as floating
// point numbers of any length.
#pragma once

#include <chrono>
#include <cstdint>

#include "app/cli/options.h"

namespace freshet::cli {

Check whole(int64_t least, int64_t most);  // A whole number between the two, both included.
Check seed();                              // Any number of 64 bits.
Check above_zero();                        // Any number above 0.
// A duration with its unit (base/duration_text.h), both bounds included.
Check duration(std::chrono::milliseconds least, std::chrono::milliseconds most);
// The same, but a number alone is seconds, and must be above 0.
Check some_seconds();
Check host_name();  // Refuses an URL, and a name with a port.
Check not_empty();  // Refuses an empty value, such as a script's unset variable.

// The seconds of a text that some_seconds() has checked; 0 of an empty one.
double seconds_in(const std::string& text);

// That many seconds, but at most thirty years: nanoseconds cannot hold every larger number.
std::chrono::nanoseconds seconds_of(double seconds);

}  // namespace freshet::cli
