#include "functions/late.h"

#include <algorithm>

namespace freshet {
namespace {

// bench/RESULTS.md has what the overload lab says of each.
constexpr LatePolicy kPolicies[] = {
    {"useless", "what is late is worth nothing", "the most urgent of those that will still be in time", "deadline",
     "off", "off"},
    {"fades", "the fresher, the better", "the newest", "lifo", "off", "off"},
    {"fine", "late is better than never", "the oldest, or the newest while more comes than is done", "adaptive",
     "yield", "off"},
};

}  // namespace

std::string LatePolicy::settings() const {
  return "ORDER=" + std::string(order) + " DEADLINE_MARGIN=" + std::string(deadline_margin) +
         " REFUSE_LATE=" + std::string(refuse_late);
}

std::span<const LatePolicy> late_policies() {
  return kPolicies;
}

const LatePolicy* late_policy(std::string_view word) {
  const auto found = std::ranges::find(kPolicies, word, &LatePolicy::word);
  return found == std::end(kPolicies) ? nullptr : found;
}

Environment with_late(Environment environment) {
  const auto late = environment.find("LATE");
  const LatePolicy* policy = late == environment.end() ? nullptr : late_policy(late->second);
  if (policy == nullptr) return environment;
  environment.emplace("ORDER", policy->order);
  environment.emplace("DEADLINE_MARGIN", policy->deadline_margin);
  environment.emplace("REFUSE_LATE", policy->refuse_late);
  return environment;
}

}  // namespace freshet
