// A reader of an engine's stream, case by case; shards_property_test.cc has the rules that hold in all of them.
#include "streams/shards/sharded_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "streams/shards/named_records.h"
#include "tests/sim/late_tables.h"
#include "tests/streams/shards/shard_world.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

ListedShard listed(std::string id, std::vector<std::string> parents = {}) {
  return {std::move(id), std::move(parents), false};
}

TEST(ShardPlan, AChildWaitsForAllOfItsParents) {
  ShardPlan plan;
  plan.listed({listed("a"), listed("b"), listed("c", {"a", "b"})});
  EXPECT_THAT(plan.begin(), ElementsAre("a", "b"));
  EXPECT_THAT(plan.begin(), IsEmpty()) << "each shard has one reader";
  plan.over("a");
  EXPECT_THAT(plan.begin(), IsEmpty());
  plan.over("b");
  EXPECT_THAT(plan.begin(), ElementsAre("c"));
  EXPECT_FALSE(plan.all_over());
  plan.over("c");
  EXPECT_TRUE(plan.all_over());
}

TEST(ShardPlan, AParentThatNoListHasIsNotWaitedFor) {
  ShardPlan plan;
  plan.known("a", false);
  const std::vector<ListedShard> list{listed("b", {"a"}), listed("d", {"c"})};
  for (int i = 1; i < ShardPlan::kAbsences; ++i) {
    EXPECT_THAT(plan.listed(list).lost, IsEmpty());
    EXPECT_EQ(plan.begin(), i == 1 ? Texts{"d"} : Texts{}) << "the half-read parent may be missing by mistake";
    EXPECT_TRUE(plan.misses_any());
  }
  EXPECT_THAT(plan.listed(list).lost, ElementsAre("a"));
  EXPECT_FALSE(plan.misses_any());
  EXPECT_THAT(plan.begin(), ElementsAre("b"));
}

TEST(ShardPlan, AShardThatWasReadIsForgottenOnlyAfterManyListsWithoutIt) {
  ShardPlan plan;
  plan.known("a", true);
  for (int i = 1; i < ShardPlan::kAbsences; ++i) EXPECT_THAT(plan.listed({}).forgotten, IsEmpty());
  plan.listed({listed("a")});
  EXPECT_THAT(plan.begin(), IsEmpty()) << "it is not read again";
  for (int i = 1; i < ShardPlan::kAbsences; ++i) EXPECT_THAT(plan.listed({}).forgotten, IsEmpty());
  EXPECT_THAT(plan.listed({}).forgotten, ElementsAre("a"));
  EXPECT_FALSE(plan.knows("a"));
}

TEST(ShardPlan, AShardThatIsBeingReadIsNotLost) {
  ShardPlan plan;
  plan.listed({listed("a")});
  EXPECT_THAT(plan.begin(), ElementsAre("a"));
  EXPECT_THAT(plan.listed({}).lost, IsEmpty());
  EXPECT_EQ(plan.reading(), 1u);
}

TEST(ShardOrder, MarksAreInTheOrderOfTheLastRecords) {
  ShardOrder order(7);
  const auto record = [](std::string number) { return ShardRecord{{}, std::move(number), {}}; };
  order.add("parent", record("1"));
  order.add("other", record("5"));
  order.add("parent", record("2"));
  order.end("parent");
  order.add("child", record("9"));
  EXPECT_EQ(order.next(), 12u);
  EXPECT_EQ(order.page(7, 2, 1 << 20).next, 10u - 1);
  using Marks = std::vector<std::pair<std::string, ShardMark>>;
  EXPECT_EQ(order.processed(9), (Marks{{"parent", {"1", false}}, {"other", {"5", false}}}));
  EXPECT_EQ(order.processed(12), (Marks{{"parent", {"2", true}}, {"child", {"9", false}}}));
  EXPECT_EQ(order.bytes(), 0u);
}

