// The cookie of a browser's session, and the proof that a request of it comes from the daemon's own page. Pure
// functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "runtime/ports.h"

namespace freshet {

// "freshet-session-7070". Browsers send a cookie to every port of a host, so each daemon has its own name. With TLS it
// begins with "__Host-": browsers then take it only over HTTPS and only from this host.
std::string session_cookie_name(uint16_t port, bool tls);

// The value of the request's cookie of that name; empty if it has none or several. A view into the request.
std::string_view session_cookie(const HttpRequest& request, std::string_view name);

// Values of Set-Cookie. `secure`: the browser came by HTTPS.
std::string set_session_cookie(std::string_view name, std::string_view value, bool secure);
std::string remove_session_cookie(std::string_view name, bool secure);

// The Authorization header that the gate gives to an accepted request, of a session or with a signature, and from which
// actor_of() learns the key. A client that sends one of them is refused, because it is no signature.
std::string session_authorization(std::string_view key);
std::string signature_authorization(std::string_view key);
bool is_session_authorization(std::string_view authorization);

}  // namespace freshet
