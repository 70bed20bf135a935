// Functions of clients in a fleet: each daemon runs them from code of its own, with their versions and aliases.
#include "runtime/invoke/uploaded_code.h"
#include "tests/runtime/fleet/definitions_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

class SharedFunctions : public DefinitionsWorld {};

TEST_F(SharedFunctions, AFunctionRunsAtAllDaemonsFromCodeOfTheirOwn) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(upload(a, "F", "one"));
  EXPECT_EQ(b.find("F"), nullptr);
  all_follow();
  ASSERT_NE(b.find("F"), nullptr);
  EXPECT_EQ(a.find("F")->code, "/a/code/one");
  EXPECT_EQ(b.find("F")->code, "/b/code/one");
  EXPECT_EQ(shown(a), shown(b));
  // The function is changed at the other one, which needs no read before.
  ASSERT_TRUE(upload(b, "F", "two"));
  FunctionUpdate limit = [](const FunctionDefinition* now) -> Result<FunctionDefinition> {
    FunctionDefinition function = *now;
    function.reserved_concurrency = 3;
    return function;
  };
  ASSERT_TRUE(wait(a.runtime->update_function("F", limit)));
  all_follow();
  for (Daemon* daemon : {&a, &b}) {
    EXPECT_EQ(daemon->find("F")->code, daemon->code.path_of("two"));
    EXPECT_EQ(daemon->find("F")->reserved_concurrency, 3);
  }
  EXPECT_EQ(folders_with_code["a"].brought, 1);
  EXPECT_EQ(folders_with_code["b"].brought, 1);
  // A minute later, the engine has the code only that a function names; also of changes that come one after the other.
  EXPECT_EQ(code_in_engine(), 2u);
  for (const char* folder : {"three", "four", "two"}) {
    world.run_for(seconds(20));
    ASSERT_TRUE(upload(b, "F", folder));
  }
  EXPECT_EQ(code_in_engine(), 4u);
  world.run_for(seconds(200));
  EXPECT_EQ(code_in_engine(), 1u);
  ASSERT_TRUE(wait(b.runtime->remove_function("F")));
  all_follow();
  EXPECT_EQ(a.find("F"), nullptr);
  EXPECT_EQ(shown(a), "");
  EXPECT_EQ(stored("a"), std::set<std::string>{});
  world.run_for(seconds(200));
  EXPECT_EQ(code_in_engine(), 0u);
}

