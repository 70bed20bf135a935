#include "runtime/fleet/fleet.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tables/lease/definition_log.h"
#include "tests/runtime/fleet/fleet_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

std::set<std::string> units_named(int count) {
  std::set<std::string> out;
  for (int i = 0; i < count; ++i) out.insert("queue/" + std::to_string(i));
  return out;
}

TEST(Fleet, OneMemberServesAll) {
  FleetWorld world(1);
  world.start("a", units_named(3));
  EXPECT_LT(world.until_served(units_named(3), seconds(5)), milliseconds(500));
  EXPECT_TRUE(world.fleet("a").core()->leads());
}

// It comes with the reads that a member makes anyway.
TEST(Fleet, MembersReadTheVersionOfTheDefinitions) {
  FleetWorld world(3);
  for (const char* id : {"a", "b"}) world.start(id, units_named(2));
  world.until_served(units_named(2), seconds(5));
  ASSERT_TRUE(provide_definitions_table(*world.store).take());
  for (const uint64_t version : {uint64_t{1}, uint64_t{2}}) {
    DefinitionChange change{version, "me", {}};
    std::vector<WriteInput> none;
    auto changing = change_definitions(*world.store, world.world, std::move(change), none, none);
    ASSERT_TRUE(changing.take().value());
    world.pass(FleetWorld::kLease / 6 + milliseconds(100));
    for (const char* id : {"a", "b"}) EXPECT_EQ(world.definitions_of(id), version);
  }
  EXPECT_TRUE(world.all_served(units_named(2))) << "it is no member";
}

TEST(Fleet, ANewMemberGetsItsShareAndNoMoreMoves) {
  FleetWorld world(2);
  world.start("a", units_named(9));
  world.start("b", units_named(9));
  world.until_served(units_named(9), seconds(5));
  world.pass(seconds(3));
  const size_t before = world.starts;
  world.start("c", units_named(9));
  world.pass(milliseconds(700));  // Two reads.
  EXPECT_EQ(world.served_by("c").size(), 3u);
  EXPECT_EQ(world.starts - before, 3u);
  EXPECT_TRUE(world.all_served(units_named(9)));
}

TEST(Fleet, AMemberWhoseClockIsOffServesNothingUntilItIsRight) {
  for (const seconds ahead : {seconds(-3), seconds(3), seconds(3600)}) {
    FleetWorld world(1);
    const std::set<std::string> units{"u1", "u2"};
    world.start("m", units);
    static_cast<void>(world.until_served(units, seconds(2)));
    for (const char* joins : {"a", "z"}) {  // The first by name, too, which would lead without a leader.
      world.start(joins, units);
      world.set_clock_ahead(joins, ahead);
    }
    world.pass(seconds(10));
    for (const char* joins : {"a", "z"}) {
      EXPECT_TRUE(world.served_by(joins).empty());
      EXPECT_TRUE(world.fleet(joins).is_clock_off());
      EXPECT_NE(world.fleet(joins).broken().find(ahead > seconds(0) ? "ahead of" : "behind"), std::string::npos);
    }
    EXPECT_EQ(world.served_by("m"), units);
    world.set_clock_ahead("a", milliseconds(400));
    world.pass(seconds(3));
    EXPECT_EQ(world.fleet("a").broken(), "");
    EXPECT_EQ(world.served_by("a").size(), 1u);
    EXPECT_TRUE(world.served_by("z").empty());
  }
}

TEST(Fleet, AClockThatIsOffHindersNobodyWhenTheLeaderIsGone) {
  FleetWorld world(1);
  world.start("m", {"u"});
  static_cast<void>(world.until_served({"u"}, seconds(2)));
  world.start("z", {"u"});
  world.set_clock_ahead("z", seconds(-60));
  world.pass(seconds(5));
  ASSERT_TRUE(world.fleet("z").is_clock_off());
  world.kill("m");
  static_cast<void>(world.until_served({"u"}, seconds(5)));
  EXPECT_EQ(world.server_of("u"), "z") << "nobody can say which of the two clocks was right";
}

TEST(Fleet, AClockThatIsOffStaysRefusedWhenTheLeaderChanges) {
  for (const uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE(seed);
    FleetWorld world(seed);
    world.start("m", {"u"});
    static_cast<void>(world.until_served({"u"}, seconds(2)));
    world.start("y", {"u"});
    world.pass(seconds(3));
    for (const char* off : {"a", "z"}) {
      world.start(off, {"u"});
      world.set_clock_ahead(off, seconds(off[0] == 'a' ? 60 : -60));
    }
    world.pass(seconds(5) + milliseconds(world.random.below(1000)));
    ASSERT_EQ(world.server_of("u"), "m");
    world.kill("m");
    static_cast<void>(world.until_served({"u"}, seconds(6)));
    EXPECT_EQ(world.server_of("u"), "y");
    world.start("m", {"u"});
    world.pass(seconds(5));
    world.kill("y");
    static_cast<void>(world.until_served({"u"}, seconds(6)));
    EXPECT_EQ(world.server_of("u"), "m");
    for (const char* off : {"a", "z"}) EXPECT_TRUE(world.fleet(off).is_clock_off());
  }
}

