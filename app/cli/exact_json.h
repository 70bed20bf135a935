// JSON that keeps the digits of its numbers. An item's number has up to 38 digits; a JSON library that turns it into a
// double keeps 17.
#pragma once

#include <string>
#include <string_view>

#include "app/cli/remote.h"
#include "base/result.h"

namespace freshet::cli {

// The document. A number that a double would change is kept as text in a `binary` value, which JSON text never has. The
// result is a discarded value (Json::is_discarded()) if the text is not JSON in UTF-8, or is nested deeper than 200
// levels.
Json parse_exact(std::string_view text);
// The document's text, with those numbers as they were written; `indent` as in Json::dump(). Throws Json::type_error
// for strings that are not UTF-8, which parse_exact() never returns.
std::string text_of(const Json& document, int indent = -1);
// Parses an argument of the command line. kValidation, naming `what`, if it is not JSON.
Result<Json> read_argument(const std::string& what, const std::string& text);

}  // namespace freshet::cli
