// Definitions of clients in a fleet, at several daemons over one simulated engine: they hold for all of them, whatever
// happens to the calls of the engine, and although daemons die and come back.
#include "tests/runtime/fleet/definitions_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

class SharedDefinitionsTest : public DefinitionsWorld {};

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
  EXPECT_EQ(b.topics().subscriptions().size(), 1u) << "it has waited for a topic of that name";
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

TEST_F(SharedDefinitionsTest, ASubscriptionWaitsForATopicOfThatName) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  TopicDefinition topic;
  topic.name = "T";
  // A client's subscription to a topic of a template.
  deploy("a", "T");
  ASSERT_TRUE(wait(a.runtime->put_topic(topic)));
  ASSERT_TRUE(subscribe(a, "T", "F"));
  const auto confirmed = subscribe(a, "T", "http://there/x");
  ASSERT_TRUE(confirmed);
  ASSERT_TRUE(wait(a.runtime->confirm_subscription("T", confirmed->settings.token)));
  ASSERT_TRUE(wait(a.runtime->remove_topic("T")));
  deploy("a", "Other");
  ASSERT_TRUE(wait(a.runtime->follow_definitions()));
  all_follow();
  EXPECT_EQ(shown(a), "");
  // A client makes the topic, at a daemon that has only followed the subscriptions.
  ASSERT_TRUE(create_topic(b, "T"));
  all_follow();
  for (Daemon* daemon : {&a, &b}) {
    EXPECT_EQ(daemon->topics().subscriptions().size(), 2u);
    EXPECT_NE(daemon->find(confirmed->arn), nullptr);
  }
  // They are the topic's now, and go with it.
  ASSERT_TRUE(wait(b.runtime->remove_topic("T")));
  ASSERT_TRUE(create_topic(b, "T"));
  all_follow();
  EXPECT_EQ(shown(a), "T 0\n");
  EXPECT_EQ(shown(b), "T 0\n");
  EXPECT_EQ(a.find(confirmed->arn), nullptr);
}

TEST_F(SharedDefinitionsTest, ATemplatesSubscriptionWaitsForAClientsTopic) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(create_topic(b, "T"));
  all_follow();
  deploy("a", "Other", "T:sub");
  SubscriptionDefinition mine{"sub", "T", "lambda", "F", "", false, false};
  const auto arn = wait(a.runtime->subscribe(mine));
  ASSERT_TRUE(arn);
  ASSERT_TRUE(wait(b.runtime->remove_topic("T")));
  all_follow();
  EXPECT_EQ(shown(a), "");
  ASSERT_TRUE(create_topic(b, "T"));
  all_follow();
  EXPECT_EQ(a.topics().subscriptions().size(), 1u);
  // The topic counts the subscriptions that ended. It stays the fleet's: it goes with the fleet's.
  ASSERT_TRUE(wait(a.runtime->unsubscribe(*arn)));
  daemons.erase("a");
  ASSERT_TRUE(wait(b.runtime->remove_topic("T")));
  EXPECT_EQ(shown(start("a")), "");
}

