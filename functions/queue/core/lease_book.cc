#include "functions/queue/core/lease_book.h"

#include "base/points.h"
#include "functions/queue/attributes.h"

namespace freshet {

void LeaseBook::count(const Lease& lease, int change) {
  if (lease.mine) mine_ += static_cast<size_t>(change);
  count_key(lease, change);
  auto group = lease.task ? text_of(lease.task, attribute::kGroup) : std::string_view();
  if (group.empty()) {
    ungrouped_ += static_cast<uint64_t>(change);
    if (on_group_change_) on_group_change_(group, ungrouped_);
    return;
  }
  auto it = in_work_.try_emplace(std::string(group)).first;
  it->second += static_cast<uint64_t>(change);
  if (on_group_change_) on_group_change_(group, it->second);
  if (it->second == 0) in_work_.erase(it);
}

void LeaseBook::count_key(const Lease& lease, int change) {
  const auto key = lease.task ? text_of(lease.task, attribute::kLiveKey) : std::string_view();
  if (key.empty()) return;
  const auto it = keys_.try_emplace(std::string(key)).first;
  it->second += static_cast<uint64_t>(change);
  const uint64_t now = it->second;
  if (now == 0) keys_.erase(it);
  if (on_key_change_) on_key_change_(key, now);
}

// True if both count alike.
bool LeaseBook::counts_as(const Lease& one, const Lease& other) {
  const auto same = [&](std::string_view name) { return text_of(one.task, name) == text_of(other.task, name); };
  return one.mine == other.mine && one.task && other.task && same(attribute::kGroup) && same(attribute::kLiveKey);
}

// It comes before the calls of the listeners, because a limit then looks at its calls.
void LeaseBook::end_calls(Lease& lease) {
  lease.key_call.reset();
  lease.call.reset();
}

void LeaseBook::clear() {
  if (on_group_change_) {
    on_group_change_("", 0);
    for (const auto& group : in_work_) on_group_change_(group.first, 0);
  }
  ends_.clear();
  leases_.clear();
  in_work_.clear();
  for (const auto& key : std::exchange(keys_, {})) {
    if (on_key_change_) on_key_change_(key.first, 0);
  }
  mine_ = 0;
  ungrouped_ = 0;
}

void LeaseBook::start(std::string id, Lease lease, BootTime now) {
  auto [it, fresh] = leases_.try_emplace(std::move(id));
  Entry& entry = it->second;
  const bool counts = fresh || !counts_as(entry.lease, lease);
  if (counts) count(lease, 1);  // It comes first, so that a key that stays held never counts as free.
  if (!fresh) ends_.erase({entry.end, entry.number});
  const bool goes_on = !fresh && entry.lease.token == lease.token;
  if (!goes_on) end_calls(entry.lease);
  if (!fresh && counts) count(entry.lease, -1);
  if (!goes_on) entry.claimed = now;
  if (goes_on && !lease.key_call) lease.key_call = std::move(entry.lease.key_call);
  if (goes_on && !lease.call) lease.call = std::move(entry.lease.call);
  if (goes_on) lease.pulled |= entry.lease.pulled;
  entry.end = now + (FRESHET_PLANTED("lease-ends-early") ? lease.duration / 2 : lease.duration);
  entry.number = ++number_;
  entry.lease = std::move(lease);
  ends_.emplace(std::pair(entry.end, entry.number), &it->first);
}

void LeaseBook::observe(std::string id, Lease lease, BootTime now) {
  if (const Lease* known = find(id); known && known->token == lease.token) {
    if (lease.beat <= known->beat) return;
    if (known->mine) FRESHET_REACHED("a look saw a heartbeat before its answer");
    if (!FRESHET_PLANTED("own-lease-taken-for-foreign")) lease.mine = known->mine;
  }
  start(std::move(id), std::move(lease), now);
}

const Lease* LeaseBook::find(const std::string& id) const {
  auto it = leases_.find(id);
  return it == leases_.end() ? nullptr : &it->second.lease;
}

std::vector<std::pair<std::string, std::string>> LeaseBook::held() const {
  std::vector<std::pair<std::string, std::string>> out;
  out.reserve(mine_);
  for (const auto& [end, id] : ends_) {
    const Lease& lease = leases_.at(*id).lease;
    if (lease.mine) out.emplace_back(*id, lease.token);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> LeaseBook::pulled() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [end, id] : ends_) {
    const Lease& lease = leases_.at(*id).lease;
    if (lease.pulled) out.emplace_back(*id, lease.token);
  }
  return out;
}

std::optional<BootTime> LeaseBook::claimed_at(const std::string& id, std::string_view token) const {
  auto it = leases_.find(id);
  if (it == leases_.end() || !it->second.lease.mine || it->second.lease.token != token) return std::nullopt;
  return it->second.claimed;
}

void LeaseBook::update(const std::string& id, ItemRef task) {
  auto it = leases_.find(id);
  if (it == leases_.end()) return;
  const Lease before = it->second.lease;
  it->second.lease.task = std::move(task);
  count(it->second.lease, 1);
  count(before, -1);
}

void LeaseBook::forget(const std::string& id, std::string_view token) {
  auto it = leases_.find(id);
  if (it == leases_.end() || it->second.lease.token != token) return;
  ends_.erase({it->second.end, it->second.number});
  Lease lease = std::move(it->second.lease);
  leases_.erase(it);
  end_calls(lease);
  count(lease, -1);
}

BootTime LeaseBook::next_end() const {
  return ends_.empty() ? BootTime::max() : ends_.begin()->first.first;
}

std::vector<std::string> LeaseBook::ended(BootTime now, size_t limit) const {
  std::vector<std::string> out;
  for (auto it = ends_.begin(); it != ends_.end() && it->first.first <= now && out.size() < limit; ++it) {
    out.push_back(*it->second);
  }
  return out;
}

void LeaseBook::each(size_t most, const Visit& visit) const {
  for (const auto& [end, id] : ends_) {
    if (most-- == 0) return;
    const Entry& entry = leases_.at(*id);
    visit(*id, entry.lease, entry.claimed, end.first);
  }
}

void LeaseBook::postpone(const std::string& id, BootTime until) {
  auto it = leases_.find(id);
  if (it == leases_.end()) return;
  Entry& entry = it->second;
  ends_.erase({entry.end, entry.number});
  entry.end = until;
  ends_.emplace(std::pair(entry.end, entry.number), &it->first);
}

}  // namespace freshet
