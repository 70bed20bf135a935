// Fixtures of queues.
#pragma once

#include "streams/fixture.h"

namespace freshet {

// kValidation if an item or an image of the fixture of a queue's table has a `taskStatus` that is no state: with its
// line, the states that there are, and the nearest one. Items without a `taskStatus` that is a string are no tasks.
Result<void> check_states(const Fixture& fixture);

}  // namespace freshet
