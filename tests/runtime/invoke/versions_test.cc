// Versions and aliases in the runtime: what runs, what shares places, and what a restart finds.
#include <gtest/gtest.h>

#include "tests/runtime/invoke/world.h"

namespace freshet {
namespace {

class VersionsTest : public ::testing::Test {
 protected:
  FunctionDefinition publish(std::optional<std::string> description = {}) {
    FunctionRegistry::Check any = [](const FunctionDefinition&) { return Result<void>(); };
    return world.must(world.runtime->publish_version("F", std::move(description), std::move(any)));
  }
  void change() {
    world.must(world.runtime->update_function("F", [](const FunctionDefinition* now) -> Result<FunctionDefinition> {
      FunctionDefinition changed = *now;
      changed.modified_ms = FunctionDefinition::kModifiedNow;
      return changed;
    }));
  }
  Result<FunctionQualifiers> point(const std::string& alias, const std::string& version,
                                   std::map<std::string, double> weights = {}) {
    FunctionRegistry::Change change = [=](FunctionQualifiers& now) -> Result<void> {
      now.aliases[alias].version = version;
      now.aliases[alias].weights = weights;
      return {};
    };
    return world.wait(world.runtime->change_qualifiers("F", std::move(change)));
  }
  std::string version_of(const std::string& name) {
    return world.must(world.runtime->invoker().invoke(name, "")).version;
  }
  int64_t modified() { return world.runtime->invoker().find("F")->modified_ms; }

