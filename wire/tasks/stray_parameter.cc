#include "wire/tasks/stray_parameter.h"

#include <string>

namespace freshet::tasks {

std::optional<Error> stray_parameter(const ApiLine& line, const HttpRequest& request, const Target& target) {
  if (line.call == ApiCall::kListTasks) return {};
  for (const auto& [name, value] : target.query) {
    if (has_parameter(line, name) || is_signature_member(name)) continue;
    const std::string known = parameters_in_words(line);
    std::string there = " there are no parameters";
    if (request.method == "POST") {
      there = " the body has all parameters";
    } else if (!known.empty()) {
      there = (known.find(' ') == std::string::npos ? " there is " : " there are ") + known;
    }
    return Error{ErrorCode::kValidation,
                 "'" + name + "' in the query of " + request.method + " " + shown_path(request.target) + ":" + there,
                 nullptr};
  }
  return {};
}

}  // namespace freshet::tasks
