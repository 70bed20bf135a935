// JSON that keeps the digits of its numbers. An item's number has up to 38 of them; what a JSON library makes a double
// of it has 17.
#pragma once

#include <string>
#include <string_view>

#include "app/cli/remote.h"
#include "base/result.h"

namespace freshet::cli {

// The document. A number that would be another one as a double is kept as it is written: as a `binary` value, which no
// JSON text has otherwise. Discarded if the text is not JSON in UTF-8, or is nested deeper than 200 levels.
Json parse_exact(std::string_view text);
// Its text, such numbers as they were written; with an indent as Json::dump() writes it. Throws Json::type_error for
// strings that are not UTF-8, which parse_exact() never leaves.
std::string text_of(const Json& document, int indent = -1);
// An argument of the command line that holds JSON. kValidation, naming `what`, if it is none.
Result<Json> read_argument(const std::string& what, const std::string& text);

}  // namespace freshet::cli
