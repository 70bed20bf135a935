#include "runtime/fleet/fleet_core.h"

#include <algorithm>
#include <utility>

#include "base/points.h"
#include "runtime/fleet/assignment.h"

namespace freshet {

FleetCore::FleetCore(MemberBeat me, BootTime sent) : me_(std::move(me)), fence_at_(sent + me_.lease * 2 / 3) {}

void FleetCore::serve(std::set<std::string> units) {
  if (units == serves_) return;
  serves_ = std::move(units);
  holds_rev_ = ++units_rev_;
}

FleetCore::Orders FleetCore::leave() {
  Orders orders;
  if (me_.leaving) return orders;
  me_.leaving = true;
  for (auto held = held_.begin(); held != held_.end();) give_up(held++, orders);
  return orders;
}

void FleetCore::ended(const std::string& unit) {
  const auto held = held_.find(unit);
  if (held == held_.end() || held->second.state != Hold::kStopping) return;
  held_.erase(held);
  holds_rev_ = ++units_rev_;
}

void FleetCore::set_left(std::map<std::string, uint64_t> left) {
  if (left == in_work_) return;
  in_work_ = std::move(left);
  ++units_rev_;
}

uint64_t FleetCore::left_elsewhere(const std::string& unit) const {
  uint64_t count = 0;
  if (FRESHET_PLANTED("fleet-left-ignored")) return count;
  for (const auto& [id, units] : view_.units) {
    const auto left = units.left.find(unit);
    if (id == me_.id || left == units.left.end() || !is_alive(id)) continue;
    const auto member = view_.members.find(id);
    if (member != view_.members.end() && member->second.epoch == units.epoch) count += left->second;
  }
  return count;
}

BootTime FleetCore::last_seen(const std::string& member) const {
  const auto seen = seen_.find(member);
  return seen == seen_.end() ? BootTime{} : seen->second.since;
}

MemberBeat FleetCore::next_beat() {
  ++me_.beat;
  return me_;
}

void FleetCore::beat_confirmed(BootTime sent) {
  fence_at_ = std::max(fence_at_, sent + me_.lease * 2 / 3);
}

std::optional<MemberUnits> FleetCore::units_to_write() const {
  if (confirmed_rev_ >= units_rev_) return std::nullopt;
  MemberUnits units{me_.id, me_.epoch, units_rev_, {serves_.begin(), serves_.end()}, {}};
  for (const auto& [unit, held] : held_) units.holds.push_back(unit);
  units.left = in_work_;
  return units;
}

FleetCore::Orders FleetCore::units_confirmed(uint64_t rev, BootTime now) {
  Orders orders;
  if (rev <= confirmed_rev_) return orders;
  if (confirmed_rev_ < holds_rev_) confirmed_at_ = now;
  confirmed_rev_ = rev;
  orders.look_again = true;  // Only a read that begins now tells what others hold.
  return orders;
}

FleetCore::Orders FleetCore::saw(const FleetView& view, BootTime begun, BootTime now) {
  Orders orders = at(now);
  if (begun < read_begun_ || membership_ == Membership::kForgotten || membership_ == Membership::kSuperseded)
    return orders;
  read_begun_ = begun;
  view_ = view;
  observe(now);
  const Membership is = membership_now(now);
  if (is != Membership::kJoined) {
    end(is, orders);
    return orders;
  }
  membership_ = is;
  const auto mine = view_.units.find(me_.id);
  if (mine != view_.units.end() && mine->second.epoch == me_.epoch) {
    orders.look_again = units_confirmed(mine->second.rev, now).look_again;
  }
  follow_plan(orders);
  begin_units(orders);
  lead(orders, now);
  return orders;
}

FleetCore::Orders FleetCore::at(BootTime now) {
  Orders orders;
  if (membership_ == Membership::kJoined && now >= fence_at_ && !FRESHET_PLANTED("fleet-no-self-fence"))
    end(Membership::kFenced, orders);
  return orders;
}

BootTime FleetCore::next_death() const {
  BootTime next = BootTime::max();
  for (const auto& [member, seen] : seen_) {
    const BootTime death = seen.since + seen.lease;
    if (member != me_.id && death > read_begun_) next = std::min(next, death);
  }
  return next;
}

bool FleetCore::leads() const {
  return view_.plan && view_.plan->leader == me_.id && view_.plan->leader_epoch == me_.epoch;
}

bool FleetCore::has_let_go() const {
  return held_.empty() && confirmed_rev_ >= holds_rev_;
}

bool FleetCore::is_serving(const std::string& unit) const {
  const auto held = held_.find(unit);
  return held != held_.end() && held->second.state == Hold::kServing;
}

bool FleetCore::is_stopping(const std::string& unit) const {
  const auto held = held_.find(unit);
  return held != held_.end() && held->second.state == Hold::kStopping;
}

const MemberBeat* FleetCore::owner(const std::string& unit) const {
  if (!view_.plan) return nullptr;
  const auto owner = view_.plan->owners.find(unit);
  if (owner == view_.plan->owners.end() || !is_alive(owner->second)) return nullptr;
  return &view_.members.at(owner->second);
}

// A read that began a whole lease after its heartbeat was first seen, and has no newer one, shows that a member is
// dead.
bool FleetCore::is_alive(const std::string& member) const {
  const auto seen = seen_.find(member);
  const int64_t parts = FRESHET_PLANTED("fleet-dead-at-half-lease") ? 2 : 1;
  return seen != seen_.end() && read_begun_ - seen->second.since < seen->second.lease / parts;
}

size_t FleetCore::alive() const {
  return static_cast<size_t>(
      std::count_if(seen_.begin(), seen_.end(), [this](const auto& entry) { return is_alive(entry.first); }));
}

void FleetCore::observe(BootTime now) {
  std::erase_if(seen_, [this](const auto& entry) { return !view_.members.contains(entry.first); });
  for (const auto& [id, member] : view_.members) {
    const auto [seen, is_new] = seen_.try_emplace(id);
    const bool is_same = seen->second.epoch == member.epoch && seen->second.beat == member.beat;
    if (!is_new && is_same && !FRESHET_PLANTED("fleet-dead-counts-as-alive")) continue;
    seen->second = {member.epoch, member.beat, now, member.lease};
  }
}

Membership FleetCore::membership_now(BootTime now) const {
  const auto mine = view_.members.find(me_.id);
  if (mine == view_.members.end()) return Membership::kForgotten;
  if (mine->second.life != me_.life) return Membership::kSuperseded;
  return now < fence_at_ ? Membership::kJoined : Membership::kFenced;
}

void FleetCore::end(Membership why, Orders& orders) {
  membership_ = why;
  if (held_.empty()) return;
  for (const auto& [unit, held] : held_) {
    if (held.state == Hold::kServing) orders.stop.push_back(unit);
  }
  held_.clear();
  holds_rev_ = ++units_rev_;
}

void FleetCore::give_up(std::map<std::string, Held>::iterator held, Orders& orders) {
  if (held->second.state == Hold::kServing) {
    held->second.state = Hold::kStopping;
    orders.stop.push_back(held->first);
  } else if (held->second.state == Hold::kWanted) {
    held_.erase(held);
    holds_rev_ = ++units_rev_;
  }
}

void FleetCore::follow_plan(Orders& orders) {
  std::set<std::string> wanted;
  if (view_.plan && !me_.leaving) {
    for (const auto& [unit, owner] : view_.plan->owners) {
      if (owner == me_.id && serves_.contains(unit)) wanted.insert(unit);
    }
  }
  for (auto held = held_.begin(); held != held_.end();) {
    const auto next = std::next(held);
    if (!wanted.contains(held->first)) give_up(held, orders);
    held = next;
  }
  const size_t before = held_.size();
  for (const std::string& unit : wanted) held_.try_emplace(unit, Held{Hold::kWanted, units_rev_ + 1});
  if (held_.size() != before) holds_rev_ = ++units_rev_;
}

void FleetCore::begin_units(Orders& orders) {
  if (read_begun_ < confirmed_at_ && !FRESHET_PLANTED("fleet-second-read-left-out")) return;
  for (auto& [unit, held] : held_) {
    if (held.state != Hold::kWanted || held.rev > confirmed_rev_ || is_held_by_another(unit)) continue;
    held.state = Hold::kServing;
    orders.start.push_back(unit);
  }
}

void FleetCore::lead(Orders& orders, BootTime now) {
  if (me_.leaving) return;
  const bool leading = leads();
  if (!leading && !may_claim(now)) return;
  FleetPlan plan = view_.plan.value_or(FleetPlan{});
  orders.plan_seen = plan.version;
  plan.owners = assign_units(candidates(), plan.owners);
  if (leading) {
    for (const auto& [id, seen] : seen_) {
      if (now - seen.since >= kForgetAfter) orders.forget.push_back(view_.members.at(id));
    }
    if (!FRESHET_PLANTED("fleet-dead-holds-kept")) release_left(orders);
    if (plan.owners == view_.plan->owners) return;
  } else {
    plan.leader = me_.id;
    plan.leader_epoch = me_.epoch;
    ++plan.term;
  }
  ++plan.version;
  orders.plan = std::move(plan);
}

// The items of a read are not of one moment: they may show what a member wrote when it came back, beside its heartbeat
// of before. The next read shows it alive.
void FleetCore::release_left(Orders& orders) {
  std::map<std::string, MemberUnits> left;
  for (const auto& [id, units] : view_.units) {
    if (id == me_.id || is_alive(id) || units.holds.empty()) continue;
    const auto before = left_.find(id);
    if (before != left_.end() && before->second == units) orders.release.push_back(units);
    left.emplace(id, units);
  }
  left_ = std::move(left);
}

const MemberBeat* FleetCore::leader() const {
  if (!view_.plan) return nullptr;
  const auto leader = view_.members.find(view_.plan->leader);
  const bool is_there = leader != view_.members.end() && leader->second.epoch == view_.plan->leader_epoch &&
                        (may_have_units(leader->second) || FRESHET_PLANTED("fleet-dead-leader-kept"));
  return is_there ? &leader->second : nullptr;
}

bool FleetCore::may_claim(BootTime now) {
  if (leader() != nullptr) {
    leaderless_since_.reset();
    return false;
  }
  if (!leaderless_since_) leaderless_since_ = now;
  if (!is_accepted_ && is_another_accepted()) return now - *leaderless_since_ >= me_.lease;
  for (const auto& [id, member] : view_.members) {
    if (!may_have_units(member)) continue;
    if (is_accepted_ && id != me_.id && !is_accepted(member)) continue;
    return id == me_.id || now - *leaderless_since_ >= me_.lease / 3;
  }
  return false;
}

// Another member offers no units before its clock has been found right.
bool FleetCore::is_accepted(const MemberBeat& member) const {
  const auto units = view_.units.find(member.id);
  return units != view_.units.end() && units->second.epoch == member.epoch && !units->second.serves.empty();
}

bool FleetCore::is_another_accepted() const {
  return std::any_of(view_.members.begin(), view_.members.end(), [this](const auto& entry) {
    return entry.first != me_.id && may_have_units(entry.second) && is_accepted(entry.second);
  });
}

bool FleetCore::is_held_by_another(const std::string& unit) const {
  if (FRESHET_PLANTED("fleet-holder-ignored")) return false;
  return std::any_of(view_.units.begin(), view_.units.end(), [&](const auto& entry) {
    const MemberUnits& units = entry.second;
    if (units.id == me_.id || !is_alive(units.id)) return false;
    // The life that wrote an older epoch has ended.
    if (view_.members.at(units.id).epoch != units.epoch) return false;
    return std::binary_search(units.holds.begin(), units.holds.end(), unit);
  });
}

bool FleetCore::may_have_units(const MemberBeat& member) const {
  return !member.leaving && is_alive(member.id);
}

std::map<std::string, std::set<std::string>> FleetCore::candidates() const {
  std::map<std::string, std::set<std::string>> out;
  for (const auto& [id, member] : view_.members) {
    if (!may_have_units(member)) continue;
    if (id == me_.id) {
      out[id] = serves_;
      continue;
    }
    const auto units = view_.units.find(id);
    if (units == view_.units.end()) continue;  // Those of its last life stand for it until it has written its own.
    out[id].insert(units->second.serves.begin(), units->second.serves.end());
  }
  return out;
}

}  // namespace freshet
