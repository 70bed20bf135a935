// Changes of one function that overlap, over a store that takes its time: none is lost.
#include <gtest/gtest.h>

#include <set>

#include "tests/runtime/invoke/world.h"

namespace freshet {
namespace {

FunctionDefinition program(const std::string& name, const std::string& code) {
  FunctionDefinition function;
  function.name = name;
  function.host = "process";
  function.runtime = "python3.11";
  function.handler = "app.handler";
  function.code = code;
  return function;
}

FunctionUpdate adding(const std::string& variable) {
  return [variable](const FunctionDefinition* now) -> Result<FunctionDefinition> {
    if (!now) return fail(ErrorCode::kNotFound, "it is not there");
    FunctionDefinition changed = *now;
    changed.environment[variable] = "1";
    return changed;
  };
}

FunctionDefinition found(RuntimeWorld& world, const std::string& name) {
  const auto function = world.runtime->invoker().find(name);
  return function ? *function : FunctionDefinition{};
}

constexpr uint64_t kUpdateSeeds = 20;

TEST(FunctionUpdates, EachBeginsWithWhatTheOneBeforeHasMade) {
  for (uint64_t seed = 1; seed <= kUpdateSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RuntimeWorld world(RuntimeOptions{}, seed);
    world.must(world.runtime->put_function(program("F", "/code")));
    std::vector<std::optional<Async<Result<FunctionDefinition>>>> updates;
    for (const char* name : {"A", "B", "C", "D"})
      updates.emplace_back(world.runtime->update_function("F", adding(name)));
    updates[2].reset();  // Its caller has gone.
    for (auto& update : updates) {
      if (update) world.must(std::move(*update));
    }
    const Environment all = found(world, "F").environment;
    EXPECT_TRUE(all.contains("A") && all.contains("B") && all.contains("D"));
    world.start();
    EXPECT_EQ(found(world, "F").environment, all);
  }
}

TEST(FunctionUpdates, OnlyOneOfTwoMakesAFunction) {
  RuntimeWorld world(RuntimeOptions{}, 7);
  const FunctionUpdate make = [](const FunctionDefinition* now) -> Result<FunctionDefinition> {
    if (now) return fail(ErrorCode::kConflict, "it is there");
    return program("F", "/code");
  };
  auto first = world.runtime->update_function("F", make);
  auto second = world.runtime->update_function("F", make);
  world.must(std::move(first));
  EXPECT_EQ(world.wait(std::move(second)).error().code, ErrorCode::kConflict);
}

// A client changes a function while those of a changed folder are renewed one after the other.
TEST(FunctionUpdates, RenewingLosesNoChangeOfAClient) {
  for (uint64_t seed = 1; seed <= kUpdateSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RuntimeWorld world(RuntimeOptions{}, seed);
    for (const char* name : {"A", "B", "C"}) world.must(world.runtime->put_function(program(name, "/code")));
    world.must(world.runtime->put_function(program("Moves", "/code")));
    world.must(world.runtime->put_function(program("Other", "/elsewhere")));
    const int64_t before = found(world, "Other").modified_ms;
    auto renewing = world.runtime->renew_functions("/code");
    auto changing = world.runtime->update_function("C", adding("COLOUR"));
    auto moving = world.runtime->put_function(program("Moves", "/elsewhere"));
    const std::vector<std::string> renewed = world.must(std::move(renewing));
    world.must(std::move(changing));
    world.must(std::move(moving));
    EXPECT_EQ(found(world, "C").environment.count("COLOUR"), 1u);
    EXPECT_EQ(found(world, "Moves").code, "/elsewhere");
    for (const char* name : {"A", "B", "C"}) EXPECT_GT(found(world, name).modified_ms, before) << name;
    EXPECT_EQ(found(world, "Other").modified_ms, before);
    EXPECT_TRUE(std::find(renewed.begin(), renewed.end(), "B") != renewed.end());
  }
}

// A crash may bring the function back as it was: its code is still there.
TEST(FunctionUpdates, CodeIsLeftOnlyWhenThatIsDurable) {
  uint64_t times_left = 0;
  for (uint64_t seed = 1; seed <= kUpdateSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<std::string> left;
    RuntimeOptions options;
    options.on_code_left = [&left](const std::string& folder) { left.push_back(folder); };
    RuntimeWorld world(options, seed);
    world.must(world.runtime->put_function(program("F", "/one")));
    auto put = world.runtime->put_function(program("F", "/two"));
    Random steps(seed);
    for (uint64_t turns = steps.next() % 40; turns > 0 && left.empty(); --turns) {
      EXPECT_TRUE(world.runtime->uses_code("/one"));
      if (!world.sim.loop().ready()) world.sim.run_for(milliseconds(1));
      world.sim.loop().turn();
    }
    const bool was_left = !left.empty() || !world.runtime->uses_code("/one");
    { const auto given_up = std::move(put); }
    world.power_loss();
    EXPECT_TRUE(!was_left || found(world, "F").code == "/two");
    times_left += was_left ? 1 : 0;
  }
  EXPECT_GT(times_left, 0u);
  EXPECT_LT(times_left, kUpdateSeeds);
}

TEST(FunctionUpdates, AFunctionThatChangesWhileItIsRemovedLeavesAllItsCode) {
  for (uint64_t seed = 1; seed <= kUpdateSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::set<std::string> left;
    RuntimeOptions options;
    options.on_code_left = [&left](const std::string& folder) { left.insert(folder); };
    RuntimeWorld world(options, seed);
    world.must(world.runtime->put_function(program("F", "/one")));
    auto put = world.runtime->put_function(program("F", "/two"));
    auto removed = world.runtime->remove_function("F");
    world.must(std::move(put));
    world.must(std::move(removed));
    world.sim.run_for(seconds(1));
    EXPECT_EQ(left, (std::set<std::string>{"/one", "/two"}));
  }
}

TEST(FunctionUpdates, WhoeverKeepsCodeIsToldWhenItIsLeft) {
  std::vector<std::string> left;
  const RuntimeWorld* there = nullptr;
  RuntimeOptions options;
  options.on_code_left = [&](const std::string& folder) {
    left.push_back(folder);
    const auto durable = there->tables->durable();
    EXPECT_TRUE(durable.is_ready()) << "a crash now would bring it back";
  };
  RuntimeWorld world(options);
  there = &world;
  world.must(world.runtime->put_function(program("F", "/one")));
  EXPECT_TRUE(world.runtime->uses_code("/one"));
  world.must(world.runtime->put_function(program("F", "/two")));
  world.sim.run_ready();
  EXPECT_EQ(left, std::vector<std::string>{"/one"});
  EXPECT_FALSE(world.runtime->uses_code("/one"));
  world.must(world.runtime->remove_function("F"));
  world.sim.run_ready();
  EXPECT_EQ(left, (std::vector<std::string>{"/one", "/two"}));
  EXPECT_FALSE(world.runtime->uses_code("/two"));
}

}  // namespace
}  // namespace freshet
