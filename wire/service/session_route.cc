#include "wire/service/session_route.h"

#include <utility>

#include "runtime/api/json_members.h"
#include "wire/auth/actor.h"
#include "wire/auth/session_cookie.h"
#include "wire/http/host_check.h"
#include "wire/http/own_error.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/json_object.h"

namespace freshet {
namespace {

// The client's address without its port.
std::string_view address_of(const HttpRequest& request) {
  if (!request.peer) return {};
  const std::string_view peer = *request.peer;
  return peer.substr(0, peer.rfind(':'));
}

Result<SignIn> read_sign_in(const HttpRequest& request) {
  JsonDocument document;
  auto parsed = document.parse(request.body);
  if (!parsed) return fail(std::move(parsed.error()));
  JsonMembers members(*parsed, {"accessKeyId", "secretAccessKey", "sessionToken"});
  SignIn given;
  members.text("accessKeyId", given.key);
  members.text("secretAccessKey", given.secret);
  members.text("sessionToken", given.token);
  if (members.error()) return fail(*members.error());
  if (given.key.empty()) return invalid("'accessKeyId' is missing: the id of a key in the daemon's credentials file");
  if (given.secret.empty()) return invalid("'secretAccessKey' is missing: the secret that belongs to 'accessKeyId'");
  return given;
}

HttpResponse answer(std::string_view by, std::string_view key, Role role, const Session* session) {
  std::string out;
  {
    JsonObject json(out);
    json.text("signedInBy", by);
    json.text_if("accessKeyId", key);
    json.text("role", role_name(role));
    if (session != nullptr) json.number("until", epoch_ms(session->until));
  }
  HttpResponse response = tasks::json_answer(std::move(out));
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

class SessionRoute final : public Route {
 public:
  explicit SessionRoute(SessionRouteOptions options) : options_(std::move(options)) {}

  bool matches(const HttpRequest& request) const override {
    return std::string_view(request.target).substr(0, request.target.find('?')) == "/session";
  }
  std::unique_ptr<Exchange> accept(HttpRequest request) override;

  HttpResponse answer_to(const HttpRequest& request) const {
    if (request.method == "GET") return look(request);
    if (!options_.sessions)
      return own_error(400, "ValidationException", "this daemon has no --credentials: nobody has to sign in");
    return request.method == "POST" ? sign_in(request) : sign_out(request);
  }

 private:
  HttpResponse look(const HttpRequest& request) const {
    if (!options_.sessions) return answer("nothing", "", Role::kAdmin, nullptr);
    if (is_session_authorization(header(request.headers, "Authorization"))) {
      const auto session = options_.sessions->use(session_cookie(request, options_.cookie));
      if (session) return answer("session", session->key, session->role, &*session);
    } else if (const AccessKey* key = options_.sessions->credentials().find(actor_of(request, true).who)) {
      return answer("signature", key->id, key->role, nullptr);
    }
    return own_error(403, "ExpiredTokenException", "the session has ended: sign in again");
  }

  HttpResponse sign_in(const HttpRequest& request) const {
    if (!options_.refusal.empty()) return own_error(403, "AccessDeniedException", options_.refusal);
    if (comes_in_the_clear(request)) {
      return own_error(403, "AccessDeniedException",
                       "signing in needs HTTPS at this host, so that nobody can read the secret and the cookie on "
                       "their way: open the page by https://");
    }
    // No form of another page can send this type.
    if (!header(request.headers, "Content-Type").starts_with("application/json")) {
      return own_error(415, "UnsupportedMediaTypeException",
                       "POST /session takes JSON: Content-Type: application/json");
    }
    const auto given = read_sign_in(request);
    if (!given) return tasks::error_answer(given.error());
    const auto made = options_.sessions->begin(*given, address_of(request));
    if (!made) return refuse_sign_in(request, *given, made.error());
    // The browser replaces its cookie, so nobody could end the session before.
    options_.sessions->end(session_cookie(request, options_.cookie));
    options_.log.info("SIGNED_IN", {{"key", made->session.key},
                                    {"role", role_name(made->session.role)},
                                    {"from", std::string(address_of(request))}});
    HttpResponse response = answer("session", made->session.key, made->session.role, &made->session);
    response.headers.emplace_back("Set-Cookie", set_session_cookie(options_.cookie, made->value, is_secure(request)));
    return response;
  }

  // A key that the file does not have is not logged: it may be a secret in the wrong field.
  HttpResponse refuse_sign_in(const HttpRequest& request, const SignIn& given, const Error& error) const {
    if (error.code == ErrorCode::kAccessDenied) {
      const bool is_known = options_.sessions->credentials().find(given.key) != nullptr;
      options_.log.warn("SIGN_IN_REFUSED",
                        {{"key", is_known ? given.key : "unknown"}, {"from", std::string(address_of(request))}});
    }
    return tasks::error_answer(error);
  }

  HttpResponse sign_out(const HttpRequest& request) const {
    const std::string_view authorization = header(request.headers, "Authorization");
    if (!is_session_authorization(authorization)) {
      return own_error(400, "ValidationException",
                       "there is no session to end: this request has a signature, and no cookie of a session");
    }
    options_.sessions->end(session_cookie(request, options_.cookie));
    options_.log.info("SIGNED_OUT", {{"key", actor_of(request, true).who}, {"from", std::string(address_of(request))}});
    HttpResponse response = tasks::json_answer("{}");
    response.headers.emplace_back("Cache-Control", "no-store");
    response.headers.emplace_back("Set-Cookie", remove_session_cookie(options_.cookie, is_secure(request)));
    return response;
  }

  // True if the client used another name than a loopback one, and no page by HTTPS: there is a proxy without TLS.
  bool comes_in_the_clear(const HttpRequest& request) const {
    return !is_secure(request) && !HostCheck({}).allows(header(request.headers, "Host"));
  }
  // A proxy before the daemon may speak TLS in its place; the Origin of the page says so.
  bool is_secure(const HttpRequest& request) const {
    return options_.tls || header(request.headers, "Origin").starts_with("https://");
  }

  const SessionRouteOptions options_;
};

class SessionExchange final : public Exchange {
 public:
  SessionExchange(const SessionRoute& route, HttpRequest request) : route_(route), request_(std::move(request)) {}
  Async<void> run() override {
    response_ = route_.answer_to(request_);
    return {};
  }
  HttpResponse respond() override { return std::move(response_); }

 private:
  const SessionRoute& route_;
  const HttpRequest request_;
  HttpResponse response_;
};

std::unique_ptr<Exchange> SessionRoute::accept(HttpRequest request) {
  if (request.method != "GET" && request.method != "POST" && request.method != "DELETE") {
    return answer_with_response(method_not_allowed(request, "GET, HEAD, POST, DELETE"));
  }
  return std::make_unique<SessionExchange>(*this, std::move(request));
}

}  // namespace

std::unique_ptr<Route> make_session_route(SessionRouteOptions options) {
  return std::make_unique<SessionRoute>(std::move(options));
}

}  // namespace freshet
