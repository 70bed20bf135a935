// How the Lambda API says no, and what its requests name. Any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/ports.h"

namespace freshet::lambda {

inline constexpr std::string_view kLatest = "$LATEST";

// As REST JSON clients read it: the name in a header, too.
struct Refusal {
  int status = 400;
  std::string_view type;  // A constant.
  std::string message;
};

Refusal refusal_of(const Error& error);
HttpResponse answer_of(const Refusal& refusal);

// The function's name out of a name, an ARN or the end of one; a version behind it, or in the query, must be the
// latest.
tl::expected<std::string, Refusal> function_in(std::string_view text, const std::map<std::string, std::string>& query);

}  // namespace freshet::lambda