TEST(ShardedStream, AllPagesOfTheListAreRead) {
  ShardWorld world(1, 8);
  for (size_t i : {0u, 1u, 2u, 3u, 4u}) world.engine.split(i);
  for (int item = 0; item < 8; ++item) world.engine.write(item);
  world.begin();
  EXPECT_EQ(world.read().size(), 8u) << "six shards are open, behind five closed ones, three on a page";
}

TEST(ShardedStream, LatestBeginsWithWhatIsChangedFromNowOn) {
  ShardWorld world;
  world.engine.write(0);
  world.begin(true);
  world.engine.write(0);
  EXPECT_EQ(world.texts(world.read()), (Texts{"i0:2"}));
}

// The engine has no number for "now", so the start is known by its time until a record comes.
TEST(ShardedStream, LatestIsStillThatAfterARestart) {
  ShardWorld world;
  world.engine.write(0);
  world.sim.run_for(std::chrono::minutes(20));
  world.begin(true);
  world.restart();
  world.engine.write(1);
  world.attach();
  EXPECT_EQ(world.texts(world.read()), (Texts{"i1:1"}));
}

// The iterator says what is new, and not the time.
TEST(ShardedStream, LatestLosesNothingWhereTheEnginesClockIsBehind) {
  ShardWorld world;
  world.engine.behind = std::chrono::hours(5);
  world.begin(true);
  world.engine.write(0);
  EXPECT_EQ(world.texts(world.read()), (Texts{"i0:1"}));
}

TEST(ShardedStream, AfterLatestShardsThatFollowAndRestartsBearWhatASignatureBears) {
  ShardWorld world;
  world.engine.says_time = false;
  world.engine.behind = std::chrono::minutes(10);
  world.begin(true);
  world.engine.split(0);
  world.engine.write(0);
  EXPECT_EQ(world.texts(world.read()), (Texts{"i0:1"}));
  world.restart();
  world.engine.write(3);
  world.attach();
  EXPECT_THAT(world.texts(world.read()), testing::UnorderedElementsAre("i0:1", "i3:1"));
}

TEST(ShardedStream, AfterARestartLatestIsStillThatByTheClockOfTheEngine) {
  for (const bool says_time : {true, false}) {
    ShardWorld world;
    world.engine.says_time = says_time;
    world.engine.behind = std::chrono::minutes(10);
    world.engine.write(0);
    world.sim.run_for(seconds(67));
    world.begin(true);
    world.restart();
    world.engine.write(1);
    world.attach();
    const Texts all = world.texts(world.read());
    EXPECT_EQ(all, says_time ? Texts{"i1:1"} : (Texts{"i0:1", "i1:1"})) << says_time;
  }
}

// It has read the first pages of what it does not want when it ends, or when its iterator does.
TEST(ShardedStream, WhatIsOlderThanLatestIsPassedOverToItsEnd) {
  for (const bool restarts : {true, false}) {
    ShardWorld world;
    for (int i = 0; i < 60; ++i) world.engine.write(0);
    world.sim.run_for(std::chrono::minutes(20));
    world.begin(true);
    world.restart();
    world.engine.write(1);
    world.engine.slow = milliseconds(50);
    world.attach();
    EXPECT_THAT(world.read(milliseconds(250)), IsEmpty());
    world.save();
    if (restarts) {
      EXPECT_EQ(world.must(load_system_items(*world.tables, "shard-mark")).size(), 1u)
          << "how far it has passed over the shard";
      world.restart();
      world.attach();
    } else {
      world.engine.expire_next = true;
    }
    EXPECT_EQ(world.texts(world.read()), (Texts{"i1:1"})) << restarts;
    EXPECT_GT(world.engine.reads, 12);
  }
}

TEST(ShardedStream, ARecordWithoutATimeIsNotPassedOver) {
  ShardWorld world;
  world.begin(true);
  world.restart();
  const WallTime now = world.clock.wall();
  world.sim.run_for(std::chrono::ceil<seconds>(now) - now);
  world.engine.behind = std::chrono::duration_cast<seconds>(world.clock.wall().time_since_epoch());
  world.engine.write(0);
  ASSERT_EQ(world.engine.tree.at(0).changes.at(0).at, WallTime{});
  world.attach();
  EXPECT_EQ(world.texts(world.read()), (Texts{"i0:1"}));
}

