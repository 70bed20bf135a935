#include "app/lab/policy.h"

#include <algorithm>

namespace freshet::lab {

namespace {

std::vector<Policy> make_policies() {
  using From = TakeFrom;
  constexpr auto kOff = DeadlineMargin::kOff;
  constexpr auto kP90 = DeadlineMargin::kP90;
  constexpr auto kYield = DeadlineMargin::kYield;
  std::vector<Policy> out;
  const auto add = [&out](const char* name, const char* title, From from, bool ttl, DeadlineMargin margin) -> Policy& {
    Policy& policy = out.emplace_back();
    policy.name = name;
    policy.title = title;
    policy.from = from;
    policy.ttl = ttl;
    policy.margin = margin;
    return policy;
  };
  add("clairvoyant", "clairvoyant", From::kEarliestDeadline, true, kOff).clairvoyant = true;
  add("fifo", "FIFO", From::kOldest, false, kOff);
  add("fifo-bounded", "bounded FIFO", From::kOldest, false, kOff).bounded = true;
  add("fifo-ttl", "FIFO + TTL", From::kOldest, true, kOff);
  add("fifo-margin", "FIFO + TTL with margin", From::kOldest, true, kP90);
  add("edf-margin", "earliest deadline + margin", From::kEarliestDeadline, true, kP90);
  add("fifo-codel", "FIFO + CoDel", From::kOldest, false, kOff).dropper = Dropper::kCodel;
  add("fifo-codel-ttl", "FIFO + CoDel + TTL", From::kOldest, true, kOff).dropper = Dropper::kCodel;
  add("fifo-codel-server", "FIFO + CoDel for servers", From::kOldest, false, kOff).dropper = Dropper::kServerCodel;
  add("lifo", "LIFO", From::kNewest, false, kOff);
  add("lifo-ttl", "LIFO + TTL", From::kNewest, true, kOff);
  add("lifo-margin", "LIFO + TTL with margin", From::kNewest, true, kP90);
  add("adaptive", "adaptive + TTL", From::kAdaptive, true, kOff);
  add("adaptive-yield", "adaptive, yielding margin", From::kAdaptive, true, kYield);
  add("deadline", "earliest deadline, enough time", From::kDeadline, true, kOff);
  add("freshet", "Freshet as it comes", From::kNewest, true, kOff).product = true;
  add("freshet-margin", "Freshet, p90", From::kNewest, true, kP90).product = true;
  add("freshet-adaptive", "Freshet, adaptive + yield", From::kAdaptive, true, kYield).product = true;
  add("freshet-deadline", "Freshet, by deadline", From::kDeadline, true, kOff).product = true;
  add("freshet-bounded", "Freshet, bounded", From::kNewest, true, kOff).product = true;
  out.back().bounded = true;
  add("freshet-late", "Freshet, FIFO, refuses late", From::kOldest, true, kOff).product = true;
  out.back().refuses_late = true;
  add("freshet-search", "Freshet, adaptive concurrency", From::kNewest, true, kOff).product = true;
  out.back().searches = true;
  return out;
}

}  // namespace

size_t bound_of(const Scenario& scenario) {
  const double deadline = scenario.deadline > 0 ? scenario.deadline : 3;
  return std::max<size_t>(1, static_cast<size_t>(scenario.slots * deadline / 2));
}

const std::vector<Policy>& policies() {
  static const std::vector<Policy> all = make_policies();
  return all;
}

Result<Policy> policy_of(std::string_view name) {
  std::string names;
  for (const auto& policy : policies()) {
    if (policy.name == name) return policy;
    names.append(names.empty() ? "" : ", ").append(policy.name);
  }
  return invalid("--policy '" + std::string(name) + "' is none of " + names);
}

}  // namespace freshet::lab
