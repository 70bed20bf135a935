#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/functions/count/engine_world.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;
using Counters = std::map<std::string, int64_t>;

struct EngineCount : ::testing::TestWithParam<bool> {
  EngineCountWorld world{GetParam()};
  size_t items_of(const std::string& counted) {
    ScanInput scan;
    scan.table = "Metrics";
    auto page = world.wait(world.store->scan(std::move(scan)));
    EXPECT_TRUE(page) << page.error().message;
    size_t number = 0;
    for (const ItemRef& ref : page->items) number += ref.decode().string_or("counted").starts_with(counted) ? 1 : 0;
    return number;
  }
  void remove_position() {
    DeleteItemInput gone;
    gone.table = "Metrics";
    gone.key = Item{{"counted", Value("Parcels#state")}, {"metric", Value("position")}};
    ASSERT_TRUE(world.wait(world.store->delete_item(std::move(gone))));
  }
};

Item position(EngineCountWorld& world) {
  GetItemInput get;
  get.table = "Metrics";
  get.key = Item{{"counted", Value("Parcels#state")}, {"metric", Value("position")}};
  const auto found = world.wait(world.store->get_item(std::move(get)));
  return found && *found ? found->decode() : Item();
}

INSTANTIATE_TEST_SUITE_P(Stores, EngineCount, ::testing::Bool(),
                         [](const auto& suite) { return suite.param ? "Late" : "AtOnce"; });

TEST_P(EngineCount, CountsItemsAndMoves) {
  world.put_parcel("1", Value("A"));
  world.put_parcel("2", Value("A"));
  world.put_parcel("1", Value("B"));
  world.put_parcel("2", Value("A"));  // No move.
  world.put_parcel("3", std::nullopt);
  world.remove_parcel("2");
  const auto answer = world.deliver_next();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, R"({"counted":6,"seenBefore":0,"leftOut":0,"tableCounts":1})");
  EXPECT_EQ(world.counters(), (Counters{{"state#B", 1},
                                        {"state#(none)", 1},
                                        {"transition#(created)#A", 2},
                                        {"transition#(created)#(none)", 1},
                                        {"transition#A#B", 1},
                                        {"transition#A#(removed)", 1}}));
  EXPECT_EQ(items_of("Parcels#state#items#"), 2u) << "nothing is kept of an item that is gone";
}

TEST_P(EngineCount, CountsNothingTwice) {
  for (int i = 0; i < 10; ++i) world.put_parcel(std::to_string(i), Value("A"));
  ASSERT_TRUE(world.deliver_next());
  world.restart();
  for (int i = 0; i < 3; ++i) world.put_parcel(std::to_string(i), Value("B"));
  const auto again = world.deliver_next();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, R"({"counted":3,"seenBefore":10,"leftOut":0,"tableCounts":0})");
  EXPECT_EQ(world.counters(),
            (Counters{{"state#A", 7}, {"state#B", 3}, {"transition#(created)#A", 10}, {"transition#A#B", 3}}));
}

TEST_P(EngineCount, AChangeFromBeforeTheTableCountSetsItsItemBackUntilTheNextOne) {
  for (const char* state : {"A", "B", "C"}) world.put_parcel("1", Value(state));
  ASSERT_TRUE(world.deliver_next(1));
  EXPECT_EQ(world.states(), (Counters{{"state#A", 1}}));
  ASSERT_TRUE(world.deliver_next(1));
  EXPECT_EQ(world.states(), (Counters{{"state#B", 1}}));
  ASSERT_TRUE(world.deliver_next(1));
  EXPECT_EQ(world.states(), world.recount());
}

TEST_P(EngineCount, CountsTheTableAgainAfterALoss) {
  world.put_parcel("1", Value("A"));
  world.put_parcel("2", Value("A"));
  ASSERT_TRUE(world.deliver_next());
  world.put_parcel("1", Value("B"));
  world.remove_parcel("2");
  world.begin_at_latest();
  world.put_parcel("3", Value("A"));
  const auto answer = world.deliver_next();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, R"({"counted":1,"seenBefore":0,"leftOut":0,"tableCounts":1})");
  EXPECT_EQ(world.states(), world.recount());
  EXPECT_EQ(items_of("Parcels#state#items#"), 2u) << "nothing is kept of an item that is gone";
}

