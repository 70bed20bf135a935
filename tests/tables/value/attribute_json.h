// Reads one attribute value from its JSON: {"S":"x"}.
#pragma once

#include <string_view>
#include <utility>

#include "tables/value/json_reader.h"

namespace freshet {

inline Result<Value> parse_attribute_json(std::string_view json) {
  JsonDocument document;
  auto root = document.parse(json);
  if (!root) return fail(std::move(root.error()));
  return attribute_of(*root);
}

}  // namespace freshet
