// What a person is told whose daemon does not start for what the store refused.
#pragma once

#include "app/daemon/options.h"
#include "base/result.h"
#include "tables/engine/embedded.h"

namespace freshet {

// The error, but of a disk that is nearly full in other words than a client's, who is told to come back later: which
// folder, how much is left and how much a start needs.
Error start_refusal(const Error& error, const EmbeddedStats& stats, const DaemonOptions& options);

}  // namespace freshet
