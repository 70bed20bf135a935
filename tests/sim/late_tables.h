// The store that answers late is part of the product: replays of ordered writes run on it, too.
#pragma once

#include "runtime/replay/late_tables.h"  // IWYU pragma: export
