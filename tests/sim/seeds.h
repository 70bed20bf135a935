// The seeds that a property test runs: as many as the test wants, or FRESHET_SEEDS=n of them (`./test.sh long`), or
// only seed n with FRESHET_SEED=n, to repeat one run.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace freshet {

inline std::vector<uint64_t> test_seeds(uint64_t usual) {
  const auto number = [](const char* variable) -> uint64_t {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
  };
  if (const uint64_t only = number("FRESHET_SEED")) return {only};
  const uint64_t many = number("FRESHET_SEEDS");
  std::vector<uint64_t> seeds;
  for (uint64_t seed = 1; seed <= (many ? many : usual); ++seed) seeds.push_back(seed);
  return seeds;
}

}  // namespace freshet
