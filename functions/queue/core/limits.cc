#include "functions/queue/core/limits.h"

#include <algorithm>
#include <utility>

#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/policy/lanes.h"

namespace freshet {

namespace {

// Returns what the end of a pull worker's claim says about its downstream.
CallAnswer answer_of(const Settlement& settlement) {
  if (settlement.kind != Settlement::Kind::kRelease) return CallAnswer::kTaken;
  return settlement.begun ? CallAnswer::kRefused : CallAnswer::kUnknown;
}

}  // namespace

Limits::Limits(const QueueSettings& settings) : settings_(settings) {
  downstream_.follow(settings_.work);
}

double Limits::units_of(const ItemRef& task) const {
  return settings_.limits.counts_cost ? cost_of(task, settings_.limits.default_cost) : 1;
}

std::string_view Limits::name_of(const ItemRef& task) const {
  if (settings_.limits.by_key) return key_of(task);
  const auto group = text_of(task, attribute::kGroup);
  return group.size() <= kMaxGroupBytes ? group : std::string_view();
}

void Limits::in_work_of_group(std::string_view group, uint64_t tasks, BootTime now) {
  if (on() && !settings_.limits.by_key && !group.empty()) by_name_.in_flight(group, tasks, now);
}

void Limits::in_work_of_key(std::string_view key, uint64_t tasks, BootTime now) {
  if (on() && settings_.limits.by_key) by_name_.in_flight(key, tasks, now);
}

bool Limits::has_room(const ItemRef& task, ChosenByName& chosen, BootTime now) {
  const auto name = name_of(task);
  auto at = chosen.find(name);
  if (at == chosen.end()) at = chosen.try_emplace(std::string(name)).first;
  if (!by_name_.may_start(name, now, at->second.tasks, at->second.cost)) return false;
  ++at->second.tasks;
  at->second.cost += units_of(task);
  return true;
}

bool Limits::is_full(std::string_view lane, BootTime now) {
  if (settings_.limits.by_key) return is_key_lane(lane) && !by_name_.may_start(lane_key(lane), now);
  const auto group = lane_group(lane);
  return !group.empty() && !is_key_lane(lane) && !by_name_.may_start(group, now);
}

bool Limits::admit(const ItemRef& task, std::shared_ptr<KeyCall>& call, BootTime now) {
  const auto name = name_of(task);
  if (name.empty()) return true;
  if (!by_name_.may_start(name, now)) return false;
  call = by_name_.started(name, units_of(task), now);
  return true;
}

void Limits::claimed(const ItemRef& task, KeyCall& call, bool ok, BootTime now) {
  by_name_.claimed(name_of(task), call, ok, now);
}

bool Limits::answered(const Lease* held, std::string_view token, CallAnswer answer, const LimitHints& hints,
                      std::optional<double> cost, BootTime now) {
  if (!by_name_.limits().learnt) return false;
  if (held == nullptr || held->token != token || !held->key_call || !held->key_call->learner) return false;
  by_name_.answered(name_of(held->task), *held->key_call, answer, now, hints, cost);
  return true;
}

void Limits::settled(const Settlement& settlement, const Lease* held, const ItemRef& task, BootTime now) {
  const auto name = name_of(task);
  if (name.empty() || held == nullptr || held->token != settlement.lease) return;
  const auto reported = settings_.limits.counts_cost ? settlement.cost : std::nullopt;
  if (held->key_call && by_name_.limits().learnt) {
    return by_name_.answered(name_of(held->task), *held->key_call, answer_of(settlement), now, {}, reported);
  }
  const double charged = held->key_call ? held->key_call->cost : units_of(held->task);
  const double real = settlement.begun ? reported.value_or(charged) : 0;
  by_name_.charge(name, real - charged, now);
}

size_t Limits::allowed(TakeInput& input, BootTime now) {
  const auto wanted = static_cast<size_t>(input.max);
  if (!is_rated(input) || FRESHET_PLANTED("rate-limit-ignored")) return wanted;
  if (!settings_.limits.counts_cost) return downstream_.allowed(now, wanted);
  // RATE_LIMIT bounds the cost of tasks, not their number.
  constexpr size_t kMostUnits = 1'000'000'000;
  const size_t units = downstream_.allowed(now, kMostUnits);
  input.budget = static_cast<double>(units);
  return units > 0 ? wanted : 0;
}

bool Limits::is_used_up(const TakeInput& input, BootTime now) {
  if (input.budget && *input.budget <= 0) return true;
  return is_rated(input) && downstream_.allowed(now, 1) == 0;
}

std::shared_ptr<RatedCall> Limits::charge(const ItemRef& task, BootTime now) {
  return std::make_shared<RatedCall>(downstream_, now, units_of(task));
}

bool Limits::call_ended(const Settlement& settlement, const Lease* held, BootTime now) {
  if (!is_rated() || held == nullptr || held->token != settlement.lease || !held->call) return false;
  switch (answer_of(settlement)) {
    case CallAnswer::kTaken:
      held->call->accepted(now, {}, settings_.limits.counts_cost ? settlement.cost : std::nullopt);
      break;
    case CallAnswer::kRefused:
      held->call->refused(now);
      break;
    case CallAnswer::kUnknown:
      held->call->never_began();
      break;
  }
  return true;
}

Limits::Change Limits::compare(const LimitSettings& before) const {
  const auto& now = settings_.limits;
  const bool had_lanes = before.by_key && before.any();
  return {now.by_key != before.by_key || now.any() != before.any(), had_lanes != (now.by_key && now.any())};
}

void Limits::follow_names(BootTime now) {
  const auto& limits = settings_.limits;
  by_name_.set({limits.rate, limits.tokens_at_once(), limits.concurrency, limits.learnt}, now);
}

bool Limits::remembered(const LearntLimit& limit, BootTime now) {
  kept_rate_.kept(limit);
  kept_rate_.looked(now);
  if (!downstream_.rate) return false;
  downstream_.rate->go_on(limit.rate, limit.concurrency, limit.highest, now);
  return true;
}

std::optional<LearntLimit> Limits::to_keep() const {
  const auto& learner = downstream_.rate;
  if (!learner || learner->last_start() == BootTime{}) return std::nullopt;
  const LearntLimit limit{learner->rate(), learner->concurrency(), learner->highest()};
  return kept_rate_.has_moved(limit) ? std::optional(limit) : std::nullopt;
}

std::optional<LearntLimit> Limits::looked(BootTime now) {
  if (!downstream_.rate || now < kept_rate_.next_look()) return std::nullopt;
  kept_rate_.looked(now);
  return to_keep();
}

bool Limits::remembered_names(std::vector<LearntKey> names, bool by_key, BootTime now) {
  if (names.empty() || by_key != settings_.limits.by_key || !settings_.limits.learnt) return false;
  by_name_.remember(std::move(names), now);
  return true;
}

BootTime Limits::next_look(BootTime now) const {
  BootTime next = BootTime::max();
  if (on()) next = std::max(now, by_name_.next_due());
  if (downstream_.rate) next = std::min(next, std::max(now, kept_rate_.next_look()));
  return std::min(next, std::max(now, by_name_.next_keep()));
}

}  // namespace freshet
