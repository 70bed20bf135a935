// Schedules of several daemons over one simulated engine: each firing is done once, whatever happens to the daemons and
// to their calls.
#include <map>
#include <memory>
#include <set>
#include <string>

#include "runtime/invoke/codec.h"
#include "runtime/invoke/schedules.h"
#include "streams/system_table.h"
#include "tables/owned/split_tables.h"
#include "tables/value/json.h"
#include "tests/runtime/fleet/shared_world.h"
#include "tests/sim/late_tables.h"

namespace freshet {
namespace {

using Counts = std::map<std::string, size_t>;

// Keeps each event as an item.
class KeptEvents final : public DeliveryQueue {
 public:
  explicit KeptEvents(Random& random) : random_(random) {}
  Result<PreparedEvent> prepare(Delivery delivery) override {
    Item item = system_item(kEventKind, random_.uuid());
    item.set("payload", Value(std::move(delivery.payload)));
    return PreparedEvent{put_system_item(std::move(item)), [] {}};
  }

 private:
  Random& random_;
};

// Refuses to write when a schedule fired, if told to.
class DaemonTables final : public SplitTables {
 public:
  using SplitTables::SplitTables;
  Async<Result<WriteOutput>> put_item(PutItemInput input) override {
    if (refuses(input)) return Result<WriteOutput>(fail(ErrorCode::kDiskFull, "the disk is full"));
    return SplitTables::put_item(std::move(input));
  }
  Async<Result<TransactWriteOutput>> transact_write(TransactWriteInput input) override {
    for (const WriteInput& write : input.actions) {
      const auto* put = std::get_if<PutItemInput>(&write);
      if (put && refuses(*put)) return Result<TransactWriteOutput>(fail(ErrorCode::kDiskFull, "the disk is full"));
    }
    return SplitTables::transact_write(std::move(input));
  }
  bool refuses_states = false;

 private:
  bool refuses(const PutItemInput& input) const {
    return refuses_states && input.item.string_or("kind") == "schedule-state";
  }
};

class SharedSchedules : public SharedWorld {
 protected:
  SharedSchedules() { begin(1); }
  ~SharedSchedules() override { end(); }

  // Everything anew.
  void begin(uint64_t seed) {
    open(seed);
    TableDefinition table;
    table.name = kSchedulesTable;
    table.keys = {{"id", Type::kString}, {}};
    table.stream = StreamView::kNewImage;
    EXPECT_TRUE(now_of(store->create_table(std::move(table))));
  }
  void end() {
    daemons.clear();
    close();
  }
  nanoseconds until_minute() const {
    constexpr int64_t kMinute = 60'000;
    return milliseconds(kMinute - epoch_ms(clock.wall()) % kMinute);
  }

  Tables& system_folder_of(const std::string& daemon) {
    Tables& folder = folder_of(daemon);
    must(ensure_system_table(folder));
    return folder;
  }

  struct Daemon {
    Daemon(SharedSchedules& all, const std::string& id, SimFaults faults, bool is_in_fleet,
           std::optional<WallTime> last_write)
        : scheduler(all.world, 1),
          own(all.system_folder_of(id), scheduler, all.random.next()),
          shared(*all.store, scheduler, all.random.next(), faults),
          tables(own, shared),
          queue(all.random),
          wall(scheduler.clock()),
          schedules({tables, scheduler, all.random, queue, Account{}, EventLog{}, wall}) {
      if (last_write) wall.start_after(*last_write);
      if (is_in_fleet) schedules.share(id, [this] { return may_fire; });
      scope.spawn(load());
    }
    Async<void> load() {
      auto loaded = co_await schedules.load();
      EXPECT_TRUE(loaded);
      for (const ScheduleDefinition& schedule : std::exchange(waiting, {})) co_await put_now(schedule);
      is_loaded = true;
    }
    void put(const ScheduleDefinition& schedule) {
      if (is_loaded) {
        scope.spawn(put_now(schedule));
      } else {
        waiting.push_back(schedule);
      }
    }
    Async<void> put_now(ScheduleDefinition schedule) {
      auto put = co_await schedules.put(std::move(schedule));
      EXPECT_TRUE(put);
    }
    Async<void> remove(std::string name) {
      auto removed = co_await schedules.remove(std::move(name));
      EXPECT_TRUE(removed);
    }

