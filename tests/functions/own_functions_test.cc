// Native functions of one's own. This program is linked with those of config/native, the example of the documentation.
#include "functions/own_functions.h"

#include <gtest/gtest.h>

#include "functions/register.h"
#include "tests/functions/world.h"

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
  QueueWorld world{false};
  NativeRegistry natives;

  OwnFunctionsTest() {
    register_own_functions(natives);
    TableDefinition table;
    table.name = "Greetings";
    table.keys = KeySchema{{"name", Type::kString}, {}};
    EXPECT_TRUE(world.wait(world.store->create_table(table)));
  }
  Result<std::string> invoke(const FunctionDefinition& function, const std::string& event) {
    Invocation invocation;
    invocation.payload = Payload(event);
    Context context{*world.services, function, std::move(invocation)};
    const NativeHandler& greet = *natives.find("greet");
    return world.wait(greet(context));
  }
};

TEST_F(OwnFunctionsTest, TheExampleGreetsAndKeepsIt) {
  const auto result = invoke(greeter(), R"({"name": "A \"da\""})");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*result, R"({"greeting":"Hello, A \"da\""})");
  GetItemInput get;
  get.table = "Greetings";
  get.key = Item{{"name", "A \"da\""}};
  const auto item = world.wait(world.store->get_item(get));
  ASSERT_TRUE(item && *item);
  EXPECT_EQ((*item).decode().string_or("greeting"), "Hello, A \"da\"");
}

TEST_F(OwnFunctionsTest, WhatIsWrongIsTheFunctionsError) {
  for (const char* event : {R"({"name": 7})", R"({"name": ""})", "[]x"}) {
    EXPECT_FALSE(invoke(greeter(), event)) << event;
  }
  FunctionDefinition bare = greeter();
  bare.environment.clear();
  const auto result = invoke(bare, "{}");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the variable TABLE is missing: the table for greetings");
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
