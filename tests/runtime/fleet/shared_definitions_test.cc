// Definitions of clients in a fleet, at several daemons over one simulated engine: they hold for all of them, whatever
// happens to the calls of the engine, and although daemons die and come back.
#include "runtime/definitions/shared_definitions.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "streams/system_table.h"
#include "streams/topic_records.h"
#include "streams/topic_service.h"
#include "tables/lease/definition_log.h"
#include "tables/lease/fleet_items.h"
#include "tables/owned/split_tables.h"
#include "tests/runtime/fleet/shared_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

constexpr seconds kLong{120};

class SharedDefinitionsTest : public SharedWorld {
 protected:
  SharedDefinitionsTest() { begin(1); }
  ~SharedDefinitionsTest() override { end(); }

  void begin(uint64_t seed) {
    open(seed);
    must(provide_fleet_table(*store));
    must(provide_definitions_table(*store));
  }
  void end() {
    daemons.clear();
    close();
  }

  struct Daemon : DaemonWithRuntime<SplitTables> {
    Daemon(SharedDefinitionsTest& all, const std::string& id, SimFaults faults, bool is_in_fleet)
        : DaemonWithRuntime(all, id, faults) {
      make_runtime(all.random, [](Context&) -> Async<Result<std::string>> { co_return std::string("{}"); });
      if (is_in_fleet) runtime->share_definitions({shared, [&all] { ++all.announced; }});
      scope.spawn(begin(is_in_fleet));
    }
    Async<void> begin(bool is_in_fleet) {
      auto started = co_await runtime->start();
      expect_well(started);
      while (is_in_fleet && !is_ready) {
        auto following = runtime->follow_definitions();
        auto followed = co_await following;
        is_ready = followed.has_value();
        if (!is_ready) co_await sleep_for(scheduler, milliseconds(50));
      }
      is_ready = true;
    }
    TopicService& topics() { return runtime->topic_service(); }
    bool is_ready = false;
  };

  Daemon& start(const std::string& id, SimFaults faults = {}, bool is_in_fleet = true) {
    daemons[id] = std::make_unique<Daemon>(*this, id, faults, is_in_fleet);
    world.run_until([&] { return daemons[id]->is_ready; }, kLong);
    EXPECT_TRUE(daemons[id]->is_ready);
    return *daemons[id];
  }
  template <class T>
  Result<T> wait(Async<Result<T>> work) {
    world.run_until([&] { return work.is_ready(); }, kLong);
    EXPECT_TRUE(work.is_ready());
    return work.take();
  }
  // As a read of the fleet's items does.
  void read(Daemon& daemon) { daemon.runtime->definitions_are_at(must(newest_definitions(*store))); }
  void all_follow() {
    for (auto& [id, daemon] : daemons) {
      const uint64_t newest = must(newest_definitions(*store));
      read(*daemon);
      world.run_until([&] { return daemon->runtime->definitions_version() >= newest; }, kLong);
      EXPECT_EQ(daemon->runtime->definitions_version(), newest) << id;
    }
  }

  // A client's calls.
  Result<void> create_topic(Daemon& daemon, const std::string& name, TopicSettings settings = {}) {
    return wait(daemon.runtime->create_topic(name, std::move(settings)));
  }
  static std::function<Result<void>(TopicSettings&)> count_up() {
    return [](TopicSettings& settings) -> Result<void> {
      std::string& count = settings.attributes["DisplayName"];
      count = std::to_string(count.empty() ? 1 : std::stoi(count) + 1);
      return {};
    };
  }
  static int count_of(Daemon& daemon, const std::string& topic) {
    const auto found = daemon.topics().find_topic(topic);
    if (!found || !found->settings.attributes.contains("DisplayName")) return 0;
    return std::stoi(found->settings.attributes.at("DisplayName"));
  }
  Result<SubscriptionState> subscribe(Daemon& daemon, const std::string& topic, const std::string& endpoint) {
    SubscriptionDefinition asked;
    asked.topic = topic;
    asked.protocol = endpoint.starts_with("http://") ? "http" : "lambda";
    asked.endpoint = endpoint;
    return wait(daemon.runtime->request_subscription(std::move(asked), any(), "http://server:1"));
  }
  static ChangeSubscription any() {
    return [](SubscriptionDefinition&, SubscriptionSettings&) { return Result<void>(); };
  }

