// How the daemon opens its store: what its options say, and how the store's warnings are logged.
#pragma once

#include "app/daemon/options.h"
#include "base/log.h"
#include "tables/engine/embedded.h"

namespace freshet {

// Without threads, trace links and what is done when the store fails: those are the daemon's.
EmbeddedOptions store_options(const DaemonOptions& options, const Durability& durability, const EventLog& log);

}  // namespace freshet
