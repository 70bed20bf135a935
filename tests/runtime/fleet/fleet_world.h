// Several members of one fleet over one simulated engine, in one thread. Judges that no unit is served twice.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "runtime/fleet/fleet.h"
#include "tables/engine/embedded.h"
#include "tests/runtime/fleet/member_scheduler.h"
#include "tests/sim/sim_engine.h"

namespace freshet {

class FleetWorld {
 public:
  static constexpr milliseconds kLease{3000};

  explicit FleetWorld(uint64_t seed) : world(clock), random(seed), store(open()) {}
  ~FleetWorld() {
    members_.clear();
    world.remove(*store);
  }

  // Starts a daemon of this name, which can serve these units. Its store has these faults.
  void start(const std::string& id, const std::set<std::string>& units, double rate = 1, SimFaults faults = {}) {
    members_[id] = std::make_unique<Member>(*this, id, rate, faults);
    members_[id]->fleet.serve(units);
    members_[id]->scope.spawn(join(*members_[id]));
  }
  void set_clock_ahead(const std::string& id, milliseconds ahead) { members_.at(id)->scheduler.set_ahead(ahead); }
  // kill -9.
  void kill(const std::string& id) { members_.erase(id); }
  void pause(const std::string& id) { members_.at(id)->scheduler.pause(); }
  void resume(const std::string& id) { members_.at(id)->scheduler.resume(); }
  // Its calls of the store do not arrive, or its answers do not come back.
  void cut_off(const std::string& id, bool answers_only) {
    SimFaults faults;
    faults.everywhere = true;
    (answers_only ? faults.lost_after : faults.lost_before) = 1;
    faults.refused = answers_only ? 0 : 1;
    faults.timeout = milliseconds(500);
    members_.at(id)->engine.set_faults(faults);
  }
  // Its answers get lost, and its client sends each request again.
  void send_all_twice(const std::string& id) {
    SimFaults faults;
    faults.everywhere = true;
    faults.twice = 1;
    members_.at(id)->engine.set_faults(faults);
  }
  // It may write, and read single items, but not all of them.
  void forbid_scans(const std::string& id) {
    SimFaults faults;
    faults.no_scans = true;
    members_.at(id)->engine.set_faults(faults);
  }
  void mend(const std::string& id) { members_.at(id)->engine.set_faults(members_.at(id)->faults); }
  // SIGTERM: true once others can read that it has let go.
  void leave(const std::string& id) { members_.at(id)->scope.spawn(go(*members_.at(id))); }
  bool has_left(const std::string& id) const { return members_.at(id)->left; }
  BootTime notified_at(const std::string& id) const {
    return members_.at(id)->notified_at;
  }  // The last time before it had left.
  BootTime left_at(const std::string& id) const { return members_.at(id)->left_at; }
  void pass(nanoseconds time) { world.run_for(time); }

  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& [id, member] : members_) out.insert(id);
    return out;
  }
  bool is_there(const std::string& id) const { return members_.contains(id); }
  bool is_paused(const std::string& id) const { return members_.at(id)->scheduler.is_paused(); }
  const std::set<std::string>& served_by(const std::string& id) const { return members_.at(id)->serving; }
  Fleet& fleet(const std::string& id) { return members_.at(id)->fleet; }
  uint64_t definitions_of(const std::string& id) const { return members_.at(id)->definitions; }
  // The member that serves it; empty: none does.
  std::string server_of(const std::string& unit) const {
    for (const auto& [id, member] : members_) {
      if (member->serving.contains(unit)) return id;
    }
    return {};
  }
  bool all_served(const std::set<std::string>& units) const {
    for (const auto& unit : units) {
      if (server_of(unit).empty()) return false;
    }
    return true;
  }
  // Runs until all are served; how long that took.
  nanoseconds until_served(const std::set<std::string>& units, nanoseconds limit) {
    const BootTime begun = clock.boot();
    EXPECT_TRUE(world.run_until([&] { return all_served(units); }, limit)) << "not served";
    return clock.boot() - begun;
  }

  size_t starts = 0;
  double slow_ends = 0;  // The share of units that take a while to end, 0 to 1.
  size_t ends = 0;       // The number of those.
  double nudges = 1;     // How many of the nudges arrive.
  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop world;
  Random random;
  std::unique_ptr<EmbeddedTables> store;

 private:
  struct Member final : FleetHooks {
    Member(FleetWorld& all, const std::string& name, double rate, SimFaults some)
        : id(name),
          fleets(all),
          faults(some),
          scheduler(all.world, rate),
          engine(*all.store, scheduler, all.random.next(), faults),
          fleet(engine, scheduler, all.random, EventLog{}, *this, FleetOptions{name, "http://" + name, kLease}) {}

    static SimFaults everywhere(SimFaults faults) {
      faults.everywhere = true;
      return faults;
    }
    void definitions_are_at(uint64_t version) override { definitions = version; }
    void start(const std::string& unit) override {
      ++fleets.starts;
      for (const auto& [other, member] : fleets.members_) {
        if (member.get() == this || !member->has(unit)) continue;
        // A stopped process finds out when it goes on.
        EXPECT_TRUE(member->scheduler.is_paused()) << unit << " is served by " << id << " and " << other;
      }
      EXPECT_TRUE(serving.insert(unit).second) << unit << " is started twice by " << id;
    }
    // Some units take a while to end. A member that has lost its lease cannot wait for that.
    bool stop(const std::string& unit) override {
      EXPECT_EQ(serving.erase(unit), 1u) << unit << " is stopped by " << id << ", which does not serve it";
      if (fleets.random.unit() >= fleets.slow_ends) return true;
      const milliseconds takes(fleets.random.below(static_cast<uint64_t>(kLease.count())));
      scope.spawn(end(unit, takes, ending[unit] = ++fleets.ends));
      return false;
    }
    Async<void> end(std::string unit, milliseconds takes, size_t number) {
      co_await sleep_for(scheduler, takes);
      if (ending[unit] != number) co_return;
      ending.erase(unit);
      fleet.ended(unit);
    }
    bool has(const std::string& unit) const {
      return serving.contains(unit) || (fleet.core() != nullptr && fleet.core()->is_stopping(unit));
    }
    void notify_others() override {
      if (!left) notified_at = fleets.clock.boot();
      for (const auto& [other, member] : fleets.members_) {
        if (member.get() == this || fleets.random.unit() >= fleets.nudges) continue;
        fleets.world.call_after(milliseconds(fleets.random.below(5)), [&all = fleets, name = other] {
          if (all.is_there(name) && !all.is_paused(name)) all.fleet(name).nudge();
        });
      }
    }

    const std::string id;
    FleetWorld& fleets;
    const SimFaults faults;
    MemberScheduler scheduler;
    SimEngine engine;
    Fleet fleet;
    uint64_t definitions = 0;  // Their newest version, as it was read last.
    std::set<std::string> serving;
    std::map<std::string, size_t> ending;  // Units that were to stop, and are not done.
    bool left = false;
    BootTime notified_at{};
    BootTime left_at{};
    Scope scope;
  };

  static Async<void> join(Member& member) {
    for (;;) {
      auto joined = co_await member.fleet.join();
      if (joined) co_return;
      co_await sleep_for(member.scheduler, milliseconds(100));
    }
  }
  static Async<void> go(Member& member) {
    member.left = co_await member.fleet.leave(member.scheduler.clock().boot() + seconds(10));
    member.left_at = member.fleets.clock.boot();
  }

  std::unique_ptr<EmbeddedTables> open() {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    auto opened = open_embedded(nullptr, world, random, std::move(options));
    world.add(**opened);
    return std::move(*opened);
  }

  std::map<std::string, std::unique_ptr<Member>> members_;
};

}  // namespace freshet
