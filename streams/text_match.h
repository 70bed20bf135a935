// The parts of patterns that only examine text: wildcards and address ranges. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet {

// "a*z" taken apart at its stars: the text begins with the first piece, ends with the last, and has the others between
// them in this order. `\*` is a star, `\\` a backslash. Empty if a backslash precedes anything else or two stars follow
// each other.
std::optional<std::vector<std::string>> parse_wildcard(std::string_view text);
bool matches_wildcard(std::string_view text, const std::vector<std::string>& pieces);

// "10.0.0.0/24", "2001:db8::/32".
struct AddressRange {
  std::array<uint8_t, 16> address{};
  int bits = 0;  // The number of significant bits of the address.
  bool v6 = false;
};
std::optional<AddressRange> parse_address_range(std::string_view text);
bool in_range(std::string_view address, const AddressRange& range);

}  // namespace freshet
