#include "wire/api/openapi.h"

#include <algorithm>
#include <vector>

#include "base/version.h"
#include "tables/value/json_quoted.h"
#include "wire/api/calls.h"

namespace freshet {
namespace {

// Without the '!' that stands behind what is required.
std::string reference(std::string_view schema) {
  return R"({"$ref": "#/components/schemas/)" + std::string(schema.substr(0, schema.find('!'))) + "\"}";
}

// "{queue}" in a path, then the query's.
std::string parameters_of(const ApiLine& line) {
  std::string out;
  const auto add = [&](std::string_view name, std::string_view where, bool required, std::string_view schema) {
    out += (out.empty() ? "" : ", ") + (R"({"name": )" + json_quoted(name) + R"(, "in": ")" + std::string(where)) +
           R"(", "required": )" + (required ? "true" : "false") + R"(, "schema": )" + reference(schema) + "}";
  };
  for (size_t at = line.path.find('{'); at != std::string_view::npos; at = line.path.find('{', at + 1)) {
    const std::string_view name = line.path.substr(at + 1, line.path.find('}', at) - at - 1);
    add(name, "path", true, name == "job" ? "Number" : "Name");
  }
  for (std::string_view rest = line.query; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(' '));
    const size_t colon = one.find(':');
    add(one.substr(0, colon), "query", one.ends_with('!'), one.substr(colon + 1));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
  return out;
}

std::string answer_of(const ApiLine& line) {
  const bool is_json = line.answer.find('/') == std::string_view::npos;
  const std::string type = is_json ? "application/json" : std::string(line.answer);
  return R"("200": {"description": "Done", "content": {)" + json_quoted(type) + R"(: {"schema": )" +
         reference(is_json ? line.answer : "Text") + R"(}}}, "default": {"$ref": "#/components/responses/Error"})";
}

std::string operation_of(const ApiLine& line) {
  std::string out = R"("operationId": )" + json_quoted(line.id) + R"(, "summary": )" + json_quoted(line.summary);
  out += R"(, "tags": [)" + json_quoted(line.path.substr(1, line.path.substr(1).find('/'))) + "]";
  out += R"(, "x-freshet-role": )" + json_quoted(role_name(line.role));
  if (const std::string parameters = parameters_of(line); !parameters.empty()) {
    out += R"(, "parameters": [)" + parameters + "]";
  }
  if (!line.request.empty()) {
    out += R"(, "requestBody": {"required": )" + std::string(line.request.ends_with('!') ? "true" : "false") +
           R"(, "content": {"application/json": {"schema": )" + reference(line.request) + "}}}";
  }
  return out + R"(, "responses": {)" + answer_of(line) + "}";
}

std::string paths() {
  std::vector<std::string_view> all;
  for (const ApiLine& line : api_lines()) {
    if (std::find(all.begin(), all.end(), line.path) == all.end()) all.push_back(line.path);
  }
  std::string out;
  for (const std::string_view path : all) {
    out += (out.empty() ? "" : ",\n") + json_quoted(path) + ": {";
    bool first = true;
    for (const ApiLine& line : api_lines()) {
      if (line.path != path) continue;
      std::string method(line.method);
      std::transform(method.begin(), method.end(), method.begin(), [](char c) { return static_cast<char>(c | 0x20); });
      out += (first ? "" : ",\n  ") + json_quoted(method) + ": {" + operation_of(line) + "}";
      first = false;
    }
    out += "}";
  }
  return out;
}

constexpr std::string_view kDescription =
    "The HTTP API of Freshet's queues, and of the daemon itself. Bodies are read strictly: an unknown member is "
    "refused, and null counts as left out. Answers may gain members. The daemon speaks the protocols of DynamoDB, "
    "Lambda and SNS beside it.";

constexpr std::string_view kSecurity = R"("securitySchemes": {"sigv4": {"type": "apiKey", "in": "header",
  "name": "Authorization", "description": "AWS Signature Version 4; needed if the daemon has --credentials"}},
"responses": {"Error": {"description": "Refused or failed: docs/errors.md lists the codes",
  "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}})";

}  // namespace

std::string openapi_json() {
  std::string out = R"({"openapi": "3.1.0", "info": {"title": "Freshet", "version": )" + json_quoted(version()) +
                    R"(, "description": )" + json_quoted(kDescription) + "},\n";
  out += R"("security": [{}, {"sigv4": []}],)";
  out += "\n\"paths\": {\n" + paths() + "},\n\"components\": {" + std::string(kSecurity) + ",\n\"schemas\": ";
  out += api_schemas();
  return out + "}}\n";
}

}  // namespace freshet
