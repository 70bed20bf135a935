#include "runtime/ports.h"

#include <cstdint>
#include <cstring>

namespace freshet {

namespace {

uint64_t lower_word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word | 0x2020202020202020;
}

// Every request looks for several headers, so this takes eight bytes at a time. Header names are tokens (RFC
// 9110, 5.6.2) and `name` has only letters, digits and '-'. Among those, setting 0x20 changes nothing but upper case to
// lower case.
bool same_name(std::string_view key, std::string_view name) {
  const size_t size = name.size();
  if (key.size() != size) return false;
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
    if (lower_word(key.data() + at) != lower_word(name.data() + at)) return false;
  }
  for (; at < size; ++at) {
    if ((key[at] | 0x20) != (name[at] | 0x20)) return false;
  }
  return true;
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
