#include "wire/http/target.h"

#include <algorithm>

namespace freshet {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i] == '+' && plus_is_blank ? ' ' : text[i];
    }
  }
  return out;
}

// Calls `each` with the non-empty parts of `text` between separators, until it returns false.
template <class Each>
bool split(std::string_view text, char separator, Each each) {
  while (!text.empty()) {
    const auto end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    if (!part.empty() && !each(part)) return false;
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return true;
}

}  // namespace

std::optional<std::string> form_decode(std::string_view text) {
  return percent_decode(text, true);
}

bool is_signature_member(std::string_view name) {
  return name.starts_with("X-Amz-");
}

std::string shown_path(std::string_view target) {
  constexpr size_t kMost = 200;
  return std::string(target.substr(0, std::min(target.find('?'), kMost)));
}

Result<Target> parse_target(std::string_view target) {
  Target parsed;
  const auto mark = target.find('?');
  const bool path_good = split(target.substr(0, mark), '/', [&](std::string_view part) {
    auto segment = percent_decode(part, false);
    if (segment) parsed.segments.push_back(std::move(*segment));
    return segment.has_value();
  });
  const auto query = mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
  const bool query_good = split(query, '&', [&](std::string_view part) {
    const auto equals = part.find('=');
    auto name = form_decode(part.substr(0, equals));
    auto value = form_decode(equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1));
    if (name && value) parsed.query[*name] = std::move(*value);
    return name && value;
  });
  if (!path_good || !query_good) {
    return invalid("the request target '" + shown_path(target) + "' has a broken % sequence");
  }
  return parsed;
}

}  // namespace freshet