TEST_F(SharedFunctions, TheOldCodeRunsUntilTheNewOneIsThere) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(upload(a, "F", "one"));
  all_follow();
  ASSERT_TRUE(upload(a, "F", "two"));
  const Item key = Item{{"kind", "code"}, {"id", "two"}};
  GetItemInput get;
  get.table = kDefinitionsTable;
  get.key = key;
  PutItemInput back;
  back.table = kDefinitionsTable;
  back.item = must(store->get_item(get)).decode();
  DeleteItemInput gone;
  gone.table = kDefinitionsTable;
  gone.key = key;
  must(store->delete_item(std::move(gone)));
  for (int i = 0; i < 3; ++i) {
    read(b);
    world.run_for(seconds(1));
  }
  EXPECT_EQ(b.find("F")->code, "/b/code/one");
  EXPECT_EQ(b.runtime->definitions_version(), 2u);
  // It does not hold up what follows.
  ASSERT_TRUE(create_topic(a, "Later"));
  read(b);
  world.run_for(seconds(1));
  EXPECT_TRUE(b.topics().has_topic("Later"));
  // It may not change what it does not have, but all else.
  const auto refused = wait(b.runtime->remove_function("F"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(create_topic(b, "T"));
  all_follow();
  EXPECT_TRUE(a.topics().has_topic("T"));
  must(store->put_item(std::move(back)));
  world.run_for(seconds(30));
  read(b);
  world.run_for(seconds(1));
  EXPECT_EQ(b.find("F")->code, "/b/code/two");
}

TEST_F(SharedFunctions, NoFunctionNamesCodeThatTheFleetDoesNotHave) {
  Daemon& a = start("a");
  folders_with_code["a"].there.insert("one");
  FunctionUpdate update = [&a](const FunctionDefinition*) -> Result<FunctionDefinition> {
    FunctionDefinition definition = Daemon::function_named("F");
    definition.code = a.code.path_of("one");
    definition.code_sha256 = "sha";
    return definition;
  };
  const auto without = wait(a.runtime->update_function("F", update));
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(a.find("F"), nullptr);
  ASSERT_TRUE(wait(a.code.give("one")));
  EXPECT_TRUE(wait(a.runtime->update_function("F", update)));
}

// As after a change that was refused, or that the client has only tried (DryRun).
TEST_F(SharedFunctions, CodeThatNoFunctionCameToNameGoes) {
  Daemon& a = start("a");
  world.run_for(seconds(100));
  folders_with_code["a"].there.insert("one");
  ASSERT_TRUE(wait(a.code.give("one")));
  EXPECT_EQ(code_in_engine(), 1u);
  world.run_for(seconds(100));
  EXPECT_EQ(code_in_engine(), 0u);
}

TEST_F(SharedFunctions, VersionsAndAliasesAreTheFleets) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(upload(a, "F", "one"));
  std::vector<Async<Result<FunctionDefinition>>> published;
  for (Daemon* daemon : {&a, &b}) {
    published.push_back(daemon->runtime->publish_version("F", std::nullopt, any_function()));
  }
  std::set<std::string> versions;
  for (auto& one : published) versions.insert(wait(std::move(one)).value().version);
  EXPECT_EQ(versions, std::set<std::string>{"1"}) << "it was not changed in between";
  ASSERT_TRUE(upload(b, "F", "two"));
  EXPECT_EQ(wait(a.runtime->publish_version("F", "second", any_function())).value().version, "2");
  ASSERT_TRUE(wait(b.runtime->change_qualifiers("F", point("live", "1"))));
  all_follow();
  EXPECT_EQ(shown(a), shown(b));
  for (Daemon* daemon : {&a, &b}) {
    EXPECT_EQ(daemon->find("F:live")->version, "1");
    EXPECT_EQ(daemon->find("F:1")->code, daemon->code.path_of("one"));
    EXPECT_EQ(daemon->find("F:2")->code, daemon->code.path_of("two"));
  }
  const auto refused = wait(a.runtime->remove_version("F", "1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict) << "an alias points to it";
  ASSERT_TRUE(wait(a.runtime->change_qualifiers("F", point("live", "2"))));
  ASSERT_TRUE(wait(b.runtime->remove_version("F", "1")));
  all_follow();
  EXPECT_EQ(shown(a), shown(b));
  EXPECT_EQ(a.find("F:1"), nullptr);
  EXPECT_EQ(b.find("F:live")->version, "2");
  ASSERT_TRUE(wait(b.runtime->remove_function("F")));
  all_follow();
  EXPECT_EQ(a.find("F:live"), nullptr);
  EXPECT_EQ(a.find("F:2"), nullptr);
  EXPECT_EQ(shown(a), "");
}

TEST_F(SharedFunctions, FunctionsOfADaemonComeAlongWithTheirCode) {
  Daemon& alone = start("a", {}, false);
  for (const char* function : {"F", "Lost"}) {
    FunctionDefinition definition;
    definition.name = function;
    definition.handler = "app.handler";
    definition.host = "process";
    definition.runtime = "python3.11";
    definition.code = "/a/code/of" + definition.name;
    definition.code_sha256 = "sha";
    ASSERT_TRUE(wait(alone.runtime->put_function(definition)));
  }
  folders_with_code["a"].there.insert("ofF");
  daemons.erase("a");
  start("a");
  Daemon& b = start("b");
  ASSERT_NE(b.find("F"), nullptr);
  EXPECT_EQ(b.find("F")->code, "/b/code/ofF");
  EXPECT_EQ(b.find("Lost"), nullptr) << "its code is not there";
  EXPECT_NE(daemons["a"]->find("Lost"), nullptr);
}

// If both have a function, nothing of the daemon's comes along: a version under the fleet's number would be overwritten
// later.
TEST_F(SharedFunctions, AFunctionThatTheFleetHasIsTakenWhole) {
  Daemon& a = start("a");
  ASSERT_TRUE(upload(a, "F", "one"));
  ASSERT_TRUE(wait(a.runtime->publish_version("F", std::nullopt, any_function())));
  ASSERT_TRUE(upload(a, "Plain", "one"));
  Daemon& alone = start("b", {}, false);
  for (const char* function : {"F", "Plain"}) {
    for (const char* folder : {"x", "y", "z"}) {
      ASSERT_TRUE(upload(alone, function, folder));
      ASSERT_TRUE(wait(alone.runtime->publish_version(function, std::nullopt, any_function())));
    }
    ASSERT_TRUE(wait(alone.runtime->change_qualifiers(function, point("live", "3"))));
  }
  daemons.erase("b");
  Daemon& b = start("b");
  all_follow();
  EXPECT_EQ(shown(b), shown(a));
  EXPECT_EQ(stored("b"), stored("a"));
  EXPECT_EQ(b.find("F:2"), nullptr);
  EXPECT_EQ(b.find("Plain:live"), nullptr);
  ASSERT_TRUE(upload(a, "F", "two"));
  EXPECT_EQ(wait(a.runtime->publish_version("F", "second", any_function())).value().version, "2");
}

// It has so many versions that they are written in two parts. If the daemon dies in between, it brings the rest later.
TEST_F(SharedFunctions, AFunctionWithManyVersionsComesAlongWhole) {
  size_t parts = 0;
  for (const uint64_t seed : test_seeds(25)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    end();
    begin(seed);
    Daemon& alone = start("a", {}, false);
    FunctionUpdate change = [](const FunctionDefinition*) -> Result<FunctionDefinition> {
      FunctionDefinition function = Daemon::function_named("F");
      function.modified_ms = FunctionDefinition::kModifiedNow;
      return function;
    };
    for (int i = 0; i < 120; ++i) {
      ASSERT_TRUE(wait(alone.runtime->update_function("F", change)));
      ASSERT_TRUE(wait(alone.runtime->publish_version("F", std::nullopt, any_function())));
    }
    const std::string before = shown(alone);
    daemons["a"] = std::make_unique<Daemon>(*this, "a", SimFaults{}, true);
    world.run_until([&] { return must(newest_definitions(*store)) > 0; }, kLong);
    world.run_for(milliseconds(random.below(3)));
    parts += must(newest_definitions(*store)) == 1 ? 1 : 0;
    daemons.erase("a");
    EXPECT_EQ(shown(start("a")), before);
    EXPECT_EQ(shown(start("b")), before);
  }
  EXPECT_GT(parts, 3u);
}

// Its code cannot be given, for a reason that does not pass.
TEST_F(SharedFunctions, AFunctionThatCannotComeAlongStaysWhole) {
  Daemon& alone = start("a", {}, false);
  folders_with_code["a"].there.insert("one");
  ASSERT_TRUE(upload(alone, "F", "one"));
  ASSERT_TRUE(wait(alone.runtime->publish_version("F", std::nullopt, any_function())));
  ASSERT_TRUE(wait(alone.runtime->change_qualifiers("F", point("live", "1"))));
  daemons.erase("a");
  folders_with_code["a"].too_large = true;
  Daemon& a = start("a");
  EXPECT_NE(a.find("F:live"), nullptr);
  EXPECT_EQ(must(newest_definitions(*store)), 0u);
}

// While the daemon fetches a client's code, its template takes the function over.
TEST_F(SharedFunctions, ADeploymentDuringAFetchOfCodeHolds) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(upload(a, "F", "one"));
  std::optional<Async<Result<void>>> deployment;
  folders_with_code["b"].before_bring = [&] {
    if (deployment) return;
    Item record = system_item("deployment", "current");
    List functions;
    functions.elements.emplace_back("F");
    record.set("functions", std::move(functions));
    must(folder_of("b").put_item(put_system_item(std::move(record))));
    deployment.emplace(b.runtime->put_function(Daemon::function_named("F")));
  };
  read(b);
  world.run_until([&] { return deployment.has_value(); }, kLong);
  ASSERT_TRUE(deployment);
  ASSERT_TRUE(wait(std::move(*deployment)));
  all_follow();
  ASSERT_NE(b.find("F"), nullptr);
  EXPECT_EQ(b.find("F")->host, "native");
  EXPECT_EQ(a.find("F")->host, "process");
  EXPECT_TRUE(wait(b.runtime->remove_function("F")));
}

TEST_F(SharedFunctions, OneThatCannotBeFollowedHoldsUpNothing) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  folders_with_code["b"].busy = true;
  ASSERT_TRUE(upload(a, "F", "one"));
  ASSERT_TRUE(create_topic(a, "T"));
  read(b);
  world.run_for(seconds(1));
  EXPECT_EQ(b.find("F"), nullptr);
  EXPECT_TRUE(b.topics().has_topic("T"));
  EXPECT_EQ(b.runtime->definitions_version(), 2u);
  EXPECT_TRUE(create_topic(b, "U"));
  folders_with_code["b"].busy = false;
  world.run_for(seconds(31));
  read(b);
  world.run_for(seconds(1));
  EXPECT_NE(b.find("F"), nullptr);
}

