// Where the code that clients have uploaded lies, when the folder of all of it was moved. Loop thread only.
#pragma once

#include <string>

#include "base/async.h"
#include "base/result.h"
#include "tables/tables.h"

namespace freshet {

// Functions name the folder of their code by its path. Every function with uploaded code that lies elsewhere than in
// `directory` (absolute) is written anew with the folder of the same name there. Before the runtime starts.
Async<Result<void>> find_uploaded_code(Tables& tables, std::string directory);

}  // namespace freshet
