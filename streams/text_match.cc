#include "streams/text_match.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstring>

namespace freshet {

namespace {

struct Address {
  std::array<uint8_t, 16> bytes{};
  bool v6 = false;
};

std::optional<Address> parse_address(std::string_view text) {
  const std::string copy(text);
  Address address;
  address.v6 = copy.find(':') != copy.npos;
  if (inet_pton(address.v6 ? AF_INET6 : AF_INET, copy.c_str(), address.bytes.data()) != 1) return std::nullopt;
  // The parser stops at a zero byte.
  if (copy.find('\0') != copy.npos) return std::nullopt;
  return address;
}

}  // namespace

std::optional<std::vector<std::string>> parse_wildcard(std::string_view text) {
  std::vector<std::string> pieces(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*') {
      if (i > 0 && text[i - 1] == '*' && pieces.back().empty()) return std::nullopt;
      pieces.emplace_back();
    } else if (text[i] == '\\') {
      if (++i == text.size() || (text[i] != '*' && text[i] != '\\')) return std::nullopt;
      pieces.back() += text[i];
    } else {
      pieces.back() += text[i];
    }
  }
  return pieces;
}

bool matches_wildcard(std::string_view text, const std::vector<std::string>& pieces) {
  if (pieces.size() == 1) return text == pieces.front();
  const std::string& first = pieces.front();
  const std::string& last = pieces.back();
  if (text.size() < first.size() + last.size() || !text.starts_with(first) || !text.ends_with(last)) return false;
  text.remove_prefix(first.size());
  text.remove_suffix(last.size());
  for (size_t i = 1; i + 1 < pieces.size(); ++i) {
    // memmem() takes time linear in the text whatever both hold; find() takes the product of their lengths.
    const void* found = memmem(text.data(), text.size(), pieces[i].data(), pieces[i].size());
    if (!found) return false;
    text.remove_prefix(static_cast<size_t>(static_cast<const char*>(found) - text.data()) + pieces[i].size());
  }
  return true;
}

std::optional<AddressRange> parse_address_range(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const auto address = parse_address(text.substr(0, slash));
  const std::string_view count = text.substr(slash + 1);
  int bits = -1;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), bits);
  if (!address || error != std::errc() || end != count.data() + count.size()) return std::nullopt;
  if (bits < 0 || bits > (address->v6 ? 128 : 32)) return std::nullopt;
  return AddressRange{address->bytes, bits, address->v6};
}

bool in_range(std::string_view text, const AddressRange& range) {
  if (text.size() >= INET6_ADDRSTRLEN) return false;
  const auto address = parse_address(text);
  if (!address || address->v6 != range.v6) return false;
  for (int bit = 0; bit < range.bits; bit += 8) {
    const int rest = range.bits - bit;
    const uint8_t mask = rest >= 8 ? 0xff : static_cast<uint8_t>(0xff << (8 - rest));
    const auto at = static_cast<size_t>(bit / 8);
    if ((address->bytes[at] & mask) != (range.address[at] & mask)) return false;
  }
  return true;
}

}  // namespace freshet