    bool may_fire = true;
    bool is_loaded = false;
    std::vector<ScheduleDefinition> waiting;
    MemberScheduler scheduler;
    LateTables own;
    SimEngine shared;
    DaemonTables tables;
    KeptEvents queue;
    WallGuard wall;
    Schedules schedules;
    Scope scope;  // The last member, so that it is destroyed first.
  };

  // `last_write`: when its data folder was last written, if that decides whether its clock is trusted.
  Daemon& start(const std::string& id, SimFaults faults = {}, std::optional<WallTime> last_write = {}) {
    daemons[id] = std::make_unique<Daemon>(*this, id, faults, true, last_write);
    return *daemons[id];
  }
  void start_without_fleet(const std::string& id) {
    daemons[id] = std::make_unique<Daemon>(*this, id, SimFaults{}, false, std::nullopt);
  }
  void kill(const std::string& id) { daemons.erase(id); }
  static ScheduleDefinition schedule(const std::string& expression, const std::string& name = "tick") {
    return {name, expression, "F", "", true};
  }

  // The times of all events, by schedule.
  std::map<std::string, std::vector<std::string>> times() {
    std::map<std::string, std::vector<std::string>> out;
    for (auto& [id, folder] : folders) {
      auto items = now_of(load_system_items(*folder, std::string(kEventKind)));
      EXPECT_TRUE(items);
      for (const ItemRef& ref : *items) {
        const auto event = parse_plain_json(ref.decode().string_or("payload"));
        const Map& map = *event->get_if<Map>();
        const std::string& rule = *map.find("resources")->get_if<List>()->elements.at(0).get_if<std::string>();
        out[rule.substr(rule.rfind('/') + 1)].emplace_back(map.string_or("time"));
        ++events_by[id];
      }
    }
    return out;
  }
  size_t events() {
    size_t all = 0;
    events_by.clear();
    for (const auto& [name, list] : times()) all += list.size();
    return all;
  }
  // The firings that each daemon has claimed, from the history of the shared table.
  Counts claims() {
    Counts out;
    std::map<std::string, std::map<std::string, uint64_t>> last;
    uint64_t from = 1;
    for (;;) {
      ReadStreamInput read;
      read.table = kSchedulesTable;
      read.from = from;
      auto page = now_of(store->read_stream(std::move(read)));
      EXPECT_TRUE(page);
      for (const ChangeRecord& record : page->records) {
        if (!record.after) continue;
        const Item item = record.after.decode();
        for (const auto& [daemon, claim] : *item.find("claims")->get_if<Map>()) {
          uint64_t& known = last[std::string(item.string_or("id"))][daemon];
          const auto number = static_cast<uint64_t>(claim.get_if<Map>()->int_or("number", 0));
          EXPECT_LE(number, known + 1) << daemon;
          out[daemon] += number - known;
          known = number;
        }
      }
      if (page->next == from) return out;
      from = page->next;
    }
  }

