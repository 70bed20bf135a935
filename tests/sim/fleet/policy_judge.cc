#include "tests/sim/fleet/policy_judge.h"

#include <algorithm>

#include "base/check.h"

namespace freshet::fleet_sim {

namespace {

// A member waits 10 s for the owner's answer, and the owner tries a write of its own four times.
constexpr milliseconds kLongestChange{30'000};
constexpr milliseconds kAwakeAgain{50};

}  // namespace

PolicyJudge::Change& PolicyJudge::find(const std::string& queue, const std::string& setting, const std::string& value) {
  Changes& all = changes_[{queue, setting}];
  const auto found = std::find_if(all.begin(), all.end(), [&](const Change& change) { return change.value == value; });
  FRESHET_CHECK(found != all.end(), "that change was sent");
  return *found;
}

void PolicyJudge::sent(const std::string& queue, const std::string& setting, const std::string& value, BootTime now) {
  changes_[{queue, setting}].push_back({value, now, {}, BootTime::max()});
}

void PolicyJudge::done(const std::string& queue, const std::string& setting, const std::string& value, BootTime now) {
  Change& change = find(queue, setting, value);
  if (!change.holds || now < *change.holds) change.holds = now;
  change.ends = now;
}

void PolicyJudge::unknown(const std::string& queue, const std::string& setting, const std::string& value,
                          BootTime now) {
  find(queue, setting, value).ends = now + kLongestChange;
}

void PolicyJudge::read(const std::string& queue, const std::string& setting, const std::string& value, BootTime sent,
                       BootTime answered) {
  const bool is_shaken = std::any_of(shakes_.begin(), shakes_.end(), [&](const auto& shake) {
    return shake.first <= answered && shake.second + kAwakeAgain >= sent;
  });
  if (is_shaken) return;
  Changes& all = changes_[{queue, setting}];
  auto found = std::find_if(all.begin(), all.end(), [&](const Change& change) { return change.value == value; });
  const std::string what = queue + " has " + setting + " " + value;
  if (found == all.end()) {
    // That of the template, which holds before all changes.
    const bool is_first = std::none_of(all.begin(), all.end(),
                                       [&](const Change& change) { return change.holds && *change.holds < sent; });
    verdict_.expect(is_first, "an acknowledged change of a policy is lost", what);
    return;
  }
  verdict_.expect(found->sent <= answered, "a policy holds before it is set", what);
  const BootTime ended = std::min(found->ends, found->holds.value_or(BootTime::max()));
  for (const Change& newer : all) {
    if (&newer == &*found || !newer.holds || *newer.holds >= sent || newer.sent <= ended) continue;
    verdict_.broken("an acknowledged change of a policy is lost", what + " although " + newer.value + " is newer");
  }
  if (found->holds) ++checks_;
  if (!found->holds || answered < *found->holds) found->holds = answered;
}

}  // namespace freshet::fleet_sim
