// What the daemon's options say about its store.
#pragma once

#include "app/daemon/options.h"
#include "tables/engine/embedded.h"

namespace freshet {

// Without threads and callbacks, which are the daemon's.
EmbeddedOptions store_options(const DaemonOptions& options, const Durability& durability);

}  // namespace freshet
