// How the Lambda API says no, and what its requests name. Any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/ports.h"
#include "streams/arn.h"

namespace freshet::lambda {

// As REST JSON clients read it: the name in a header, too.
struct Refusal {
  int status = 400;
  std::string_view type;  // A constant.
  std::string message;
};

Refusal refusal_of(const Error& error);
HttpResponse answer_of(const Refusal& refusal);

// The function's name, as function_name() gives it, out of what a client calls FunctionName. `qualifier` is what it has
// said beside it, or empty; it stands behind the name unless it is $LATEST. kValidation if it is none;
// kResourceNotFound for another account or another region.
Result<std::string> function_in(std::string_view text, std::string_view qualifier, const Account& account);
// The value of that parameter, or "".
std::string value_in(const std::map<std::string, std::string>& query, const std::string& name);

}  // namespace freshet::lambda
