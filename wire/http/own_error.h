// Errors of Freshet's own routes: {"error": {"code": …, "message": …}}, the same on all of them (docs/errors.md).
// Pure functions; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/ports.h"

namespace freshet {

// Whose words a path speaks. Clients of an AWS protocol know its errors only.
enum class ApiKind { kOwn, kAws };
// The AWS protocols are at "/" and below "/20…" (Lambda, Runtime API). All else is Freshet's, also what could not be
// read as far as its target. `target` as it was sent.
ApiKind api_of(std::string_view target);

// The value of "error". Appends to `out`.
void append_error_object(std::string& out, std::string_view code, std::string_view message);

// What the server refuses before a route has the request. On own routes: {"error": {…}, "__type": …, "message": …}, of
// which the last two are what earlier releases had. On AWS routes those two alone. Any 4xx or 5xx status.
HttpResponse refusal(ApiKind api, int status, std::string_view message);
// The same with another name and code than the status has: an ErrorCode's, or a signature fault's ("com.amazon…#Name":
// the code is what stands behind the '#').
HttpResponse refusal(ApiKind api, int status, std::string_view code, std::string_view message);
// 503, to be tried again after a second.
HttpResponse overloaded(ApiKind api, std::string_view message);

// The error of an own route: {"error": {…}} and a newline.
HttpResponse own_error(int status, std::string_view code, std::string_view message);
// The message for a path that no route has, with a next step.
std::string nothing_served(std::string_view method, std::string_view path);
// 405 of a path that is there for other methods. `allow`: as the header has it, "GET, HEAD".
HttpResponse method_not_allowed(const HttpRequest& request, std::string_view allow);
// "GET, HEAD", "POST", both or "".
std::string_view allowed_methods(bool get, bool post);

// Answers with that, whatever happens.
std::unique_ptr<Exchange> answer_with_response(HttpResponse response);

}  // namespace freshet
