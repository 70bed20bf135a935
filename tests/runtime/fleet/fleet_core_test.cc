#include "runtime/fleet/fleet_core.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

BootTime at(int64_t ms) {
  return BootTime(milliseconds(ms));
}

MemberBeat member(const std::string& id, uint64_t beat = 1) {
  MemberBeat out;
  out.id = id;
  out.epoch = 1;
  out.beat = beat;
  out.life = "life of " + id;
  out.url = "http://" + id;
  out.lease = seconds(3);
  return out;
}

// Member "a" of a fleet with "b"; the plan gives unit "u" to "a".
struct Pair {
  Pair() {
    core.serve({"u"});
    view.members["a"] = member("a");
    view.members["b"] = member("b");
    view.units["b"] = {"b", 1, 1, {"u"}, {}};
    view.plan = FleetPlan{"a", 1, 1, 1, {{"u", "a"}}};
  }
  FleetCore::Orders saw(int64_t begun, int64_t now) { return core.saw(view, at(begun), at(now)); }
  // Writes what is to be written.
  void write(int64_t now) {
    const auto units = core.units_to_write();
    ASSERT_TRUE(units);
    view.units["a"] = *units;
    static_cast<void>(core.units_confirmed(units->rev, at(now)));
  }

  FleetCore core{member("a"), at(0)};
  FleetView view;
};

TEST(FleetCore, StartsAUnitAfterAReadThatBeganAfterItsWrite) {
  Pair pair;
  EXPECT_TRUE(pair.saw(0, 10).start.empty());
  const auto units = pair.core.units_to_write();
  ASSERT_TRUE(units);
  EXPECT_EQ(units->holds, std::vector<std::string>{"u"});
  pair.write(30);
  EXPECT_TRUE(pair.saw(20, 40).start.empty()) << "that read may have missed what another wrote meanwhile";
  EXPECT_EQ(pair.saw(31, 50).start, std::vector<std::string>{"u"});
  EXPECT_TRUE(pair.core.is_serving("u"));
}

TEST(FleetCore, ALateReadShowsThatAWriteWithoutAnswerArrived) {
  Pair pair;
  pair.saw(0, 10);
  pair.view.units["a"] = *pair.core.units_to_write();
  const auto orders = pair.saw(20, 30);
  EXPECT_TRUE(orders.start.empty());
  EXPECT_TRUE(orders.look_again);
  EXPECT_FALSE(pair.core.units_to_write());
  EXPECT_EQ(pair.saw(31, 40).start, std::vector<std::string>{"u"});
}

TEST(FleetCore, WaitsForAnotherThatHoldsTheUnit) {
  Pair pair;
  pair.view.units["b"].holds = {"u"};
  pair.saw(0, 10);
  pair.write(20);
  EXPECT_TRUE(pair.saw(21, 30).start.empty());
  pair.view.units["b"] = {"b", 1, 2, {"u"}, {}};
  EXPECT_EQ(pair.saw(40, 50).start, std::vector<std::string>{"u"});
}

TEST(FleetCore, ALifeThatHasEndedHoldsNothing) {
  Pair pair;
  pair.view.units["b"].holds = {"u"};
  pair.view.members["b"].epoch = 2;
  pair.saw(0, 10);
  pair.write(20);
  EXPECT_EQ(pair.saw(21, 30).start, std::vector<std::string>{"u"});
}

TEST(FleetCore, ASilentMemberIsDeadAfterItsLeaseByTheBeginningOfARead) {
  Pair pair;
  pair.view.units["b"].holds = {"u"};
  pair.saw(0, 10);
  pair.write(20);
  pair.core.beat_confirmed(at(3000));
  EXPECT_TRUE(pair.saw(3009, 4000).start.empty()) << "this read began before the lease was over";
  EXPECT_TRUE(pair.core.is_alive("b"));
  EXPECT_EQ(pair.core.next_death(), at(3010));
  EXPECT_EQ(pair.saw(3010, 4000).start, std::vector<std::string>{"u"});
  EXPECT_FALSE(pair.core.is_alive("b"));
}

TEST(FleetCore, StopsTwoThirdsOfALeaseAfterItsLastConfirmedHeartbeatWasSent) {
  Pair pair;
  pair.saw(0, 10);
  pair.write(20);
  pair.saw(21, 30);
  ASSERT_TRUE(pair.core.is_serving("u"));
  EXPECT_EQ(pair.core.fence_at(), at(2000));
  pair.core.beat_confirmed(at(500));
  EXPECT_TRUE(pair.core.at(at(2499)).stop.empty());
  EXPECT_EQ(pair.core.at(at(2500)).stop, std::vector<std::string>{"u"});
  EXPECT_EQ(pair.core.membership(), Membership::kFenced);
  pair.core.beat_confirmed(at(2600));
  pair.saw(2601, 2610);
  EXPECT_EQ(pair.core.membership(), Membership::kJoined);
  EXPECT_FALSE(pair.core.is_serving("u")) << "it must look for others first";
}

