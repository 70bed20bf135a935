// The figures of functions and of event source mappings, over a whole runtime in simulation.
#include "wire/lambda/view_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cursor.h"
#include "tests/runtime/invoke/mapping_world.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

class ViewRoutesTest : public MappingTest {
 protected:
  HttpResponse get(const std::string& target) {
    for (const auto& route : make_function_view_routes(*world.runtime, world.clock)) {
      HttpRequest request{"GET", target, {}, ""};
      if (!route->matches(request)) continue;
      auto exchange = route->accept(std::move(request));
      const Async<void> work = exchange->run();
      EXPECT_TRUE(world.sim.run_until([&] { return work.is_ready(); }, seconds(10)));
      return exchange->respond();
    }
    return {};
  }
  std::string body(const std::string& target) {
    const HttpResponse response = get(target);
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_TRUE(parse_plain_json(response.body)) << response.body;
    return response.body;
  }
};

TEST_F(ViewRoutesTest, AFunctionHasItsCountsAndNotItsEnvironment) {
  FunctionDefinition function = RuntimeWorld::function("Mail", {seconds(60), 5, {}, {"arn:aws:sns:::Lost"}}, 2);
  function.environment = {{"PASSWORD", "secret"}};
  world.must(world.runtime->put_function(function));
  world.script["Mail"] = {fails("no"), takes(seconds(5)), takes(seconds(5))};
  for (int i = 0; i < 4; ++i) world.must(world.runtime->invoker().invoke_async("Mail", "{}"));
  world.sim.run_for(milliseconds(100));
  const std::string text = body("/functions");
  EXPECT_THAT(text, HasSubstr(R"("name":"Mail","runtime":"native","handler":"script","timeoutMs":60000)"));
  EXPECT_THAT(text, HasSubstr(R"("reservedConcurrency":2)"));
  EXPECT_THAT(text, HasSubstr(R"("running":2,"invocations":3,"errors":1,"timeouts":0,"throttles":0)"));
  EXPECT_THAT(text, HasSubstr(R"("events":{"waiting":2,"accepted":4,"retries":1,"dropped":0,"maxRetries":5,)"
                              R"("maxAgeSeconds":60,"onFailure":"arn:aws:sns:::Lost"})"));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  EXPECT_THAT(text, HasSubstr(R"("name":"F")"));
}

TEST_F(ViewRoutesTest, VersionsCountForTheirFunction) {
  FunctionRegistry::Check any = [](const FunctionDefinition&) { return Result<void>(); };
  world.must(world.runtime->publish_version("F", {}, any));
  world.add_function("F2");
  world.must(world.runtime->invoker().invoke("F:1", "{}"));
  world.must(world.runtime->invoker().invoke("F", "{}"));
  world.must(world.runtime->invoker().invoke("F2", "{}"));
  const std::string text = body("/functions");
  EXPECT_THAT(text.substr(0, text.find("F2")), HasSubstr(R"("invocations":2)"));
  EXPECT_THAT(text.substr(text.find("F2")), HasSubstr(R"("invocations":1)"));
}

TEST_F(ViewRoutesTest, AListComesInParts) {
  for (const char* name : {"A", "B", "Z"}) world.add_function(name);
  const std::string cursor = make_cursor("functions", "B");
  EXPECT_THAT(body("/functions?limit=2"), HasSubstr(R"("cursor":")" + cursor + "\"}"));
  const std::string rest = body("/functions?limit=2&cursor=" + cursor);
  EXPECT_THAT(rest, HasSubstr(R"("name":"F")"));
  EXPECT_THAT(rest, HasSubstr(R"("name":"Z")"));
  EXPECT_THAT(rest, Not(HasSubstr("cursor")));
  EXPECT_EQ(body("/functions?cursor=" + make_cursor("functions", "Z")), "{\"functions\":[]}\n");
  for (const char* path : {"/functions?cursor=Z", "/mappings?cursor=bad"}) {
    EXPECT_EQ(get(path).status, 400) << path;
    EXPECT_THAT(get(path).body, HasSubstr("'cursor' is none that a page of this list ended with"));
  }
  for (const char* limit : {"0", "101", "x", ""}) {
    EXPECT_EQ(get(std::string("/mappings?limit=") + limit).status, 400) << limit;
  }
  EXPECT_THAT(get("/functions?page=2").body, HasSubstr("there are limit, cursor and function"));
}

