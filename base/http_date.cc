#include "base/http_date.h"

#include <ctime>

namespace freshet {

std::optional<WallTime> parse_http_date(const std::string& text) {
  std::tm parts{};
  if (strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) return std::nullopt;
  return WallTime(seconds(timegm(&parts)));
}

}  // namespace freshet