TEST(FleetCore, HoldsAUnitThatMovesUntilItHasEnded) {
  Pair pair;
  pair.saw(0, 10);
  pair.write(20);
  pair.saw(21, 30);
  pair.view.plan->owners["u"] = "b";
  ++pair.view.plan->version;
  EXPECT_EQ(pair.saw(31, 40).stop, std::vector<std::string>{"u"});
  EXPECT_FALSE(pair.core.is_serving("u"));
  EXPECT_FALSE(pair.core.units_to_write()) << "the stored item still has it";
  EXPECT_TRUE(pair.saw(41, 50).stop.empty()) << "it was told once";
  pair.view.plan->owners["u"] = "a";  // It comes back meanwhile.
  ++pair.view.plan->version;
  EXPECT_TRUE(pair.saw(51, 60).start.empty()) << "it must end before it begins again";
  pair.core.ended("u");
  ASSERT_TRUE(pair.core.units_to_write());
  EXPECT_TRUE(pair.core.units_to_write()->holds.empty());
  pair.saw(61, 70);
  pair.write(80);
  EXPECT_EQ(pair.saw(81, 90).start, std::vector<std::string>{"u"});
  pair.core.ended("u");
  EXPECT_TRUE(pair.core.is_serving("u")) << "a late end of the time before changes nothing";
}

TEST(FleetCore, ALeavingMemberHasLetGoOnceItsUnitsHaveEnded) {
  Pair pair;
  pair.saw(0, 10);
  pair.write(20);
  pair.saw(21, 30);
  EXPECT_EQ(pair.core.leave().stop, std::vector<std::string>{"u"});
  EXPECT_FALSE(pair.core.has_let_go());
  pair.core.ended("u");
  pair.write(40);
  EXPECT_TRUE(pair.core.has_let_go());
}

TEST(FleetCore, AMemberThatIsFencedWaitsForNoEnd) {
  Pair pair;
  pair.saw(0, 10);
  pair.write(20);
  pair.saw(21, 30);
  pair.view.plan->owners["u"] = "b";
  ++pair.view.plan->version;
  pair.saw(31, 40);
  EXPECT_TRUE(pair.core.at(at(2000)).stop.empty()) << "it was told before";
  EXPECT_EQ(pair.core.membership(), Membership::kFenced);
  ASSERT_TRUE(pair.core.units_to_write());
  EXPECT_TRUE(pair.core.units_to_write()->holds.empty());
}

TEST(FleetCore, IgnoresAReadThatIsOlderThanAnother) {
  Pair pair;
  pair.saw(20, 30);
  pair.write(40);
  FleetView older = pair.view;
  older.plan->owners["u"] = "b";
  pair.saw(50, 60);
  ASSERT_TRUE(pair.core.is_serving("u"));
  EXPECT_TRUE(pair.core.saw(older, at(45), at(70)).stop.empty());
}

TEST(FleetCore, AnotherDaemonWithItsNameEndsIt) {
  Pair pair;
  pair.saw(0, 10);
  pair.write(20);
  pair.saw(21, 30);
  pair.view.members["a"].life = "another";
  EXPECT_EQ(pair.saw(31, 40).stop, std::vector<std::string>{"u"});
  EXPECT_EQ(pair.core.membership(), Membership::kSuperseded);
}

TEST(FleetCore, TheFirstLivingMemberTakesALeadershipThatIsFree) {
  Pair pair;
  pair.view.plan->leader = "c";
  pair.view.units["a"] = {"a", 1, 1, {"u"}, {}};
  const auto orders = pair.saw(0, 10);
  ASSERT_TRUE(orders.plan);
  EXPECT_EQ(orders.plan->leader, "a");
  EXPECT_EQ(orders.plan->term, 2u);
  EXPECT_EQ(orders.plan_seen, 1u);
  FleetCore second(member("b"), at(0));
  EXPECT_FALSE(second.saw(pair.view, at(0), at(10)).plan);
  EXPECT_TRUE(second.saw(pair.view, at(1000), at(1010)).plan) << "a has had its time";
}

// It would have to wait until another one leads, as its clock has not been compared yet.
TEST(FleetCore, ALeaderThatStartsAgainIsNotWaitedFor) {
  FleetCore core(member("b"), at(0));
  core.serve({"u"});
  FleetView view;
  view.members = {{"a", member("a")}, {"b", member("b")}};
  view.units["a"] = {"a", 1, 1, {"u"}, {"u"}};
  view.plan = FleetPlan{"a", 1, 1, 1, {{"u", "a"}}};
  EXPECT_FALSE(core.saw(view, at(0), at(10)).plan);
  view.members["a"].epoch = 2;
  const auto orders = core.saw(view, at(300), at(310));
  ASSERT_TRUE(orders.plan);
  EXPECT_EQ(orders.plan->leader, "b");
  EXPECT_EQ(orders.plan->owners.at("u"), "a") << "the one that starts again keeps its units";
}

