#include "runtime/ports.h"

#include <algorithm>

namespace freshet {

namespace {
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}
bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}
}  // namespace

std::string_view header(const HttpHeaders& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (same_name(key, name)) return value;
  }
  return {};
}

bool was_never_sent(const Error& error) {
  return std::dynamic_pointer_cast<const NotSent>(error.detail) != nullptr;
}

tl::unexpected<Error> never_sent(ErrorCode code, std::string message) {
  return fail(code, std::move(message), std::make_shared<NotSent>());
}

}  // namespace freshet
