#include "base/cursor.h"

#include <cstdint>
#include <optional>

namespace freshet {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr size_t kCheckBytes = 4;

std::string hex_of(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const unsigned char c : bytes) {
    out += kDigits[c >> 4];
    out += kDigits[c & 15];
  }
  return out;
}

std::optional<std::string> bytes_of(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(hex.size() / 2);
  for (size_t i = 0; i < hex.size(); i += 2) {
    const size_t high = kDigits.find(hex[i]);
    const size_t low = kDigits.find(hex[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

// FNV-1a over the list's name and the place.
std::string check_of(std::string_view list, std::string_view place) {
  uint32_t hash = 2166136261U;
  const auto add = [&](unsigned char c) { hash = (hash ^ c) * 16777619U; };
  for (const char c : list) add(static_cast<unsigned char>(c));
  add(0);
  for (const char c : place) add(static_cast<unsigned char>(c));
  std::string out;
  for (size_t i = 0; i < kCheckBytes; ++i) out += static_cast<char>(hash >> (8 * i) & 255);
  return out;
}

}  // namespace

std::string make_cursor(std::string_view list, std::string_view place) {
  return place.empty() ? std::string() : hex_of(std::string(place) + check_of(list, place));
}

Result<std::string> place_of_cursor(std::string_view list, std::string_view cursor) {
  if (cursor.empty()) return std::string();
  auto bytes = bytes_of(cursor);
  if (bytes && bytes->size() > kCheckBytes) {
    std::string place = bytes->substr(0, bytes->size() - kCheckBytes);
    if (check_of(list, place) == std::string_view(*bytes).substr(place.size())) return place;
  }
  return invalid(
      "'cursor' is none that a page of this list ended with: repeat the one in the answer before unchanged, "
      "or leave it out for the first page");
}

}  // namespace freshet
