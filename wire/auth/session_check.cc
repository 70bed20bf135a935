#include "wire/auth/session_check.h"

#include <utility>

#include "wire/auth/canonical.h"
#include "wire/auth/roles.h"
#include "wire/auth/session_cookie.h"
#include "wire/http/own_error.h"
#include "wire/sns/sns_route.h"

namespace freshet {
namespace {

constexpr size_t kMaxSignIn = 8u << 10;  // Bytes of a sign-in's body.

bool is_read(const HttpRequest& request) {
  return (request.method == "GET" || request.method == "HEAD") && role_needed(request) == Role::kRead;
}

std::unique_ptr<HttpResponse> refuse(int status, std::string_view message) {
  return std::make_unique<HttpResponse>(refusal(ApiKind::kOwn, status, message));
}

std::unique_ptr<HttpResponse> too_long() {
  return refuse(413, "the body of POST /session has at most 8 KiB and says so in Content-Length");
}

}  // namespace

SessionCheck::SessionCheck(SessionCheckOptions options) : options_(std::move(options)), hosts_(options_.host_names) {}

bool SessionCheck::applies_to(const HttpRequest& request) const {
  if (!options_.sessions || !header(request.headers, "Authorization").empty()) return false;
  if (session_cookie(request, options_.cookie).empty()) return false;
  const auto query = sigv4::parse_query(request.target);
  return sigv4::find_member(query, "X-Amz-Algorithm") == nullptr;
}

SessionCheck::Page SessionCheck::page_of(const HttpRequest& request) const {
  const std::string_view host = header(request.headers, "Host");
  Page page = Page::kUnknown;
  for (const auto& [name, value] : request.headers) {
    const std::string lower = sigv4::lower(name);
    if (lower == "origin") {
      if (!hosts_.is_own_origin(value, host, options_.tls)) return Page::kForeign;
      page = Page::kOwn;
    } else if (lower == "sec-fetch-site" && value != "none") {
      if (value != "same-origin") return Page::kForeign;
      page = Page::kOwn;
    }
  }
  return page;
}

std::string SessionCheck::proxy_advice(const HttpRequest& request) const {
  return HostCheck::proxy_advice(header(request.headers, "Origin"), header(request.headers, "Host"), options_.tls);
}

std::optional<SignatureFault> SessionCheck::check(const HttpRequest& request, std::optional<Session>& session,
                                                  Part part) const {
  const Page page = page_of(request);
  if (page == Page::kForeign) {
    return SignatureFault{"AccessDeniedException",
                          "the cookie of a session is for the daemon's own page: this request is of another origin "
                          "(Origin, Sec-Fetch-Site)" +
                              proxy_advice(request)};
  }
  if (page == Page::kUnknown && !is_read(request)) {
    return SignatureFault{"AccessDeniedException",
                          "with the cookie of a session, this request must say that it is of the daemon's own page "
                          "(Origin: SCHEME://HOST[:PORT] as in Host). Programs sign their requests instead"};
  }
  auto used = options_.sessions->use(session_cookie(request, options_.cookie));
  if (!used) {
    return SignatureFault{"ExpiredTokenException",
                          "the session has ended: by signing out, for lack of requests, or with the daemon that began "
                          "it. Sign in again"};
  }
  std::optional<SignatureFault> fault;
  const bool is_known = part == Part::kWhole || !is_query_request(request);
  if (is_known) fault = role_fault(request, used->key, used->role);
  if (!fault) session = std::move(used);
  return fault;
}

bool SessionCheck::is_sign_in(const HttpRequest& request) {
  return request.method == "POST" && sigv4::path_of(request.target) == "/session";
}

std::unique_ptr<HttpResponse> SessionCheck::sign_in_refusal(const HttpRequest& request) const {
  if (page_of(request) == Page::kForeign) {
    return refuse(403,
                  "only the daemon's own page may sign in: this request is of another origin" + proxy_advice(request));
  }
  if (!header(request.headers, "Content-Encoding").empty()) {
    return refuse(415, "the body of POST /session may not be compressed");
  }
  return request.body.size() > kMaxSignIn ? too_long() : nullptr;
}

std::unique_ptr<HttpResponse> SessionCheck::sign_in_head_refusal(const HttpRequest& head) {
  const std::string_view length = header(head.headers, "Content-Length");
  return length.empty() || length.size() > 4 ? too_long() : nullptr;
}

std::optional<SignatureFault> role_fault(const HttpRequest& request, std::string_view key, Role role) {
  if (role == Role::kAdmin) return {};
  const Role needed = role_needed(request);
  if (role >= needed) return {};
  return SignatureFault{"AccessDeniedException",
                        "the key " + std::string(key) + " has the role " + std::string(role_name(role)) +
                            "; this request needs the role " + std::string(role_name(needed)) +
                            " (freshet_role in the credentials file; docs/security.md has the table)"};
}

}  // namespace freshet