  // The topics and subscriptions that a daemon serves, and those in its system table.
  static std::string shown(Daemon& daemon) {
    std::string text;
    for (const std::string& name : daemon.topics().topics_after("", 1000)) {
      const auto topic = daemon.topics().find_topic(name);
      text += name + " " + std::to_string(topic->settings.deleted);
      for (const auto& [key, value] : topic->settings.attributes) text += " " + key + "=" + value;
      text += "\n";
    }
    for (const auto& one : daemon.topics().subscriptions_after("", "", 1000)) {
      text += one.arn + " " + one.definition.endpoint + (one.settings.pending ? " pending\n" : "\n");
    }
    return text;
  }
  std::set<std::string> stored(const std::string& id) {
    std::set<std::string> keys;
    for (const std::string_view kind : {kTopicKind, kSubscriptionKind}) {
      for (const ItemRef& item : must(load_system_items(folder_of(id), std::string(kind)))) {
        keys.insert(std::string(kind) + "/" + std::string(item.decode().string_or("id")));
      }
    }
    return keys;
  }
  // Records these names as those of the daemon's template.
  void deploy(const std::string& id, const std::string& topic, const std::string& subscription = "") {
    Tables& folder = folder_of(id);
    must(ensure_system_table(folder));
    Item record = system_item("deployment", "current");
    List topics;
    topics.elements.emplace_back(topic);
    record.set("topics", std::move(topics));
    List subscriptions;
    if (!subscription.empty()) subscriptions.elements.emplace_back(subscription);
    record.set("subscriptions", std::move(subscriptions));
    must(folder.put_item(put_system_item(std::move(record))));
  }

  std::map<std::string, std::unique_ptr<Daemon>> daemons;
  int announced = 0;
};

TEST_F(SharedDefinitionsTest, WhatOneDaemonDefinesHoldsAtTheOthers) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(create_topic(a, "T"));
  EXPECT_EQ(announced, 1);
  EXPECT_FALSE(b.topics().has_topic("T"));
  const auto subscription = subscribe(a, "T", "F");
  ASSERT_TRUE(subscription);
  all_follow();
  EXPECT_EQ(shown(a), shown(b));
  EXPECT_EQ(stored("a"), stored("b"));
  EXPECT_EQ(stored("b").size(), 2u);
  // A change begins with all that the others have changed, and needs no read before it.
  ASSERT_TRUE(wait(b.runtime->unsubscribe(subscription->arn)));
  ASSERT_TRUE(wait(a.runtime->remove_topic("T")));
  ASSERT_TRUE(create_topic(b, "U"));
  all_follow();
  EXPECT_EQ(shown(a), "U 0\n");
  EXPECT_EQ(shown(b), "U 0\n");
  EXPECT_EQ(stored("a"), std::set<std::string>{"topic/U"});
  EXPECT_EQ(stored("b"), std::set<std::string>{"topic/U"});
}

TEST_F(SharedDefinitionsTest, TheSecondOfTwoChangesSeesTheFirst) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  TopicSettings named;
  named.attributes["DisplayName"] = "1";
  ASSERT_TRUE(create_topic(a, "T", named));
  named.attributes["DisplayName"] = "2";
  const auto again = create_topic(b, "T", named);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("already exists with different attributes"), std::string::npos);
  std::vector<Async<Result<void>>> changes;
  for (int i = 0; i < 10; ++i) {
    for (Daemon* daemon : {&a, &b}) changes.push_back(daemon->runtime->change_topic("T", count_up()));
  }
  for (auto& change : changes) EXPECT_TRUE(wait(std::move(change)));
  all_follow();
  EXPECT_EQ(count_of(a, "T"), 21);
  EXPECT_EQ(count_of(b, "T"), 21);
}

TEST_F(SharedDefinitionsTest, ADaemonThatWasAwayHasWhatTheFleetHas) {
  start("a");
  start("b");
  ASSERT_TRUE(create_topic(*daemons["a"], "Old"));
  ASSERT_TRUE(create_topic(*daemons["a"], "Kept"));
  all_follow();
  daemons.erase("b");
  ASSERT_TRUE(wait(daemons["a"]->runtime->remove_topic("Old")));
  ASSERT_TRUE(create_topic(*daemons["a"], "New"));
  // Alone, it goes on with what it knows.
  Daemon& alone = start("b", {}, false);
  EXPECT_EQ(shown(alone), "Kept 0\nOld 0\n");
  ASSERT_TRUE(wait(alone.runtime->create_topic("Own", {})));
  ASSERT_TRUE(wait(alone.runtime->change_topic("Kept", count_up())));
  daemons.erase("b");
  Daemon& back = start("b");
  EXPECT_EQ(shown(back), "Kept 0\nNew 0\nOwn 0\n") << "what it made alone comes along; else the fleet's holds";
  all_follow();
  EXPECT_EQ(shown(*daemons["a"]), shown(back));
  EXPECT_EQ(stored("a"), stored("b"));
}

