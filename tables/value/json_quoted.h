// A text as a JSON string, for JSON that is put together from pieces.
#pragma once

#include <string>
#include <string_view>

#include "tables/value/json.h"

namespace freshet {

// With the quotes around it.
inline std::string json_quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace freshet
