// Checks requests that come with the cookie of a session, for the gate.
//
// A browser sends a cookie with requests of every page of the same host, also of another port. So such a request must
// come from the daemon's own page: an Origin or a Sec-Fetch-Site of any other page is refused, also one that
// --cors-origin names. A request that is not a mere read needs one of the two headers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ports.h"
#include "wire/auth/sessions.h"
#include "wire/auth/sigv4.h"
#include "wire/http/host_check.h"

namespace freshet {

struct SessionCheckOptions {
  std::shared_ptr<Sessions> sessions;   // Null: the daemon has no sessions.
  std::string cookie;                   // Its name: session_cookie_name().
  std::vector<std::string> host_names;  // As the server's.
  bool tls = false;
};

// Any thread.
class SessionCheck {
 public:
  explicit SessionCheck(SessionCheckOptions options);
  // True if the cookie identifies the sender: the request has one, and no signature.
  bool applies_to(const HttpRequest& request) const;
  // kHead: the body has not arrived yet.
  enum class Part { kHead, kWhole };
  // Requires applies_to(). Sets `session` if the request is accepted, which counts as a use of the session. The role is
  // checked, too, unless only the body will say what is asked for.
  std::optional<SignatureFault> check(const HttpRequest& request, std::optional<Session>& session, Part part) const;

  // POST /session, which needs no proof but the secret in its body.
  static bool is_sign_in(const HttpRequest& request);
  // Both return the refusal of a sign-in before its body is parsed, or null. The second one needs only the head, and
  // refuses it if the body will be too long.
  std::unique_ptr<HttpResponse> sign_in_refusal(const HttpRequest& request) const;
  static std::unique_ptr<HttpResponse> sign_in_head_refusal(const HttpRequest& head);

 private:
  // The origin of a request, as its browser reports it.
  enum class Page { kOwn, kUnknown, kForeign };
  Page page_of(const HttpRequest& request) const;
  std::string proxy_advice(const HttpRequest& request) const;

  const SessionCheckOptions options_;
  const HostCheck hosts_;
};

// Empty if a key of that role may send the request.
std::optional<SignatureFault> role_fault(const HttpRequest& request, std::string_view key, Role role);

}  // namespace freshet
