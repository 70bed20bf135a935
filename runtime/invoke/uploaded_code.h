// Finds uploaded code again after its folder was moved. Loop thread only.
#pragma once

#include <string>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

// Functions name the folder of their code by its path. Rewrites every function whose uploaded code is not in
// `directory` (absolute) to use the folder of the same name there. Call it before the runtime starts.
Async<Result<void>> find_uploaded_code(Tables& tables, std::string directory);

}  // namespace freshet
