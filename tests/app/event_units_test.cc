// The asynchronous events of a fleet: which daemon takes over those of another one, and how it knows of them.
#include "app/fleet/event_units.h"

#include <memory>
#include <set>
#include <string>

#include "tables/lease/fleet_items.h"
#include "tables/owned/split_tables.h"
#include "tests/runtime/fleet/shared_world.h"

namespace freshet {
namespace {

constexpr milliseconds kLease{3000};
constexpr seconds kUntilItServes{10};
constexpr seconds kUntilItIsDead{10};

class EventUnitsTest : public SharedWorld {
 protected:
  EventUnitsTest() {
    open(1);
    must(provide_fleet_table(*store));
    must(provide_events_table(*store));
  }
  ~EventUnitsTest() override {
    members.clear();
    close();
  }

  struct Member : DaemonWithRuntime<SplitTables> {
    Member(EventUnitsTest& all, const std::string& id, bool has_function)
        : DaemonWithRuntime(all, id, SimFaults{}, TableChanges::kAllowed,
                            std::set<std::string>{std::string(kOwnEventsTable)}) {
      make_runtime(all.random, [&all, this](Context&) { return all.play(name); });
      runtime->share_events(id);
      queues = std::make_unique<Queues>(runtime->services(), EventLog(), QueueIdentity{id, "1"});
      units = std::make_unique<QueueUnits>(
          QueueUnitsParts{tables, shared, scheduler, all.random, EventLog(), *queues, calls, [](const std::string&) {}},
          FleetOptions{id, "", kLease});
      events = std::make_unique<EventUnits>(*units, tables, *runtime, all.random, wall, EventLog());
      scope.spawn(begin(has_function));
    }
    ~Member() { scope.clear(); }
    Async<void> begin(bool has_function) {
      auto started = co_await runtime->start();
      expect_well(started);
      if (has_function) {
        auto putting = put_function(function_named("F"));
        co_await putting;
      }
      auto noting = events->note();
      auto noted = co_await noting;
      expect_well(noted);
      units->begin("http://" + name);
      events->begin();
    }
    bool is_serving(const std::string& unit) const { return units->core() && units->core()->is_serving(unit); }

    const std::optional<Credentials> no_credentials;
    WallGuard wall{scheduler.clock()};
    MemberCalls calls{http, scheduler.clock(), no_credentials, no_credentials, "us-east-1"};
    std::unique_ptr<Queues> queues;
    std::unique_ptr<QueueUnits> units;
    std::unique_ptr<EventUnits> events;
  };

  Member& start(const std::string& id, bool has_function = true) {
    members[id] = std::make_unique<Member>(*this, id, has_function);
    world.run_for(kUntilItServes);
    EXPECT_TRUE(members[id]->is_serving("events/" + id));
    return *members[id];
  }
  void kill(const std::string& id) { members.erase(id); }
  Async<Result<std::string>> play(std::string daemon) {
    ran_on.insert(std::move(daemon));
    co_return std::string("null");
  }
  // An event that its daemon has not run.
  void store_event_of(const std::string& daemon) {
    PutItemInput put;
    put.table = kEventsTable;
    put.item = Item{{"kind", events_of(daemon)}, {"id", "00001887436800000000-1"},
                    {"function", "F"},           {"payload", "1"},
                    {"requestId", "1"},          {"created", Value::number(epoch_ms(clock.wall()))}};
    must(store->put_item(std::move(put)));
  }
  // The life in the daemon's note; "" if there is none.
  std::string noted(const std::string& daemon) {
    GetItemInput get;
    get.table = kEventsTable;
    get.key = note_of(daemon);
    const ItemRef item = must(store->get_item(std::move(get)));
    return item ? std::string(item.decode().string_or("life")) : "";
  }
  static Item note_of(const std::string& daemon) { return Item{{"kind", "daemons"}, {"id", daemon}}; }

  std::multiset<std::string> ran_on;
  std::map<std::string, std::unique_ptr<Member>> members;
};

// The other one has read the note before this daemon joined, and deletes it after that.
TEST_F(EventUnitsTest, OneThatJoinsIsNotForgottenByItsEarlierNote) {
  start("a");
  Member& b = start("b");
  kill("a");
  const std::string before = noted("a");
  ASSERT_NE(before, "");
  members["a"] = std::make_unique<Member>(*this, "a", true);
  world.run_until([&] { return noted("a") != before; }, seconds(10));
  const std::string read = noted("a");
  world.run_until([&] { return members["a"]->is_serving("events/a"); }, seconds(10));
  world.run_for(milliseconds(100));
  auto forgetting = forget_events_of(b.tables, "a", read);
  world.run_until([&] { return forgetting.is_ready(); }, seconds(1));
  EXPECT_TRUE(forgetting.take());
  EXPECT_NE(noted("a"), "");
}

TEST_F(EventUnitsTest, ANoteThatIsGoneIsWrittenAgain) {
  start("a");
  DeleteItemInput gone;
  gone.table = kEventsTable;
  gone.key = note_of("a");
  must(store->delete_item(std::move(gone)));
  ASSERT_EQ(noted("a"), "");
  world.run_for(seconds(12));
  EXPECT_NE(noted("a"), "");
}

TEST_F(EventUnitsTest, AnotherDaemonRunsTheEventsOfADeadOne) {
  start("a");
  start("b");
  kill("a");
  store_event_of("a");
  world.run_for(kUntilItIsDead);
  EXPECT_EQ(ran_on, std::multiset<std::string>{"b"});
}

TEST_F(EventUnitsTest, OneThatLacksTheFunctionLeavesTheEventsToOthers) {
  start("a");
  Member& b = start("b", false);
  kill("a");
  store_event_of("a");
  world.run_until([&] { return b.is_serving("events/a"); }, kUntilItIsDead);
  ASSERT_TRUE(b.is_serving("events/a")) << "it is the only one";
  world.run_for(seconds(5));
  EXPECT_FALSE(b.is_serving("events/a"));
  EXPECT_TRUE(ran_on.empty());
  start("c");
  world.run_for(seconds(10));
  EXPECT_EQ(ran_on, std::multiset<std::string>{"c"});
}

}  // namespace
}  // namespace freshet
