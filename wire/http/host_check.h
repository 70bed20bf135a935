// Decides which Host headers are accepted. A web page that a browser loads from evil.example, re-resolved to 127.0.0.1,
// still sends "Host: evil.example": refusing unknown names keeps such pages out (DNS rebinding). A page that posts
// straight to 127.0.0.1 sends an allowed Host, and its own site as Origin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace freshet {

// A value type; any thread.
class HostCheck {
 public:
  // Loopback names and addresses are always allowed. `names` are further host names or addresses without a port;
  // "*.example.com" allows every name below example.com.
  explicit HostCheck(std::vector<std::string> names);
  // `host` as in the header: name or address, with or without a port. Any port is allowed.
  bool allows(std::string_view host) const;
  // True if the web page of an Origin header, "SCHEME://HOST[:PORT]", is of an allowed host. False for "null", with
  // which the browser hides the page's origin.
  bool allows_origin(std::string_view origin) const;
  // True if this server itself sent that page: same host, same port and same scheme as the request. `host` is its Host
  // header; it came by HTTPS if `tls`. A page by https:// also counts for plain HTTP if the host is one of the further
  // names: then a proxy in front handles TLS.
  bool is_own_origin(std::string_view origin, std::string_view host, bool tls) const;
  // The end of a refusal of the page of that origin: what to set if the page is this server's own, which a proxy with
  // TLS in front has sent. Empty if there can be no such proxy.
  static std::string proxy_advice(std::string_view origin, std::string_view host, bool tls);

 private:
  bool is_listed(std::string_view name) const;

  std::vector<std::string> names_;  // Lower case.
};

}  // namespace freshet