TEST_F(ViewRoutesTest, AMappingSaysHowFarItIsBehind) {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.batch_size = 10;
  world.must(world.runtime->put_mapping(mapping));
  put(0, 5);
  world.sim.run_ready();
  EXPECT_THAT(body("/mappings"),
              HasSubstr(R"({"id":"m","table":"Tasks","function":"F","enabled":true,)"
                        R"("state":"Enabled","lastResult":"OK","batchSize":10,"lanes":1,"behind":0})"));
  mapping.enabled = false;
  world.must(world.runtime->put_mapping(mapping));
  world.sim.run_ready();
  put(5, 12);
  world.sim.run_for(seconds(90));
  put(12, 13);
  world.sim.run_ready();
  EXPECT_THAT(body("/mappings"), HasSubstr(R"("enabled":false,"state":"Disabled")"));
  EXPECT_THAT(body("/mappings"), HasSubstr(R"("behind":8,"behindMs":90000})"));
  mapping.enabled = true;
  world.must(world.runtime->put_mapping(mapping));
  world.sim.run_ready();
  EXPECT_THAT(body("/mappings"), HasSubstr(R"("behind":0})"));
}

// A mapping does not read what its filters leave out: such records are not waiting for the function.
TEST_F(ViewRoutesTest, RecordsThatTheFilterLeavesOutAreNotBehind) {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.filters = {R"({"eventName": ["INSERT"]})"};
  world.must(world.runtime->put_mapping(mapping));
  put(0, 5);
  world.sim.run_ready();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) {
      world.put("Tasks", Item{{"taskId", "t" + std::to_string(1000 + i)}, {"round", Value::number(round)}});
    }
    world.sim.run_for(seconds(90));
  }
  EXPECT_THAT(body("/mappings"), HasSubstr(R"("behind":0})"));
  mapping.enabled = false;
  world.must(world.runtime->put_mapping(mapping));
  world.sim.run_ready();
  put(5, 7);
  world.sim.run_for(seconds(30));
  EXPECT_THAT(body("/mappings"), HasSubstr(R"("behind":2,"behindMs":30000})"));
}

TEST_F(ViewRoutesTest, AFailingMappingSaysWhyAndHowLongItsRecordWaits) {
  world.must(world.runtime->put_mapping(mapping_of("Tasks", "F")));
  world.sim.run_ready();
  for (int i = 0; i < 50; ++i) world.script["F"].push_back(fails("no database"));
  put(0, 3);
  world.sim.run_for(seconds(20));
  const std::string text = body("/mappings");
  EXPECT_THAT(text, HasSubstr(R"("lastResult":"PROBLEM: Function call failed","lastError":")"));
  EXPECT_THAT(text, HasSubstr("no database"));
  EXPECT_THAT(text, HasSubstr(R"("behind":3,"behindMs":20000})"));
}

TEST_F(ViewRoutesTest, WithoutAStreamItIsNotKnownHowFarAMappingIsBehind) {
  world.must(world.runtime->put_mapping(mapping_of("Tasks", "F")));
  put(0, 3);
  world.sim.run_ready();
  set_stream(false);
  EXPECT_THAT(body("/mappings"), Not(HasSubstr("behind")));
}

TEST_F(ViewRoutesTest, WhatIsOfOneFunctionIsFoundAlone) {
  world.add_function("F2");
  MappingDefinition mapping = mapping_of("Tasks", "arn:aws:lambda:us-east-1:000000000000:function:F2");
  world.must(world.runtime->put_mapping(mapping));
  EXPECT_THAT(body("/functions?function=F2"), HasSubstr(R"({"functions":[{"name":"F2")"));
  EXPECT_THAT(body("/functions?function=F2"), Not(HasSubstr(R"("name":"F",)")));
  EXPECT_EQ(body("/functions?function=None"), "{\"functions\":[]}\n");
  EXPECT_THAT(body("/mappings?function=F2"), HasSubstr(R"("function":"F2")"));
  EXPECT_EQ(body("/mappings?function=F"), "{\"mappings\":[]}\n");
}

TEST_F(ViewRoutesTest, MappingsComeInParts) {
  for (const char* id : {"m1", "m2", "m3"}) {
    MappingDefinition mapping = mapping_of("Tasks", "F");
    mapping.id = id;
    world.must(world.runtime->put_mapping(mapping));
  }
  const std::string cursor = make_cursor("mappings", "m2");
  EXPECT_THAT(body("/mappings?limit=2"), HasSubstr(R"("cursor":")" + cursor + "\"}"));
  const std::string rest = body("/mappings?limit=2&cursor=" + cursor);
  EXPECT_THAT(rest, HasSubstr(R"({"mappings":[{"id":"m3")"));
  EXPECT_THAT(rest, Not(HasSubstr("cursor")));
}

}  // namespace
}  // namespace freshet
