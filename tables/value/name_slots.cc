#include "tables/value/name_slots.h"

#include <algorithm>

#include "tables/value/encoding.h"

namespace freshet {
namespace {

constexpr size_t kMostNames = 48;  // The most names in the table of 256. For more, a walk over both is as fast.
constexpr uint32_t kFactors = 1000;

// Length and the bytes at both ends, spread. Of an empty name: 0.
uint8_t looks(const char* name, size_t length, uint32_t factor) {
  if (length == 0) return 0;
  const auto first = static_cast<unsigned char>(name[0]);
  const auto last = static_cast<unsigned char>(name[length - 1]);
  const uint32_t word = static_cast<uint32_t>(length) | (uint32_t{first} << 8) | (uint32_t{last} << 16);
  return static_cast<uint8_t>((word * factor) >> 24);
}

}  // namespace

NameSlots::NameSlots(std::vector<std::string> names) : names_(std::move(names)) {
  if (names_.size() > kMostNames) return;
  for (uint32_t i = 0; i < kFactors; ++i) {
    const uint32_t factor = i * 0x9e3779b2 + 0x9e3779b1;  // Odd.
    if (!fill(factor)) continue;
    factor_ = factor;
    return;
  }
}

bool NameSlots::fill(uint32_t factor) {
  slots_.fill(0);
  for (size_t i = 0; i < names_.size(); ++i) {
    uint8_t& slot = slots_[looks(names_[i].data(), names_[i].size(), factor)];
    if (slot != 0) return false;
    slot = static_cast<uint8_t>(i + 1);
  }
  return true;
}

uint64_t NameSlots::pick(const ItemRef& item, std::string_view* values) const {
  uint64_t there = 0;
  if (factor_ == 0) {
    item.pick(names_, values);
    for (size_t i = 0; i < std::min<size_t>(names_.size(), 64); ++i) there |= uint64_t{!values[i].empty()} << i;
    return there;
  }
  const std::string_view in = item.encoded();
  const char* at = in.data();
  const char* const end = at + in.size();
  encoding::take_varint(at);
  while (at != end) {
    const size_t length = encoding::take_varint(at);
    const char* const name = at;
    const char* const value = at + length;
    at = encoding::behind_value(value);
    const uint8_t slot = slots_[looks(name, length, factor_)];
    if (slot == 0) continue;
    const std::string& wanted = names_[slot - 1u];
    if (encoding::is_same_name(wanted.data(), wanted.size(), name, length)) {
      values[slot - 1u] = {value, static_cast<size_t>(at - value)};
      there |= uint64_t{1} << (slot - 1u);
    }
  }
  return there;
}

}  // namespace freshet
