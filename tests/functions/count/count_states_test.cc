#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "functions/count/count_settings.h"
#include "functions/count/state_changes.h"
#include "tests/functions/count/count_world.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;
using Counters = std::map<std::string, int64_t>;

class CountStates : public ::testing::TestWithParam<bool> {
 protected:
  CountWorld world{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Stores, CountStates, ::testing::Bool(),
                         [](const auto& suite) { return suite.param ? "Late" : "AtOnce"; });

TEST_P(CountStates, CountsItemsAndMoves) {
  world.put_parcel("1", Value("A"));
  world.put_parcel("2", Value("A"));
  world.put_parcel("1", Value("B"));
  world.put_parcel("2", Value("A"));  // No move.
  world.put_parcel("3", std::nullopt);
  world.remove_parcel("2");
  const auto answer = world.deliver(1);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, R"({"counted":6,"seenBefore":0,"leftOut":0,"tableCounts":1})");
  EXPECT_EQ(world.counters(), (Counters{{"state#B", 1},
                                        {"state#(none)", 1},
                                        {"transition#(created)#A", 2},
                                        {"transition#(created)#(none)", 1},
                                        {"transition#A#B", 1},
                                        {"transition#A#(removed)", 1}}));
}

TEST_P(CountStates, CountsNothingTwice) {
  for (int i = 0; i < 10; ++i) world.put_parcel(std::to_string(i), Value("A"));
  ASSERT_TRUE(world.deliver(1, 7));
  const auto again = world.deliver(1, 4);
  EXPECT_EQ(*again, R"({"counted":0,"seenBefore":4,"leftOut":0,"tableCounts":0})");
  const auto across = world.deliver(5);
  EXPECT_EQ(*across, R"({"counted":3,"seenBefore":3,"leftOut":0,"tableCounts":0})");
  EXPECT_EQ(world.counters(), (Counters{{"state#A", 10}, {"transition#(created)#A", 10}}));
}

TEST_P(CountStates, BeginsWithWhatTheTableHeldBeforeTheFirstRecord) {
  world.put_parcel("old", Value("A"));
  world.put_parcel("gone", Value("A"));
  world.put_parcel("moved", Value("A"));
  const uint64_t first = 4;
  world.remove_parcel("gone");
  world.put_parcel("moved", Value("B"));
  world.put_parcel("moved", Value("C"));
  world.put_parcel("new", Value("C"));
  ASSERT_TRUE(world.deliver(first, 1));  // The rest has happened already, and comes later.
  EXPECT_EQ(world.counters(), (Counters{{"state#A", 2}, {"transition#A#(removed)", 1}}));
  ASSERT_TRUE(world.deliver(first));
  EXPECT_EQ(world.states(), world.recount());
}

TEST_P(CountStates, CountsTheTableAgainBehindAGap) {
  world.put_parcel("1", Value("A"));
  ASSERT_TRUE(world.deliver(1));
  world.put_parcel("2", Value("A"));
  world.put_parcel("1", Value("B"));
  world.put_parcel("3", Value("A"));
  const auto answer = world.deliver(4);
  EXPECT_EQ(*answer, R"({"counted":1,"seenBefore":0,"leftOut":0,"tableCounts":1})");
  EXPECT_EQ(world.states(), world.recount());
}

TEST_P(CountStates, GoesOnWithTheNextStream) {
  world.put_parcel("1", Value("A"));
  ASSERT_TRUE(world.deliver(1));
  const std::string first = world.label();
  auto definition = world.wait(world.store->describe_table("Parcels"))->definition;
  world.put_parcel("1", Value("B"));
  definition.stream.reset();
  ASSERT_TRUE(world.wait(world.store->alter_table(definition)));
  world.put_parcel("unseen", Value("A"));
  definition.stream = StreamView::kNewAndOldImages;
  ASSERT_TRUE(world.wait(world.store->alter_table(definition)));
  world.put_parcel("2", Value("B"));
  ASSERT_TRUE(world.deliver(2, 1000, first));  // The remaining record of the stream that has ended.
  EXPECT_EQ(world.states(), (Counters{{"state#B", 1}}));
  const uint64_t next = world.wait(world.store->stream_bounds("Parcels"))->oldest;
  const auto counted = world.deliver(next);
  ASSERT_TRUE(counted) << counted.error().message;
  EXPECT_EQ(world.states(), world.recount());
  // A batch of the old one comes again.
  const auto again = world.deliver(1, 1000, first);
  EXPECT_EQ(*again, R"({"counted":0,"seenBefore":0,"leftOut":2,"tableCounts":0})");
  EXPECT_EQ(world.states(), world.recount());
}

TEST_P(CountStates, HoldsMoreStatesThanATransaction) {
  for (int i = 0; i < 250; ++i) world.put_parcel(std::to_string(i), Value("s" + std::to_string(i)));
  ASSERT_TRUE(world.deliver(251 - 50));  // A first count of 200 states.
  EXPECT_EQ(world.states(), world.recount());
  for (int i = 0; i < 250; ++i) world.put_parcel(std::to_string(i), Value("t" + std::to_string(i)));
  ASSERT_TRUE(world.deliver(251));
  EXPECT_EQ(world.states(), world.recount());
}