TEST_F(SharedDefinitionsTest, TheFirstDaemonBringsItsDefinitionsAlong) {
  Daemon& alone = start("a", {}, false);
  ASSERT_TRUE(wait(alone.runtime->create_topic("T", {})));
  ASSERT_TRUE(subscribe(alone, "T", "F"));
  ASSERT_TRUE(subscribe(alone, "T", "http://there/x"));
  const std::string before = shown(alone);
  daemons.erase("a");
  start("a");
  start("b");
  EXPECT_EQ(shown(*daemons["a"]), before);
  EXPECT_EQ(shown(*daemons["b"]), before);
}

TEST_F(SharedDefinitionsTest, WhatATemplateDefinesIsTheDaemonsOwn) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  const std::string arn = topic_arn(a.runtime->account(), "T") + ":sub";
  deploy("a", "T", "T:sub");
  TopicDefinition topic;
  topic.name = "T";
  ASSERT_TRUE(wait(a.runtime->put_topic(topic)));
  SubscriptionDefinition mine{"sub", "T", "lambda", "F", "", false, false};
  ASSERT_TRUE(wait(a.runtime->subscribe(mine)));
  EXPECT_EQ(must(newest_definitions(*store)), 0u);
  const auto refused = wait(a.runtime->check_is_of_clients(topic_named("T")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kValidation);
  EXPECT_FALSE(wait(a.runtime->check_is_of_clients(subscription_named(arn))));
  EXPECT_TRUE(wait(a.runtime->check_is_of_clients(topic_named("U"))));
  // A client's subscription to it is the fleet's, and waits where there is no such topic.
  ASSERT_TRUE(subscribe(a, "T", "G"));
  all_follow();
  EXPECT_EQ(shown(b), "");
  // Another daemon has a topic of that name from a client: it holds there.
  ASSERT_TRUE(create_topic(b, "T"));
  ASSERT_TRUE(wait(b.runtime->change_topic("T", count_up())));
  all_follow();
  EXPECT_EQ(count_of(a, "T"), 0);
  EXPECT_EQ(a.topics().subscriptions().size(), 2u);
  EXPECT_EQ(count_of(b, "T"), 1);
  EXPECT_EQ(b.topics().subscriptions().size(), 0u) << "it was made before the topic";
  // The template gives it up: the daemon removes its own, and then has the fleet's.
  ASSERT_TRUE(wait(a.runtime->unsubscribe(arn)));
  ASSERT_TRUE(wait(a.runtime->remove_topic("T")));
  EXPECT_TRUE(b.topics().has_topic("T"));
  deploy("a", "Other");
  ASSERT_TRUE(wait(a.runtime->follow_definitions()));
  ASSERT_TRUE(wait(b.runtime->follow_definitions()));
  EXPECT_EQ(count_of(a, "T"), 1);
  EXPECT_EQ(shown(a), shown(b));
  EXPECT_EQ(a.topics().subscriptions().size(), 1u);
}

TEST_F(SharedDefinitionsTest, ASubscriptionIsConfirmedAtAnotherDaemon) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(create_topic(a, "T"));
  const auto asked = subscribe(a, "T", "http://there/x");
  ASSERT_TRUE(asked);
  all_follow();
  EXPECT_NE(b.runtime->invoker().find(confirmation_target(asked->arn)), nullptr);
  const auto confirmed = wait(b.runtime->confirm_subscription("T", asked->settings.token));
  ASSERT_TRUE(confirmed);
  all_follow();
  for (Daemon* daemon : {&a, &b}) {
    EXPECT_EQ(daemon->runtime->invoker().find(confirmation_target(asked->arn)), nullptr);
    EXPECT_NE(daemon->runtime->invoker().find(asked->arn), nullptr);
    EXPECT_FALSE(daemon->topics().find_subscription(asked->arn)->settings.pending);
  }
  ASSERT_TRUE(wait(b.runtime->remove_topic("T")));
  all_follow();
  EXPECT_EQ(a.runtime->invoker().find(asked->arn), nullptr);
}

TEST_F(SharedDefinitionsTest, ADaemonThatMissedMuchReadsAll) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(create_topic(a, "T"));
  ASSERT_TRUE(create_topic(a, "Gone"));
  all_follow();
  ASSERT_TRUE(create_topic(a, "Early"));
  ASSERT_TRUE(wait(a.runtime->remove_topic("Gone")));
  for (int i = 0; i < 1'005; ++i) ASSERT_TRUE(wait(a.runtime->change_topic("T", count_up())));
  ASSERT_EQ(must(definition_changes(*store, 0)).size(), 1'000u) << "older changes are forgotten";
  all_follow();
  EXPECT_EQ(shown(b), "Early 0\nT 0 DisplayName=1005\n");
}

TEST_F(SharedDefinitionsTest, AManyPartedRemovalIsWhole) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(create_topic(a, "T"));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(subscribe(a, "T", "F" + std::to_string(i)));
  ASSERT_TRUE(wait(b.runtime->remove_topic("T")));
  all_follow();
  EXPECT_EQ(shown(a), "");
  EXPECT_EQ(stored("a"), std::set<std::string>{});
  EXPECT_EQ(stored("b"), std::set<std::string>{});
}

