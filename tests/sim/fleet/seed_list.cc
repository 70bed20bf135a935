#include "tests/sim/fleet/seed_list.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace freshet::fleet_sim {

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> found;
  std::ifstream in(file);
  if (!in) {
    std::fprintf(stderr, "freshet_fleet_sim: cannot read %s\n", file.c_str());
    std::exit(2);
  }
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') found.push_back(line);
  }
  return found;
}

SeedList::SeedList(SeedChoice choice) : choice_(std::move(choice)), next_(choice_.first) {
  if (!choice_.listed_in.empty()) {
    for (const std::string& line : lines_of(choice_.listed_in)) {
      listed_.push_back(std::strtoull(line.c_str(), nullptr, 10));
    }
  }
  uint64_t last = 0;
  std::ifstream in(choice_.state_file);
  if (!choice_.state_file.empty() && in >> last) next_ = last + choice_.stride;
}

bool SeedList::is_over() const {
  if (!choice_.listed_in.empty()) return given_ == listed_.size();
  if (choice_.seconds == 0) return given_ == choice_.count;
  return std::chrono::steady_clock::now() - began_ >= std::chrono::seconds(choice_.seconds);
}

std::optional<uint64_t> SeedList::next() {
  if (is_over()) return std::nullopt;
  ++given_;
  if (!choice_.listed_in.empty()) return listed_[given_ - 1];
  return std::exchange(next_, next_ + choice_.stride);
}

void SeedList::done(uint64_t seed) const {
  if (!choice_.state_file.empty()) std::ofstream(choice_.state_file) << seed << "\n";
}

}  // namespace freshet::fleet_sim
