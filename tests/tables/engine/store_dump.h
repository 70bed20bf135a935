// Everything observable of a store as text: what must be the same before and after a restart.
#pragma once

#include <string>

#include "tables/tables.h"

namespace freshet {

std::string dump(Tables& store);

}  // namespace freshet