// It waited for a day, and what followed the change that comes now was trimmed.
TEST_P(EngineCount, AnOldChangeDoesNotSetItsItemBackForEver) {
  world.put_parcel("1", Value("A"));
  ASSERT_TRUE(world.deliver_next());
  world.put_parcel("1", Value("B"));
  world.put_parcel("1", Value("C"));
  world.lose_last_of("1");
  world.pass(std::chrono::hours(25));
  const auto answer = world.deliver_next();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, R"({"counted":1,"seenBefore":0,"leftOut":0,"tableCounts":1})");
  EXPECT_EQ(world.states(), world.recount());
  EXPECT_EQ(world.counters()["transition#A#B"], 1) << "it has moved all the same";
}

TEST_P(EngineCount, ARecordWithoutImagesIsAnError) {
  world.put_parcel("1", Value("A"));
  ASSERT_TRUE(world.deliver_next());
  world.remove_parcel("1");
  world.collect();
  StreamBatch batch = world.next_batch(10);
  batch.records.at(0).before = ItemRef();
  EXPECT_THAT(why(world.invoke(Payload(batch))), HasSubstr("has not both images"));
  EXPECT_EQ(world.states(), (Counters{{"state#A", 1}}));
}

TEST_P(EngineCount, CountsTheTableAgainIfItMayHaveMissedChanges) {
  world.put_parcel("1", Value("A"));
  ASSERT_TRUE(world.deliver_next());
  world.pass(std::chrono::hours(19));
  world.put_parcel("1", Value("B"));
  EXPECT_THAT(*world.deliver_next(), HasSubstr(R"("tableCounts":0)"));
  world.pass(std::chrono::hours(21));
  world.put_parcel("1", Value("C"));
  EXPECT_THAT(*world.deliver_next(), HasSubstr(R"("tableCounts":1)"));
  world.put_parcel("1", Value("D"));
  EXPECT_THAT(*world.deliver_next(), HasSubstr(R"("tableCounts":0)"));
  EXPECT_EQ(world.states(), world.recount());
}

TEST_P(EngineCount, ForgetsShardsOfWhichNothingComesAnyMore) {
  world.put_parcel("1", Value("A"));
  ASSERT_TRUE(world.deliver_next());
  world.pass(std::chrono::hours(19));
  world.put_parcel("1", Value("B"));
  ASSERT_TRUE(world.deliver_next());
  EXPECT_EQ(items_of("Parcels#state#shards"), 1u);
  world.pass(std::chrono::hours(49));
  world.replace_shards();
  world.put_parcel("1", Value("C"));
  ASSERT_TRUE(world.deliver_next());
  EXPECT_EQ(items_of("Parcels#state#shards"), 1u);
  world.replace_shards();
  world.put_parcel("1", Value("C"));
  ASSERT_TRUE(world.deliver_next());
  EXPECT_EQ(items_of("Parcels#state#shards"), 2u);
}

TEST_P(EngineCount, BeginsAnewWithoutAPosition) {
  for (int i = 0; i < 20; ++i) world.put_parcel(std::to_string(i), Value("A"));
  ASSERT_TRUE(world.deliver_next());
  remove_position();
  world.put_parcel("1", Value("B"));
  const auto answer = world.deliver_next();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, R"({"counted":1,"seenBefore":0,"leftOut":0,"tableCounts":1})");
  EXPECT_EQ(world.states(), world.recount());
}

TEST_P(EngineCount, HoldsMoreStatesThanATransaction) {
  for (int i = 0; i < 250; ++i) world.put_parcel(std::to_string(i), Value("s" + std::to_string(i)));
  world.begin_at_latest();
  world.put_parcel("0", Value("t"));
  ASSERT_TRUE(world.deliver_next());
  EXPECT_EQ(world.states(), world.recount());
  for (int i = 0; i < 250; ++i) world.put_parcel(std::to_string(i), Value("t" + std::to_string(i)));
  ASSERT_TRUE(world.deliver_next());
  EXPECT_EQ(world.states(), world.recount());
}

