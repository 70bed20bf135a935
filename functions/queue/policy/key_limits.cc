#include "functions/queue/policy/key_limits.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace freshet {

namespace {

constexpr double kNeeded = 1;  // Tokens that a start needs.
constexpr double kTiny = 1e-9;
constexpr milliseconds kForgetLater{100};
constexpr double kLeastRate = 0.1;  // The least learnt rate, in units per second.
constexpr double kMostRate = 10'000;
constexpr seconds kForgetLearnt{600};  // A key that is idle for this long loses what was learnt; for kForgetSoon if
constexpr seconds kForgetSoon{10};     // there are many.

constexpr seconds kKeepEach{5};

double seconds_between(BootTime from, BootTime to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

double KeyLimits::refilled(double tokens, BootTime at, BootTime now) const {
  if (limits_.rate <= 0) return limits_.burst;
  return std::min(limits_.burst, tokens + limits_.rate * std::max(seconds_between(at, now), 0.0));
}

double KeyLimits::tokens_unseen(BootTime now) const {
  return refilled(tokens_born_, born_, now);
}

void KeyLimits::refill(Key& key, BootTime now) const {
  key.tokens = refilled(key.tokens, key.at, now);
  key.at = now;
}

bool KeyLimits::has_tokens(const Key& key, double cost, BootTime now) const {
  if (!limits_.learnt) return limits_.rate <= 0 || key.tokens - cost >= kNeeded - kTiny;
  if (!key.learner) return cost <= 0;  // A key without a learner begins with a single call.
  return static_cast<double>(key.learner->allowed(now, static_cast<size_t>(std::min(cost, 1e6)) + 1)) > cost;
}

bool KeyLimits::may(const Key& key, uint64_t claims, double cost, BootTime now) const {
  const uint64_t busy = key.in_flight + key.claims + claims;
  if (limits_.concurrency > 0 && busy >= static_cast<uint64_t>(limits_.concurrency)) return false;
  return has_tokens(key, cost, now);
}

// When the rate of the key lets the next task start.
BootTime KeyLimits::next_start(const Key& key, BootTime now) const {
  if (limits_.learnt) return key.learner ? std::max(key.learner->next(now), now + nanoseconds(1)) : now;
  return time_of(key.tokens, kNeeded, now);
}

// When a bucket that has `tokens` now will hold `wanted`. At most a day from now: then it is looked at again.
BootTime KeyLimits::time_of(double tokens, double wanted, BootTime now) const {
  if (limits_.rate <= 0 || tokens >= wanted) return now;
  const double wait = std::min((wanted - tokens) / limits_.rate, 24 * 3600.0);
  return now + std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(wait)) + nanoseconds(1);
}

KeyLimits::Keys::iterator KeyLimits::find(std::string_view key, BootTime now) {
  auto it = keys_.find(key);
  if (it == keys_.end()) {
    it = keys_.try_emplace(std::string(key)).first;
    it->second.tokens = tokens_unseen(now);
    name_bytes_ += it->first.capacity();
  } else {
    refill(it->second, now);
  }
  it->second.at = now;
  return it;
}

void KeyLimits::plan(Keys::value_type& key, BootTime when) {
  Key& state = key.second;
  if (state.event != BootTime{}) events_.erase({state.event, state.number});
  state.event = when;
  if (when == BootTime{}) return;
  state.number = ++number_;
  events_.emplace(std::pair(when, state.number), &key.first);
}

// Decides everything that follows from a change of a key: if it is at its limit, when it is looked at again, and if it
// can be forgotten.
void KeyLimits::settle(Keys::iterator it, BootTime now) {
  Key& key = it->second;
  const bool held = !may(key, 0, 0, now);
  const bool changed = held != key.held;
  key.held = held;
  if (changed) at_limit_ += held ? 1 : -1;
  if (changed && on_change_) on_change_(it->first, !held);
  const bool idle = key.in_flight == 0 && key.claims == 0;
  if (held && !has_tokens(key, 0, now)) {
    plan(*it, next_start(key, now));
  } else if (held || !idle) {
    plan(*it, BootTime{});  // The next event of this key is the end of a task.
  } else if (limits_.rate > 0 && key.tokens < limits_.burst - kTiny) {
    // It need not be forgotten soon: many keys are forgotten at once.
    plan(*it, std::chrono::ceil<milliseconds>(time_of(key.tokens, limits_.burst, now)) + kForgetLater);
  } else if (const auto wait = keys_.size() > kMostLearnt / 2 ? kForgetSoon : kForgetLearnt;
             key.learner && now < key.learner->last_start() + wait) {
    plan(*it, std::chrono::ceil<milliseconds>(key.learner->last_start() + wait) + kForgetLater);
  } else {
    forget(it);
  }
}

void KeyLimits::forget(Keys::iterator it) {
  plan(*it, BootTime{});
  name_bytes_ -= it->first.capacity();
  const bool full = keys_.size() >= (limits_.learnt ? kMostLearnt : kMostKeys);
  const auto node = keys_.extract(it);
  if (full && on_change_) on_change_(node.key(), true);  // An unknown key may have found no room before.
}

void KeyLimits::set(const Limits& limits, BootTime now) {
  if (limits == limits_) return;
  // If there was no rate until now, it begins with empty buckets.
  const bool is_new = limits_.rate <= 0;
  tokens_born_ = is_new ? 0 : std::min(tokens_unseen(now), limits.burst);
  born_ = now;
  std::vector<std::string> names;
  names.reserve(keys_.size());
  for (auto& [name, key] : keys_) {
    refill(key, now);
    key.tokens = is_new ? 0 : std::min(key.tokens, limits.burst);
    if (!limits.learnt) key.learner.reset();
    names.push_back(name);
  }
  limits_ = limits;
  for (const auto& name : names) settle(keys_.find(name), now);
  if (!limits_.any()) clear(now);
}

void KeyLimits::clear(BootTime now) {
  keys_.clear();
  events_.clear();
  at_limit_ = 0;
  name_bytes_ = 0;
  tokens_born_ = 0;
  born_ = now;
  kept_.clear();
  ++cleared_;
}

bool KeyLimits::may_start(std::string_view key, BootTime now, uint64_t claims, double cost) {
  if (!on()) return true;
  const auto known = keys_.find(key);
  if (known == keys_.end()) {
    Key unseen;
    unseen.tokens = tokens_unseen(now);
    const bool room = keys_.size() < (limits_.learnt ? kMostLearnt : kMostKeys);
    if (room && may(unseen, claims, cost, now)) return true;
    if (!room || claims > 0) return false;
  } else {
    refill(known->second, now);
    if (may(known->second, claims, cost, now)) return true;
    if (claims > 0) return false;
  }
  settle(find(key, now), now);
  return false;
}

std::shared_ptr<KeyCall> KeyLimits::started(std::string_view key, double cost, BootTime now) {
  auto call = std::make_shared<KeyCall>(cost, cleared_);
  if (!on()) return call;
  const auto it = find(key, now);
  ++it->second.claims;
  if (limits_.learnt) {
    auto& learner = it->second.learner;
    if (!learner) learner = make_learner(it->first, now);
    call->learner = learner;
    call->start = learner->started(now, cost);
  } else if (limits_.rate > 0) {
    it->second.tokens -= cost;
  }
  settle(it, now);
  return call;
}

void KeyLimits::claimed(std::string_view key, KeyCall& call, bool ok, BootTime now) {
  const auto known = keys_.find(key);
  // The limits have changed since then, or the key was forgotten and came back.
  if (call.limits != cleared_ || known == keys_.end() || known->second.claims == 0) return;
  Key& state = known->second;
  --state.claims;
  if (ok) return;
  refill(state, now);
  if (limits_.rate > 0) state.tokens = std::min(state.tokens + call.cost, limits_.burst);
  answered(key, call, CallAnswer::kUnknown, now);
  settle(known, now);
}

void KeyLimits::answered(std::string_view key, KeyCall& call, CallAnswer answer, BootTime now, const LimitHints& hints,
                         std::optional<double> units) {
  const auto learner = std::exchange(call.learner, nullptr);
  if (!learner) return;
  if (answer == CallAnswer::kTaken) learner->accepted(call.start, now, hints, units);
  if (answer == CallAnswer::kRefused) learner->refused(call.start, now, hints);
  if (answer == CallAnswer::kUnknown) learner->abandoned(call.start);
  const auto known = keys_.find(key);
  if (known != keys_.end() && known->second.learner == learner) settle(known, now);
}

void KeyLimits::in_flight(std::string_view key, uint64_t tasks, BootTime now) {
  if (!on() || (tasks == 0 && !keys_.contains(key))) return;
  const auto it = find(key, now);
  it->second.in_flight = tasks;
  settle(it, now);
}

void KeyLimits::charge(std::string_view key, double difference, BootTime now) {
  if (limits_.rate <= 0 || difference == 0) return;
  const auto it = find(key, now);
  it->second.tokens = std::min(it->second.tokens - difference, limits_.burst);
  settle(it, now);
}

bool KeyLimits::due(BootTime now, size_t most) {
  for (; most > 0 && next_due() <= now; --most) settle(find(*events_.begin()->second, now), now);
  return next_due() <= now;
}

std::optional<KeyLimits::Standing> KeyLimits::standing(std::string_view key, BootTime now) const {
  if (!on()) return std::nullopt;
  const auto known = keys_.find(key);
  Key state = known == keys_.end() ? Key() : known->second;
  state.tokens = known == keys_.end() ? tokens_unseen(now) : refilled(state.tokens, state.at, now);
  if (may(state, 0, 0, now)) return std::nullopt;
  const double rate = state.learner ? state.learner->rate() : limits_.rate;
  return Standing{!has_tokens(state, 0, now), next_start(state, now), state.in_flight + state.claims, rate};
}

std::shared_ptr<AdaptiveRate> KeyLimits::make_learner(const std::string& key, BootTime now) const {
  auto learner = std::make_shared<AdaptiveRate>(kLeastRate, kMostRate);
  const auto kept = now < remembered_ + kForgetLearnt ? kept_.find(key) : kept_.end();
  if (kept != kept_.end()) learner->go_on(kept->second.rate, kept->second.concurrency, kept->second.highest, now);
  return learner;
}

void KeyLimits::remember(std::vector<LearntKey> kept, BootTime now) {
  kept_.clear();
  for (auto& one : kept) {
    if (kept_.size() < kMostKept) kept_.emplace(std::move(one.key), one.limit);
  }
  remembered_ = now;
  next_keep_ = now + kKeepEach;
}

std::vector<LearntKey> KeyLimits::learnt() const {
  std::vector<std::pair<BootTime, const Keys::value_type*>> all;
  for (const auto& key : keys_) {
    if (key.second.learner && !key.second.learner->searches()) all.emplace_back(key.second.learner->last_start(), &key);
  }
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kMostKept));
  std::partial_sort(all.begin(), end, all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<LearntKey> out;
  size_t bytes = 0;
  for (auto it = all.begin(); it != end; ++it) {
    const auto& [name, key] = *it->second;
    bytes += name.size();
    if (bytes > kMostKeptBytes) break;
    out.push_back({name, {key.learner->rate(), key.learner->concurrency(), key.learner->highest()}});
  }
  return out;
}

