// The lines of a file of captured changes. Pure functions.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>

#include "functions/capture/capture_name.h"

namespace freshet {

// Sequence numbers that were skipped, the newest ones.
class SequenceGaps {
 public:
  // Adds the numbers between the two, if any; `before` is not below the last one added.
  void add(uint64_t before, uint64_t after) {
    if (after <= before + 1) return;
    gaps_.emplace_back(before + 1, after - 1);
    if (gaps_.size() > kMost) gaps_.pop_front();
  }
  bool has(uint64_t sequence) const;

 private:
  static constexpr size_t kMost = 4096;
  std::deque<std::pair<uint64_t, uint64_t>> gaps_;  // From, to.
};

struct GoodLines {
  uint64_t bytes = 0;   // Up to the end of the last good line.
  CaptureNumber first;  // Those of the first and last line; empty without lines.
  CaptureNumber last;
  SequenceGaps gaps{};  // Only of the embedded store, whose numbers follow one another.
};
// The complete lines at the beginning of the text: stream records as JSON, with rising numbers. `of_shard`: the numbers
// are an engine's, which have gaps everywhere, so none are noted.
GoodLines good_lines(std::string_view text, bool of_shard = false);

}  // namespace freshet
