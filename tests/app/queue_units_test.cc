// The queues of a daemon in a fleet: opened when the fleet has chosen it, with the settings of the newest deployment.
#include "app/fleet/queue_units.h"

#include "tests/functions/world.h"

namespace freshet {
namespace {

class QueueUnitsTest : public ::testing::Test {
 protected:
  QueueUnitsTest() {
    world.queues = std::make_unique<Queues>(*world.services, EventLog(), QueueIdentity{"m", "1"});
    units = std::make_unique<QueueUnits>(
        QueueUnitsParts{world.services->tables, world.services->tables, world.scheduler, world.random, EventLog(),
                        *world.queues, calls, [](const std::string&) {}},
        FleetOptions{"m", "", milliseconds(3000)});
    EXPECT_TRUE(world.wait(units->check({}, "")));
  }
  void deploy(int attempts) {
    QueueSettings settings;
    settings.max_attempts = attempts;
    EXPECT_TRUE(world.wait(units->deploy({{"QueueTable", settings}})));
  }
  bool is_serving() const { return units->core() && units->core()->is_serving("queue/QueueTable"); }
  std::shared_ptr<Queue> queue() const { return world.queues->find_queue("QueueTable"); }

  QueueWorld world{EngineStore{}, 1};
  const std::optional<Credentials> no_credentials;
  MemberCalls calls{world.http, world.clock, no_credentials, no_credentials, "us-east-1"};
  std::unique_ptr<QueueUnits> units;
};

TEST_F(QueueUnitsTest, ADeploymentWhileAQueueIsOpenedHolds) {
  deploy(1);
  units->begin("http://m");
  while (!is_serving()) world.pass(milliseconds(1));
  ASSERT_EQ(queue(), nullptr) << "it is still being opened";
  deploy(2);
  ASSERT_EQ(queue(), nullptr) << "it is still being opened";
  while (!queue()) world.pass(milliseconds(1));
  world.pass(seconds(1));
  EXPECT_EQ(queue()->settings().max_attempts, 2);
}

}  // namespace
}  // namespace freshet
