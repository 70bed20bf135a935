#include "streams/shards/shard_plan.h"

#include <algorithm>

#include "base/points.h"

namespace freshet {

ShardPlan::Gone ShardPlan::listed(const std::vector<ListedShard>& all) {
  for (auto& [id, shard] : shards_) ++shard.absences;
  for (const ListedShard& one : all) {
    Shard& shard = shards_[one.id];
    shard.parents = one.parents;
    shard.absences = 0;
  }
  Gone gone;
  for (auto next = shards_.begin(); next != shards_.end();) {
    const auto shard = next++;
    const auto& [state, parents, absences] = shard->second;
    if (absences < kAbsences || state == State::kReading) continue;
    (state == State::kOver ? gone.forgotten : gone.lost).push_back(shard->first);
    shards_.erase(shard);
  }
  return gone;
}

void ShardPlan::known(const std::string& shard, bool over) {
  shards_[shard].state = over ? State::kOver : State::kWaiting;
}

void ShardPlan::over(const std::string& shard) {
  shards_[shard].state = State::kOver;
}

// A parent that the plan does not know has been trimmed.
bool ShardPlan::may_begin(const Shard& shard) const {
  if (shard.state != State::kWaiting || shard.absences > 0) return false;
  if (FRESHET_PLANTED("fleet-child-before-parent")) return true;
  return std::all_of(shard.parents.begin(), shard.parents.end(), [this](const std::string& id) {
    const auto parent = shards_.find(id);
    return parent == shards_.end() || parent->second.state == State::kOver;
  });
}

std::vector<std::string> ShardPlan::begin() {
  std::vector<std::string> out;
  for (const auto& [id, shard] : shards_) {
    if (may_begin(shard)) out.push_back(id);
  }
  for (const std::string& id : out) shards_[id].state = State::kReading;
  return out;
}

bool ShardPlan::all_over() const {
  return std::all_of(shards_.begin(), shards_.end(), [](const auto& one) { return one.second.state == State::kOver; });
}

bool ShardPlan::misses_any() const {
  return std::any_of(shards_.begin(), shards_.end(),
                     [](const auto& one) { return one.second.state == State::kWaiting && one.second.absences > 0; });
}

size_t ShardPlan::reading() const {
  return static_cast<size_t>(std::count_if(shards_.begin(), shards_.end(),
                                           [](const auto& one) { return one.second.state == State::kReading; }));
}

}  // namespace freshet
