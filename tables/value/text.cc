#include "tables/value/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace freshet {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xff;

constexpr std::array<uint8_t, 256> make_digits() {
  std::array<uint8_t, 256> digits{};
  for (auto& digit : digits) digit = kNoDigit;
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<uint8_t>(i);
  return digits;
}
constexpr std::array<uint8_t, 256> kDigits = make_digits();

uint8_t digit_of(char c) {
  return kDigits[static_cast<unsigned char>(c)];
}

}  // namespace

size_t utf8_sequence(std::string_view text) {
  if (text.empty()) return 0;
  auto at = [&](size_t i) -> unsigned { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto continues = [&](size_t i) { return (at(i) & 0xc0) == 0x80; };
  unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return continues(1) ? 2 : 0;
  if (first < 0xf0) {
    bool ok = continues(1) && continues(2) && !(first == 0xe0 && at(1) < 0xa0) && !(first == 0xed && at(1) > 0x9f);
    return ok ? 3 : 0;
  }
  if (first > 0xf4) return 0;
  bool ok = continues(1) && continues(2) && continues(3) && !(first == 0xf0 && at(1) < 0x90) &&
            !(first == 0xf4 && at(1) > 0x8f);
  return ok ? 4 : 0;
}

std::string_view cut_text(std::string_view text, size_t bytes) {
  size_t end = 0;
  while (end < text.size()) {
    const size_t length = utf8_sequence(text.substr(end));
    if (length == 0 || end + length > bytes) break;
    end += length;
  }
  return text.substr(0, end);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    uint64_t word;
    while (text.size() >= sizeof word) {
      std::memcpy(&word, text.data(), sizeof word);
      if (word & 0x8080808080808080u) break;
      text.remove_prefix(sizeof word);
    }
    // The rest of a short text is ASCII, too, as a rule.
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (text.size() < sizeof word && std::all_of(text.begin(), text.end(), is_ascii)) break;
    const size_t n = utf8_sequence(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

void append_base64(std::string& out, std::string_view bytes) {
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  for (; !bytes.empty(); bytes.remove_prefix(bytes.size() < 3 ? bytes.size() : 3)) {
    auto byte = [&](size_t i) {
      return i < bytes.size() ? static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) : 0u;
    };
    uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += kAlphabet[group >> 18];
    out += kAlphabet[group >> 12 & 63];
    out += bytes.size() > 1 ? kAlphabet[group >> 6 & 63] : '=';
    out += bytes.size() > 2 ? kAlphabet[group & 63] : '=';
  }
}

std::string append_from_base64(std::string& out, std::string_view text) {
  if (text.size() % 4 != 0) {
    return "Base64 encoded length is expected a multiple of 4 bytes but found: " + std::to_string(text.size());
  }
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string_view digits = text.substr(0, text.size() - padding);
  for (char c : digits) {
    if (digit_of(c) == kNoDigit) return std::string("Invalid Base64 character: '") + c + "'";
  }
  size_t left_bits = digits.size() * 6 % 8;
  if (padding > 0 && (digit_of(digits.back()) & ((1u << left_bits) - 1)) != 0) {
    return "Invalid last non-pad Base64 character dectected";  // The service's own spelling.
  }
  out.reserve(out.size() + text.size() / 4 * 3);
  uint32_t bits = 0;
  size_t have = 0;
  for (char c : digits) {
    bits = bits << 6 | digit_of(c);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 0xff);
  }
  return {};
}

}  // namespace freshet