  RuntimeWorld world;
};

TEST_F(VersionsTest, AVersionRunsUnderItsOwnNameAndAnAliasAsWhatItPointsTo) {
  world.add_function("F");
  EXPECT_EQ(publish("one").name, "F:1");
  change();
  EXPECT_EQ(publish().version, "2");
  ASSERT_TRUE(point("live", "1"));
  EXPECT_EQ(version_of("F"), "");
  EXPECT_EQ(version_of("F:1"), "1");
  EXPECT_EQ(version_of("arn:aws:lambda:us-east-1:000000000000:function:F:live"), "1");
  ASSERT_TRUE(point("live", "2"));
  EXPECT_EQ(version_of("F:live"), "2");
  ASSERT_TRUE(point("live", "$LATEST"));
  EXPECT_EQ(version_of("F:live"), "");
  EXPECT_EQ(world.calls("F:1"), 2u);
  EXPECT_EQ(world.wait(world.runtime->invoker().invoke("F:9", "")).error().code, ErrorCode::kResourceNotFound);
  EXPECT_EQ(world.runtime->functions().size(), 1u) << "versions are no functions of their own";
  EXPECT_EQ(world.runtime->versions("F").size(), 2u);
}

// Programs that changed in their folder make the function and its versions of one time.
TEST_F(VersionsTest, AChangedFunctionIsPublishedAlsoAfterItsFolderHasChanged) {
  FunctionDefinition program;
  program.name = "F";
  program.host = "process";
  program.runtime = "python3.11";
  program.handler = "app.handler";
  program.code = "/code";
  world.must(world.runtime->put_function(program));
  EXPECT_EQ(publish().version, "1");
  program.timeout = seconds(7);
  world.must(world.runtime->put_function(program));
  world.sim.run_for(seconds(1));
  EXPECT_EQ(world.must(world.runtime->renew_functions("/code")).size(), 2u);
  EXPECT_EQ(publish().version, "2");
  EXPECT_EQ(publish().version, "2") << "nothing has changed since";
}

TEST_F(VersionsTest, AnAliasSharesByWeight) {
  world.add_function("F");
  publish();
  change();
  publish();
  ASSERT_TRUE(point("live", "1", {{"2", 0.25}}));
  int second = 0;
  for (int i = 0; i < 1000; ++i) second += version_of("F:live") == "2" ? 1 : 0;
  EXPECT_GT(second, 200);
  EXPECT_LT(second, 300);
}

TEST_F(VersionsTest, AllOfItSurvivesPowerLoss) {
  world.add_function("F", {}, 3);
  publish("one");
  change();
  publish();
  world.must(world.runtime->remove_version("F", "2"));
  ASSERT_TRUE(point("live", "1"));
  const FunctionQualifiers before = world.runtime->qualifiers("F");
  world.must(world.tables->durable());
  world.power_loss();
  EXPECT_EQ(world.runtime->qualifiers("F"), before);
  ASSERT_EQ(world.runtime->versions("F").size(), 1u);
  EXPECT_EQ(world.runtime->versions("F")[0].description, "one");
  EXPECT_EQ(version_of("F:live"), "1");
  change();
  EXPECT_EQ(publish().version, "3") << "a number is used once";
}

TEST_F(VersionsTest, RemovingTheFunctionRemovesAllOfIt) {
  world.add_function("F");
  world.add_function("F-2");
  publish();
  ASSERT_TRUE(point("live", "1"));
  EXPECT_EQ(world.wait(world.runtime->remove_version("F", "1")).error().code, ErrorCode::kConflict);
  world.must(world.runtime->remove_function("F"));
  EXPECT_EQ(world.stored("function"), 1u);
  EXPECT_EQ(world.stored("qualifiers"), 0u);
  for (const char* name : {"F", "F:1", "F:live"}) EXPECT_FALSE(world.runtime->invoker().find(name)) << name;
  world.add_function("F");
  EXPECT_EQ(publish().version, "1");
}

TEST_F(VersionsTest, TheyShareTheFunctionsPlaces) {
  world.add_function("F", {}, 1);
  publish();
  ASSERT_TRUE(point("live", "1"));
  world.script["F:1"] = {takes(seconds(10))};
  auto running = world.runtime->invoker().invoke("F:live", "");
  EXPECT_EQ(world.wait(world.runtime->invoker().invoke("F", "")).error().code, ErrorCode::kTooManyRequests);
  EXPECT_EQ(world.wait(world.runtime->invoker().invoke("F:1", "")).error().code, ErrorCode::kTooManyRequests);
  // An event of one waits for the place of another.
  world.must(world.runtime->invoker().invoke_async("F", R"("event")"));
  EXPECT_EQ(world.calls("F"), 0u);
  world.must(std::move(running));
  world.sim.run_for(milliseconds(1));
  EXPECT_EQ(world.calls("F"), 0u) << "a caller was refused, whose turn it is";
  world.sim.run_for(seconds(2));
  EXPECT_EQ(world.calls("F"), 1u);
  world.add_function("F", {}, 2);
  EXPECT_EQ(world.runtime->invoker().find("F:1")->reserved_concurrency, 2);
}

TEST_F(VersionsTest, EventsOfAnAliasThatGoesAreGivenUp) {
  AsyncConfig async;
  world.add_function("Failed");
  world.add_function("F", async, 0);
  publish();
  FunctionRegistry::Change add = [](FunctionQualifiers& now) -> Result<void> {
    now.aliases["live"].version = "1";
    now.aliases["live"].async.on_failure.target = "arn:aws:lambda:us-east-1:000000000000:function:Failed";
    return {};
  };
  world.must(world.runtime->change_qualifiers("F", std::move(add)));
  world.must(world.runtime->invoker().invoke_async("F:live", R"("event")"));
  FunctionRegistry::Change remove = [](FunctionQualifiers& now) -> Result<void> {
    now.aliases.clear();
    return {};
  };
  world.must(world.runtime->change_qualifiers("F", std::move(remove)));
  world.sim.run_for(seconds(1));
  EXPECT_EQ(world.calls("Failed"), 1u);
  EXPECT_EQ(world.stored("event"), 0u);
}

TEST_F(VersionsTest, OnlyCodeAndConfigurationMoveTheTimeOfTheLastChange) {
  world.add_function("F");
  const int64_t first = modified();
  EXPECT_GT(first, 0);
  world.sim.run_for(seconds(5));
  world.add_function("F");  // The same again.
  world.add_function("F", {}, 3);
  AsyncConfig async;
  async.max_retries = 0;
  world.add_function("F", async, 3);
  publish();
  EXPECT_EQ(modified(), first);
  world.add_function("F", async, 3, seconds(7));
  const int64_t second = modified();
  EXPECT_GE(second, first + 5000);
  world.start();
  EXPECT_EQ(modified(), second);
  EXPECT_EQ(world.runtime->versions("F")[0].modified_ms, first);
}

}  // namespace
}  // namespace freshet