TEST(Fleet, AnotherTakesOverWithinFourSecondsOfAKill) {
  for (const uint64_t seed : test_seeds(100)) {
    SCOPED_TRACE(seed);
    FleetWorld world(seed);
    for (const char* id : {"a", "b", "c"}) world.start(id, units_named(5));
    world.until_served(units_named(5), seconds(5));
    world.pass(seconds(5) + milliseconds(world.random.below(1000)));
    world.kill(world.server_of("queue/0"));
    EXPECT_LT(world.until_served(units_named(5), seconds(10)), milliseconds(3900));
  }
}

TEST(Fleet, ALeavingMemberHandsOverWithinHalfASecond) {
  for (const uint64_t seed : test_seeds(100)) {
    SCOPED_TRACE(seed);
    FleetWorld world(seed);
    for (const char* id : {"a", "b", "c"}) world.start(id, units_named(5));
    world.until_served(units_named(5), seconds(5));
    world.pass(seconds(5) + milliseconds(world.random.below(1000)));
    const std::string id = world.server_of("queue/0");
    world.leave(id);
    EXPECT_LT(world.until_served(units_named(5), seconds(10)), milliseconds(500));
    EXPECT_TRUE(world.has_left(id));
  }
}

TEST(Fleet, ALeaveEndsWithItsLastAnnouncement) {
  for (const uint64_t seed : test_seeds(200)) {
    SCOPED_TRACE(seed);
    FleetWorld world(seed);
    for (const char* id : {"a", "b"}) world.start(id, units_named(4));
    world.until_served(units_named(4), seconds(5));
    world.pass(seconds(5) + milliseconds(world.random.below(1000)));
    world.leave("a");
    world.pass(seconds(2));
    ASSERT_TRUE(world.has_left("a"));
    EXPECT_EQ(world.left_at("a"), world.notified_at("a"));
  }
}

TEST(Fleet, ALeaveThatCannotBeAnnouncedEndsAtItsDeadline) {
  FleetWorld world(13);
  for (const char* id : {"a", "b"}) world.start(id, units_named(4));
  world.until_served(units_named(4), seconds(5));
  world.pass(seconds(5));
  world.cut_off("a", false);
  world.leave("a");
  const BootTime deadline = world.clock.boot() + seconds(10);
  world.pass(seconds(11));
  EXPECT_FALSE(world.has_left("a"));
  EXPECT_GE(world.left_at("a"), deadline);
  EXPECT_LT(world.left_at("a"), deadline + milliseconds(1));
}

TEST(Fleet, WithoutNudgesAHandOverTakesSomeReads) {
  FleetWorld world(4);
  world.nudges = 0;
  for (const char* id : {"a", "b"}) world.start(id, units_named(4));
  world.until_served(units_named(4), seconds(5));
  world.pass(seconds(5));
  world.leave("a");
  EXPECT_LT(world.until_served(units_named(4), seconds(10)), milliseconds(2000));
}

TEST(Fleet, AMemberThatIsCutOffStopsBeforeAnotherStarts) {
  for (const bool answers_only : {false, true}) {
    FleetWorld world(5);
    for (const char* id : {"a", "b"}) world.start(id, {"queue/0"});
    world.until_served({"queue/0"}, seconds(5));
    world.pass(seconds(4));
    const std::string id = world.server_of("queue/0");
    world.cut_off(id, answers_only);
    world.pass(seconds(10));
    if (answers_only) continue;  // Its heartbeats arrive, and it reads that they do: it may go on.
    EXPECT_NE(world.server_of("queue/0"), id);
    EXPECT_NE(world.fleet(id).broken(), "");
    world.mend(id);
    world.pass(seconds(5));
    EXPECT_EQ(world.fleet(id).broken(), "");
  }
}

TEST(Fleet, AMemberThatCannotReadDoesNotLookAlive) {
  FleetWorld world(11);
  for (const char* id : {"a", "b"}) world.start(id, units_named(4));
  world.until_served(units_named(4), seconds(5));
  world.pass(seconds(4));
  world.forbid_scans("a");
  world.pass(seconds(10));
  EXPECT_EQ(world.served_by("b").size(), 4u);
  EXPECT_TRUE(world.served_by("a").empty());
  EXPECT_NE(world.fleet("a").broken(), "");
  world.mend("a");
  world.pass(seconds(5));
  EXPECT_EQ(world.served_by("a").size(), 2u);
}

