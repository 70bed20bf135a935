// Arguments that hold JSON.
#pragma once

#include <string>

#include "app/cli/remote.h"
#include "base/result.h"

namespace freshet::cli {

// kValidation, naming `what`, if the text is not JSON, or holds a number with more digits than would reach the daemon:
// an item's number has up to 38, and what is passed on here about 16.
Result<Json> read_argument(const std::string& what, const std::string& text);

}  // namespace freshet::cli
