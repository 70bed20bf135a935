// Errors of Freshet's own routes: {"error": {"code": …, "message": …}}, the same on all of them (docs/errors.md).
// Pure functions; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/ports.h"

namespace freshet {

// The kind of API that a path belongs to. Clients of an AWS protocol understand only its errors.
enum class ApiKind { kOwn, kAws };
// The AWS protocols are at "/" and below "/20…" (Lambda, Runtime API). Everything else is Freshet's, including requests
// whose target could not be read. `target` as it was sent.
ApiKind api_of(std::string_view target);

// The value of "error". Appends to `out`.
void append_error_object(std::string& out, std::string_view code, std::string_view message);

// The refusal of a request before it reaches a route. On own routes: {"error": {…}, "__type": …, "message": …}; the
// last two are from earlier releases. On AWS routes only those two. Any 4xx or 5xx status.
HttpResponse refusal(ApiKind api, int status, std::string_view message);
// The same with another name and code than the status implies: an ErrorCode's, or a signature fault's
// ("com.amazon…#Name": the code is the part after the '#').
HttpResponse refusal(ApiKind api, int status, std::string_view code, std::string_view message);
// 503, to be tried again after a second.
HttpResponse overloaded(ApiKind api, std::string_view message);

// The error of an own route: {"error": {…}} and a newline.
HttpResponse own_error(int status, std::string_view code, std::string_view message);
// The message for a path without a route, with a next step.
std::string nothing_served(std::string_view method, std::string_view path);
// 405 for a path that exists for other methods. `allow`: the value of the header, "GET, HEAD".
HttpResponse method_not_allowed(const HttpRequest& request, std::string_view allow);
// "GET, HEAD", "POST", both or "".
std::string_view allowed_methods(bool get, bool post);

// An exchange that always gives this response.
std::unique_ptr<Exchange> answer_with_response(HttpResponse response);

}  // namespace freshet
