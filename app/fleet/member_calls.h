// Sends requests from one member of a fleet to another. With --credentials it signs what it passes on with the key of
// the request's sender, and its own requests with a key of --member-credentials. The other members must have these
// keys, too.
//
// Loop thread. Everything that it refers to must outlive it.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "runtime/ports.h"
#include "wire/auth/credentials.h"

namespace freshet {

// The header with the id of the member that has passed a request on. Such a request is never passed on again.
inline constexpr const char* kForwardedBy = "X-Freshet-Forwarded-By";

inline constexpr milliseconds kLongestAnswer{10'000};  // The longest wait for another member's answer.

class MemberCalls {
 public:
  // `all`: the keys that requests may be signed with; `own`: those of members. Both empty without --credentials.
  MemberCalls(HttpClient& http, const Clock& clock, const std::optional<Credentials>& all,
              const std::optional<Credentials>& own, std::string region)
      : http_(http), clock_(clock), all_(all), own_(own), region_(std::move(region)) {}

  // Passes the request on to the member at `url`, in the name of its caller. The answer has only those headers that
  // clients need. Errors as HttpClient::send().
  Async<Result<HttpResponse>> pass_on(const HttpRequest& request, const std::string& url, const std::string& me,
                                      milliseconds timeout);
  // Asks a member to run a task: POST /fleet/run with this body. Errors as HttpClient::send().
  Async<Result<HttpResponse>> run(std::string body, const std::string& url, const std::string& me,
                                  milliseconds timeout);
  // Sends a publish to the member that serves its topic, for a function of this daemon. Errors as HttpClient::send().
  Async<Result<HttpResponse>> publish(HttpRequest request, const std::string& url, const std::string& me,
                                      milliseconds timeout);
  // Tells a member to read the fleet's items now.
  Async<Result<HttpResponse>> nudge(const std::string& url);

 private:
  const AccessKey* own_key() const { return own_ ? &own_->strongest() : nullptr; }
  Async<Result<HttpResponse>> send(HttpRequest request, const std::string& url, const AccessKey* key,
                                   milliseconds timeout);

  HttpClient& http_;
  const Clock& clock_;
  const std::optional<Credentials>& all_;
  const std::optional<Credentials>& own_;
  const std::string region_;
};

}  // namespace freshet
