#include "app/daemon/serving.h"

#include <algorithm>
#include <utility>

#include "wire/auth/session_cookie.h"
#include "wire/auth/sessions.h"
#include "wire/auth/signature_gate.h"
#include "wire/service/audited_route.h"
#include "wire/service/session_route.h"

namespace freshet {

namespace {

std::string url_of(const DaemonPlan& plan, const std::string& host, uint16_t port) {
  return (plan.tls ? "https://" : "http://") + (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" +
         std::to_string(port);
}

// Why no browser may sign in; empty: it may.
std::string sign_in_refusal(const DaemonPlan& plan) {
  const std::string& host = plan.listen.host;
  if (plan.tls || host == "::1" || host.starts_with("127.")) return {};
  return "signing in needs HTTPS here: the daemon listens on " + host +
         " without TLS, so others could read the secret and the cookie on their way. Start it with --tls-cert and "
         "--tls-key, or with --listen 127.0.0.1:PORT behind a proxy with TLS";
}

// The sessions of browsers, for the gate. Adds the route that begins them.
SessionCheckOptions add_sessions(DaemonParts& parts, const HttpServerOptions& http, uint16_t port, Routes& routes) {
  SessionCheckOptions check;
  check.cookie = session_cookie_name(port, http.tls != nullptr);
  check.host_names = http.host_names;
  check.tls = http.tls != nullptr;
  if (const auto& credentials = parts.plan.credentials) {
    check.sessions =
        std::make_shared<Sessions>(*credentials, parts.loop.clock(), milliseconds(parts.options.session_idle_ms));
  }
  routes.push_back(
      make_session_route({check.sessions, check.cookie, check.tls, sign_in_refusal(parts.plan), parts.log}));
  return check;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> start_serving(DaemonParts& parts, HttpListener listener, Routes routes) {
  const DaemonOptions& options = parts.options;
  const DaemonPlan& plan = parts.plan;
  const Clock& clock = parts.loop.clock();
  for (auto& route : routes) route = make_audited_route(std::move(route), *parts.audit, plan.credentials.has_value());
  HttpServerOptions http;
  http.host_names = options.allowed_hosts;
  http.cors_origins = options.cors_origins;
  http.tls = plan.tls;
  http.seed = parts.random.next();
  http.log = parts.log;
  const bool any_page = std::find(http.cors_origins.begin(), http.cors_origins.end(), "*") != http.cors_origins.end();
  if (any_page && !plan.credentials) {
    parts.log.warn("CORS_OPEN", {{"what",
                                  "any web page that is opened on this machine may read and write: name origins, or "
                                  "require signatures with --credentials"}});
  }
  SessionCheckOptions sessions = add_sessions(parts, http, listener.port(), routes);
  if (plan.credentials) {
    http.gate = make_signature_gate({*plan.all_credentials, options.deploy.account.region, options.open_metrics,
                                     parts.random.next(), std::move(sessions)},
                                    clock);
  }
  return HttpServer::start(std::move(http), std::move(listener), std::move(routes), parts.io_threads, clock, parts.loop,
                           parts.loop, [store = parts.store] { return store->durable(); });
}

std::string server_url(const DaemonPlan& plan, uint16_t port) {
  return url_of(plan, plan.listen.host, port);
}

std::string local_server_url(const DaemonPlan& plan, uint16_t port) {
  const std::string& host = plan.listen.host;
  if (host == "0.0.0.0") return url_of(plan, "127.0.0.1", port);
  return url_of(plan, host == "::" ? "::1" : host, port);
}

}  // namespace freshet
