// Tests ordered writes with a fixture: its records in the order of its lines, then in random interleavings with each
// record repeated and late, by parallel writers, on a store that answers late. Every final state is compared with that
// of the records in the order of their timestamps. In simulated time and in memory: nothing outside is used. Same
// fixture, settings and options: same bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "functions/ordered/settings.h"
#include "streams/fixture.h"

namespace freshet::ordered {

struct ReplayOptions {
  uint64_t seed = 1;  // Seeds the first interleaving; the next ones have the next numbers.
  uint64_t interleavings = 100;
  int writers = 4;                                // 1..100.
  std::function<void(uint64_t)> on_interleaving;  // Called after each, with its number from 1; may be empty.
};

struct ReplayOutput {
  std::string lines;                      // JSON Lines (docs/ordered-writes.md, "Replay").
  std::optional<std::string> difference;  // The first one, for people: the interleaving and the item.
};

// The settings' table has the fixture's keys, whatever its name. kValidation, with the number of the record, for
// records that cannot be ordered writes: no timestamp, one more than two years from the fixture's start, or equal
// timestamps of one key if ties go by arrival.
Result<ReplayOutput> replay(const Fixture& fixture, const Settings& settings, const ReplayOptions& options);

}  // namespace freshet::ordered
