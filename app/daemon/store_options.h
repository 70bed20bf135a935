// How the daemon opens its store: the options for it, and how the store's warnings are logged.
#pragma once

#include "app/daemon/options.h"
#include "base/log.h"
#include "tables/engine/embedded.h"

namespace freshet {

// Sets no threads, clock sync, trace links or failure handler: the daemon sets those.
EmbeddedOptions store_options(const DaemonOptions& options, const Durability& durability, const EventLog& log);

}  // namespace freshet
