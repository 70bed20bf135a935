#include "tests/sim/fleet/fleet_plan.h"

#include <iterator>

#include "base/random.h"
#include "tests/sim/fleet/engine_faults.h"

namespace freshet::fleet_sim {

namespace {

struct FaultKind {
  const char* name;
  int chance;  // The number of seeds in a hundred that have it.
  int least;
  int most;
};

constexpr FaultKind kKinds[] = {
    {"kill", 50, 20, 120},          // A member dies and comes again.
    {"term", 40, 20, 100},          // A member gets SIGTERM and comes again.
    {"pause", 40, 20, 150},         // A member stands still for a while.
    {"cut", 30, 20, 200},           // Connections break.
    {"freeze", 25, 10, 100},        // Connections fall silent.
    {"refuse", 20, 10, 100},        // Connections are refused for a while.
    {"slow", 35, 20, 120},          // The network is slow for a while.
    {"no-engine", 35, 20, 120},     // A member does not reach the engine for a while.
    {"no-members", 40, 40, 250},    // A member does not reach the others for a while.
    {"engine-kill", 45, 30, 200},   // The engine dies and comes again.
    {"wrong-clock", 20, 10, 50},    // A member comes again with a clock that is off.
    {"slow-turns", 20, 20, 150},    // All stand still for a moment.
    {"move", 25, 100, 500},         // A member leaves, and joins again soon.
    {"nudge-lost", 30, 50, 300},    // Members do not hear from each other that something has changed.
    {"throttle", 30, 30, 200},      // The engine has no capacity for a while.
    {"engine-error", 30, 30, 200},  // The engine fails before and after writes for a while.
    {"lost-answer", 30, 30, 200},   // The engine does not answer now and then, for a while.
    {"late-write", 30, 30, 200},    // The engine writes late, and does not answer, for a while.
    {"index-lag", 30, 30, 150},     // An index is far behind for a while.
};

// Calls of the engine take long for a while, and all members but one begin again meanwhile. These are drawn apart from
// the others, so that the seeds that have them not are what they were before there were such faults.
constexpr FaultKind kSlowEngine = {"slow-engine", 15, 30, 200};
constexpr FaultKind kDeploy = {"deploy", 50, 50, 200};

// Faults that change the owners of queues, and concern one member at a time.
const std::set<std::string> kOfOneMember = {"kill", "term", "move", "pause", "no-engine", "no-members", "nudge-lost"};

// The kind of a run: a mixture of everything, or one thing alone.
enum class Mood { kMixed, kCalm, kMoves, kOneFault };

Mood draw_mood(Random& random) {
  const uint64_t drawn = random.below(16);
  return drawn < 2 ? Mood::kCalm : drawn < 4 ? Mood::kMoves : drawn == 4 ? Mood::kOneFault : Mood::kMixed;
}

int draw_between(Random& random, int least, int most) {
  return least + static_cast<int>(random.below(static_cast<uint64_t>(most - least + 1)));
}

std::vector<milliseconds> draw_lags(Random& random) {
  std::vector<milliseconds> lags;
  if (random.below(5) < 2) return lags;
  for (size_t i = 0; i < EngineFaults::kClasses; ++i)
    lags.emplace_back(draw_between(random, 0, 1) * draw_between(random, 1, 1'500));
  return lags;
}

void draw_faults(FleetRunPlan& plan, Mood mood, Random& random, const std::set<std::string>& without) {
  const uint64_t only = random.below(std::size(kKinds));
  for (const FaultKind& kind : kKinds) {
    bool drawn = random.below(100) < static_cast<uint64_t>(kind.chance);
    const int rate = draw_between(random, kind.least, kind.most);
    const std::string name = kind.name;
    if (mood == Mood::kCalm) drawn = false;
    if (mood == Mood::kMoves) {
      const bool makes_it_slow = name == "slow" || name == "late-write";
      drawn = name == "move" || name == "nudge-lost" || (drawn && makes_it_slow);
    }
    if (mood == Mood::kOneFault) drawn = &kind == &kKinds[only];
    if (drawn && !without.contains(name)) plan.faults[name] = rate;
  }
}

void draw_slow_engine(FleetRunPlan& plan, Mood mood, const std::set<std::string>& without) {
  Random random(plan.seed * 1'099'511'628'211 + 7);
  const int chance = mood == Mood::kMoves ? 50 : mood == Mood::kMixed ? kSlowEngine.chance : 0;
  const bool drawn = random.below(100) < static_cast<uint64_t>(chance);
  const int rate = draw_between(random, kSlowEngine.least, kSlowEngine.most);
  if (drawn && !without.contains(kSlowEngine.name)) plan.faults[kSlowEngine.name] = rate;
  const bool deploys = random.below(100) < static_cast<uint64_t>(kDeploy.chance);
  const int deploy_rate = draw_between(random, kDeploy.least, kDeploy.most);
  if (drawn && deploys && !without.contains(kDeploy.name)) plan.faults[kDeploy.name] = deploy_rate;
}

// Drawn apart from all else. In half of them every daemon reaches the engine, so that the limit is judged at each
// moment.
void draw_runs(FleetRunPlan& plan, Mood mood, const std::set<std::string>& without) {
  Random random(plan.seed * 4'768'777'513'237'032'717 + 31);
  plan.has_runs = random.below(4) == 0 && !without.contains("runs");
  plan.run_limit = draw_between(random, 2, 6);
  plan.run_timeout = milliseconds(random.below(2) == 0 ? 3'000 : 7'000);
  const uint64_t active = random.below(4);
  plan.run_active = milliseconds(active == 0 ? 60'000 : active == 1 ? 4'000 : 1'000);
  const bool is_of_one = random.below(2) == 0 && mood != Mood::kCalm;
  if (!plan.has_runs || !is_of_one) return;
  plan.faults.clear();
  for (const FaultKind& kind : kKinds) {
    const bool drawn = kOfOneMember.contains(kind.name) && random.below(3) > 0;
    const int rate = draw_between(random, kind.least, 2 * kind.most);
    if (drawn && !without.contains(kind.name)) plan.faults[kind.name] = rate;
  }
}

}  // namespace

bool FleetRunPlan::has(const std::string& what) const {
  if (what == "lag") return !lags.empty();
  if (what == "runs") return has_runs;
  if (what == "topic") return has_topic;
  if (what == "policies") return has_policies;
  if (what == "splits") return has_splits;
  if (what == "counts") return has_counts;
  return faults.contains(what);
}

std::vector<std::string> FleetRunPlan::judged_queues() const {
  std::vector<std::string> all = queues;
  if (has_runs) all.emplace_back(kRunQueue);
  return all;
}

FleetRunPlan draw_fleet_plan(uint64_t seed, const std::set<std::string>& without) {
  Random random(seed * 2'654'435'761 + 29);
  FleetRunPlan plan;
  plan.seed = seed;
  const Mood mood = draw_mood(random);
  const bool has_many_members = random.below(16) == 0;
  plan.members = has_many_members ? draw_between(random, 5, 8) : draw_between(random, 2, 4);
  plan.queues = {"QueueTable"};
  const bool has_many_queues = mood == Mood::kMoves || random.below(8) == 0;
  const int further = has_many_queues ? draw_between(random, 2, 5) : draw_between(random, 0, 2);
  for (int i = 1; i <= further; ++i) plan.queues.push_back("Further" + std::to_string(i));
  plan.creators = 1 + static_cast<int>(random.below(3));
  plan.workers = 1 + static_cast<int>(random.below(4));
  plan.putters = random.below(5) == 0 ? 1 : 0;
  plan.length = milliseconds(8'000 + static_cast<int64_t>(random.below(25'000)));
  plan.lags = draw_lags(random);
  if (without.contains("lag")) plan.lags.clear();
  draw_faults(plan, mood, random, without);
  draw_slow_engine(plan, mood, without);
  draw_runs(plan, mood, without);
  if (plan.lags.empty()) plan.faults.erase("index-lag");
  // Drawn apart from all else, too.
  Random topic(seed * 3'202'034'522'624'059'733 + 37);
  plan.has_topic = topic.below(5) == 0 && !without.contains("topic");
  plan.subscribers = draw_between(topic, 1, 2);
  plan.publishers = draw_between(topic, 1, 2);
  plan.has_policies = Random(seed * 4'292'484'099'903'637'661 + 41).below(5) == 0 && !without.contains("policies");
  plan.has_schedule = Random(seed * 6'364'136'223'846'793 + 11).below(4) == 0;
  Random mapping(seed * 3'935'559'000'370'003 + 13);
  plan.has_mapping = mapping.below(4) == 0;
  plan.lanes = draw_between(mapping, 1, 3);
  const bool splits = Random(seed * 5'495'733'282'211'617'407 + 43).below(3) > 0;
  plan.has_splits = plan.has_mapping && splits && !without.contains("splits");
  const bool counts = Random(seed * 2'549'297'995'355'413'924 + 47).below(2) == 0;
  plan.has_counts = plan.has_mapping && counts && !without.contains("counts");
  plan.is_sparse = Random(seed * 2'862'933'555'777'941 + 23).below(2) == 0;
  plan.has_events = plan.has_mapping && Random(seed * 2'862'933'555'777'941 + 17).below(2) == 0;
  return plan;
}

std::string to_string(const FleetRunPlan& plan) {
  std::string out = "seed " + std::to_string(plan.seed) + ": " + std::to_string(plan.members) + " members, " +
                    std::to_string(plan.queues.size()) + " queues, " + std::to_string(plan.creators) + " creators, " +
                    std::to_string(plan.putters) + " putters, " + std::to_string(plan.workers) + " workers, " +
                    std::to_string(plan.length.count()) + " ms;";
  if (plan.has_schedule) out += " schedule";
  if (plan.has_mapping) out += " mapping with " + std::to_string(plan.lanes) + " lanes";
  if (plan.has_splits) out += " splits";
  if (plan.has_counts) out += " counts";
  if (plan.has_events) out += " events";
  if (plan.is_sparse) out += " sparse";
  if (plan.has_policies) out += " policies";
  if (plan.has_topic) {
    out += " topic with " + std::to_string(plan.subscribers) + " subscribers, " + std::to_string(plan.publishers) +
           " publishers";
  }
  if (plan.has_runs) {
    out += " runs limit " + std::to_string(plan.run_limit) + " timeout " + std::to_string(plan.run_timeout.count()) +
           " active " + std::to_string(plan.run_active.count());
  }
  for (const milliseconds lag : plan.lags) out += " lag " + std::to_string(lag.count());
  for (const auto& [name, rate] : plan.faults) out += " " + name + " " + std::to_string(rate);
  return out;
}

}  // namespace freshet::fleet_sim
