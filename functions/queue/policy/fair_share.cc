#include "functions/queue/policy/fair_share.h"

#include "functions/queue/policy/lanes.h"

namespace freshet {

FairShares::Key FairShares::key(const Lanes::value_type& lane) {
  return {lane_level(lane.first), lane.second.in_work, lane.second.turn, lane.first};
}

// Whatever its place depends on changes only here.
template <class Change>
void FairShares::change(Lanes::value_type& lane, Change what) {
  if (lane.second.waiting) waiting_.erase(key(lane));
  what(lane.second);
  if (lane.second.waiting) waiting_.insert(key(lane));
}

void FairShares::add(const std::string& lane) {
  const auto [it, fresh] = lanes_.try_emplace(lane);
  if (fresh) {
    const auto group = lane_group(it->first);
    groups_[std::string(group)].push_back(&*it);
    const auto busy = in_work_.find(group);
    if (busy != in_work_.end()) it->second.in_work = busy->second;
  }
  filled(lane);
}

void FairShares::filled(std::string_view lane) {
  const auto it = lanes_.find(lane);
  if (it == lanes_.end()) return;
  ++it->second.fillings;
  if (!it->second.waiting) change(*it, [](Lane& one) { one.waiting = true; });
}

uint64_t FairShares::fillings(std::string_view lane) const {
  const auto it = lanes_.find(lane);
  return it == lanes_.end() ? 0 : it->second.fillings;
}

void FairShares::emptied(std::string_view lane) {
  const auto it = lanes_.find(lane);
  if (it != lanes_.end()) change(*it, [](Lane& one) { one.waiting = false; });
}

bool FairShares::may_hold(std::string_view lane) const {
  const auto it = lanes_.find(lane);
  return it != lanes_.end() && it->second.waiting;
}

void FairShares::served(std::string_view lane) {
  const auto it = lanes_.find(lane);
  if (it != lanes_.end()) change(*it, [this](Lane& one) { one.turn = ++turn_; });
}

void FairShares::in_work(std::string_view group, uint64_t tasks) {
  if (tasks == 0) {
    const auto it = in_work_.find(group);
    if (it != in_work_.end()) in_work_.erase(it);
  } else {
    in_work_[std::string(group)] = tasks;
  }
  const auto known = groups_.find(group);
  if (known == groups_.end()) return;
  for (auto* lane : known->second) change(*lane, [tasks](Lane& one) { one.in_work = tasks; });
}

std::vector<std::string_view> FairShares::turns(size_t wanted, const Given& given) const {
  // Only the first `wanted` lanes in their order can be among the turns, and those that had some before.
  absl::btree_set<Key> next;
  std::string_view level;
  uint64_t turn = turn_;
  for (const auto& [its_level, in_work, last_turn, name] : waiting_) {
    if (!next.empty() && (its_level != level || next.size() >= wanted + given.size())) break;
    const auto had = given.find(name);
    if (had != given.end() && had->second == kPassed) continue;
    level = its_level;
    const bool any = had != given.end() && had->second > 0;
    next.insert({its_level, in_work + (any ? had->second : 0), any ? ++turn : last_turn, name});
  }
  std::vector<std::string_view> out;
  while (out.size() < wanted && !next.empty()) {
    const auto [its_level, in_work, last_turn, name] = *next.begin();
    next.erase(next.begin());
    next.insert({its_level, in_work + 1, ++turn, name});
    out.push_back(name);
  }
  return out;
}

std::vector<std::string> FairShares::idle(std::string_view last, size_t most) const {
  std::vector<std::string> out;
  for (auto it = lanes_.upper_bound(last); it != lanes_.end() && out.size() < most; ++it) {
    if (!it->second.waiting) out.push_back(it->first);
  }
  return out;
}

}  // namespace freshet