TEST(Fleet, WhoLeavesBeforeItHasJoinedDoesNotJoin) {
  FleetWorld world(12);
  world.start("a", units_named(2));
  world.until_served(units_named(2), seconds(5));
  world.start("b", units_named(2));
  world.leave("b");
  world.pass(seconds(5));
  EXPECT_TRUE(world.has_left("b"));
  EXPECT_EQ(world.served_by("a").size(), 2u);
}

TEST(Fleet, AMemberWhoseHeartbeatIsGoneButNotItsUnitsServesAgain) {
  FleetWorld world(13);
  world.start("a", units_named(1));
  world.until_served(units_named(1), seconds(5));
  world.pass(seconds(1));
  world.kill("a");
  DeleteItemInput gone;
  gone.table = kFleetTable;
  gone.key = Item{{"id", Value("member#a")}};
  ASSERT_TRUE(world.store->delete_item(std::move(gone)).take());
  MemberUnits old{"a", 9, 9, {}, {}};
  ASSERT_TRUE(write_units(*world.store, std::move(old)).take());
  world.start("a", units_named(1));
  EXPECT_LT(world.until_served(units_named(1), seconds(10)), seconds(4));
}

TEST(Fleet, AStoppedProcessThatGoesOnFindsThatItServesNothing) {
  FleetWorld world(6);
  for (const char* id : {"a", "b"}) world.start(id, {"queue/0"});
  world.until_served({"queue/0"}, seconds(5));
  world.pass(seconds(4));
  const std::string id = world.server_of("queue/0");
  const std::string other = id == "a" ? "b" : "a";
  world.pause(id);
  world.pass(seconds(5));
  EXPECT_TRUE(world.served_by(other).contains("queue/0"));
  world.resume(id);
  world.pass(milliseconds(2));
  EXPECT_TRUE(world.served_by(id).empty());
  world.pass(seconds(5));
  EXPECT_TRUE(world.served_by(other).contains("queue/0"));
}

TEST(Fleet, ARestartTakesItsUnitsBackWithoutWaiting) {
  FleetWorld world(7);
  world.start("a", units_named(2));
  world.until_served(units_named(2), seconds(5));
  world.pass(seconds(4));
  world.kill("a");
  world.start("a", units_named(2));
  EXPECT_LT(world.until_served(units_named(2), seconds(5)), milliseconds(500));
}

// Whenever it comes again while others still wait for the end of its lease, and whether it was the leader or not.
TEST(Fleet, ARestartWithinTheLeaseIsNoLongerThanADeath) {
  for (const uint64_t seed : test_seeds(200)) {
    SCOPED_TRACE(seed);
    FleetWorld world(seed);
    const int members = 2 + static_cast<int>(world.random.below(2));
    world.start("gone", units_named(4));
    for (int i = 0; i < members; ++i) world.start(std::string(1, static_cast<char>('a' + i)), units_named(4));
    world.until_served(units_named(4), seconds(5));
    world.pass(seconds(2));
    world.kill("gone");  // The one that restarts does not know that it is dead, nor how long ago it died.
    world.pass(seconds(5) + milliseconds(world.random.below(1000)));
    const std::string id(1, static_cast<char>('a' + world.random.below(static_cast<uint64_t>(members))));
    world.kill(id);
    const milliseconds away(world.random.below(3000));
    world.pass(away);
    world.start(id, units_named(4));
    EXPECT_LT(away + world.until_served(units_named(4), seconds(10)), seconds(4))
        << id << " was away for " << away.count();
  }
}

TEST(Fleet, TheFirstOfTwoDaemonsWithOneNameStops) {
  FleetWorld world(8);
  world.start("a", {"queue/0"});
  world.until_served({"queue/0"}, seconds(5));
  // A copy of its data folder, started elsewhere: it takes the name with a higher epoch.
  MemberBeat copy;
  copy.id = "a";
  copy.life = "another";
  copy.lease = FleetWorld::kLease;
  auto begun = begin_life(*world.store, std::move(copy));
  world.pass(seconds(1));
  ASSERT_TRUE(begun.is_ready());
  EXPECT_TRUE(world.served_by("a").empty());
  EXPECT_NE(world.fleet("a").broken().find("another daemon has joined the fleet as 'a'"), std::string::npos);
  world.pass(seconds(20));
  EXPECT_TRUE(world.served_by("a").empty());
}

