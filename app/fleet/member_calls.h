// Requests from one member of a fleet to another. With --credentials they are signed with a key of this daemon's file,
// which the others' files must have, too.
//
// Loop thread. What it refers to outlives it.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "runtime/ports.h"
#include "wire/auth/credentials.h"

namespace freshet {

// The header of a request that a member has passed on: its id. Nobody passes on such a request once more.
inline constexpr const char* kForwardedBy = "X-Freshet-Forwarded-By";

class MemberCalls {
 public:
  MemberCalls(HttpClient& http, const Clock& clock, const std::optional<Credentials>& credentials, std::string region)
      : http_(http), clock_(clock), credentials_(credentials), region_(std::move(region)) {}

  // Passes the request on to the member at that URL, in the name of its caller. The answer has only what a client needs
  // of the headers. Errors as HttpClient::send().
  Async<Result<HttpResponse>> pass_on(const HttpRequest& request, const std::string& url, const std::string& me,
                                      milliseconds timeout);
  // Tells a member that it should read the fleet.
  Async<Result<HttpResponse>> nudge(const std::string& url);

 private:
  Async<Result<HttpResponse>> send(HttpRequest request, const std::string& url, const AccessKey* key,
                                   milliseconds timeout);

  HttpClient& http_;
  const Clock& clock_;
  const std::optional<Credentials>& credentials_;
  const std::string region_;
};

}  // namespace freshet
