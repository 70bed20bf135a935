// Seeded randomness, injected. The same seed gives the same numbers on every machine.
#pragma once

#include <cstdint>
#include <string>

namespace freshet {

// xoshiro256** seeded through splitmix64 (Blackman and Vigna, https://prng.di.unimi.it). Not for secrets. One thread.
class Random {
 public:
  using result_type = uint64_t;
  explicit Random(uint64_t seed);
  uint64_t next();
  uint64_t below(uint64_t bound);  // Uniform in [0, bound), bound > 0.
  double unit();                   // Uniform in [0, 1).
  std::string uuid();              // Version 4, lower case.

  // UniformRandomBitGenerator, for <random> and std::shuffle.
  uint64_t operator()() { return next(); }
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }

 private:
  uint64_t state_[4];
};

// A seed from the operating system, for programs that were not given one.
uint64_t random_seed();

}  // namespace freshet
