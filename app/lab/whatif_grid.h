// The alternatives to a policy that `freshet whatif` compares. Pure.
#pragma once

#include <string>
#include <vector>

#include "functions/settings.h"

namespace freshet::lab {

// The setting's value; `fallback` if it is not there.
std::string setting_of(const Environment& policy, const std::string& name, const std::string& fallback = {});
// As a number; 0 if it is not there, or is none.
double setting_number(const Environment& policy, const std::string& name);

// The changes of settings as one types them, "ORDER=fifo DEADLINE_MARGIN=p90"; `otherwise` if there are none.
std::string name_of(const Environment& set, const std::string& otherwise = {});

// Orders and margins, limits and concurrency that differ from the policy in force, each as its changes to that. None
// has more calls in work, or starts more of them, than the policy allows: a recording does not show what the downstream
// would have made of that.
std::vector<Environment> usual_alternatives(const Environment& policy);

}  // namespace freshet::lab
