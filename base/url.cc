#include "base/url.h"

#include <algorithm>

#include "base/number_text.h"

namespace freshet {

namespace {

tl::unexpected<Error> bad(std::string_view url, std::string_view why) {
  return invalid("not a usable URL: '" + std::string(url.substr(0, 200)) + "': " + std::string(why));
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

}  // namespace

Result<Url> parse_url(std::string_view url) {
  const bool tls = url.starts_with("https://");
  if (!tls && !url.starts_with("http://")) return bad(url, "it must start with http:// or https://");
  std::string_view rest = url.substr(url.find("//") + 2);
  rest = rest.substr(0, rest.find('#'));
  const size_t path = std::min(rest.find('/'), rest.find('?'));
  const std::string_view authority = rest.substr(0, path);
  std::string_view target = path == std::string_view::npos ? std::string_view{} : rest.substr(path);
  if (authority.find('@') != std::string_view::npos) return bad(url, "user names in a URL are not supported");

  Url out;
  out.tls = tls;
  if (tls) out.port = 443;
  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos) return bad(url, "']' is missing");
    out.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    const auto in_address = [](char c) { return is_name_character(c) || c == ':'; };
    if (!std::all_of(out.host.begin(), out.host.end(), in_address)) return bad(url, "not an IPv6 address");
  } else {
    const size_t colon = authority.find(':');
    out.host = authority.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view{} : authority.substr(colon);
    if (!std::all_of(out.host.begin(), out.host.end(), is_name_character))
      return bad(url, "'" + out.host + "' is not a host name");
  }
  if (out.host.empty()) return bad(url, "it has no host");
  if (!port.empty() && (port[0] != ':' || !read_number_in(port.substr(1), out.port) || out.port == 0))
    return bad(url, "its port is not a number from 1 to 65535");
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; };
  if (!std::all_of(target.begin(), target.end(), is_plain))
    return bad(url, "blanks and control characters need escaping");
  out.host_header = authority;
  out.target = target.starts_with('/') ? std::string(target) : "/" + std::string(target);
  return out;
}

}  // namespace freshet
