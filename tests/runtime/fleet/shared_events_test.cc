// Asynchronous events of several daemons over one simulated engine: each one that was accepted runs, on its daemon or,
// if that dies, on another one. Without a death it succeeds once, whatever happens to the calls of the engine.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/invoke/codec.h"
#include "streams/system_table.h"
#include "tables/lease/events_table.h"
#include "tables/owned/split_tables.h"
#include "tests/runtime/fleet/shared_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

// Refuses queries of the fleet's events, or their removal, if told to.
class EventTables final : public SplitTables {
 public:
  using SplitTables::SplitTables;
  Async<Result<Page>> query(QueryInput input) override {
    if (!refuses_reads || input.table != kOwnEventsTable) return SplitTables::query(std::move(input));
    ++refused;
    return Result<Page>(fail(ErrorCode::kThroughputExceeded, "slow down"));
  }
  Async<Result<WriteOutput>> delete_item(DeleteItemInput input) override {
    if (!refuses_removals || input.table != kOwnEventsTable) return SplitTables::delete_item(std::move(input));
    ++refused;
    return Result<WriteOutput>(fail(ErrorCode::kAccessDenied, "not with this key"));
  }
  bool refuses_reads = false;
  bool refuses_removals = false;
  size_t refused = 0;
};

class SharedEvents : public SharedWorld {
 protected:
  SharedEvents() { begin(1); }
  ~SharedEvents() override { end(); }

  void begin(uint64_t seed) {
    open(seed);
    must(provide_events_table(*store));
    accepted.clear();
    unsure.clear();
    runs.clear();
    successes.clear();
    outcomes.clear();
    order.clear();
  }
  void end() {
    daemons.clear();
    close();
  }

  struct Daemon : DaemonWithRuntime<EventTables> {
    Daemon(SharedEvents& all, const std::string& id, SimFaults faults, bool is_in_fleet)
        : DaemonWithRuntime(all, id, faults, TableChanges::kAllowed,
                            std::set<std::string>{std::string(kOwnEventsTable)}) {
      RuntimeOptions options;
      options.invoker.retry_delay = milliseconds(100);
      make_runtime(
          all.random, [&all, this](Context& context) { return all.play(*this, context); }, options);
      if (is_in_fleet) runtime->share_events(id);
      scope.spawn(begin(all.sends_outcomes));
    }
    Async<void> begin(bool tells_g) {
      auto started = co_await runtime->start();
      expect_well(started);
      for (const char* function : {"F", "G"}) {
        FunctionDefinition definition = function_named(function);
        definition.async.max_retries = 10;
        if (tells_g && definition.name == "F") definition.async.on_success.target = function_arn(Account{}, "G");
        auto putting = put_function(std::move(definition));
        co_await putting;
      }
      is_ready = true;
    }
    // F runs one event at a time from now on.
    void give_one_place() {
      FunctionDefinition one = function_named("F");
      one.reserved_concurrency = 1;
      scope.spawn(put_function(std::move(one)));
    }
    bool is_ready = false;
  };

  Daemon& start(const std::string& id, SimFaults faults = {}, bool is_in_fleet = true) {
    daemons[id] = std::make_unique<Daemon>(*this, id, faults, is_in_fleet);
    world.run_for(milliseconds(100));
    EXPECT_TRUE(daemons[id]->is_ready);
    return *daemons[id];
  }
  void kill(const std::string& id) { daemons.erase(id); }

