#include "tests/sim/fleet/runs_judge.h"

#include <algorithm>

#include "tests/sim/fleet/fleet_plan.h"

namespace freshet::fleet_sim {

namespace {

constexpr milliseconds kNewLifeKnown{1'000};
constexpr milliseconds kHangUpKnown{100};  // The end of a connection takes its time through the network.

std::string time_in_ms(BootTime time) {
  return std::to_string(std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count()) + " ms";
}

}  // namespace

bool RunsJudge::is_absent(const std::string& node, BootTime now) const {
  const auto found = absent_until_.find(node);
  return found != absent_until_.end() && now < found->second;
}

// The node may have missed a change of owner just before the run, or since.
bool RunsJudge::is_excused(const Run& run, BootTime now) const {
  const auto life = lives_.find(run.giver_node);
  const bool is_other_life = life != lives_.end() && life->second > run.began;
  if (is_other_life && now < life->second + kHangUpKnown) return true;
  const bool is_new_life = is_other_life && now < life->second + kNewLifeKnown;
  return std::any_of(shakes_.begin(), shakes_.end(), [&](const Shake& shake) {
    if (shake.from > now || shake.to < run.began - kFleetLease) return false;
    if (shake.is_silence) return is_new_life && (shake.node == run.node || shake.node == run.giver_node);
    return shake.node.empty() || shake.node == run.node;
  });
}

std::string RunsJudge::all_live(BootTime now) const {
  std::string out = "limit " + std::to_string(limit_) + " at " + time_in_ms(now) + ":";
  for (const auto& [number, run] : live_) {
    out += " " + run.task + " on " + run.node + " since " + time_in_ms(run.began) + " for " + run.giver_node + " (" +
           run.giver.substr(run.giver.size() - std::min<size_t>(run.giver.size(), 12)) + ")";
    if (is_absent(run.node, now)) out += " absent";
    if (is_excused(run, now)) out += " excused";
    out += ";";
  }
  return out;
}

void RunsJudge::judge_twice(const Run& run, BootTime now) {
  for (const auto& [number, other] : live_) {
    if (other.task != run.task || is_absent(other.node, now)) continue;
    const bool is_known = other.giver == run.giver;
    const bool may_be = !is_known && (is_excused(other, now) || is_excused(run, now));
    verdict_.expect(may_be, "a task is in work twice at once", [&] { return run.task + ", " + all_live(now); });
  }
}

uint64_t RunsJudge::began(const std::string& node, const std::string& task, const std::string& lease, BootTime now) {
  const auto giver = nodes_.find(lease.substr(0, lease.find(':')));
  Run run{node, lease.substr(0, lease.rfind(':')), giver == nodes_.end() ? "" : giver->second, task, now};
  verdict_.expect(!run.giver_node.empty(), "a task runs under a lease that no member has given", task + " " + lease);
  judge_twice(run, now);
  ++tasks_[task].starts;
  ++by_node_[node];
  live_.emplace(++last_, std::move(run));
  most_ = std::max(most_, live_.size());
  look(now);
  return last_;
}

void RunsJudge::ended(uint64_t run, bool well) {
  const auto found = live_.find(run);
  if (found == live_.end()) return;
  Task& task = tasks_[found->second.task];
  task.done = task.done || well;
  live_.erase(found);
}

void RunsJudge::look(BootTime now) {
  const Run* newest = nullptr;
  std::map<std::string, size_t> by_giver;
  for (const auto& [number, run] : live_) {
    if (is_absent(run.node, now)) continue;
    newest = &run;
    ++by_giver[run.giver];
  }
  if (newest == nullptr) return;
  for (const auto& [giver, count] : by_giver) {
    verdict_.expect(count <= limit_, "more tasks are in work than one owner may start", [&] { return all_live(now); });
  }
  if (by_giver.size() == 1) return;
  const auto counted =
      static_cast<size_t>(std::count_if(live_.begin(), live_.end(), [&, giver = newest->giver](const auto& entry) {
        const Run& run = entry.second;
        return !is_absent(run.node, now) && (run.giver == giver || !is_excused(run, now));
      }));
  if (counted > by_giver[newest->giver]) ++checks_;
  verdict_.expect(counted <= limit_, "more tasks are in work than CONCURRENCY, after a change of owner",
                  [&] { return all_live(now); });
}

size_t RunsJudge::starts(const std::string& task) const {
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? 0 : found->second.starts;
}

bool RunsJudge::is_done(const std::string& task) const {
  const auto found = tasks_.find(task);
  return found != tasks_.end() && found->second.done;
}

size_t RunsJudge::elsewhere() const {
  return static_cast<size_t>(std::count_if(
      live_.begin(), live_.end(), [](const auto& entry) { return entry.second.node != entry.second.giver_node; }));
}

void RunsJudge::count_anew() {
  most_ = live_.size();
  by_node_.clear();
}

}  // namespace freshet::fleet_sim
