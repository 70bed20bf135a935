// The setting LATE: a word for the cost of a late task. Each word stands for a policy: values of ORDER, DEADLINE_MARGIN
// and REFUSE_LATE. Settings that are given override the word.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/invoke/function.h"

namespace freshet {

struct LatePolicy {
  std::string_view word;     // The value of LATE.
  std::string_view meaning;  // When to choose it, for a person.
  std::string_view takes;    // The order in which tasks are done, for a person.
  std::string_view order, deadline_margin, refuse_late;

  // "ORDER=deadline DEADLINE_MARGIN=off REFUSE_LATE=off".
  std::string settings() const;
};

// In the order of the pages that show them.
std::span<const LatePolicy> late_policies();
// Null if there is no such word.
const LatePolicy* late_policy(std::string_view word);

// The environment with the settings of its LATE. Unchanged if LATE is missing or not a known word.
Environment with_late(Environment environment);

}  // namespace freshet