// A function that is lacking here is the template's from now on: nothing looks for it any more.
TEST_F(SharedFunctions, ATemplateTakesWhatCouldNotBeBrought) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  folders_with_code["b"].broken = true;
  ASSERT_TRUE(upload(a, "F", "one"));
  all_follow();
  EXPECT_EQ(b.find("F"), nullptr);
  Item record = system_item("deployment", "current");
  List functions;
  functions.elements.emplace_back("F");
  record.set("functions", std::move(functions));
  must(folder_of("b").put_item(put_system_item(std::move(record))));
  world.run_for(seconds(200));
  read(b);
  world.run_for(seconds(1));
  const uint64_t calls = b.shared.calls();
  for (int i = 0; i < 4; ++i) {
    world.run_for(seconds(31));
    read(b);
  }
  world.run_for(seconds(1));
  EXPECT_EQ(b.shared.calls(), calls);
  EXPECT_TRUE(wait(b.runtime->put_function(Daemon::function_named("F"))));
}

TEST_F(SharedFunctions, AFunctionOfTheTemplateIsTheDaemonsOwn) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  Tables& folder = folder_of("a");
  Item record = system_item("deployment", "current");
  List functions;
  functions.elements.emplace_back("F");
  record.set("functions", std::move(functions));
  must(folder.put_item(put_system_item(std::move(record))));
  ASSERT_TRUE(wait(a.runtime->put_function(Daemon::function_named("F"))));
  ASSERT_TRUE(wait(a.runtime->publish_version("F", std::nullopt, any_function())));
  ASSERT_TRUE(wait(a.runtime->change_qualifiers("F", point("live", "1"))));
  EXPECT_EQ(must(newest_definitions(*store)), 0u);
  EXPECT_FALSE(wait(a.runtime->check_is_of_clients(function_by_name("F"))));
  ASSERT_TRUE(upload(b, "F", "one"));
  all_follow();
  EXPECT_EQ(a.find("F")->host, "native");
  EXPECT_EQ(b.find("F")->host, "process");
  EXPECT_EQ(b.find("F:1"), nullptr);
}

