// The alternatives to a policy that `freshet whatif` compares. Pure.
#pragma once

#include <string>
#include <vector>

#include "functions/settings.h"

namespace freshet::lab {

// The value of the setting; `fallback` if it is not set.
std::string setting_of(const Environment& policy, const std::string& name, const std::string& fallback = {});
// The value as a number; 0 if it is not set, or not a number.
double setting_number(const Environment& policy, const std::string& name);

// The settings in the form in which people type them, "ORDER=fifo DEADLINE_MARGIN=p90"; `otherwise` if there are none.
std::string name_of(const Environment& set, const std::string& otherwise = {});

// Returns alternatives in order, margin, limits and concurrency, each as its changes to the policy in force. None has
// more calls in work, or starts more of them, than that policy allows: a recording does not show how the downstream
// would have borne that.
std::vector<Environment> usual_alternatives(const Environment& policy);

}  // namespace freshet::lab
