// A request target taken apart: "/queues/My%20Queue/tasks?state=PENDING" -> segments and query members, decoded.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace freshet {

struct Target {
  std::vector<std::string> segments;         // "queues", "My Queue", "tasks"; empty for "/".
  std::map<std::string, std::string> query;  // Later members win.
};

// kValidation for a broken percent sequence.
Result<Target> parse_target(std::string_view target);

}  // namespace freshet
