#include "functions/queue/policy/fair_share.h"

#include <algorithm>

#include "functions/queue/policy/lanes.h"

namespace freshet {

FairShares::Key FairShares::key(const Shares::value_type& share) {
  return {lane_level(share.first), share.second.in_work, share.second.turn, share.first};
}

// Everything that the place of a share depends on changes only here.
template <class Change>
void FairShares::change(Shares::value_type& share, Change what) {
  if (!share.second.lanes.empty()) waiting_.erase(key(share));
  what(share.second);
  if (!share.second.lanes.empty()) waiting_.insert(key(share));
}

// The same for a lane.
template <class Change>
void FairShares::change(Lanes::value_type& lane, Change what) {
  const auto may = [&lane] { return lane.second.waiting && !lane.second.held; };
  const auto is_held = [&lane] { return lane.second.waiting && lane.second.held; };
  const auto apply = [&] {
    if (is_held()) --held_;
    what(lane.second);
    if (is_held()) ++held_;
  };
  auto& lanes = lane.second.share->second.lanes;
  const bool had_turn = may();
  if (had_turn && lanes.size() > 1) {
    lanes.erase({lane.second.place, lane.first});
    apply();
    if (may()) lanes.insert({lane.second.place, lane.first});
    return;
  }
  if (had_turn) change(*lane.second.share, [&](Share& share) { share.lanes.clear(); });
  apply();
  if (!may()) return;
  if (!lanes.empty()) {
    lanes.insert({lane.second.place, lane.first});
    return;
  }
  change(*lane.second.share, [&](Share& share) { share.lanes.insert({lane.second.place, lane.first}); });
}

FairShares::Lanes::value_type* FairShares::find(std::string_view lane) {
  const auto it = lanes_.find(lane);
  return it == lanes_.end() ? nullptr : &*it;
}

FairShares::Shares::value_type& FairShares::share_for(const std::string& lane) {
  const auto [it, fresh] = shares_.try_emplace(share_of(lane));
  if (fresh) {
    it->second.group = lane_group(it->first);
    groups_[std::string(it->second.group)].push_back(&*it);
    const auto busy = in_work_.find(it->second.group);
    if (busy != in_work_.end()) it->second.in_work = busy->second;
  }
  return *it;
}

void FairShares::add(const std::string& lane, bool stays, int64_t place) {
  const auto [it, fresh] = lanes_.try_emplace(lane);
  if (fresh) {
    Lane& one = it->second;
    one.share = &share_for(lane);
    one.stays = stays;
    ++one.share->second.known;
    if (is_key_lane(lane)) {
      const auto key = lane_key(lane);
      ++one.share->second.of_keys;
      keys_[key].push_back(&*it);
      one.held = held_keys_.contains(key);
    } else {
      one.held = held_groups_.contains(lane_group(lane));
    }
  }
  filled(lane, place);
}

void FairShares::found_empty(std::string_view lane, BootTime now, nanoseconds idle) {
  const auto it = lanes_.find(lane);
  if (it == lanes_.end() || it->second.stays || it->second.waiting) return;
  if (it->second.empty_since == BootTime{}) it->second.empty_since = now;
  if (now - it->second.empty_since >= idle) forget(it);
}

void FairShares::forget(Lanes::iterator it) {
  const std::string lane = it->first;
  Shares::value_type& share = *it->second.share;
  if (is_key_lane(lane)) {
    const auto of_key = keys_.find(lane_key(lane));
    std::erase(of_key->second, &*it);
    if (of_key->second.empty()) keys_.erase(of_key);
    --share.second.of_keys;
  }
  lanes_.erase(it);
  if (--share.second.known > 0) return;
  const auto group = groups_.find(share.second.group);
  std::erase(group->second, &share);
  if (group->second.empty()) groups_.erase(group);
  shares_.erase(shares_.find(share.first));
}

void FairShares::filled(std::string_view lane, int64_t place) {
  auto* it = find(lane);
  if (it == nullptr) return;
  ++it->second.fillings;
  it->second.empty_since = {};
  const bool first = !it->second.waiting;
  if (!first && place >= it->second.place) return;
  change(*it, [place](Lane& one) {
    one.waiting = true;
    one.place = place;
  });
}

uint64_t FairShares::fillings(std::string_view lane) const {
  const auto it = lanes_.find(lane);
  return it == lanes_.end() ? 0 : it->second.fillings;
}

void FairShares::emptied(std::string_view lane) {
  if (auto* it = find(lane)) change(*it, [](Lane& one) { one.waiting = false; });
}

bool FairShares::may_hold(std::string_view lane) const {
  const auto it = lanes_.find(lane);
  return it != lanes_.end() && it->second.waiting;
}

void FairShares::served(std::string_view lane) {
  if (auto* it = find(lane)) change(*it->second.share, [this](Share& one) { one.turn = ++turn_; });
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
  for (auto* share : known->second) change(*share, [tasks](Share& one) { one.in_work = tasks; });
}

void FairShares::set_held(Of of, std::string_view name, bool held) {
  const auto set = [this, held](Lanes::value_type& lane) {
    if (lane.second.held != held) change(lane, [held](Lane& one) { one.held = held; });
  };
  if (of == Of::kKey) {
    const auto lanes = keys_.find(name);
    if (lanes == keys_.end()) return;
    for (auto* lane : lanes->second) set(*lane);
    return;
  }
  const auto shares = groups_.find(name);
  if (shares == groups_.end()) return;
  for (auto* share : shares->second) {
    if (auto* lane = find(share->first)) set(*lane);
  }
}

void FairShares::hold(Of of, std::string_view name) {
  (of == Of::kKey ? held_keys_ : held_groups_).emplace(name);
  set_held(of, name, true);
}

void FairShares::allow(Of of, std::string_view name) {
  auto& names = of == Of::kKey ? held_keys_ : held_groups_;
  const auto it = names.find(name);
  if (it != names.end()) names.erase(it);
  set_held(of, name, false);
}

void FairShares::allow_all() {
  for (const auto& group : std::exchange(held_groups_, {})) set_held(Of::kGroup, group, false);
  for (const auto& key : std::exchange(held_keys_, {})) set_held(Of::kKey, key, false);
}

void FairShares::pass_group(std::string_view group, Given& given) const {
  const auto known = groups_.find(group);
  if (known == groups_.end()) return;
  for (const auto* share : known->second) given[share->first] = kPassed;
}

std::vector<std::string_view> FairShares::turns(size_t wanted, const Given& given, std::string_view level) const {
  // Only the first `wanted` shares in their order can be among the turns, and those that had turns before.
  absl::btree_set<Key> next;
  uint64_t turn = turn_;
  for (auto it = waiting_.lower_bound(Key{level, 0, 0, {}}); it != waiting_.end(); ++it) {
    const auto& [its_level, in_work, last_turn, name] = *it;
    if (!level.empty() && (its_level != level || next.size() >= wanted + given.size())) break;
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

std::vector<std::string_view> FairShares::levels(const Given& given) const {
  std::vector<std::string_view> out;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const auto& [level, in_work, last_turn, name] = *it;
    const auto had = given.find(name);
    if (had != given.end() && had->second == kPassed) {
      ++it;
      continue;
    }
    out.push_back(level);
    it = waiting_.upper_bound(Key{level, UINT64_MAX, UINT64_MAX, {}});
  }
  return out;
}

std::vector<std::string> FairShares::holding(std::string& last, size_t most) const {
  std::vector<std::string> out;
  auto it = lanes_.upper_bound(last);
  last.clear();
  for (; it != lanes_.end() && most > 0; ++it, --most) {
    if (it->second.waiting) out.push_back(it->first);
    if (most == 1) last = it->first;
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

bool FairShares::is_divided(std::string_view share) const {
  const auto it = shares_.find(share);
  return it != shares_.end() && it->second.of_keys > 0;
}

std::optional<FairShares::Place> FairShares::next(std::string_view share, const std::optional<Place>& last) const {
  const auto it = shares_.find(share);
  if (it == shares_.end()) return std::nullopt;
  const auto& lanes = it->second.lanes;
  const auto at = last ? lanes.upper_bound({last->first, last->second}) : lanes.begin();
  if (at == lanes.end()) return std::nullopt;
  return Place{at->first, std::string(at->second)};
}

void FairShares::placed(std::string_view lane, int64_t place) {
  auto* it = find(lane);
  if (it != nullptr && it->second.place != place) change(*it, [place](Lane& one) { one.place = place; });
}

void FairShares::forget_places() {
  for (auto& lane : lanes_) change(lane, [](Lane& one) { one.place = kUnknown; });
}

}  // namespace freshet