  Async<Result<std::string>> play(Daemon& daemon, Context& context) {
    const std::string payload = context.invocation.payload.text();
    if (const size_t at = payload.find("\"requestPayload\":"); at != std::string::npos) {
      ++outcomes[std::to_string(std::stoi(payload.substr(at + 17)))];
      co_return std::string("\"ok\"");
    }
    ++runs[payload];
    co_await sleep_for(daemon.scheduler, milliseconds(random.below(200)));
    if (fails > 0 && random.unit() < fails) co_return fail(ErrorCode::kInternal, "it fails now and then");
    ++successes[payload];
    order.push_back(payload);
    co_return std::string("\"ok\"");
  }
  Async<void> accept(Daemon& daemon, std::string payload, std::string function) {
    auto done = co_await daemon.runtime->invoker().invoke_async(std::move(function), payload);
    (done ? accepted : unsure).insert(payload);
  }
  void invoke(const std::string& id, const std::string& payload, const std::string& function = "F") {
    Daemon& daemon = *daemons.at(id);
    daemon.scope.spawn(accept(daemon, payload, function));
  }
  // A living daemon takes over the events of a dead one.
  MovedEvents take_over(const std::string& dead, const std::string& by) {
    Daemon& daemon = *daemons.at(by);
    const auto has_function = [&](const std::string& function) {
      return daemon.runtime->invoker().find(function) != nullptr;
    };
    MovedEvents sum;
    for (bool is_first = true; is_first || !sum.next.empty(); is_first = false) {
      auto moving = move_events(daemon.tables, dead, by, std::move(sum.next), clock.wall(), has_function);
      world.run_until([&] { return moving.is_ready(); }, seconds(60));
      EXPECT_TRUE(moving.is_ready());
      auto moved = moving.take();
      daemon.runtime->look_for_events();
      if (!moved) return sum;
      sum.moved += moved->moved;
      sum.left += moved->left;
      sum.next = std::move(moved->next);
    }
    return sum;
  }
  std::vector<ItemRef> items() {
    ScanInput scan;
    scan.table = kEventsTable;
    return must(store->scan(std::move(scan))).items;
  }
  size_t stored() { return items().size(); }
  void put(Item item) {
    PutItemInput input;
    input.table = kEventsTable;
    input.item = std::move(item);
    must(store->put_item(std::move(input)));
  }
  double fails = 0;
  std::map<std::string, std::unique_ptr<Daemon>> daemons;
  std::set<std::string> accepted;
  std::set<std::string> unsure;  // Those without an answer, or with an error.
  std::map<std::string, size_t> runs;
  std::map<std::string, size_t> successes;
  bool sends_outcomes = false;  // F's go to G.
  std::map<std::string, size_t> outcomes;
  std::vector<std::string> order;
};

TEST_F(SharedEvents, ItRunsWhileItsDaemonServesThem) {
  start("a");
  invoke("a", "1");
  world.run_for(seconds(1));
  EXPECT_TRUE(accepted.contains("1"));
  EXPECT_TRUE(runs.empty()) << "another daemon may have its events yet";
  EXPECT_EQ(stored(), 1u);
  daemons["a"]->runtime->serve_events(true);
  world.run_for(seconds(1));
  EXPECT_EQ(successes["1"], 1u);
  EXPECT_EQ(stored(), 0u);
  invoke("a", "2");
  world.run_for(seconds(1));
  EXPECT_EQ(successes["2"], 1u);
  EXPECT_EQ(stored(), 0u);
}

TEST_F(SharedEvents, AnotherDaemonRunsThoseOfADeadOne) {
  start("a");
  start("b").runtime->serve_events(true);
  for (const char* payload : {"1", "2", "3"}) {
    invoke("a", payload);
    world.run_for(milliseconds(10));
  }
  kill("a");
  EXPECT_EQ(take_over("a", "b").moved, 3u);
  world.run_for(seconds(2));
  EXPECT_EQ(successes, (std::map<std::string, size_t>{{"1", 1}, {"2", 1}, {"3", 1}}));
  EXPECT_EQ(stored(), 0u);
  // It is back, and has nothing left to do.
  start("a").runtime->serve_events(true);
  world.run_for(seconds(2));
  EXPECT_EQ(runs["1"], 1u);
}

TEST_F(SharedEvents, OneThatGivesThemUpStartsNoMore) {
  Daemon& a = start("a");
  a.runtime->serve_events(true);
  a.give_one_place();
  world.run_for(milliseconds(10));
  for (int i = 0; i < 20; ++i) invoke("a", std::to_string(i));
  world.run_for(milliseconds(300));
  a.runtime->serve_events(false);
  EXPECT_TRUE(a.runtime->is_busy_with_events());
  world.run_for(milliseconds(300));
  EXPECT_FALSE(a.runtime->is_busy_with_events());
  const size_t before = runs.size();
  EXPECT_LT(before, 20u);
  world.run_for(seconds(10));
  EXPECT_EQ(runs.size(), before);
  a.runtime->serve_events(true);
  world.run_for(seconds(10));
  EXPECT_EQ(runs.size(), 20u);
  for (const auto& [payload, count] : successes) EXPECT_EQ(count, 1u) << payload;
  EXPECT_EQ(stored(), 0u);
}

