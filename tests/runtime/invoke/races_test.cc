// Changes of topics, subscriptions and mappings that overlap, on a store whose answers come late: what memory says is
// what is stored, and what a restart finds.
#include <gtest/gtest.h>

#include <set>

#include "tests/runtime/invoke/world.h"

namespace freshet {
namespace {

constexpr uint64_t kRaceSeeds = 40;

struct RaceWorld {
  explicit RaceWorld(uint64_t seed) : world(RuntimeOptions{}, seed * 1'000) {
    world.add_function("A");
    world.must(world.runtime->put_topic({"News"}));
  }

  SubscriptionDefinition to_a(const std::string& id = "") const {
    return {id, "News", "lambda", "A", "", false, false};
  }
  Async<Result<SubscriptionState>> request() {
    SubscriptionDefinition asked = to_a();
    ChangeSubscription as_it_is = [](SubscriptionDefinition&, SubscriptionSettings&) { return Result<void>(); };
    return world.runtime->request_subscription(std::move(asked), std::move(as_it_is), "http://here");
  }
  std::set<std::string> there() const {
    std::set<std::string> all;
    for (const auto& topic : world.runtime->topics()) all.insert("topic " + topic.name);
    for (const auto& one : world.runtime->subscriptions()) {
      all.insert("subscription " + one.topic + ":" + one.id + " " + one.filter_policy);
    }
    for (const auto& one : world.runtime->mappings()) {
      all.insert("mapping " + one.definition.id + " " + std::to_string(one.definition.batch_size));
    }
    return all;
  }
  // A restart finds what there is now, and nothing that another topic of that name would inherit.
  void check(const std::string& what) {
    const auto before = there();
    const size_t subscriptions = world.runtime->subscriptions().size();
    EXPECT_EQ(world.stored("subscription"), subscriptions) << what;
    EXPECT_EQ(world.stored("mapping"), world.runtime->mappings().size()) << what;
    world.start();
    EXPECT_EQ(there(), before) << what;
  }

