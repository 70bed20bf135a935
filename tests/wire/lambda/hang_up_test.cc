// A client that hangs up in the middle of a call, on a store that answers late: what memory says is what is stored.
#include <gtest/gtest.h>

#include "tests/runtime/invoke/world.h"
#include "wire/lambda/management_route.h"

namespace freshet {
namespace {

constexpr uint64_t kSeeds = 40;

struct Client {
  explicit Client(uint64_t seed)
      : world(RuntimeOptions{}, seed * 1'000),
        code({"/nowhere", false}, world.sim.loop(), world.sim.loop(), *files),
        steps(seed),
        route(make_lambda_management_route(*world.runtime, code, world.clock, {})) {
    world.add_function("F");
  }
  // Sends the request and hangs up some time later.
  void ask(const std::string& method, const std::string& path, const std::string& body) {
    HttpRequest request;
    request.method = method;
    request.target = "/2015-03-31/functions/F" + path;
    request.body = body;
    auto exchange = route->accept(std::move(request));
    {
      const auto work = exchange->run();
      for (uint64_t turns = steps.below(12); turns > 0; --turns) {
        if (!world.sim.loop().ready()) world.sim.run_for(milliseconds(1));
        world.sim.loop().turn();
      }
    }
    exchange.reset();
    world.sim.run_for(seconds(1));
  }

  RuntimeWorld world;
  const std::unique_ptr<Files> files = make_memory_files();
  CodeStore code;
  Random steps;
  std::unique_ptr<Route> route;
};

TEST(LambdaHangUp, WhatWasBegunIsDoneInMemoryAndInTheStore) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Client client(seed);
    client.ask("POST", "/versions", "{}");
    client.ask("POST", "/aliases", R"({"Name":"live","FunctionVersion":"1"})");
    client.ask("PUT", "/configuration", R"({"Timeout":7})");
    client.ask("POST", "/policy", R"({"StatementId":"s","Action":"lambda:InvokeFunction","Principal":"123456789012"})");
    client.route.reset();
    Runtime& before = *client.world.runtime;
    const FunctionQualifiers beside = before.qualifiers("F");
    const std::vector<FunctionDefinition> all = before.all_functions();
    EXPECT_EQ(beside.last_version, 1u);
    EXPECT_EQ(beside.aliases.size(), 1u);
    EXPECT_EQ(beside.policies.size(), 1u);
    EXPECT_EQ(before.invoker().find("F")->timeout, seconds(7));
    client.world.start();
    EXPECT_EQ(client.world.runtime->qualifiers("F"), beside);
    EXPECT_EQ(client.world.runtime->all_functions(), all);
  }
}

}  // namespace
}  // namespace freshet
