// Fetches the flight recording of a queue from a running daemon.
#pragma once

#include <optional>
#include <string>

#include "app/cli/remote.h"
#include "app/lab/flight.h"

namespace freshet::cli {

// Fetches the last `last` up to now, and as much before that as is needed to know all tasks that waited at its start;
// all of it if `last` is empty. Shows its progress. If the result is empty, the errors have been printed, and `status`
// is the exit status for them.
std::optional<lab::Flight> fetch_recording(const Remote& remote, const std::string& queue,
                                           std::optional<milliseconds> last, int& status);

}  // namespace freshet::cli
