#include "tests/sim/machine/judge_ordered.h"

#include <algorithm>

namespace freshet::sim {

namespace {
std::string judge_ordered_name_of(const std::string& key, int64_t at) {
  return key + " at " + std::to_string(at);
}
}  // namespace

int64_t OrderedJudge::free_time(const std::string& key, int64_t at) const {
  const auto found = items_.find(key);
  while (found != items_.end() && found->second.tries.contains(at)) ++at;
  return at;
}

void OrderedJudge::begin(const std::string& key, int64_t at, const std::string& value) {
  keys_.insert(key);
  items_[key].tries[at] = value;
}

void OrderedJudge::applied(const std::string& key, int64_t at) {
  Item& item = items_[key];
  verdict_.expect(item.tries.contains(at), "a write is applied that was refused", judge_ordered_name_of(key, at));
  item.known = std::max(item.known, at);
}

void OrderedJudge::older(const std::string& key, int64_t at, std::optional<int64_t> found) {
  Item& item = items_[key];
  const auto newer = item.tries.upper_bound(at);
  verdict_.expect(newer != item.tries.end(), "the newest write is called older", judge_ordered_name_of(key, at));
  if (!found) return;
  verdict_.expect(item.tries.contains(*found) && *found > at, "a write is older than what nobody wrote",
                  judge_ordered_name_of(key, at) + ", beside " + std::to_string(*found));
  item.known = std::max(item.known, *found);
}

void OrderedJudge::refused(const std::string& key, int64_t at) {
  Item& item = items_[key];
  verdict_.expect(item.known != at, "a refused write was done", judge_ordered_name_of(key, at));
  item.tries.erase(at);
}

int64_t OrderedJudge::known(const std::string& key) const {
  const auto found = items_.find(key);
  return found == items_.end() ? 0 : found->second.known;
}

void OrderedJudge::observed(const std::string& key, const std::optional<int64_t>& at, const std::string& value,
                            int64_t known) {
  Item& item = items_[key];
  if (!at) {
    const auto from = item.tries.lower_bound(known);
    const bool deleted =
        known == 0 || std::any_of(from, item.tries.end(), [](const auto& one) { return one.second.empty(); });
    verdict_.expect(deleted, "an item is gone though its newest write is no delete", judge_ordered_name_of(key, known));
    return;
  }
  verdict_.expect(*at >= known, "an older write has replaced a newer one",
                  judge_ordered_name_of(key, *at) + ", after " + std::to_string(known));
  const auto found = item.tries.find(*at);
  verdict_.expect(found != item.tries.end() && found->second == value, "an item has what nobody wrote",
                  judge_ordered_name_of(key, *at) + " has '" + value + "'");
  item.known = std::max(item.known, *at);
}

}  // namespace freshet::sim
