// http[s]://HOST[:PORT][/PATH][?QUERY], taken apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace freshet {

struct Url {
  std::string host;         // Name or address, without brackets.
  uint16_t port = 80;       // 443 for https.
  bool tls = false;         // True for https.
  std::string host_header;  // The value of the Host header: includes the port if the URL has one.
  std::string target;       // Path and query, at least "/".
};

// kValidation, naming the URL and what is wrong: another scheme, no host, a bad port, user names, blanks or control
// characters.
Result<Url> parse_url(std::string_view url);

}  // namespace freshet