TEST_F(SharedDefinitionsTest, ATemplateMayGiveUpASubscriptionThatWaits) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(create_topic(b, "T"));
  all_follow();
  deploy("a", "Other", "T:sub");
  SubscriptionDefinition mine{"sub", "T", "lambda", "F", "", false, false};
  const auto arn = wait(a.runtime->subscribe(mine));
  ASSERT_TRUE(arn);
  ASSERT_TRUE(wait(b.runtime->remove_topic("T")));
  all_follow();
  EXPECT_TRUE(wait(a.runtime->unsubscribe(*arn)));
  EXPECT_EQ(wait(a.runtime->unsubscribe(*arn)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(wait(a.runtime->unsubscribe("T")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(stored("a"), std::set<std::string>{});
  ASSERT_TRUE(create_topic(b, "T"));
  all_follow();
  EXPECT_EQ(shown(a), "T 0\n");
}

// A topic that it has changed alone was the fleet's, and is gone with the fleet's.
TEST_F(SharedDefinitionsTest, WhatTheFleetHasRemovedDoesNotComeBack) {
  start("a");
  start("b");
  ASSERT_TRUE(create_topic(*daemons["a"], "T"));
  ASSERT_TRUE(create_topic(*daemons["a"], "Again"));
  all_follow();
  daemons.erase("b");
  Daemon& alone = start("b", {}, false);
  ASSERT_TRUE(wait(alone.runtime->change_topic("T", count_up())));
  ASSERT_TRUE(subscribe(alone, "T", "F"));
  ASSERT_TRUE(wait(alone.runtime->remove_topic("Again")));
  ASSERT_TRUE(wait(alone.runtime->create_topic("Again", {})));
  daemons.erase("b");
  ASSERT_TRUE(wait(daemons["a"]->runtime->remove_topic("T")));
  ASSERT_TRUE(wait(daemons["a"]->runtime->remove_topic("Again")));
  EXPECT_EQ(shown(start("b")), "Again 0\n") << "this one it has made itself";
  EXPECT_EQ(stored("b"), std::set<std::string>{"topic/Again"});
}

TEST_F(SharedDefinitionsTest, ASubscriptionThatTheFleetHasIsNotBroughtAgain) {
  for (const char* id : {"a", "b"}) {
    Daemon& alone = start(id, {}, false);
    ASSERT_TRUE(wait(alone.runtime->create_topic("T", {})));
    ASSERT_TRUE(subscribe(alone, "T", "F"));
    daemons.erase(id);
  }
  start("a");
  EXPECT_EQ(start("b").topics().subscriptions().size(), 1u) << "or each message would be delivered twice";
  all_follow();
  EXPECT_EQ(shown(*daemons["a"]), shown(*daemons["b"]));
  EXPECT_EQ(stored("b").size(), 2u);
}

// The newest version may be ahead of the log if somebody has removed items of it.
TEST_F(SharedDefinitionsTest, ALogThatLacksTheNewestChangesIsNoEndlessWork) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(create_topic(a, "T"));
  for (const DefinitionChange& change : must(definition_changes(*store, 0))) {
    ScanInput scan;
    scan.table = kDefinitionsTable;
    for (const ItemRef& ref : must(store->scan(std::move(scan))).items) {
      if (ref.decode().string_or("by") != change.by) continue;
      DeleteItemInput gone;
      gone.table = kDefinitionsTable;
      gone.key = Item{{"kind", "change"}, {"id", ref.decode().string_or("id")}};
      must(store->delete_item(std::move(gone)));
    }
  }
  const uint64_t before = b.shared.calls();
  read(b);
  world.run_for(seconds(5));
  EXPECT_LT(b.shared.calls() - before, 50u);
  read(b);
  world.run_for(seconds(5));
  EXPECT_EQ(shown(b), shown(a));
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

// A client that goes through a load balancer makes a topic at one daemon and publishes to it at another.
TEST_F(SharedDefinitionsTest, ARequestFindsWhatAnotherDaemonHasJustMade) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  const auto look = [&](DefinitionName what) {
    auto looking = b.runtime->look_for(std::move(what));
    world.run_until([&] { return looking.is_ready(); }, kLong);
    ASSERT_TRUE(looking.is_ready());
  };
  ASSERT_TRUE(create_topic(a, "T"));
  EXPECT_FALSE(b.topics().has_topic("T"));
  look(topic_named("T"));
  EXPECT_TRUE(b.topics().has_topic("T"));
  const auto subscription = subscribe(a, "T", "F");
  ASSERT_TRUE(subscription);
  look(subscription_named(subscription->arn));
  EXPECT_TRUE(b.topics().find_subscription(subscription->arn));
  ASSERT_TRUE(upload(a, "F", "one"));
  look(function_by_name("F"));
  EXPECT_TRUE(b.find("F"));
  ASSERT_TRUE(wait(a.runtime->publish_version("F", "", any_function())));
  look(function_by_name("F:1"));
  EXPECT_TRUE(b.find("F:1"));
}

TEST_F(SharedDefinitionsTest, RequestsForNamesThatNobodyHasMadeCostFewReads) {
  Daemon& a = start("a");
  ASSERT_TRUE(create_topic(a, "T"));
  const uint64_t before = a.shared.calls();
  wait(a.runtime->check_is_of_clients(topic_named("T")));
  const uint64_t each = a.shared.calls() - before;
  const BootTime began = world.clock().boot();
  std::vector<Async<void>> looks;
  for (int i = 0; i < 500; ++i) {
    looks.push_back(a.runtime->look_for(topic_named("T")));
    looks.push_back(a.runtime->look_for(topic_named("None" + std::to_string(i))));
    if (i % 10 == 0) world.run_for(milliseconds(20));
  }
  world.run_until([&] { return std::all_of(looks.begin(), looks.end(), [](auto& one) { return one.is_ready(); }); },
                  kLong);
  const auto tenths = static_cast<uint64_t>((world.clock().boot() - began) / milliseconds(100));
  EXPECT_LE(a.shared.calls() - before, each * (tenths + 3));
}

TEST_F(SharedDefinitionsTest, AChangeDoesNotWaitForOthersForLong) {
  SimFaults slow;
  slow.latest = milliseconds(3000);
  Daemon& a = start("a", slow);
  const BootTime began = world.clock().boot();
  std::vector<Async<Result<void>>> changes;
  for (int i = 0; i < 60; ++i) changes.push_back(a.runtime->create_topic("T" + std::to_string(i), {}));
  int made = 0;
  for (auto& change : changes) {
    const auto done = wait(std::move(change));
    made += done ? 1 : 0;
    EXPECT_TRUE(done || done.error().code == ErrorCode::kUnavailable);
  }
  EXPECT_GT(made, 0);
  EXPECT_LT(made, 60);
  EXPECT_LT(world.clock().boot() - began, seconds(60)) << "ten seconds, and what one change takes";
  EXPECT_EQ(a.topics().topics_after("", 100).size(), static_cast<size_t>(made)) << "what is refused is not made";
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
    const std::string function = "F" + std::to_string(random.below(2));
    switch (random.below(9)) {
      case 0:
        daemon.scope.spawn(note(daemon.runtime->create_topic(topic, {})));
        break;
      case 1:
        daemon.scope.spawn(forget(topic, daemon.runtime->remove_topic(topic)));
        break;
      case 2:
        daemon.scope.spawn(subscribe_one(daemon, topic));
        break;
      case 3:
        daemon.scope.spawn(drop(daemon.runtime->remove_function(function)));
        break;
      case 4:
        daemon.scope.spawn(publish(function, daemon));
        break;
      case 5:
        daemon.scope.spawn(upload_one(function, daemon));
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
  static Async<void> drop(Async<Result<void>> work) { static_cast<void>(co_await work); }
  // Makes or changes a function, with code of one of three folders.
  Async<void> upload_one(std::string function, Daemon& daemon) {
    const std::string folder = "code" + std::to_string(random.below(3));
    folders_with_code[daemon.name].there.insert(folder);
    std::string name = folder;
    auto giving = daemon.code.give(std::move(name));
    auto given = co_await giving;
    if (!given) co_return;
    FunctionUpdate update = [&daemon, function, folder](const FunctionDefinition*) -> Result<FunctionDefinition> {
      FunctionDefinition definition = Daemon::function_named(function);
      definition.code = daemon.code.path_of(folder);
      definition.code_sha256 = "sha";
      definition.modified_ms = FunctionDefinition::kModifiedNow;
      return definition;
    };
    name = function;
    auto updating = daemon.runtime->update_function(std::move(name), std::move(update));
    static_cast<void>(co_await updating);
  }
  Async<void> publish(std::string function, Daemon& daemon) {
    FunctionRegistry::Check check = any_function();
    std::string name = function;
    auto publishing = daemon.runtime->publish_version(std::move(name), std::nullopt, std::move(check));
    auto version = co_await publishing;
    if (!version) co_return;
    FunctionRegistry::Change change = point("live", version->version);
    auto pointing = daemon.runtime->change_qualifiers(std::move(function), std::move(change));
    static_cast<void>(co_await pointing);
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
  size_t functions = 0;
  size_t versions = 0;
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
    for (const std::string_view kind : kSharedKinds) {
      for (const ItemRef& item : must(load_items_of(*store, kDefinitionsTable, std::string(kind), ""))) {
        shared.insert(std::string(kind) + "/" + std::string(item.decode().string_or("id")));
      }
    }
    EXPECT_EQ(shared, stored("a"));
    for (const ItemRef& item : must(load_items_of(*store, kDefinitionsTable, "function", ""))) {
      functions += item.decode().string_or("version").empty() ? 1 : 0;
      versions += item.decode().string_or("version").empty() ? 0 : 1;
      const std::string code(item.decode().string_or("code"));
      for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(folders_with_code[id].there.contains(code)) << id;
    }
    const int counted = count_of(*daemons["a"], "Count");
    EXPECT_GE(counted, counts);
    EXPECT_LE(counted, counts + unsure);
    EXPECT_GT(counts, 5);
    for (auto& [id, daemon] : daemons) refused += daemon->shared.unknown_outcomes();
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(functions, 5u);
  EXPECT_GT(versions, 5u);
}

}  // namespace
}  // namespace freshet
