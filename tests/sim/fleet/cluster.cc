#include "tests/sim/fleet/cluster.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "tests/sim/fleet/fleet_template.h"
#include "tests/sim/machine/sources.h"

namespace freshet::fleet_sim {

namespace {

constexpr WallTime kStart{milliseconds(1'800'000'000'000)};
constexpr uint16_t kFirstPort = 7'071;
constexpr uint64_t kMostSteps = 20'000'000;
constexpr milliseconds kDrain{5'000};
constexpr milliseconds kLongestStop{20'000};
constexpr milliseconds kAftermath{6'000};  // Requests under way at a fault may end that much later.
constexpr uint64_t kTurnsAfterPause = 3;

}  // namespace

Cluster::Cluster(const FleetRunPlan& plan, sim::Trace& trace, sim::Verdict& verdict, Ledger& ledger)
    : plan_(plan),
      trace_(trace),
      verdict_(verdict),
      ledger_(ledger),
      random_(plan.seed * 6'364'136 + 11),
      clock_(kStart),
      network_(clock_, random_.next()),
      runs_(verdict, plan.run_limit),
      engine_faults_(random_.next(), trace),
      outside_(clock_, waiter_),
      outside_io_(*IoThread::without_thread(clock_, outside_network_)) {
  trace_.set_clock(clock_);
  for (int i = 0; i < plan_.members; ++i) ports_.push_back(static_cast<uint16_t>(kFirstPort + i));
}

DaemonOptions Cluster::engine_options() const {
  DaemonOptions options;
  options.data = "/simulated/engine";
  options.listen = "127.0.0.1:" + std::to_string(kEnginePort);
  options.recording_bytes = 0;
  options.segment_bytes = 4u << 20;
  options.drain_ms = kDrain.count();
  return options;
}

DaemonOptions Cluster::member_options(size_t index, uint16_t port) const {
  DaemonOptions options;
  options.deploy.path = sim::sources() + "/config/lifo.yaml";
  options.deploy.parameters = {"TaskRunner=none", "MaxAttempts=1000", "DefaultTtlSeconds=0"};
  options.deploy.settings = {"ProcessTasksFunction.LEASE_MS=8000", "ProcessTasksFunction.BACKOFF_MAX_MS=2000"};
  if (plan_.is_sparse) options.deploy.settings.emplace_back("ProcessTasksFunction.LAYOUT=fleet");
  options.queues.assign(plan_.queues.begin() + 1, plan_.queues.end());
  if (plan_.has_schedule) {
    options.queues.emplace_back(kScheduledQueue);
    options.deploy.parameters.emplace_back("CreateTasks=true");
    options.deploy.parameters.push_back("CreateSchedule=rate(" + std::to_string(kSchedulePeriod.count() / 1'000) +
                                        " seconds)");
    options.deploy.settings.push_back("CreateTasksFunction.QUEUE_TABLE=" + std::string(kScheduledQueue));
    options.deploy.settings.emplace_back("CreateTasksFunction.CREATE_TASKS=1");
  }
  options.deploy.text = template_of(plan_);
  options.data = "/simulated/member" + std::to_string(index);
  options.listen = "127.0.0.1:" + std::to_string(port);
  options.store = "dynamodb";
  options.endpoints = {"http://127.0.0.1:" + std::to_string(kEnginePort)};
  options.create_tables = true;
  options.fleet = true;
  options.fleet_lease_ms = kFleetLease.count();
  options.recording_bytes = 0;
  options.segment_bytes = 1u << 20;
  options.drain_ms = kDrain.count();
  return options;
}

void Cluster::begin() {
  const FleetNode::Place place{clock_, network_, trace_};
  const auto look_at = [this](std::string name) {
    return [this, name = std::move(name)](std::string_view line) { saw_log(name, line); };
  };
  engine_ =
      std::make_unique<FleetNode>(place, "engine", 2, kEnginePort, random_.next(), engine_options(), look_at("engine"));
  engine_->world().make_engine(engine_faults_);
  engine_faults_.lags = !plan_.lags.empty();
  set_lags();
  start(*engine_);
  for (size_t i = 0; i < ports_.size(); ++i) {
    const std::string name = "m" + std::to_string(i);
    Member member;
    member.port = ports_[i];
    member.node = std::make_unique<FleetNode>(place, name, 3 + i, ports_[i], random_.next(),
                                              member_options(i, ports_[i]), look_at(name));
    if (plan_.has_splits) member.node->world().split_streams(shards_);
    prepare(*member.node);
    members_.push_back(std::move(member));
  }
  const bool together = random_.below(2) == 0;
  for (size_t i = 0; i < members_.size(); ++i) {
    const auto wait = draw(0, i == 0 || together ? 0 : 3'000);
    later(milliseconds(200) + wait, [this, i] { start_member(members_[i]); });
  }
}

void Cluster::kill_all() {
  for (Member& member : members_) member.node->kill();
  if (engine_) engine_->kill();
}

void Cluster::saw_log(const std::string& node, std::string_view line) {
  const std::string event = field_of(line, "event");
  if (event == "FLEET_JOINED") {
    ledger_.life_begins(field_of(line, "member"), now());
    runs_.life_begins(field_of(line, "member"), node, now());
  }
  if (event == "FLEET_LEADER") {
    const auto [leader, is_new] = leaders_.emplace(number_of(line, "term"), node);
    verdict_.expect(is_new || leader->second == node, "one term has two leaders", leader->second + " and " + node);
  }
  if (event == "CREATE_TASKS_BEGIN") scheduled_.push_back(now());
  if (event == "FLEET_UNIT_STARTED") units_.started(node, field_of(line, "unit"), now());
  if (event == "FLEET_UNIT_STOPPED") units_.stopped(node, field_of(line, "unit"), now());
}

void Cluster::start(FleetNode& node) {
  ++lives_;
  const bool opened = node.start();
  verdict_.expect(opened, "a daemon does not open", node.name());
}

void Cluster::start_member(Member& member) {
  if (member.node->is_up()) return;
  start(*member.node);
}

// Not if it has started and died once more by then.
void Cluster::restart_later(Member& member, milliseconds after) {
  later(after, [this, &member, death = ++member.deaths] {
    if (member.deaths == death) start_member(member);
  });
}

void Cluster::later(milliseconds after, std::function<void()> work) {
  later_.emplace(now() + after, std::move(work));
}

void Cluster::run_later() {
  while (!later_.empty() && later_.begin()->first <= now()) {
    const auto work = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    work();
  }
}

// Members have stopped, or could not start as the engine was away: they come again.
void Cluster::look_at_ends() {
  for (Member& member : members_) {
    FleetNode& node = *member.node;
    if (!node.has_ended()) continue;
    const bool was_asked = node.is_stopping();
    trace_.note(node.name() + " has ended with " + std::to_string(node.exit_status()) + " " + node.refusal());
    verdict_.expect(was_asked || !node.refusal().empty(), "a member ends by itself", node.name());
    trace_.saw(was_asked ? "member stopped" : "member refused");
    units_.died(node.name(), now());
    life_ended(node.name());
    node.kill();
    const auto wait = was_asked ? member.restart_in : draw(100, 1'000);
    restart_later(member, wait);
  }
  if (engine_->has_ended()) verdict_.broken("the engine ends by itself", engine_->refusal());
}

void Cluster::look_at_pauses() {
  for (Member& member : members_) {
    if (!member.looks_at_turn || member.node->is_paused()) continue;
    if (*member.looks_at_turn == 0) member.looks_at_turn = member.node->turns() + kTurnsAfterPause;
    const bool has_turns_left = member.node->turns() < *member.looks_at_turn && member.node->next_due() <= now();
    if (has_turns_left) continue;
    member.looks_at_turn.reset();
    units_.resumed(member.node->name());
  }
}

bool Cluster::turn_all() {
  bool worked = false;
  if (outside_network_.has_ready_sockets() || outside_io_->next_due() <= now()) {
    outside_io_->turn(BootTime{});
    worked = true;
  }
  if (outside_.ready()) {
    outside_.turn();
    worked = true;
  }
  const auto turn = [&](FleetNode& node) {
    if (!node.turn()) return;
    worked = true;
    pass(std::chrono::microseconds(1 + random_.below(40)));  // Work takes time.
  };
  turn(*engine_);
  for (Member& member : members_) turn(*member.node);
  return worked;
}

BootTime Cluster::next_event() const {
  BootTime next = std::min(
      {network_.next_event(), outside_.next_deadline(), outside_io_->next_due(), next_fault_, engine_->next_due()});
  if (!later_.empty()) next = std::min(next, later_.begin()->first);
  for (const Member& member : members_) next = std::min(next, member.node->next_due());
  return next;
}

void Cluster::step() {
  ++steps_;
  if (steps_ > kMostSteps) return verdict_.broken("it goes on for ever", "no end after millions of steps");
  network_.run_due();
  run_later();
  const bool worked = turn_all();
  look_at_ends();
  look_at_pauses();
  if (now() >= next_fault_) {
    make_fault();
    return plan_next_fault();
  }
  if (worked) return;
  const BootTime next = next_event();
  if (next == BootTime::max()) return verdict_.broken("nothing will ever happen", "no timer is set");
  if (next <= now()) {
    // Somebody wants a turn for something that it then does not do.
    verdict_.insist(++idle_turns_ < 10'000, "it spins without progress", "turns at one moment");
    return pass(std::chrono::microseconds(1));
  }
  idle_turns_ = 0;
  pass(next - now());
}

void Cluster::go_for(milliseconds time) {
  const BootTime end = now() + time;
  while (goes_on() && now() < end) step();
}

bool Cluster::go_until(const std::function<bool()>& is_so, milliseconds within) {
  const BootTime end = now() + within;
  while (goes_on() && now() < end) {
    if (is_so()) return true;
    step();
  }
  return is_so();
}

FleetNode* Cluster::member_named(const std::string& name) {
  for (Member& member : members_) {
    if (member.node->name() == name) return member.node.get();
  }
  return nullptr;
}

Cluster::Member& Cluster::entry(FleetNode& node) {
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const Member& member) { return member.node.get() == &node; });
  FRESHET_CHECK(found != members_.end(), "it is a member");
  return *found;
}

void Cluster::kill_member(FleetNode& node, milliseconds until_restart) {
  trace_.note("!! kill " + node.name());
  Member& member = entry(node);
  units_.died(node.name(), now());
  life_ended(node.name());
  member.looks_at_turn.reset();
  node.kill();
  restart_later(member, until_restart);
}

void Cluster::stop_member(FleetNode& node, milliseconds until_restart) {
  trace_.note("!! term " + node.name());
  entry(node).restart_in = until_restart;
  node.stop();
  later(kLongestStop, [this, &node, began = node.began()] {
    const bool is_same_life = node.is_up() && node.is_stopping() && node.began() == began && !node.is_paused();
    verdict_.expect(!is_same_life, "a stop takes longer than it may", node.name());
  });
}

void Cluster::restart_with_clock(FleetNode& node, milliseconds off) {
  kill_member(node, milliseconds(0));
  trace_.note("!! clock of " + node.name() + " is off by " + std::to_string(off.count()) + " ms");
  node.world().node_clock().set_off(off);
}

bool Cluster::was_calm(BootTime from, BootTime to) const {
  return std::none_of(disturbances_.begin(), disturbances_.end(),
                      [&](const auto& time) { return time.first <= to && time.second + kAftermath >= from; });
}

}  // namespace freshet::fleet_sim