TEST_F(SharedEvents, ThoseOfFunctionsThatAreNotHereStay) {
  start("a");
  start("b").runtime->serve_events(true);
  invoke("a", "1", "F");
  invoke("a", "2", "G");
  world.run_for(milliseconds(10));
  kill("a");
  Daemon& b = *daemons["b"];
  b.scope.spawn(
      [](Runtime& runtime) -> Async<void> { static_cast<void>(co_await runtime.remove_function("G")); }(*b.runtime));
  world.run_for(milliseconds(10));
  const MovedEvents moved = take_over("a", "b");
  EXPECT_EQ(moved.moved, 1u);
  EXPECT_EQ(moved.left, 1u);
  start("a").runtime->serve_events(true);
  world.run_for(seconds(2));
  EXPECT_EQ(successes, (std::map<std::string, size_t>{{"1", 1}, {"2", 1}}));
}

TEST_F(SharedEvents, ADaemonThatBecomesAMemberBringsItsEventsAlong) {
  Daemon& alone = start("a", {}, false);
  fails = 1;
  invoke("a", "1");
  world.run_for(milliseconds(400));
  EXPECT_EQ(successes.size(), 0u);
  static_cast<void>(alone);
  kill("a");
  fails = 0;
  start("a").runtime->serve_events(true);
  world.run_for(seconds(60));
  EXPECT_EQ(successes["1"], 1u);
  EXPECT_EQ(stored(), 0u);
}

TEST_F(SharedEvents, NewOnesWaitBehindThoseOfBefore) {
  start("a");
  for (const char* payload : {"1", "2", "3"}) {
    invoke("a", payload);
    world.run_for(milliseconds(50));
  }
  Daemon& a = *daemons["a"];
  a.give_one_place();
  world.run_for(milliseconds(10));
  a.runtime->serve_events(true);
  invoke("a", "4");
  world.run_for(seconds(5));
  EXPECT_EQ(order, (std::vector<std::string>{"1", "2", "3", "4"}));
}

TEST_F(SharedEvents, ManyMoveByPages) {
  start("a");
  start("b").runtime->serve_events(true);
  for (int i = 0; i < 450; ++i) invoke("a", std::to_string(i));
  world.run_for(seconds(2));
  ASSERT_EQ(accepted.size(), 450u);
  kill("a");
  EXPECT_EQ(take_over("a", "b").moved, 450u);
  world.run_for(std::chrono::minutes(2));
  EXPECT_EQ(successes.size(), 450u);
  EXPECT_EQ(stored(), 0u);
}

TEST_F(SharedEvents, ThoseThatNobodyRunsForADayAreDropped) {
  start("a");
  start("b").runtime->serve_events(true);
  invoke("a", "1", "G");
  world.run_for(milliseconds(50));
  kill("a");
  Daemon& b = *daemons["b"];
  b.scope.spawn(
      [](Runtime& runtime) -> Async<void> { static_cast<void>(co_await runtime.remove_function("G")); }(*b.runtime));
  world.run_for(std::chrono::hours(23));
  EXPECT_EQ(take_over("a", "b").left, 1u);
  world.run_for(std::chrono::hours(2));
  EXPECT_EQ(take_over("a", "b").left, 0u);
  EXPECT_EQ(stored(), 0u);
}

TEST_F(SharedEvents, ReadingTheTableAgainRunsNothingTwice) {
  Daemon& a = start("a");
  a.runtime->serve_events(true);
  for (int i = 0; i < 20; ++i) invoke("a", std::to_string(i));
  for (int i = 0; i < 10; ++i) {
    world.run_for(milliseconds(20));
    a.runtime->look_for_events();
  }
  world.run_for(seconds(5));
  EXPECT_EQ(runs.size(), 20u);
  for (const auto& [payload, count] : runs) EXPECT_EQ(count, 1u) << payload;
}

TEST_F(SharedEvents, OneThatALateWriteBringsBackDoesNotRunAgain) {
  Daemon& a = start("a");
  a.runtime->serve_events(true);
  invoke("a", "1");
  world.run_until([&] { return stored() == 1; }, seconds(1));
  const Item late = items().at(0).decode();
  world.run_for(seconds(2));
  EXPECT_EQ(stored(), 0u);
  put(late);
  a.runtime->look_for_events();
  world.run_for(seconds(2));
  EXPECT_EQ(runs["1"], 1u);
  EXPECT_EQ(stored(), 0u);
}