TEST_F(SharedDefinitionsTest, AChangeIsRefusedWhileTheFleetCannotBeRead) {
  Daemon& a = start("a");
  SimFaults none;
  none.refused = 1;
  none.everywhere = true;
  must(store->delete_table(kDefinitionsTable));
  const auto refused = create_topic(a, "T");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(a.topics().has_topic("T"));
}

// Clients change definitions at all daemons, which die and come back, while the engine loses calls, answers late and
// carries out calls twice. In the end all daemons have the same, and each acknowledged change counts once.
class Changes : public SharedDefinitionsTest {
 protected:
  static SimFaults faults() {
    SimFaults some = SimFaults::some();
    some.lost_before = some.lost_after = some.late = 0.08;
    some.everywhere = true;
    return some;
  }
  void step() {
    const std::string id(1, static_cast<char>('a' + random.below(3)));
    if (!daemons.contains(id)) {
      start(id, faults());
      return;
    }
    Daemon& daemon = *daemons.at(id);
    if (random.below(12) == 0) {
      daemons.erase(id);
      return;
    }
    read(daemon);
    const std::string topic = "T" + std::to_string(random.below(3));
    switch (random.below(5)) {
      case 0:
        daemon.scope.spawn(note(daemon.runtime->create_topic(topic, {})));
        break;
      case 1:
        daemon.scope.spawn(forget(topic, daemon.runtime->remove_topic(topic)));
        break;
      case 2:
        daemon.scope.spawn(subscribe_one(daemon, topic));
        break;
      default:
        daemon.scope.spawn(count(topic, daemon));
    }
    world.run_for(milliseconds(random.below(60)));
  }
  static Async<void> note(Async<Result<void>> work) { static_cast<void>(co_await work); }
  static Async<void> forget(std::string, Async<Result<void>> work) { static_cast<void>(co_await work); }
  Async<void> subscribe_one(Daemon& daemon, std::string topic) {
    SubscriptionDefinition asked;
    asked.topic = topic;
    asked.protocol = "lambda";
    asked.endpoint = "F" + std::to_string(random.below(4));
    ChangeSubscription configure = any();
    auto asking = daemon.runtime->request_subscription(std::move(asked), std::move(configure), "");
    static_cast<void>(co_await asking);
  }
  // Counts on the topic "Count", which nobody removes.
  Async<void> count(std::string, Daemon& daemon) {
    ++unsure;
    auto counting = daemon.runtime->change_topic("Count", count_up());
    auto counted = co_await counting;
    if (counted || counted.error().code != ErrorCode::kUnknownOutcome) --unsure;
    if (counted) ++counts;
  }

  int counts = 0;
  int unsure = 0;  // Also those of a daemon that has died meanwhile.
};

TEST_F(Changes, AllDaemonsAgree) {
  size_t refused = 0;
  for (const uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    end();
    begin(seed);
    counts = unsure = 0;
    for (const char* id : {"a", "b", "c"}) start(id, faults());
    daemons["a"]->shared.set_faults({});
    ASSERT_TRUE(create_topic(*daemons["a"], "Count"));
    daemons["a"]->shared.set_faults(faults());
    for (int i = 0; i < 80; ++i) step();
    for (auto& [id, daemon] : daemons) daemon->shared.set_faults({});
    world.run_for(seconds(30));
    for (const char* id : {"a", "b", "c"}) {
      if (!daemons.contains(id)) start(id);
    }
    all_follow();
    const std::string first = shown(*daemons["a"]);
    for (const char* id : {"b", "c"}) {
      EXPECT_EQ(shown(*daemons[id]), first);
      EXPECT_EQ(stored(id), stored("a"));
    }
    std::set<std::string> shared;
    for (const std::string_view kind : {kTopicKind, kSubscriptionKind}) {
      for (const ItemRef& item : must(load_items_of(*store, kDefinitionsTable, std::string(kind), ""))) {
        shared.insert(std::string(kind) + "/" + std::string(item.decode().string_or("id")));
      }
    }
    EXPECT_EQ(shared, stored("a"));
    const int counted = count_of(*daemons["a"], "Count");
    EXPECT_GE(counted, counts);
    EXPECT_LE(counted, counts + unsure);
    EXPECT_GT(counts, 5);
    for (auto& [id, daemon] : daemons) refused += daemon->shared.unknown_outcomes();
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace freshet
