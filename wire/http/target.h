// Parses a request target: "/queues/My%20Queue/tasks?state=PENDING" -> segments and query members, decoded.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace freshet {

struct Target {
  std::vector<std::string> segments;         // "queues", "My Queue", "tasks"; empty for "/".
  std::map<std::string, std::string> query;  // Later members win.
};

// Decodes a name or a value of a form or a query, in which '+' is a blank. Empty for a broken percent sequence.
std::optional<std::string> form_decode(std::string_view text);

// True for a member of the query that belongs to a presigned request: "X-Amz-Signature" and its kind.
bool is_signature_member(std::string_view name);

// The path of a target as it was sent, at most 200 bytes, for messages. Without the query: messages are logged, and a
// query may contain a signature or a token.
std::string shown_path(std::string_view target);

// kValidation for a broken percent sequence.
Result<Target> parse_target(std::string_view target);

}  // namespace freshet