std::optional<std::vector<LearntKey>> KeyLimits::to_keep(BootTime now, bool at_once) {
  if (!limits_.learnt || (!at_once && now < next_keep_)) return std::nullopt;
  auto learnt = this->learnt();
  // A few keys are written every five seconds, a thousand once a minute.
  next_keep_ = now + kKeepEach + milliseconds(55) * static_cast<int64_t>(learnt.size());
  std::map<std::string, LearntLimit, std::less<>> kept;
  bool has_moved = std::exchange(keep_failed_, false);
  for (const auto& one : learnt) {
    const auto last = kept_.find(one.key);
    has_moved = has_moved || last == kept_.end() || moved(last->second, one.limit);
    kept.emplace(one.key, one.limit);
  }
  if (!has_moved) return std::nullopt;
  // Keys from before the restart may still come.
  for (auto it = kept_.begin(); now < remembered_ + kForgetLearnt && it != kept_.end(); ++it) {
    if (learnt.size() < kMostKept && kept.insert(*it).second) learnt.push_back({it->first, it->second});
  }
  kept_ = std::move(kept);
  return learnt;
}

size_t KeyLimits::bytes() const {
  // A node of the map, and an entry of the events with its share of the tree.
  constexpr size_t kKey = sizeof(Keys::value_type) + 4 * sizeof(void*);
  constexpr size_t kEvent = 2 * (sizeof(std::pair<BootTime, uint64_t>) + sizeof(void*));
  constexpr size_t kLearner = sizeof(AdaptiveRate) + 2 * sizeof(void*);
  return keys_.size() * (kKey + (limits_.learnt ? kLearner : 0)) + events_.size() * kEvent + name_bytes_;
}

}  // namespace freshet
