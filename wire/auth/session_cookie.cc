#include "wire/auth/session_cookie.h"

#include <algorithm>

namespace freshet {
namespace {

constexpr std::string_view kScheme = "Freshet-Session ";
constexpr std::string_view kAttributes = "; Path=/; HttpOnly; SameSite=Strict";

bool is_cookie_header(std::string_view name) {
  constexpr std::string_view kLower = "cookie";
  return std::equal(name.begin(), name.end(), kLower.begin(), kLower.end(),
                    [](char a, char b) { return (a | 0x20) == b; });
}

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string session_cookie_name(uint16_t port, bool tls) {
  return (tls ? "__Host-freshet-session-" : "freshet-session-") + std::to_string(port);
}

std::string_view session_cookie(const HttpRequest& request, std::string_view name) {
  std::string_view value;
  size_t count = 0;
  for (const auto& [header_name, header_value] : request.headers) {
    if (!is_cookie_header(header_name)) continue;
    std::string_view rest = header_value;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(';'), rest.size());
      const std::string_view pair = without_blanks(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (pair.size() <= name.size() || !pair.starts_with(name) || pair[name.size()] != '=') continue;
      value = pair.substr(name.size() + 1);
      ++count;
    }
  }
  return count == 1 ? value : std::string_view();
}

std::string set_session_cookie(std::string_view name, std::string_view value, bool secure) {
  std::string out(name);
  out += '=';
  out += value;
  out += kAttributes;
  if (secure) out += "; Secure";
  return out;
}

std::string remove_session_cookie(std::string_view name, bool secure) {
  return set_session_cookie(name, "", secure) + "; Max-Age=0";
}

std::string session_authorization(std::string_view key) {
  return std::string(kScheme) + "Credential=" + std::string(key);
}

std::string signature_authorization(std::string_view key) {
  return "Freshet-Signature Credential=" + std::string(key);
}

bool is_session_authorization(std::string_view authorization) {
  return authorization.starts_with(kScheme);
}

}  // namespace freshet