// With so many events in memory, the table is read only when that is asked for.
TEST_F(SharedEvents, AReadThatFailedIsTriedAgainWithAThousandEventsInMemory) {
  start("b");
  invoke("b", "moved", "G");
  world.run_for(milliseconds(50));
  kill("b");
  Item moved = items().at(0).decode();
  Daemon& a = start("a");
  a.give_one_place();
  a.runtime->serve_events(true);
  for (int i = 0; i < 1'200; ++i) invoke("a", std::to_string(i));
  world.run_for(seconds(5));
  ASSERT_EQ(accepted.size(), 1'201u);
  moved.set("kind", Value(events_of("a")));
  put(std::move(moved));
  a.tables.refuses_reads = true;
  a.runtime->look_for_events();
  world.run_for(seconds(3));
  EXPECT_GE(a.tables.refused, 2u);
  a.tables.refuses_reads = false;
  world.run_for(seconds(2));
  EXPECT_EQ(successes["moved"], 1u);
  EXPECT_LT(runs.size(), 150u) << "more than a thousand wait";
}

TEST_F(SharedEvents, AnEventThatCouldNotBeSettledRunsAgainLater) {
  Daemon& a = start("a");
  a.runtime->serve_events(true);
  a.tables.refuses_removals = true;
  invoke("a", "1");
  world.run_for(seconds(2));
  EXPECT_EQ(a.tables.refused, 1u);
  ASSERT_EQ(runs["1"], 1u);
  a.tables.refuses_removals = false;
  for (int look = 0; look < 9; ++look) {
    a.runtime->look_for_events();
    world.run_for(std::chrono::minutes(1));
    EXPECT_EQ(runs["1"], 1u) << "it would run all the time";
  }
  EXPECT_EQ(stored(), 1u);
  world.run_for(std::chrono::minutes(10));
  EXPECT_EQ(runs["1"], 2u);
  EXPECT_EQ(stored(), 0u);
}

// Writes are lost, late, doubled and unanswered; the daemons live.
TEST_F(SharedEvents, PropertyOnceWithoutADeath) {
  for (const uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    end();
    begin(seed);
    SimFaults faults = SimFaults::some();
    faults.everywhere = true;
    fails = 0.2;
    sends_outcomes = true;
    for (const char* id : {"a", "b"}) start(id, faults).runtime->serve_events(true);
    for (int i = 0; i < 60; ++i) {
      invoke(random.below(2) == 0 ? "a" : "b", std::to_string(i));
      world.run_for(milliseconds(random.below(100)));
    }
    for (auto& [id, daemon] : daemons) daemon->shared.set_faults({});
    world.run_for(std::chrono::minutes(20));
    EXPECT_EQ(stored(), 0u);
    for (const std::string& payload : accepted) EXPECT_EQ(successes[payload], 1u) << payload;
    for (const std::string& payload : unsure) EXPECT_LE(successes[payload], 1u) << payload;
    for (const std::string& payload : accepted) EXPECT_EQ(outcomes[payload], 1u) << payload;
    EXPECT_GT(accepted.size(), 40u);
  }
}

// Daemons die, and come back; others take over.
TEST_F(SharedEvents, PropertyEachAcceptedOneRuns) {
  size_t taken_over = 0;
  for (const uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    end();
    begin(seed);
    SimFaults faults = SimFaults::some();
    faults.everywhere = true;
    fails = 0.1;
    const std::vector<std::string> names{"a", "b", "c"};
    for (const std::string& id : names) start(id, faults).runtime->serve_events(true);
    for (int i = 0; i < 80; ++i) {
      std::string id = names[random.below(names.size())];
      if (!daemons.contains(id)) {
        start(id, faults).runtime->serve_events(true);
      } else if (random.below(8) == 0 && daemons.size() > 1) {
        kill(id);
        if (random.below(2) == 0) taken_over += take_over(id, daemons.begin()->first).moved;
      } else {
        invoke(id, std::to_string(i));
      }
      world.run_for(milliseconds(random.below(60)));
    }
    for (auto& [id, daemon] : daemons) daemon->shared.set_faults({});
    for (const std::string& id : names) {
      if (!daemons.contains(id)) taken_over += take_over(id, daemons.begin()->first).moved;
    }
    world.run_for(std::chrono::minutes(20));
    EXPECT_EQ(stored(), 0u);
    for (const std::string& payload : accepted) EXPECT_GE(successes[payload], 1u) << payload;
  }
  EXPECT_GT(taken_over, 20u);
}

}  // namespace
}  // namespace freshet