TEST_P(CountStates, AnInterruptedFirstCountIsBegunAgain) {
  for (int i = 0; i < 250; ++i) world.put_parcel(std::to_string(i), Value("s" + std::to_string(i)));
  // Ended wherever it waits; over the store that answers at once it never does but between pages.
  for (int ms = 1; ms < 200; ms += 3) {
    Context context{*world.services, world.function, world.invocation(Payload(world.batch(200)))};
    auto running = count_states(context, world.log);
    world.pass(milliseconds(ms));
  }
  ASSERT_TRUE(world.deliver(200));
  EXPECT_EQ(world.states(), world.recount());
}

TEST_P(CountStates, TellsWhatExpired) {
  PutItemInput input;
  input.table = "Parcels";
  input.item = Item{{"id", Value("1")}, {"state", Value("A")}, {"ttl", Value::number(world.now_ms() / 1000 + 1)}};
  ASSERT_TRUE(world.wait(world.store->put_item(input)));
  world.pass(seconds(120));
  ASSERT_TRUE(world.deliver(1));
  EXPECT_EQ(world.counters(), (Counters{{"transition#(created)#A", 1}, {"transition#A#(expired)", 1}}));
}

TEST_P(CountStates, SaysWhatIsWrong) {
  world.put_parcel("1", Value("A"));
  auto batch = world.batch(1);
  EXPECT_THAT(why(world.invoke(Payload(std::string(R"({"Records":[]})")))),
              HasSubstr("events of a table's stream only"));
  auto holes = batch;
  holes.records.push_back(holes.records[0]);
  holes.records.back().sequence += 2;
  EXPECT_THAT(why(world.invoke(Payload(holes))), HasSubstr("no FilterCriteria and a ParallelizationFactor of 1"));
  auto keys = batch;
  keys.source.view = StreamView::kKeysOnly;
  EXPECT_THAT(why(world.invoke(Payload(keys))), HasSubstr("the stream of table Parcels is KEYS_ONLY"));
  world.function.environment["METRICS_TABLE"] = "Parcels";
  EXPECT_THAT(why(world.invoke(Payload(batch))), HasSubstr("it must be another one"));
  world.function.environment["METRICS_TABLE"] = "QueueTable";
  EXPECT_THAT(why(world.invoke(Payload(batch))), HasSubstr("needs counted (S, HASH) and metric (S, RANGE)"));
  world.function.environment["METRICS_TABLE"] = "Nowhere";
  EXPECT_THAT(why(world.invoke(Payload(batch))), HasSubstr("METRICS_TABLE is 'Nowhere': there is no such table"));
  world.function.environment["COUNT_ATTRIBUTE"] = "";
  EXPECT_THAT(why(world.invoke(Payload(batch))), HasSubstr("COUNT_ATTRIBUTE is empty: it must be the name"));
  world.function.environment.clear();
  EXPECT_THAT(why(world.invoke(Payload(batch))), HasSubstr("METRICS_TABLE is not set"));
  EXPECT_EQ(world.counters(), Counters());
}

TEST_P(CountStates, ADamagedMetricsTableIsReportedAndComesBack) {
  world.put_parcel("1", Value("A"));
  ASSERT_TRUE(world.deliver(1));
  ASSERT_TRUE(world.wait(world.store->delete_table("Metrics")));
  world.put_parcel("2", Value("A"));
  EXPECT_THAT(why(world.deliver(2)), HasSubstr("there is no such table"));
  world.make(CountWorld::metrics_table());
  ASSERT_TRUE(world.deliver(2));
  EXPECT_EQ(world.states(), world.recount());
}

TEST(StateLabel, NoValueLooksLikeAnother) {
  const auto label = [](Value value) { return state_label(ItemRef::encode(Item{{"a", std::move(value)}}), "a"); };
  EXPECT_EQ(label(Value("PENDING")), "PENDING");
  EXPECT_EQ(label(Value("a#b%c")), "a%23b%25c");
  EXPECT_EQ(label(Value("(none)")), "%28none)");
  EXPECT_EQ(label(Value("a (b)")), "a (b)");
  EXPECT_EQ(label(Value("")), "");
  EXPECT_EQ(label(Value::number(7)), "7");
  EXPECT_EQ(label(Value::boolean(true)), "true");
  EXPECT_EQ(label(Value(Null{})), "(none)");
  EXPECT_EQ(label(Value(Binary{"x"})), "(other)");
  EXPECT_EQ(label(Value(std::string(kMaxLabel, 'x'))), std::string(kMaxLabel, 'x'));
  EXPECT_EQ(label(Value(std::string(kMaxLabel + 1, 'x'))), "(other)");
  EXPECT_EQ(label(Value(std::string(kMaxLabel / 2, '#'))), "(other)");
  EXPECT_EQ(state_label(ItemRef::encode(Item{{"b", Value("x")}}), "a"), "(none)");
}

}  // namespace
}  // namespace freshet