  std::map<std::string, std::unique_ptr<Daemon>> daemons;
  Counts events_by;  // By daemon, as of the last times() and events().
};

TEST_F(SharedSchedules, OneOfThreeFires) {
  for (const char* id : {"a", "b", "c"}) start(id).put(schedule("rate(1 minute)"));
  world.run_for(seconds(605));
  EXPECT_EQ(events(), 10u);
  for (const char* id : {"a", "b", "c"}) {
    const auto states = daemons.at(id)->schedules.states();
    ASSERT_EQ(states.size(), 1u);
    EXPECT_EQ(epoch_ms(*states[0].next) - epoch_ms(*states[0].last) > 0, true);
    EXPECT_GT(*states[0].next, clock.wall()) << id << " knows what another one has fired";
  }
}

TEST_F(SharedSchedules, AnAtFiresOnce) {
  for (const char* id : {"a", "b"}) start(id).put(schedule("at(2027-01-15T08:05:00)"));
  world.run_for(seconds(600));
  EXPECT_EQ(events(), 1u);
  start("c").put(schedule("at(2027-01-15T08:05:00)"));
  kill("a");
  start("a").put(schedule("at(2027-01-15T08:05:00)"));
  world.run_for(seconds(600));
  EXPECT_EQ(events(), 1u);
}

TEST_F(SharedSchedules, GoesOnWithoutTheOneThatFired) {
  start("a").put(schedule("rate(1 minute)"));
  world.run_for(seconds(90));
  ASSERT_EQ(events(), 1u);
  start("b").put(schedule("rate(1 minute)"));
  world.run_for(seconds(10));
  kill("a");
  world.run_for(seconds(25));
  EXPECT_EQ(events_by["b"], 0u);
  EXPECT_EQ(events(), 2u) << "counted from when the first daemon made it";
  EXPECT_EQ(events_by["b"], 1u);
}

TEST_F(SharedSchedules, WhatAllHaveMissedFiresOnce) {
  for (const char* id : {"a", "b"}) start(id).put(schedule("rate(1 minute)"));
  world.run_for(seconds(70));
  ASSERT_EQ(events(), 1u);
  daemons.clear();
  world.run_for(seconds(600));
  for (const char* id : {"a", "b"}) start(id).put(schedule("rate(1 minute)"));
  world.run_for(seconds(30));
  EXPECT_EQ(events(), 2u);
}

TEST_F(SharedSchedules, ADaemonThatMayNotFireLeavesItToOthers) {
  start("a").may_fire = false;
  daemons.at("a")->put(schedule("rate(1 minute)"));
  world.run_for(seconds(150));
  EXPECT_EQ(events(), 0u);
  daemons.at("a")->may_fire = true;
  world.run_for(seconds(70));
  EXPECT_EQ(events(), 2u) << "one for the times that it has missed";
  daemons.at("a")->may_fire = false;
  start("b").put(schedule("rate(1 minute)"));
  world.run_for(seconds(120));
  EXPECT_EQ(events(), 4u);
  EXPECT_EQ(events_by["a"], 2u);
}

// It ends after each time at which it may have claimed the firing, and in the middle of the claim.
TEST_F(SharedSchedules, ADaemonThatIsKilledFiresWhatItHasClaimed) {
  for (int ms = 0; ms < 45; ++ms) {
    const std::string a = "a" + std::to_string(ms), name = "t" + std::to_string(ms);
    start(a).put(schedule("rate(1 minute)", name));
    const WallTime due = clock.wall() + seconds(60);
    world.run_for(milliseconds(59'980));
    const size_t before = events();
    world.run_for(milliseconds(20 + ms));
    kill(a);
    world.run_for(seconds(1));
    Daemon& again = start(a);
    world.run_for(seconds(5));
    EXPECT_EQ(events(), before + 1) << ms;
    EXPECT_EQ(times()[name], std::vector<std::string>{iso8601(due).substr(0, 19) + "Z"}) << "when it was due";
    again.scope.spawn(again.remove(name));
    world.run_for(seconds(1));
    kill(a);
  }
}

TEST_F(SharedSchedules, OneThatIsMadeAgainDoesNotFireForTheTimeBetween) {
  Daemon& a = start("a");
  a.put(schedule("rate(1 minute)"));
  world.run_for(seconds(70));
  ASSERT_EQ(events(), 1u);
  a.scope.spawn(a.remove("tick"));
  world.run_for(seconds(600));
  a.put(schedule("rate(1 minute)"));
  world.run_for(seconds(5));
  EXPECT_EQ(events(), 1u);
  world.run_for(seconds(60));
  EXPECT_EQ(events(), 2u);
  ScheduleDefinition off = schedule("rate(1 minute)");
  off.enabled = false;
  a.put(off);
  world.run_for(seconds(600));
  EXPECT_EQ(events(), 2u);
  a.put(schedule("rate(1 minute)"));
  world.run_for(seconds(5));
  EXPECT_EQ(events(), 2u);
  world.run_for(seconds(60));
  EXPECT_EQ(events(), 3u);
}

TEST_F(SharedSchedules, DaemonsWithDifferentTemplatesFireTheirOwn) {
  start("a").put(schedule("rate(1 minute)"));
  start("b").put(schedule("rate(1 minute)"));
  world.run_for(seconds(65));
  ASSERT_EQ(events(), 1u);
  daemons.at("b")->put(schedule("rate(2 minutes)"));
  world.run_for(seconds(250));
  EXPECT_EQ(events(), 1u + 4 + 2) << "until all have the new one, both fire";
  daemons.at("a")->put(schedule("rate(2 minutes)"));
  world.run_for(seconds(240));
  EXPECT_EQ(events(), 7u + 2);
}

TEST_F(SharedSchedules, ADaemonWithAnOldTemplateRepeatsNothing) {
  for (const char* id : {"a", "b"}) start(id).put(schedule("rate(1 hour)"));
  world.run_for(std::chrono::hours(3) + seconds(5));
  ASSERT_EQ(events(), 3u);
  daemons.at("a")->put(schedule("rate(2 hours)"));
  kill("b");
  world.run_for(seconds(5));
  start("b");
  world.run_for(std::chrono::minutes(50));
  EXPECT_EQ(events(), 3u);
  for (const char* id : {"a", "b"}) daemons.at(id)->scope.spawn(daemons.at(id)->remove("tick"));
  world.run_for(std::chrono::hours(5));
  EXPECT_EQ(events(), 3u);
}

// Its own data folder may be older than what others have fired.
TEST_F(SharedSchedules, ADaemonWhoseClockIsNotTrustedYetRepeatsNothing) {
  for (const char* id : {"a", "b"}) start(id).put(schedule("rate(1 hour)"));
  world.run_for(seconds(3'500));
  const WallTime before = clock.wall();
  kill("a");
  world.run_for(seconds(105));
  ASSERT_EQ(events(), 1u);
  world.run_for(std::chrono::minutes(30));
  start("a", {}, before);
  world.run_for(std::chrono::minutes(20));
  EXPECT_EQ(events(), 1u);
  kill("b");
  world.run_for(std::chrono::minutes(10));
  EXPECT_EQ(events(), 2u);
}

TEST_F(SharedSchedules, LeavingAFleetAndComingBackRepeatsNothing) {
  for (const char* id : {"a", "b"}) {
    start(id).put(schedule("at(2027-01-15T08:05:00)", "once"));
    daemons.at(id)->put(schedule("rate(1 hour)"));
  }
  world.run_for(std::chrono::hours(1) + seconds(5));
  ASSERT_EQ(events(), 2u);
  daemons.clear();
  for (const char* id : {"a", "b"}) {
    start_without_fleet(id);
    world.run_for(seconds(30));
    EXPECT_EQ(events(), 2u) << id;
    kill(id);
  }
  start_without_fleet("a");
  world.run_for(std::chrono::hours(2));
  ASSERT_EQ(events(), 4u);
  kill("a");
  start("a");
  world.run_for(seconds(60));
  EXPECT_EQ(events(), 4u) << "what it has fired by itself is not fired again";
  world.run_for(std::chrono::hours(1));
  EXPECT_EQ(events(), 5u);
}

TEST_F(SharedSchedules, AClockThatIsSetBackForgetsNoClaim) {
  start("a").put(schedule("rate(1 minute)"));
  world.run_for(seconds(70));
  clock.step_wall(-std::chrono::hours(1));
  world.run_for(seconds(180));
  for (int ms = 0; ms < 45; ms += 2) {
    const auto states = daemons.at("a")->schedules.states();
    world.run_for(*states.at(0).next - clock.wall() + milliseconds(ms));
    kill("a");
    start("a");
    world.run_for(seconds(2));
  }
  const Counts claimed = claims();
  events();
  EXPECT_EQ(claimed, events_by);
  EXPECT_GT(claimed.at("a"), 20u);
}

// Its own store refuses what it has read: nothing is claimed before that is stored.
TEST_F(SharedSchedules, NothingIsClaimedThatARestartWouldForget) {
  Daemon& a = start("a");
  a.may_fire = false;
  a.put(schedule("rate(1 minute)"));
  world.run_for(seconds(5));
  a.tables.refuses_states = a.may_fire = true;
  world.run_for(seconds(145));
  EXPECT_TRUE(claims().empty());
  a.tables.refuses_states = false;
  world.run_for(seconds(60));
  EXPECT_EQ(claims(), (Counts{{"a", 2}}));
  EXPECT_EQ(events(), 2u) << "one for the times that it has missed";
}

TEST_F(SharedSchedules, AnOldClaimIsNotFiredWhenTheScheduleIsSwitchedOnAgain) {
  Daemon& a = start("a");
  a.put(schedule("rate(1 minute)"));
  world.run_for(seconds(5));
  a.tables.refuses_states = true;
  world.run_for(seconds(60));
  ASSERT_EQ(claims(), (Counts{{"a", 1}}));
  kill("a");
  Daemon& again = start("a");
  again.may_fire = false;
  ScheduleDefinition off = schedule("rate(1 minute)");
  off.enabled = false;
  again.put(off);
  world.run_for(std::chrono::hours(1));
  again.may_fire = true;
  again.put(schedule("rate(1 minute)"));
  world.run_for(seconds(5));
  EXPECT_EQ(events(), 0u);
  world.run_for(seconds(60));
  EXPECT_EQ(events(), 1u);
}

TEST_F(SharedSchedules, WaitsForAnEngineThatIsAway) {
  SimFaults away;
  away.refused = 1;
  start("a", away).put(schedule("rate(1 minute)"));
  world.run_for(seconds(300));
  EXPECT_EQ(events(), 0u);
  daemons.at("a")->shared.set_faults({});
  world.run_for(seconds(65));
  EXPECT_GE(events(), 1u);
}

// 60 seeds of three daemons with three schedules, for 90 minutes each: 225 firings are due each time.
TEST_F(SharedSchedules, EachFiringIsDoneOnceThroughKillsPausesAndLostAnswers) {
  SimFaults faults = SimFaults::some();
  faults.everywhere = true;
  faults.refused = 0.05;
  const std::vector<ScheduleDefinition> all = {
      schedule("rate(1 minute)", "rate"), schedule("cron(* * * * ? *)", "cron"), schedule("rate(2 minutes)", "slow")};
  size_t fired = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    end();
    begin(seed);
    const std::vector<std::string> ids = {"a", "b", "c"};
    const auto begin = [&](const std::string& id) {
      Daemon& daemon = start(id, faults);
      for (const auto& one : all) daemon.put(one);
    };
    for (const auto& id : ids) begin(id);
    const BootTime end = clock.boot() + std::chrono::minutes(90);
    while (clock.boot() < end) {
      // Just after a minute is when something happens.
      const bool soon = random.below(2) == 0;
      world.run_for(soon ? until_minute() + milliseconds(random.below(60)) : milliseconds(random.below(30'000)));
      const std::string& id = ids[random.below(3)];
      if (!daemons.contains(id)) {
        begin(id);
        continue;
      }
      Daemon& daemon = *daemons.at(id);
      if (daemon.scheduler.is_paused()) {
        daemon.scheduler.resume();
      } else if (random.below(3) == 0) {
        daemon.scheduler.pause();
      } else {
        kill(id);
      }
    }
    for (const auto& id : ids) {
      kill(id);
      Daemon& daemon = start(id);
      for (const auto& one : all) daemon.put(one);
    }
    world.run_for(seconds(300));
    world.run_for(until_minute() + seconds(30));  // Nothing is due then.
    const size_t before = events();
    world.run_for(std::chrono::minutes(10));
    EXPECT_EQ(events(), before + 25) << "at rest each fires at its times";
    events_by.clear();
    for (auto& [name, list] : times()) {
      fired += list.size();
      const std::set<std::string> distinct(list.begin(), list.end());
      EXPECT_EQ(distinct.size(), list.size()) << name << " has fired twice at one time";
    }
    EXPECT_EQ(claims(), events_by) << "each claim is fired once";
  }
  EXPECT_GT(fired, 10'000u);
}

}  // namespace
}  // namespace freshet