TEST(ShardedStream, LatestIsStillThatWhereItsIteratorExpiresBeforeTheFirstChange) {
  ShardWorld world;
  world.engine.write(0);
  world.sim.run_for(std::chrono::minutes(20));
  world.begin(true);
  world.engine.expire_next = true;
  world.read();
  EXPECT_EQ(world.log.count("STREAM_ITERATOR_EXPIRED"), 1u);
  world.engine.write(1);
  EXPECT_EQ(world.texts(world.read()), (Texts{"i1:1"}));
}

TEST(ShardedStream, ARestartGoesOnWhereItStopped) {
  ShardWorld world;
  for (int item = 0; item < 3; ++item) world.engine.write(item);
  world.begin();
  EXPECT_EQ(world.read().size(), 3u);
  world.save();
  world.engine.write(0);
  world.read();  // Not saved.
  world.engine.write(1);
  const std::string before = world.stream->continuity();
  world.restart();
  world.attach();
  EXPECT_EQ(world.texts(world.read()), (Texts{"i0:2", "i1:2"}));
  EXPECT_EQ(world.stream->continuity(), before);
  EXPECT_EQ(world.log.count("STREAM_RECORDS_LOST"), 0u);
}

TEST(ShardedStream, AnExpiredIteratorIsMadeAgain) {
  ShardWorld world;
  world.begin();
  world.engine.write(0);
  EXPECT_EQ(world.read().size(), 1u);
  world.engine.expire_next = true;
  world.engine.write(1);
  EXPECT_EQ(world.texts(world.read()), (Texts{"i1:1"})) << "behind what was read before";
  EXPECT_EQ(world.log.count("STREAM_ITERATOR_EXPIRED"), 1u);
}

TEST(ShardedStream, ARestartLongAfterTheRetentionPassesTheTrimWithAWarning) {
  ShardWorld world;
  world.engine.write(0);
  world.begin();
  world.read();
  world.save();
  world.restart();
  world.engine.write(1);
  world.engine.write(2);
  world.engine.trim(world.engine.last_number() - 1);
  world.attach();
  const std::string before = world.stream->continuity();
  EXPECT_EQ(world.texts(world.read()), (Texts{"i2:1"}));
  EXPECT_EQ(world.log.count("STREAM_RECORDS_LOST"), 1u);
  EXPECT_NE(world.stream->continuity(), before);
  const std::string after = world.stream->continuity();
  world.save();
  world.restart();
  world.attach();
  EXPECT_EQ(world.stream->continuity(), after) << "it is stored with the marks";
}

TEST(ShardedStream, AReaderThatIsMadeAnewHasAContinuityOfItsOwn) {
  ShardWorld world;
  world.begin();
  const std::string before = world.stream->continuity();
  world.begin(true);
  EXPECT_NE(world.stream->continuity(), before);
}

TEST(ShardedStream, AShardThatIsGoneIsPassedWithAWarning) {
  ShardWorld world;
  world.engine.write(0);
  world.begin();
  world.read();
  world.save();
  world.restart();
  world.engine.write(1);
  world.engine.split(0);
  world.engine.trim(world.engine.last_number());
  world.engine.write(2);
  world.attach();
  EXPECT_EQ(world.texts(world.read(seconds(30))), (Texts{"i2:1"}));
  EXPECT_EQ(world.log.count("STREAM_RECORDS_LOST"), 1u);
  world.save();
  EXPECT_FALSE(world.stream->checkpoints().find("shard-1000")) << "its mark is of no use";
}

// A list may lack a shard by mistake, also the first one after a restart.
TEST(ShardedStream, AHalfReadShardThatAListLacksIsReadOnAndItsChildrenWait) {
  ShardWorld world;
  world.begin();
  world.engine.write(0);
  world.read();
  world.save();
  world.engine.write(0);
  world.engine.split(0);
  world.engine.write(0);
  world.restart();
  world.engine.hidden = {"shard-1000"};
  world.attach();
  EXPECT_THAT(world.read(seconds(5)), IsEmpty());
  world.engine.hidden.clear();
  EXPECT_EQ(world.texts(world.read()), (Texts{"i0:2", "i0:3"}));
  EXPECT_EQ(world.log.count("STREAM_RECORDS_LOST"), 0u);
}

