#include <algorithm>
#include <utility>

#include "tests/sim/fleet/cluster.h"

namespace freshet::fleet_sim {

namespace {
constexpr std::chrono::microseconds kLeastDelay{20};
constexpr std::chrono::microseconds kMostDelay{200};
constexpr milliseconds kLongestSpike{8'000};  // The lag of an index that is far behind.
constexpr milliseconds kFeltFor{6'000};       // Calls of the engine fail that much later.
constexpr milliseconds kAwake{50};            // After a pause, a member finds out what it has missed.
constexpr std::string_view kNudge = "POST /fleet/nudge ";
}  // namespace

milliseconds Cluster::draw(int64_t least, int64_t most) {
  return milliseconds(least + static_cast<int64_t>(random_.below(static_cast<uint64_t>(most - least + 1))));
}

void Cluster::disturb(milliseconds time) {
  disturbances_.emplace_back(now(), now() + time);
}

// For that time, the node may not know in time what others do; without a node, none may.
void Cluster::shake(milliseconds time, const std::string& node) {
  runs_.shaken(now(), now() + time, node);
}

void Cluster::begin_faults() {
  plan_next_fault();
}

void Cluster::plan_next_fault() {
  int64_t all = 0;
  for (const auto& [name, rate] : plan_.faults) all += rate;
  if (all == 0 || faults_over_) {
    next_fault_ = BootTime::max();
    return;
  }
  const double mean = 1000.0 / static_cast<double>(all);
  next_fault_ = now() + std::chrono::microseconds(static_cast<int64_t>(mean * 2e6 * random_.unit()) + 1);
}

Cluster::Member* Cluster::any_up() {
  std::vector<Member*> up;
  for (Member& member : members_) {
    if (member.node->is_up() && !member.node->is_paused() && !member.node->is_stopping()) up.push_back(&member);
  }
  return up.empty() ? nullptr : up[random_.below(up.size())];
}

// One of the faults that the plan has, the more often the more of it there are.
void Cluster::make_fault() {
  uint64_t all = 0;
  for (const auto& [name, rate] : plan_.faults) all += static_cast<uint64_t>(rate);
  uint64_t drawn = random_.below(all);
  for (const auto& [name, rate] : plan_.faults) {
    const auto share = static_cast<uint64_t>(rate);
    if (drawn >= share) {
      drawn -= share;
      continue;
    }
    trace_.saw("fault " + name);
    trace_.note("!! " + name);
    static const std::set<std::string> kOfMembers = {"kill",       "term",        "pause", "no-engine",
                                                     "no-members", "wrong-clock", "move",  "deploy"};
    static const std::set<std::string> kOfEngine = {"throttle",   "engine-error", "lost-answer",
                                                    "late-write", "index-lag",    "slow-engine"};
    if (kOfEngine.contains(name)) return make_engine_fault(name);
    if (!kOfMembers.contains(name)) return make_network_fault(name);
    if (Member* member = any_up()) make_member_fault(name, *member);
    return;
  }
}

void Cluster::change_folder(Member& member) {
  member.node->options().data += "-" + std::to_string(++member.folders);
}

void Cluster::shut(Member& member, bool engine, milliseconds time) {
  NodeNetwork& network = member.node->world().node_network();
  if (engine) network.shut(kEnginePort);
  for (const uint16_t port : ports_) {
    if (!engine && port != member.port) network.shut(port);
  }
  later(time, [&network] { network.open_all(); });
}

void Cluster::make_member_fault(const std::string& name, Member& member) {
  FleetNode& node = *member.node;
  const milliseconds time = draw(50, 3 * kFleetLease.count());
  disturb(time);
  trace_.note("   " + node.name() + " for " + std::to_string(time.count()) + " ms");
  if (name == "no-engine" || name == "no-members") shut(member, name == "no-engine", time);
  if (name == "no-members") runs_.silenced(now(), now() + time, node.name());
  if (name == "no-engine" || name == "pause") {
    shake(time + kFeltFor, node.name());
    cut_off(node.name(), time);
  }
  if (name == "term") stop_member(node, draw(0, 3'000));
  if (name == "move") {
    stop_member(node, draw(0, 500));
    // Another one follows while the first has not been taken note of everywhere.
    if (random_.below(2) == 0) {
      later(draw(0, 400), [this] {
        if (Member* next = faults_over_ ? nullptr : any_up()) stop_member(*next->node, draw(0, 500));
      });
    }
  }
  if (name == "deploy") {  // All others begin again, so that units move more than once within moments.
    for (Member& other : members_) {
      const bool is_up = other.node->is_up() && !other.node->is_paused() && !other.node->is_stopping();
      if (is_up && &other != &member) stop_member(*other.node, draw(0, 300));
    }
  }
  if (name == "pause") {
    node.pause_until(now() + time);
    units_.paused(node.name());
    runs_.absent(node.name(), now() + time + kAwake);
    member.looks_at_turn = 0;
  }
  if (name == "kill" || name == "wrong-clock") {
    kill_member(node, random_.below(3) == 0 ? milliseconds(0) : time);
    if (random_.below(4) == 0) change_folder(member);
  }
  if (name == "wrong-clock") {
    const auto off = draw(1'500, 15'000);
    node.world().node_clock().set_off(random_.below(2) == 0 ? off : -off);
    disturb(seconds(3'600));  // Order is by the clock of the owner.
  }
}

void Cluster::make_network_fault(const std::string& name) {
  const milliseconds time = draw(50, 2 * kFleetLease.count());
  if (name == "nudge-lost") {  // Nobody waits for one, so this disturbs nothing.
    const uint64_t per_thousand = 300 + random_.below(701);
    network_.lose([this, per_thousand](std::string_view sent) {
      const bool is_lost = sent.starts_with(kNudge) && random_.below(1'000) < per_thousand;
      if (is_lost) trace_.saw("nudge lost");
      return is_lost;
    });
    later(time, [this] { network_.lose(nullptr); });
    return;
  }
  disturb(time);
  shake(time + kFeltFor);
  if (name == "cut") network_.cut_some(100 + random_.below(900));
  if (name == "freeze") network_.freeze_some(100 + random_.below(900));
  if (name == "refuse") {
    network_.refuse_connections(100 + random_.below(900));
    later(time, [this] { network_.refuse_connections(0); });
  }
  if (name == "slow") {
    network_.set_delay(milliseconds(1), draw(10, 400));
    later(time, [this] { network_.set_delay(kLeastDelay, kMostDelay); });
  }
  if (name == "slow-turns") pass(draw(50, 1'500));
  if (name == "engine-kill" && engine_->is_up()) {
    engine_->kill();
    later(time, [this] {
      if (!engine_->is_up()) start(*engine_);
    });
  }
}

void Cluster::set_lags() {
  for (size_t i = 0; i < plan_.lags.size(); ++i) engine_faults_.lag[i] = plan_.lags[i];
}

// A write that is late, or without an answer, is felt for some time.
void Cluster::make_engine_fault(const std::string& name) {
  const milliseconds time = draw(50, 2 * kFleetLease.count());
  const uint64_t share = random_.below(500);
  EngineRates& rates = engine_faults_.rates;
  if (name == "index-lag") {  // The order of tasks is that of the owner's memory.
    engine_faults_.lag[random_.below(EngineFaults::kClasses)] = draw(500, kLongestSpike.count());
    return later(time, [this] { set_lags(); });
  }
  disturb(time + EngineFaults::kLongestDelay);
  shake(time + EngineFaults::kLongestDelay);
  if (name == "throttle") rates.throttled = random_.below(4) == 0 ? 1'000 : 100 + share;
  if (name == "engine-error") rates.error_before = rates.error_after = 20 + share / 2;
  if (name == "lost-answer") rates.lost = 10 + share / 2;
  if (name == "late-write") rates.late = 10 + share;
  if (name == "slow-engine") rates.slow = 200 + share;
  later(time, [this] { engine_faults_.rates = {}; });
}

void Cluster::end_faults() {
  shards_.lists_are_whole();
  trace_.note("== no more faults");
  faults_over_ = true;
  next_fault_ = BootTime::max();
  disturb(seconds(1));
  shake(seconds(1));
  network_.refuse_connections(0);
  network_.set_delay(kLeastDelay, kMostDelay);
  network_.lose(nullptr);
  engine_faults_.rates = {};
  set_lags();
  network_.cut_some(1'000);  // Those that are silent would cost a request each.
  if (!engine_->is_up()) start(*engine_);
  for (Member& member : members_) {
    member.node->world().node_network().open_all();
    member.node->pause_until(now());
    if (member.node->world().node_clock().off() != milliseconds(0)) {
      if (member.node->is_up()) kill_member(*member.node, milliseconds(0));
      member.node->world().node_clock().set_off(milliseconds(0));
    }
    start_member(member);
  }
}

}  // namespace freshet::fleet_sim
