// The OpenAPI description of Freshet's own HTTP API, made of the calls (calls.h) and schemas.json.
#pragma once

#include <string>
#include <string_view>

namespace freshet {

// JSON, OpenAPI 3.1. Pure; any thread.
std::string openapi_json();

// The text of schemas.json, which CMake makes a part of the binary: an object with a JSON Schema for each name.
std::string_view api_schemas();

}  // namespace freshet
