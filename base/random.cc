#include "base/random.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"

namespace freshet {
namespace {

uint64_t splitmix64(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// The two hexadecimal digits of each byte.
constexpr std::array<char, 512> kHexPairs = [] {
  std::array<char, 512> pairs{};
  for (size_t byte = 0; byte < 256; ++byte) {
    pairs[2 * byte] = "0123456789abcdef"[byte / 16];
    pairs[2 * byte + 1] = "0123456789abcdef"[byte % 16];
  }
  return pairs;
}();

}  // namespace

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) word = splitmix64(seed);
}

uint64_t Random::next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::below(uint64_t bound) {
  FRESHET_CHECK(bound > 0, "no number is below zero");
  // 2^64 mod bound values at the low end would occur once more often than the others: draw again.
  const uint64_t uneven = (0 - bound) % bound;
  uint64_t drawn = next();
  while (drawn < uneven) drawn = next();
  return drawn % bound;
}

double Random::unit() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

std::string Random::uuid() {
  uint64_t words[2] = {next(), next()};
  words[0] = (words[0] & ~uint64_t{0xf000}) | 0x4000;                  // Version 4.
  words[1] = (words[1] & ~(uint64_t{3} << 62)) | (uint64_t{2} << 62);  // Variant 1.
  std::string text(36, '-');
  char* at = text.data();
  for (int byte = 0; byte < 16; ++byte) {
    if (byte == 4 || byte == 6 || byte == 8 || byte == 10) ++at;
    const auto value = static_cast<uint8_t>(words[byte / 8] >> (56 - 8 * (byte % 8)));
    at = std::copy_n(kHexPairs.data() + size_t{2} * value, 2, at);
  }
  return text;
}

uint64_t random_seed() {
  uint64_t seed = 0;
  FRESHET_CHECK(getrandom(&seed, sizeof seed, 0) == sizeof seed, "the system gives no random bytes");
  return seed;
}

}  // namespace freshet
