// GET /queues/NAME/recording[?from=MS&to=MS][&place=PLACE]: the flight recording of a queue, in JSON Lines
// (docs/task-api.md, "The recording of a queue"). Bounds are epoch milliseconds, or negative: before now. An answer has
// at most some thousand lines; the header X-Freshet-Next, if there is one, is the `place` of the request for the next
// ones.
#pragma once

#include <memory>

#include "functions/queue/flight_recorder.h"
#include "runtime/ports.h"

namespace freshet {

// `recorder` may be null: it is off. All parts outlive the route. It comes before the route of the task API.
std::unique_ptr<Route> make_recording_route(TaskQueues& queues, const FlightRecorder* recorder, const Clock& clock);

}  // namespace freshet