  RuntimeWorld world;
};

TEST(Races, ATopicThatGoesWhileSubscriptionsComeLeavesNone) {
  for (uint64_t seed = 1; seed <= kRaceSeeds; ++seed) {
    RaceWorld race(seed);
    RuntimeWorld& world = race.world;
    auto first = world.runtime->subscribe(race.to_a("one"));
    auto gone = world.runtime->remove_topic("News");
    auto second = world.runtime->subscribe(race.to_a("two"));
    EXPECT_TRUE(world.wait(std::move(first))) << seed;
    EXPECT_TRUE(world.wait(std::move(gone))) << seed;
    EXPECT_FALSE(world.wait(std::move(second))) << seed << ": there is no such topic any more";
    race.check("seed " + std::to_string(seed));
    world.must(world.runtime->put_topic({"News"}));
    world.start();
    EXPECT_TRUE(world.runtime->subscriptions().empty()) << seed;
  }
}

TEST(Races, TwoThatSubscribeTheSameEndpointGetOneSubscription) {
  for (uint64_t seed = 1; seed <= kRaceSeeds; ++seed) {
    RaceWorld race(seed);
    auto first = race.request();
    auto second = race.request();
    const auto one = race.world.must(std::move(first));
    const auto other = race.world.must(std::move(second));
    EXPECT_EQ(one.arn, other.arn) << seed;
    race.check("seed " + std::to_string(seed));
  }
}

TEST(Races, ASubscriptionThatIsEndedWhileItChangesStaysEnded) {
  for (uint64_t seed = 1; seed <= kRaceSeeds; ++seed) {
    RaceWorld race(seed);
    RuntimeWorld& world = race.world;
    const std::string arn = world.must(world.runtime->subscribe(race.to_a("one")));
    ChangeSubscription filter = [](SubscriptionDefinition& definition, SubscriptionSettings&) {
      definition.filter_policy = R"({"k":["v"]})";
      return Result<void>();
    };
    auto changed = world.runtime->topic_service().change_subscription(arn, filter);
    auto ended = world.runtime->unsubscribe(arn);
    auto late = world.runtime->topic_service().change_subscription(arn, filter);
    EXPECT_TRUE(world.wait(std::move(changed))) << seed;
    EXPECT_TRUE(world.wait(std::move(ended))) << seed;
    EXPECT_FALSE(world.wait(std::move(late))) << seed;
    EXPECT_TRUE(world.runtime->subscriptions().empty()) << seed;
    race.check("seed " + std::to_string(seed));
  }
}

TEST(Races, ATopicThatChangesWhileItGoesDoesNotComeBack) {
  for (uint64_t seed = 1; seed <= kRaceSeeds; ++seed) {
    RaceWorld race(seed);
    RuntimeWorld& world = race.world;
    const auto change = [&](const char* value) {
      ChangeTopic tag = [value](TopicSettings& settings) {
        settings.tags["k"] = value;
        return Result<void>();
      };
      return world.runtime->topic_service().change_topic("News", std::move(tag));
    };
    auto changed = change("a");
    auto gone = world.runtime->remove_topic("News");
    auto late = change("b");
    EXPECT_TRUE(world.wait(std::move(changed))) << seed;
    EXPECT_TRUE(world.wait(std::move(gone))) << seed;
    EXPECT_FALSE(world.wait(std::move(late))) << seed;
    EXPECT_TRUE(world.runtime->topics().empty()) << seed;
    race.check("seed " + std::to_string(seed));
  }
}

MappingDefinition mapping_of(int batch) {
  MappingDefinition mapping;
  mapping.id = "m";
  mapping.table = "Tasks";
  mapping.function = "A";
  mapping.batch_size = batch;
  return mapping;
}

TEST(Races, AMappingIsWhatWasAskedForLast) {
  for (uint64_t seed = 1; seed <= kRaceSeeds; ++seed) {
    RaceWorld race(seed);
    RuntimeWorld& world = race.world;
    world.add_table("Tasks");
    auto first = world.runtime->put_mapping(mapping_of(1));
    auto second = world.runtime->put_mapping(mapping_of(2));
    auto third = world.runtime->put_mapping(mapping_of(3));
    EXPECT_TRUE(world.wait(std::move(first)) && world.wait(std::move(second)) && world.wait(std::move(third))) << seed;
    EXPECT_TRUE(race.there().contains("mapping m 3")) << seed;
    race.check("seed " + std::to_string(seed));
    auto changed = world.runtime->put_mapping(mapping_of(4));
    auto gone = world.runtime->remove_mapping("m");
    EXPECT_TRUE(world.wait(std::move(changed)) && world.wait(std::move(gone))) << seed;
    EXPECT_TRUE(world.runtime->mappings().empty()) << seed;
    race.check("seed " + std::to_string(seed) + ", removed");
  }
}

// Records that arrive once the mapping exists must reach its function, even if another change of it is running.
TEST(Races, AChangeOfAMappingThatIsNotThereYetSkipsNoRecord) {
  for (uint64_t seed = 1; seed <= kRaceSeeds; ++seed) {
    RaceWorld race(seed);
    RuntimeWorld& world = race.world;
    world.add_table("Tasks");
    auto first = world.runtime->put_mapping(mapping_of(1));
    auto second = world.runtime->put_mapping(mapping_of(2));
    EXPECT_TRUE(world.wait(std::move(first))) << seed;
    for (int i = 0; i < 20; ++i) {
      world.put("Tasks", Item{{"taskId", "t" + std::to_string(i)}});
      world.sim.run_for(milliseconds(1));
    }
    EXPECT_TRUE(world.wait(std::move(second))) << seed;
    world.sim.run_for(seconds(5));
    std::string all;
    for (const std::string& payload : world.payloads("A")) all += payload;
    for (int i = 0; i < 20; ++i) {
      EXPECT_NE(all.find("\"t" + std::to_string(i) + "\""), std::string::npos) << seed << " lost " << i;
    }
  }
}

// A browser that confirms a subscription may hang up before it has the answer.
TEST(Races, ASubscriptionThatIsConfirmedGetsMessagesThoughNobodyWaitsForTheAnswer) {
  for (uint64_t seed = 1; seed <= kRaceSeeds; ++seed) {
    RaceWorld race(seed);
    RuntimeWorld& world = race.world;
    Random steps(seed);
    SubscriptionDefinition asked{"", "News", "http", "http://there/", "", false, false};
    ChangeSubscription as_it_is = [](SubscriptionDefinition&, SubscriptionSettings&) { return Result<void>(); };
    const auto pending =
        world.must(world.runtime->request_subscription(std::move(asked), std::move(as_it_is), "http://here"));
    world.sim.run_for(seconds(1));
    {
      const auto confirmed = world.runtime->confirm_subscription("News", pending.settings.token);
      for (uint64_t turns = steps.below(12); turns > 0; --turns) {
        if (!world.sim.loop().ready()) world.sim.run_for(milliseconds(1));
        world.sim.loop().turn();
      }
    }
    world.sim.run_for(seconds(1));
    world.http.requests.clear();
    PublishInput input;
    input.topic_arn = "News";
    input.message = "hello";
    world.must(world.runtime->publisher().publish(std::move(input)));
    world.sim.run_for(seconds(1));
    EXPECT_EQ(world.http.requests.size(), 1u) << seed;
  }
}

}  // namespace
}  // namespace freshet