TEST(ShardedStream, AStreamThatIsSwitchedOffIsReadToItsEnd) {
  ShardWorld world;
  world.begin();
  world.engine.write(0);
  world.engine.switch_off();
  EXPECT_EQ(world.read().size(), 1u);
  EXPECT_EQ(world.stream->end(), world.next);
}

TEST(ShardedStream, AnEngineInTroubleIsAskedLessAndLess) {
  ShardWorld world;
  world.begin();
  world.engine.refuses = Error{ErrorCode::kLimitExceeded, "too many", nullptr};
  world.read(std::chrono::minutes(10));
  EXPECT_EQ(world.stream->trouble(), "too many");
  EXPECT_LT(world.engine.reads, 40);
  EXPECT_EQ(world.log.count("shard-1000"), 2u) << "the first of twenty failures is logged";
  EXPECT_EQ(world.log.count("STREAM_READ_FAILED"), 4u) << "the same for lists";
  world.engine.refuses.reset();
  world.engine.write(0);
  EXPECT_EQ(world.read(seconds(60)).size(), 1u);
  EXPECT_EQ(world.stream->trouble(), "");
}

TEST(ShardedStream, AnIteratorThatOnlyFailsIsMadeAgain) {
  ShardWorld world;
  world.begin();
  world.engine.write(0);
  EXPECT_EQ(world.read().size(), 1u);
  world.engine.broken_iterators = true;
  world.engine.write(1);
  EXPECT_EQ(world.texts(world.read()), (Texts{"i1:1"}));
  EXPECT_EQ(world.engine.iterators, 2);
}

TEST(ShardedStream, ListsThatFailAreLogged) {
  ShardWorld world;
  world.begin();
  world.engine.refuses_lists = Error{ErrorCode::kAccessDenied, "no lists", nullptr};
  world.read(std::chrono::minutes(10));
  EXPECT_EQ(world.log.count("STREAM_READ_FAILED"), 2u) << "the first of twenty failures is logged";
  EXPECT_EQ(world.log.count("no lists"), 2u);
  EXPECT_EQ(world.log.count("shard-1000"), 0u);
  EXPECT_EQ(world.stream->trouble(), "no lists") << "the shard is read meanwhile";
  world.engine.refuses_lists.reset();
  world.read(seconds(40));
  EXPECT_EQ(world.stream->trouble(), "");
}

TEST(ShardedStream, TheTroubleOfAShardLastsWhileOthersAreRead) {
  ShardWorld world;
  world.engine.split(0);
  world.begin();
  world.engine.refuses_shard["shard-1001"] = Error{ErrorCode::kThroughputExceeded, "hot", nullptr};
  world.read(seconds(60));
  for (int i = 0; i < 20; ++i) {
    world.engine.write(2);
    world.read(milliseconds(100));
    EXPECT_EQ(world.stream->trouble(), "hot");
  }
  world.engine.refuses_shard.clear();
  world.read(seconds(40));
  EXPECT_EQ(world.stream->trouble(), "");
}

TEST(ShardedStream, AQuietShardIsReadOnceASecond) {
  ShardWorld world;
  world.begin();
  world.read(std::chrono::minutes(10));
  EXPECT_GT(world.engine.reads, 500);
  EXPECT_LT(world.engine.reads, 610);
  EXPECT_LT(world.engine.lists, 15);
}