// A member that begins later would have to watch it for a whole lease.
TEST(FleetCore, TheLeaderEmptiesWhatADeadMemberHolds) {
  Pair pair;
  pair.view.units["b"].holds = {"u"};
  EXPECT_TRUE(pair.saw(0, 10).release.empty());
  pair.write(20);
  pair.core.beat_confirmed(at(3000));
  EXPECT_TRUE(pair.saw(3009, 3020).release.empty()) << "it counts as alive until then";
  EXPECT_TRUE(pair.saw(3010, 3030).release.empty()) << "it may have written this when it came back";
  const auto dead = pair.saw(3040, 3060);
  ASSERT_EQ(dead.release.size(), 1u);
  EXPECT_EQ(dead.release[0], pair.view.units["b"]) << "as it was read: that is the condition of the write";
  pair.view.units["b"].holds.clear();
  EXPECT_TRUE(pair.saw(3100, 3110).release.empty());
  pair.view.plan->leader = "c";
  pair.view.members["c"] = member("c");
  pair.view.units["b"].holds = {"u"};
  EXPECT_TRUE(pair.saw(3200, 3210).release.empty()) << "that is for the leader";
}

// One read shows its old heartbeat and what it holds anew.
TEST(FleetCore, AMemberThatComesBackKeepsWhatItHolds) {
  Pair pair;
  pair.view.units["b"].holds = {"u"};
  pair.saw(0, 10);
  pair.write(20);
  pair.core.beat_confirmed(at(3000));
  pair.view.units["b"].rev = 7;
  EXPECT_TRUE(pair.saw(3010, 3030).release.empty());
  pair.view.units["b"].rev = 8;
  EXPECT_TRUE(pair.saw(3040, 3060).release.empty()) << "it has written since";
  ++pair.view.members["b"].beat;
  EXPECT_TRUE(pair.saw(3070, 3090).release.empty()) << "it lives";
}

TEST(FleetCore, ALeaderOfAnEarlierLifeLeadsNoLonger) {
  Pair pair;
  pair.view.plan->leader_epoch = 0;
  EXPECT_FALSE(pair.core.leads());
  const auto orders = pair.saw(0, 10);
  ASSERT_TRUE(orders.plan);
  EXPECT_EQ(orders.plan->leader_epoch, 1u);
}

// The limits of a queue are for all daemons that have its tasks in work.
TEST(FleetCore, TasksThatAFormerOwnerHasInWorkAreKnownWithTheUnitThatItGivesUp) {
  Pair pair;
  pair.saw(0, 10);
  pair.write(20);
  pair.saw(21, 30);
  pair.core.set_left({{"u", 3}});
  const auto units = pair.core.units_to_write();
  ASSERT_TRUE(units);
  EXPECT_EQ(units->left, (std::map<std::string, uint64_t>{{"u", 3}}));
  pair.write(40);
  pair.core.set_left({{"u", 3}});
  EXPECT_FALSE(pair.core.units_to_write()) << "nothing has changed";
  pair.core.set_left({});
  ASSERT_TRUE(pair.core.units_to_write());
  EXPECT_TRUE(pair.core.units_to_write()->left.empty());
  EXPECT_EQ(pair.core.left_elsewhere("u"), 0u) << "its own do not count";
}

TEST(FleetCore, OnlyTheTasksOfTheLivingCount) {
  Pair pair;
  pair.view.units["b"].left = {{"u", 4}, {"v", 1}};
  pair.saw(0, 10);
  EXPECT_EQ(pair.core.left_elsewhere("u"), 4u);
  EXPECT_EQ(pair.core.left_elsewhere("w"), 0u);
  EXPECT_EQ(pair.core.last_seen("b"), at(10));
  pair.view.members["b"].epoch = 2;  // It has begun anew: what it ran has ended.
  pair.view.members["b"].beat = 1;
  pair.saw(20, 30);
  EXPECT_EQ(pair.core.left_elsewhere("u"), 0u);
  pair.view.units["b"].epoch = 2;
  pair.view.units["b"].rev = 9;
  pair.saw(40, 50);
  EXPECT_EQ(pair.core.left_elsewhere("u"), 4u);
  for (int64_t now = 1'000; now <= 4'000; now += 500) {
    ++pair.view.members["a"].beat;
    pair.core.beat_confirmed(at(now));
    pair.saw(now, now);
  }
  EXPECT_EQ(pair.core.left_elsewhere("u"), 0u) << "it is dead";
}

}  // namespace
}  // namespace freshet
