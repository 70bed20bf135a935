// A daemon without a fleet beside one.
#include "app/fleet/fleet_guard.h"

#include <vector>

#include "tests/app/asked_member.h"

namespace freshet {
namespace {

class FleetGuardTest : public AskedMemberTest {
 protected:
  FleetGuardTest() : AskedMemberTest("queue/QueueTable") {}
  std::string refusal(const std::string& queue) {
    auto checked = world.wait(check_no_fleet(*world.store, world.clock, {{queue, QueueSettings{}}}));
    if (checked) return "";
    EXPECT_EQ(checked.error().code, ErrorCode::kConflict);
    return checked.error().message;
  }
};

TEST_F(FleetGuardTest, ItServesNoQueueOfTheFleet) {
  EXPECT_EQ(refusal("QueueTable").substr(0, 77),
            "queue 'QueueTable' is served by a fleet of daemons: the one at http://owner i");
  EXPECT_EQ(refusal("Another"), "");
}

TEST_F(FleetGuardTest, ItMayOnceTheFleetIsGone) {
  owner.reset();
  world.pass(seconds(2));
  EXPECT_NE(refusal("QueueTable"), "") << "its lease is not over";
  world.pass(seconds(4));
  EXPECT_EQ(refusal("QueueTable"), "");
}

TEST_F(FleetGuardTest, ItMayAtOnceWhenTheFleetHasStopped) {
  EXPECT_TRUE(world.wait(owner->leave(world.clock.boot() + seconds(5))));
  EXPECT_EQ(refusal("QueueTable"), "");
}

TEST(FleetGuardWithoutAFleetTest, NothingIsWrong) {
  QueueWorld world{false};
  EXPECT_TRUE(world.wait(check_no_fleet(*world.store, world.clock, {{"QueueTable", QueueSettings{}}})));
}

}  // namespace
}  // namespace freshet
