// Fetches the flight recording of a queue from a running daemon.
#pragma once

#include <optional>
#include <string>

#include "app/cli/remote.h"
#include "app/lab/flight.h"

namespace freshet::cli {

// The last `last` of it, up to now, and so much before that all tasks that wait at its start are known; empty: all
// there is. Shows its progress. Without a result, errors have been printed, and `status` is the exit status for them.
std::optional<lab::Flight> fetch_recording(const Remote& remote, const std::string& queue,
                                           std::optional<milliseconds> last, int& status);

}  // namespace freshet::cli