TEST_F(SharedFunctions, ATemplateThatTakesANameTakesNothingOfTheClients) {
  Daemon& a = start("a");
  Daemon& b = start("b");
  ASSERT_TRUE(upload(b, "F", "one"));
  ASSERT_TRUE(wait(b.runtime->publish_version("F", std::nullopt, any_function())));
  ASSERT_TRUE(wait(b.runtime->change_qualifiers("F", point("live", "1"))));
  all_follow();
  ASSERT_NE(a.find("F:live"), nullptr);
  Item record = system_item("deployment", "current");
  List functions;
  functions.elements.emplace_back("F");
  record.set("functions", std::move(functions));
  must(folder_of("a").put_item(put_system_item(std::move(record))));
  ASSERT_TRUE(wait(a.runtime->put_function(Daemon::function_named("F"))));
  EXPECT_EQ(a.find("F")->host, "native");
  EXPECT_EQ(a.find("F:live"), nullptr);
  EXPECT_EQ(a.find("F:1"), nullptr);
  EXPECT_EQ(stored("a"), std::set<std::string>{"function/F"});
  // Its own versions and aliases stay when it changes.
  ASSERT_TRUE(wait(a.runtime->publish_version("F", std::nullopt, any_function())));
  ASSERT_TRUE(wait(a.runtime->change_qualifiers("F", point("own", "1"))));
  FunctionDefinition changed = Daemon::function_named("F");
  changed.description = "changed";
  ASSERT_TRUE(wait(a.runtime->put_function(changed)));
  all_follow();
  EXPECT_NE(a.find("F:own"), nullptr);
  EXPECT_EQ(b.find("F:live")->version, "1");
  EXPECT_EQ(b.find("F:own"), nullptr);
}

// A moved data folder is still that of a daemon of the fleet: what the fleet removes meanwhile does not come back.
TEST_F(SharedFunctions, AFunctionStaysTheFleetsWhenTheDataFolderMoves) {
  Daemon& a = start("a");
  start("b");
  ASSERT_TRUE(upload(a, "F", "one"));
  all_follow();
  daemons.erase("b");
  must(find_uploaded_code(folder_of("b"), "/moved/code"));
  const auto items = must(load_system_items(folder_of("b"), std::string(kFunctionKind)));
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].decode().string_or("code"), "/moved/code/one");
  ASSERT_TRUE(wait(a.runtime->remove_function("F")));
  EXPECT_EQ(shown(start("b")), "");
  EXPECT_EQ(must(newest_definitions(*store)), 2u);
}

}  // namespace
}  // namespace freshet
