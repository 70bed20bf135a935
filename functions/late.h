// The setting LATE: what it costs when a task is done late, in a word. Each word stands for a policy, that is for
// values of ORDER, DEADLINE_MARGIN and REFUSE_LATE. A setting that is there wins over the word.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/invoke/function.h"

namespace freshet {

struct LatePolicy {
  std::string_view word;     // The value of LATE.
  std::string_view meaning;  // When to choose it, for a person.
  std::string_view takes;    // Which task is done next, for a person.
  std::string_view order, deadline_margin, refuse_late;

  // "ORDER=deadline DEADLINE_MARGIN=off REFUSE_LATE=off".
  std::string settings() const;
};

// In the order in which a page shows them.
std::span<const LatePolicy> late_policies();
// Null if there is no such word.
const LatePolicy* late_policy(std::string_view word);

// The environment with the settings that its LATE stands for. Unchanged if LATE is not there or is no such word.
Environment with_late(Environment environment);

}  // namespace freshet
