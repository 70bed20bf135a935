// A member of a fleet that does not serve a unit, and is asked for it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/fleet/queue_units.h"
#include "tests/functions/world.h"

namespace freshet {

class NoWork final : public FleetHooks {
 public:
  void start(const std::string& /*unit*/) override {}
  bool stop(const std::string& /*unit*/) override { return true; }
  void notify_others() override {}
};

// Another member has the unit, and answers as the test says.
class AskedMemberTest : public ::testing::Test {
 protected:
  explicit AskedMemberTest(const std::string& unit)
      : calls(world.http, world.clock, no_credentials, no_credentials, "us-east-1") {
    world.queues = std::make_unique<Queues>(*world.services, EventLog(), QueueIdentity{"asked", "1"});
    owner = std::make_unique<Fleet>(*world.store, world.scheduler, world.random, EventLog(), no_work,
                                    FleetOptions{"owner", "http://owner", milliseconds(3000)});
    owner->serve({unit});
    EXPECT_TRUE(world.wait(owner->join()));
    world.pass(seconds(2));
    units = std::make_unique<QueueUnits>(QueueUnitsParts{*world.store, *world.store, world.scheduler, world.random,
                                                         EventLog(), *world.queues, calls, [](const std::string&) {}},
                                         FleetOptions{"asked", "", milliseconds(3000)});
  }
  ~AskedMemberTest() override {
    route.reset();
    units.reset();
  }

  void begin() {
    units->begin("http://asked");
    world.pass(seconds(3));
  }
  HttpResponse ask(const std::string& method, const std::string& target, const std::string& body, bool passed = false) {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = body;
    if (passed) request.headers.emplace_back(kForwardedBy, "owner");
    const auto exchange = route->accept(std::move(request));
    auto run = exchange->run();
    for (int i = 0; i < 100'000 && !run.is_ready(); ++i) world.pass(milliseconds(1));
    EXPECT_TRUE(run.is_ready());
    return exchange->respond();
  }
  HttpResponse post(const std::string& target, const std::string& body) { return ask("POST", target, body); }

  QueueWorld world{false};
  NoWork no_work;
  const std::optional<Credentials> no_credentials;
  MemberCalls calls;
  std::unique_ptr<Fleet> owner;
  std::unique_ptr<QueueUnits> units;
  std::unique_ptr<Route> route;
};

}  // namespace freshet
