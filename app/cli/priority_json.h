// Records and results as the priority-queue sample prints them: its members, their order, its pretty printer.
#pragma once

#include <string>

#include "app/cli/remote.h"

namespace freshet::cli {

// "k" : v, two blanks a level, arrays on one line, empty ones as [ ] and { }.
std::string sample_pretty(const Json& json);

// Parts of an item in plain JSON; null for null.
Json sample_record(const Json& item);
Json sample_system_info(const Json& item);
Json sample_data(const Json& item);
// The sample's members of a result; with `peeked`, those of a peek.
Json sample_result(const Json& result, bool peeked);
Json sample_stats(const Json& stats);
Json sample_dead(const Json& dead);

}  // namespace freshet::cli