TEST(Fleet, AMemberThatWasSilentForAnHourIsForgottenAndComesBack) {
  FleetWorld world(9);
  for (const char* id : {"a", "b"}) world.start(id, units_named(4));
  world.until_served(units_named(4), seconds(5));
  world.pause("a");
  world.pass(FleetCore::kForgetAfter + seconds(10));
  EXPECT_FALSE(world.fleet("b").core()->view().members.contains("a"));
  world.resume("a");
  world.pass(seconds(5));
  EXPECT_EQ(world.served_by("a").size(), 2u);
  EXPECT_EQ(world.served_by("b").size(), 2u);
}

TEST(Fleet, ServesOnlyUnitsOfItsTemplate) {
  FleetWorld world(10);
  world.start("a", {"queue/old"});
  world.start("b", {"queue/new", "queue/old"});
  world.pass(seconds(2));
  EXPECT_EQ(world.server_of("queue/old"), "a");
  EXPECT_EQ(world.server_of("queue/new"), "b");
  world.fleet("a").serve({});
  world.pass(seconds(2));
  EXPECT_EQ(world.server_of("queue/old"), "b");
}

TEST(Fleet, AHeartbeatThatIsSentAgainCounts) {
  FleetWorld world(14);
  for (const char* id : {"a", "b"}) world.start(id, units_named(4));
  world.until_served(units_named(4), seconds(5));
  world.pass(seconds(4));
  const size_t before = world.starts;
  world.send_all_twice("a");
  world.pass(seconds(60));
  EXPECT_EQ(world.served_by("a").size(), 2u);
  EXPECT_EQ(world.starts, before) << "it never stopped";
}

TEST(Fleet, AUnitMovesOnceNothingOfItIsUnderWay) {
  FleetWorld world(11);
  world.slow_ends = 1;
  world.start("a", units_named(2));
  world.until_served(units_named(2), seconds(5));
  world.pass(seconds(4));
  world.start("b", units_named(2));
  world.pass(milliseconds(500));
  for (int i = 0; i < 3000 && world.ends == 0; ++i) world.pass(milliseconds(1));
  EXPECT_EQ(world.ends, 1u) << "one of the two moves";
  world.until_served(units_named(2), seconds(4));
  world.leave("a");
  world.until_served(units_named(2), seconds(4));
  EXPECT_EQ(world.served_by("b").size(), 2u);
  EXPECT_TRUE(world.has_left("a")) << "only then has it let go";
}

// Random kills, stops, partitions, leaves and joins, with a store that loses answers: no unit is served twice, and all
// are once the faults end.
TEST(Fleet, ServesEachUnitOnceWhateverHappens) {
  for (const uint64_t seed : test_seeds(200)) {
    SCOPED_TRACE(seed);
    FleetWorld world(seed);
    const auto units = units_named(1 + static_cast<int>(world.random.below(8)));
    const std::vector<std::string> ids{"a", "b", "c", "d", "e"};
    const auto start = [&](const std::string& id) {
      const double rate = 0.9 + 0.2 * static_cast<double>(world.random.below(100)) / 100;
      world.start(id, units, rate, world.random.unit() < 0.5 ? SimFaults::some() : SimFaults());
    };
    world.nudges = world.random.unit() < 0.5 ? 0.5 : 1;
    world.slow_ends = seed % 3 == 0 ? 0.4 : 0;
    std::set<std::string> leaving;
    for (int step = 0; step < 60; ++step) {
      const std::string& id = ids[world.random.below(ids.size())];
      if (!world.is_there(id)) {
        start(id);
      } else if (world.is_paused(id)) {
        world.resume(id);
      } else {
        switch (world.random.below(6)) {
          case 0:
            world.kill(id), leaving.erase(id);
            break;
          case 1:
            world.pause(id);
            break;
          case 2:
            world.cut_off(id, world.random.unit() < 0.5);
            break;
          case 3:
            world.mend(id);
            break;
          case 4:
            world.leave(id), leaving.insert(id);
            break;
          default:
            break;
        }
      }
      world.pass(milliseconds(world.random.below(4000)));
      if (testing::Test::HasFailure()) return;
    }
    for (const auto& id : world.names()) {
      if (world.is_paused(id)) world.resume(id);
      world.mend(id);
      if (leaving.contains(id)) world.kill(id);
    }
    start("f");
    world.pass(seconds(15));
    EXPECT_TRUE(world.all_served(units));
    size_t most = 0;
    size_t least = 100;
    for (const auto& id : world.names()) {
      most = std::max(most, world.served_by(id).size());
      least = std::min(least, world.served_by(id).size());
    }
    EXPECT_LE(most, least + 1);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace freshet