TEST(ShardedStream, ItHoldsNoMoreThanItsRoom) {
  ShardWorld world;
  world.begin();
  for (int i = 0; i < 15'000; ++i) world.engine.write(0);
  world.sim.run_for(std::chrono::hours(2));
  const size_t held = ShardedStream::kMostRecords;
  EXPECT_GE(world.stream->bytes(), held * 300);
  EXPECT_LE(world.read(seconds(0)).size(), held + 10);
  world.save();
  EXPECT_GT(world.read(std::chrono::hours(1)).size(), 4'900u) << "there is room again";
}

TEST(ShardedStream, FewPagesAreInFlightAndEachShardHasItsTurn) {
  ShardWorld world(1, 12);
  for (size_t i = 0; world.engine.open_shards().size() < 12; ++i) {
    if (world.engine.tree[i].items.size() > 1) world.engine.split(i);
  }
  world.engine.slow = milliseconds(800);
  world.begin();
  world.read(seconds(60));  // The shards that are closed are read to their end.
  world.engine.reads_of.clear();
  world.read(seconds(120));
  EXPECT_EQ(world.engine.most_in_flight, 4u);
  EXPECT_EQ(world.engine.reads_of.size(), 12u);
  for (const auto& [shard, reads] : world.engine.reads_of) {
    EXPECT_GE(reads, 48) << shard;
    EXPECT_LE(reads, 52) << shard;
  }
}

TEST(ShardedStream, OnlyOneOfTwoReadersStoresWhatFollowsAPosition) {
  ShardWorld world;
  world.begin();
  world.engine.write(0);
  world.read();
  world.save();
  ShardedStreams other({world.engine, *world.tables, world.sim, EventLog()});
  world.must(other.load());
  ShardedStreamPtr second = world.must(other.attach({"m", "T"}, {"L", false, world.next}));
  world.engine.write(0);
  world.read();
  world.save();
  world.sim.run_for(seconds(10));
  const auto saved = world.wait(second->save(world.next + 1, {}));
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kConditionalCheckFailed);
}

TEST(ShardedStream, OfTwoSavesAtOnceTheMarksOfBothAreStored) {
  ShardWorld world;
  world.begin();
  LateTables late(*world.tables, world.sim, 1);
  ShardedStreams streams({world.engine, late, world.sim, EventLog()});
  world.must(streams.load());
  world.take(world.wait(streams.attach({"m", "T"}, {"L", false, world.next})));
  world.engine.write(0);
  world.read();
  const uint64_t between = world.next;
  world.engine.write(1);
  world.read();
  auto first = world.stream->save(between, {});
  auto second = world.stream->save(world.next, {});
  world.must(std::move(second));
  const auto stored = world.must(load_checkpoints(*world.tables));
  const ShardMark* mark = stored.at("m").find("shard-1000");
  EXPECT_EQ(mark ? mark->after : "none", FakeEngine::text(2));
  world.must(std::move(first));
  world.stream.reset();
}

TEST(ShardedStream, AReaderThatIsGoneLeavesNothing) {
  ShardWorld world;
  world.begin();
  world.engine.write(0);
  world.read();
  world.save();
  world.must(write_together(*world.tables, world.streams->removals("m")));
  world.streams->forget("m");
  EXPECT_THAT(world.must(load_checkpoints(*world.tables)), IsEmpty());
  for (const char* kind : {"shard-reader", "shard-mark"}) {
    EXPECT_THAT(world.must(load_system_items(*world.tables, kind)), IsEmpty());
  }
}

TEST(ShardedStream, RecordsHaveTheEnginesNames) {
  ShardWorld world;
  world.engine.write(0);
  world.begin();
  const std::vector<ChangeRecord> records = world.read();
  const StreamSource source{{}, "arn", StreamView::kNewImage};
  const std::string event = named_stream_event(records, source, names_of(records, *world.stream));
  EXPECT_NE(event.find(R"("SequenceNumber":"100000001",)"), std::string::npos) << event;
  EXPECT_NE(event.find(R"({"eventID":"e100000001",)"), std::string::npos) << event;
  const Map value = named_record_value(records.front(), source, true, *world.stream);
  EXPECT_EQ(value.string_or("eventID"), "e100000001");
  EXPECT_EQ(value.find("dynamodb")->get_if<Map>()->string_or("SequenceNumber"), "100000001");
  EXPECT_EQ(number_of(records.front(), *world.stream), "100000001");
}

}  // namespace
}  // namespace freshet
