// The result of one invocation of count_states.
#pragma once

#include <cstddef>

namespace freshet {

struct CountTally {
  size_t counted = 0;
  size_t seen_before = 0;
  size_t left_out = 0;  // Records of a stream that is over and was not followed without a gap.
  size_t table_counts = 0;
};

}  // namespace freshet
