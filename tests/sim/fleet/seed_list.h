// The seeds that a run of freshet_fleet_sim works on, and files of words.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace freshet::fleet_sim {

// Each line that is neither empty nor begins with '#'. Ends the process if the file cannot be read.
std::vector<std::string> lines_of(const std::string& file);

struct SeedChoice {
  uint64_t first = 1;
  uint64_t count = 1;
  uint64_t stride = 1;
  int64_t seconds = 0;     // Not 0: as many as there is time for, instead of `count`.
  std::string listed_in;   // Not empty: those that the file names, a line each.
  std::string state_file;  // Not empty: goes on behind the last one that is there.
};

class SeedList {
 public:
  explicit SeedList(SeedChoice choice);
  // Empty at the end.
  std::optional<uint64_t> next();
  void done(uint64_t seed) const;

 private:
  bool is_over() const;

  const SeedChoice choice_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::vector<uint64_t> listed_;
  uint64_t next_ = 1;
  uint64_t given_ = 0;
};

}  // namespace freshet::fleet_sim
