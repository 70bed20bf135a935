// Refusals of the Lambda API, and the names in its requests. Any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/ports.h"
#include "streams/arn.h"

namespace freshet::lambda {

// A refusal for REST JSON clients: a header has the error's name, too.
struct Refusal {
  int status = 400;
  std::string_view type;  // Static storage.
  std::string message;
};

Refusal refusal_of(const Error& error);
HttpResponse answer_of(const Refusal& refusal);

// The function's name, as function_name() gives it, from a client's FunctionName. `qualifier` is the request's
// qualifier, or empty; it follows the name unless it is $LATEST. kValidation if it is not valid; kResourceNotFound for
// another account or another region.
Result<std::string> function_in(std::string_view text, std::string_view qualifier, const Account& account);
// The value of that parameter, or "".
std::string value_in(const std::map<std::string, std::string>& query, const std::string& name);

}  // namespace freshet::lambda