TEST(EngineCount, AnInterruptedTableCountGoesOn) {
  EngineCountWorld world(true);
  for (int i = 0; i < 2500; ++i) world.put_parcel(std::to_string(i), Value("s" + std::to_string(i % 150)));
  world.begin_at_latest();
  world.put_parcel("new", Value("A"));
  world.collect();
  // Each is ended long before it could count the whole table; only the last part, the sum, is made in one go. Meanwhile
  // items come and go where it was already.
  std::string begun;  // The round of the first that stored one.
  for (int tries = 0;; ++tries) {
    ASSERT_LT(tries, 1000);
    Context context{*world.services, world.function, world.invocation(Payload(world.next_batch(10)))};
    auto running = count_states(context, world.log);
    for (int i = 0; i < 20 + 5 * tries && !running.is_ready(); ++i) world.pass(milliseconds(1));
    if (running.is_ready()) {
      EXPECT_TRUE(running.take());
      EXPECT_GT(tries, 3);
      break;
    }
    if (begun.empty()) begun = position(world).string_or("round");
    if (tries < 20) world.put_parcel(std::to_string(tries * 100), Value("B"));
    if (tries < 20) world.remove_parcel(std::to_string(tries * 100 + 50));
  }
  while (world.collect(), world.has_more()) ASSERT_TRUE(world.deliver_next());
  EXPECT_EQ(world.states(), world.recount());
  const Item end = position(world);
  EXPECT_EQ(end.string_or("round"), begun) << "none began anew";
  EXPECT_NE(begun, "");
}

TEST_P(EngineCount, OneThatWasSlowWritesNothingOnceAnotherHasCounted) {
  for (int i = 0; i < 5; ++i) world.put_parcel(std::to_string(i), Value("A"));
  ASSERT_TRUE(world.deliver_next());
  for (int i = 0; i < 5; ++i) world.put_parcel(std::to_string(i), Value("B"));
  world.collect();
  // Two daemons of a fleet for a moment: the former owner has read the position, and then the next one counts.
  const StreamBatch same = world.next_batch(1000);
  Context context{*world.services, world.function, world.invocation(Payload(same))};
  auto slow = count_states(context, world.log);
  const auto answer = world.invoke(Payload(same));
  const auto other = world.wait(std::move(slow));
  ASSERT_TRUE(answer || other);
  const bool is_second =
      answer && other &&
      (answer->find(R"("seenBefore":5)") != std::string::npos || other->find(R"("seenBefore":5)") != std::string::npos);
  EXPECT_TRUE(!answer || !other || is_second);
  EXPECT_EQ(world.states(), world.recount());
  EXPECT_EQ(world.counters()["transition#A#B"], 5);
}

TEST_P(EngineCount, SaysWhatIsWrong) {
  world.put_parcel("1", Value("A"));
  world.collect();
  const StreamBatch batch = world.next_batch(10);
  StreamBatch lanes = batch;
  lanes.lanes = 2;
  EXPECT_THAT(why(world.invoke(Payload(lanes))),
              HasSubstr("must have a ParallelizationFactor of 1, and no FilterCriteria"));
  StreamBatch fewer = batch;
  fewer.leaves_out = true;
  EXPECT_THAT(why(world.invoke(Payload(fewer))), HasSubstr("MaximumRetryAttempts and MaximumRecordAgeInSeconds"));
  StreamBatch timeless = batch;
  timeless.records.at(0).at = WallTime{};
  EXPECT_THAT(why(world.invoke(Payload(timeless))), HasSubstr("has no ApproximateCreationDateTime"));
  StreamBatch odd = batch;
  odd.names.at(0).number = "12-b";
  EXPECT_THAT(why(world.invoke(Payload(odd))), HasSubstr("has '12-b'"));
  StreamBatch keys = batch;
  keys.source.view = StreamView::kKeysOnly;
  EXPECT_THAT(why(world.invoke(Payload(keys))), HasSubstr("the stream of table Parcels is KEYS_ONLY"));
  EXPECT_EQ(world.counters(), Counters());
}

}  // namespace
}  // namespace freshet
