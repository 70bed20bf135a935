// Native functions of one's own. This program is linked with those of config/native, the example of the documentation.
#include "functions/own_functions.h"

#include <gtest/gtest.h>

#include "functions/register.h"
#include "tests/runtime/invoke/world.h"

namespace freshet {
namespace {

FunctionDefinition greeter() {
  FunctionDefinition function;
  function.name = "Greet";
  function.handler = "greet";
  function.environment = {{"TABLE", "Greetings"}};
  return function;
}

struct OwnFunctionsTest : testing::Test {
  World world;

  OwnFunctionsTest() {
    register_own_functions(world.natives);
    TableDefinition table;
    table.name = "Greetings";
    table.keys = KeySchema{{"name", Type::kString}, {}};
    world.must(world.tables->create_table(table));
    world.must(world.runtime->put_function(greeter()));
  }
  InvokeOutcome invoke(const std::string& event) {
    return world.must(world.runtime->invoker().invoke("Greet", event, InvokeWishes{}));
  }
};

TEST_F(OwnFunctionsTest, TheExampleGreetsAndKeepsIt) {
  const InvokeOutcome outcome = invoke(R"({"name": "A \"da\""})");
  EXPECT_FALSE(outcome.error);
  EXPECT_EQ(outcome.payload, R"({"greeting":"Hello, A \"da\""})");
  GetItemInput get;
  get.table = "Greetings";
  get.key = Item{{"name", "A \"da\""}};
  const auto item = world.must(world.tables->get_item(get));
  ASSERT_TRUE(item);
  EXPECT_EQ(item.decode().string_or("greeting"), "Hello, A \"da\"");
}

TEST_F(OwnFunctionsTest, WhatIsWrongIsTheFunctionsError) {
  for (const char* event : {R"({"name": 7})", R"({"name": ""})", "[]x"}) {
    EXPECT_TRUE(invoke(event).error) << event;
  }
  FunctionDefinition bare = greeter();
  bare.environment.clear();
  world.must(world.runtime->put_function(bare));
  const InvokeOutcome outcome = invoke("{}");
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->message, "the variable TABLE is missing: the table for greetings");
}

TEST(OwnFunctions, TemplatesMayNameThemWithAnyVariables) {
  EXPECT_TRUE(built_in_handlers().contains("greet"));
  EXPECT_TRUE(known_variables(greeter()).empty());
  FunctionDefinition built_in;
  built_in.handler = "trigger";
  EXPECT_FALSE(known_variables(built_in).empty());
}

}  // namespace
}  // namespace freshet
