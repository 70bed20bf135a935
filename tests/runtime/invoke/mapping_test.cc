#include <gtest/gtest.h>

#include "runtime/invoke/mapping_batch.h"
#include "streams/stream_event.h"
#include "tests/runtime/invoke/mapping_world.h"

namespace freshet {
namespace {

TEST_F(MappingTest, LatestStartsAfterAndTrimHorizonBeforeWhatIsThere) {
  put(0, 2);
  world.sim.run_ready();
  MappingDefinition latest = mapping_of("Tasks", "F");
  world.must(world.runtime->put_mapping(latest));
  put(2, 3);
  world.sim.run_ready();
  EXPECT_EQ(ids(), names(2, 3));
  MappingDefinition horizon = mapping_of("Tasks", "arn:aws:lambda:us-east-1:000000000000:function:F");
  horizon.id = "m2";
  horizon.starting_position = StartingPosition::kTrimHorizon;
  world.seen.clear();
  world.must(world.runtime->put_mapping(horizon));
  world.sim.run_ready();
  EXPECT_EQ(ids(), names(0, 3));
}

TEST_F(MappingTest, ABurstBatchesNaturallyAndInOrder) {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.batch_size = 1000;
  world.must(world.runtime->put_mapping(mapping));
  put(0, 3000);
  world.sim.run_ready();
  EXPECT_EQ(ids(), names(0, 3000));
  EXPECT_LE(batches().size(), 6u);
  for (const auto& batch : batches()) EXPECT_LE(batch.size(), 1000u);
  EXPECT_EQ(position(), 3001u);
}

TEST_F(MappingTest, RecordsAreDeliveredOnlyWhenDurableAndCostNoCommitOfTheirOwn) {
  world.must(world.runtime->put_mapping(mapping_of("Tasks", "F")));
  world.sim.run_ready();
  world.sim.run_for(seconds(10));
  const uint64_t syncs = world.files.syncs();
  put(0, 1);
  EXPECT_EQ(world.calls("F"), 0u);
  world.sim.loop().turn();  // Commits the put.
  EXPECT_EQ(world.calls("F"), 0u);
  world.sim.loop().turn();  // Delivers, logs the position.
  EXPECT_EQ(world.calls("F"), 1u);
  world.sim.run_ready();
  EXPECT_EQ(world.files.syncs() - syncs, 2u);
}

TEST_F(MappingTest, AWindowWaitsForMoreButAFullBatchGoesAtOnce) {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.batch_size = 10;
  mapping.batching_window = seconds(10);
  world.must(world.runtime->put_mapping(mapping));
  world.sim.run_ready();
  const BootTime start = world.clock.boot();
  put(0, 3);
  world.sim.run_for(seconds(4));
  put(3, 5);
  world.sim.run_until([&] { return world.calls("F") > 0; }, seconds(60));
  EXPECT_EQ(world.clock.boot() - start, seconds(10));
  EXPECT_EQ(batches(), (std::vector<std::vector<std::string>>{names(0, 5)}));
  put(5, 15);
  world.sim.run_ready();
  EXPECT_EQ(batches().back(), names(5, 15));
  EXPECT_EQ(world.clock.boot() - start, seconds(10));
}

// As much as an invocation may carry: more would only stay in memory meanwhile.
TEST_F(MappingTest, AWindowDoesNotWaitForMoreBytesThanABatchHolds) {
  world.add_table("Large", StreamView::kNewImage);
  MappingDefinition mapping = mapping_of("Large", "F");
  mapping.batch_size = 10'000;
  mapping.batching_window = seconds(300);
  world.must(world.runtime->put_mapping(mapping));
  const BootTime start = world.clock.boot();
  for (const std::string& name : names(0, 20)) {
    world.put("Large", Item{{"taskId", name}, {"text", std::string(300'000, 'x')}});
  }
  world.sim.run_until([&] { return world.calls("F") > 0; }, seconds(100));
  EXPECT_EQ(batches(), (std::vector<std::vector<std::string>>{names(0, 17)}));
  EXPECT_LT(world.clock.boot() - start, seconds(100));
  world.sim.run_until([&] { return world.calls("F") > 1; }, seconds(400));
  EXPECT_EQ(ids(), names(0, 20));
  EXPECT_GE(world.clock.boot() - start, seconds(300));
}

TEST_F(MappingTest, FiltersKeepRecordsOut) {
  world.add_table("Named", StreamView::kNewImage);
  MappingDefinition mapping = mapping_of("Named", "F");
  mapping.filters = {R"({"eventName":["INSERT"],"dynamodb":{"NewImage":{"kind":{"S":[{"prefix":"a"}]}}}})",
                     R"({"eventName":["REMOVE"]})"};
  world.must(world.runtime->put_mapping(mapping));
  world.put("Named", Item{{"kind", "apple"}, {"taskId", "1"}});
  world.put("Named", Item{{"kind", "pear"}, {"taskId", "2"}});
  world.put("Named", Item{{"kind", "avocado"}, {"taskId", "2"}});
  DeleteItemInput gone;
  gone.table = "Named";
  gone.key = Item{{"taskId", "1"}};
  world.must(world.tables->delete_item(gone));
  world.sim.run_ready();
  EXPECT_EQ(ids(), (std::vector<std::string>{"1", "1"}));
  EXPECT_EQ(position(), 5u);
}

// Better one that the function did not ask for than one that it never sees.
TEST_F(MappingTest, ARecordPassesAFilterThatWouldTakeTooLong) {
  world.add_table("Named", StreamView::kNewImage);
  MappingDefinition mapping = mapping_of("Named", "F");
  std::string prefixes;
  for (int i = 0; i < 250; ++i) prefixes += (i ? "," : "") + std::string(R"({"prefix":"a"})");
  mapping.filters = {R"({"dynamodb":{"NewImage":{"tags":{"L":{"S":[)" + prefixes + "]}}}}}"};
  world.must(world.runtime->put_mapping(mapping));
  const auto put_with_tags = [&](const std::string& id, size_t count) {
    List tags;
    for (size_t i = 0; i < count; ++i) tags.elements.emplace_back("b");
    world.put("Named", Item{{"taskId", id}, {"tags", std::move(tags)}});
  };
  put_with_tags("few", 1'000);
  put_with_tags("many", 20'000);
  world.sim.run_ready();
  EXPECT_EQ(ids(), std::vector<std::string>{"many"});
}

TEST_F(MappingTest, SkippedRecordsMoveThePositionLater) {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.filters = {R"({"eventName":["REMOVE"]})"};
  world.must(world.runtime->put_mapping(mapping));
  put(0, 50);
  world.sim.run_for(seconds(3));
  world.start();
  EXPECT_EQ(position(), 51u);
  EXPECT_EQ(world.calls("F"), 0u);
}

TEST_F(MappingTest, ARestartGoesOnWhereItStoodAndRepeatsWhatWasNotDone) {
  world.must(world.runtime->put_mapping(mapping_of("Tasks", "F")));
  put(0, 2);
  world.sim.run_ready();
  world.script["F"] = {takes(seconds(30))};
  put(2, 4);
  world.sim.run_for(seconds(1));
  EXPECT_EQ(ids(), names(0, 4));
  world.seen.clear();
  world.power_loss();
  world.sim.run_ready();
  EXPECT_EQ(ids(), names(2, 4));
  put(4, 5);
  world.sim.run_ready();
  EXPECT_EQ(ids(), names(2, 5));
}

TEST_F(MappingTest, ErrorsAreRetriedUpToTheLimitThenReported) {
  world.add_function("Dead");
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.max_retries = 2;
  mapping.on_failure.target = "arn:aws:lambda:us-east-1:000000000000:function:Dead";
  world.must(world.runtime->put_mapping(mapping));
  world.script["F"] = {fails("a"), fails("b"), fails("c")};
  put(0, 2);
  world.sim.run_ready();
  put(2, 3);
  world.sim.run_for(seconds(5));
  EXPECT_EQ(batches(), (std::vector<std::vector<std::string>>{names(0, 2), names(0, 2), names(0, 2), names(2, 3)}));
  ASSERT_EQ(world.calls("Dead"), 1u);
  const std::string document = world.payloads("Dead").front();
  EXPECT_NE(document.find(R"("condition":"RetryAttemptsExhausted","approximateInvokeCount":3)"), document.npos);
  EXPECT_NE(document.find(R"("startSequenceNumber":")" + sequence_number(1)), document.npos);
  EXPECT_NE(document.find(R"("endSequenceNumber":")" + sequence_number(2)), document.npos);
  EXPECT_NE(document.find(R"("batchSize":2)"), document.npos);
}

TEST_F(MappingTest, BisectingLeavesOnlyTheBadRecordBehind) {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.max_retries = 0;
  mapping.bisect_on_error = true;
  world.must(world.runtime->put_mapping(mapping));
  // Fails while the batch holds t1002: 4, then 2 good, then 2 bad, 1 bad, 1 good.
  world.script["F"] = {fails("x"), Step{}, fails("x"), fails("x"), Step{}};
  put(0, 4);
  world.sim.run_ready();
  EXPECT_EQ(batches(),
            (std::vector<std::vector<std::string>>{names(0, 4), names(0, 2), names(2, 4), names(2, 3), names(3, 4)}));
  EXPECT_EQ(position(), 5u);
}

TEST_F(MappingTest, AReportedItemIsTriedAgainWithWhatFollowsIt) {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.report_item_failures = true;
  world.must(world.runtime->put_mapping(mapping));
  world.script["F"] = {gives(R"({"batchItemFailures":[{"itemIdentifier":")" + sequence_number(3) + R"("}]})")};
  put(0, 4);
  world.sim.run_for(seconds(5));
  EXPECT_EQ(batches(), (std::vector<std::vector<std::string>>{names(0, 4), names(2, 4)}));
}

TEST_F(MappingTest, OldRecordsAreGivenUpEvenWhileTheFunctionHasNoPlace) {
  world.add_function("F", {}, 0);
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.max_record_age = seconds(60);
  world.must(world.runtime->put_mapping(mapping));
  put(0, 2);
  world.sim.run_for(seconds(59));
  EXPECT_EQ(position(), 1u);
  EXPECT_EQ(world.runtime->mappings().at(0).last_error, "Rate Exceeded.");
  world.sim.run_for(seconds(2));
  EXPECT_EQ(position(), 3u);
  world.add_function("F", {}, 1);
  put(2, 3);
  world.sim.run_for(seconds(1));
  EXPECT_EQ(ids(), names(2, 3));
}

TEST_F(MappingTest, AStepOfTheClockMakesNoRecordTooOld) {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.max_record_age = seconds(3600);
  mapping.starting_position = StartingPosition::kTrimHorizon;
  world.must(world.runtime->put_mapping(mapping));
  put(0, 2);
  world.clock.step_wall(std::chrono::hours(25));
  world.sim.run_for(seconds(1));
  EXPECT_EQ(ids(), names(0, 2));
  EXPECT_EQ(log.count("STREAM_RECORDS_DROPPED"), 0u);
}

// Streams are read in the order of their labels, which are the times at which they began.
TEST_F(MappingTest, AStreamThatIsSwitchedOnAgainAfterAStepBackIsRead) {
  world.must(world.runtime->put_mapping(mapping_of("Tasks", "F")));
  put(0, 2);
  world.sim.run_for(seconds(1));
  set_stream(false);
  world.sim.run_for(seconds(1));
  world.clock.step_wall(-std::chrono::hours(2));
  set_stream(true);
  put(2, 4);
  world.sim.run_for(seconds(60));
  EXPECT_EQ(ids(), names(0, 4));
}

TEST_F(MappingTest, SoIsThatOfATableThatWasCreatedAnewLongAfterAStepBack) {
  world.must(world.runtime->put_mapping(mapping_of("Tasks", "F")));
  put(0, 2);
  world.sim.run_for(seconds(1));
  world.must(world.tables->delete_table("Tasks"));
  world.clock.step_wall(-std::chrono::hours(24 * 10));
  world.sim.run_for(std::chrono::hours(26));  // The old stream is forgotten.
  world.add_table("Tasks");
  put(2, 4);
  world.sim.run_for(seconds(60));
  EXPECT_EQ(ids(), names(0, 4));
}

TEST_F(MappingTest, ThrottlingCostsNoRetry) {
  world.add_function("F", {}, 1);
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.max_retries = 0;
  world.script["F"] = {takes(seconds(20))};
  auto blocking = world.runtime->invoker().invoke("F", R"({"Records":[]})");
  world.must(world.runtime->put_mapping(mapping));
  put(0, 1);
  world.sim.run_for(seconds(60));
  EXPECT_EQ(ids(), names(0, 1));
  EXPECT_TRUE(blocking.is_ready());
}

TEST_F(MappingTest, ADisabledMappingWaitsAndAChangedOneGoesOnFromItsPlace) {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  world.must(world.runtime->put_mapping(mapping));
  put(0, 1);
  world.sim.run_ready();
  mapping.enabled = false;
  world.must(world.runtime->put_mapping(mapping));
  put(1, 3);
  world.sim.run_for(seconds(5));
  EXPECT_EQ(ids(), names(0, 1));
  world.start();
  mapping.enabled = true;
  world.must(world.runtime->put_mapping(mapping));
  world.sim.run_ready();
  EXPECT_EQ(ids(), names(0, 3));
  world.must(world.runtime->remove_mapping("m"));
  put(3, 4);
  world.sim.run_ready();
  EXPECT_EQ(ids(), names(0, 3));
  EXPECT_EQ(world.stored("mapping") + world.stored("mapping-position"), 0u);
}

TEST_F(MappingTest, BadDefinitionsAreRefused) {
  const auto error = [&](MappingDefinition mapping) {
    auto result = world.wait(world.runtime->put_mapping(std::move(mapping)));
    return result ? std::string() : result.error().message;
  };
  MappingDefinition mapping = mapping_of("Tasks", "F");
  mapping.batch_size = 0;
  EXPECT_NE(error(mapping).find("batch size"), std::string::npos);
  mapping = mapping_of("Tasks", "G");
  EXPECT_NE(error(mapping).find("no function \"G\""), std::string::npos);
  mapping = mapping_of("Unknown", "F");
  EXPECT_NE(error(mapping), "");
  mapping = mapping_of("freshet.system", "F");
  EXPECT_NE(error(mapping).find("has no stream"), std::string::npos);
  mapping = mapping_of("Tasks", "F");
  mapping.filters = {R"({"a":[{"like":"x"}]})"};
  EXPECT_NE(error(mapping).find("unknown operator \"like\""), std::string::npos);
  mapping.filters.clear();
  mapping.batching_window = seconds(301);
  EXPECT_NE(error(mapping).find("window"), std::string::npos);
  EXPECT_TRUE(world.runtime->mappings().empty());
}

TEST(MappingBatch, ResponsesNameWhatFailed) {
  const std::vector<uint64_t> sequences{10, 11, 12};
  const auto failed = [&](const std::string& response) { return first_failed(response, sequences); };
  EXPECT_EQ(failed("null"), 3u);
  EXPECT_EQ(failed("{}"), 3u);
  EXPECT_EQ(failed("\"x\""), 3u);
  EXPECT_EQ(failed(R"({"batchItemFailures":[]})"), 3u);
  EXPECT_EQ(failed(R"({"batchItemFailures":null})"), 3u);
  EXPECT_EQ(failed(R"({"batchItemFailures":[{"itemIdentifier":"12"},{"itemIdentifier":"11"}]})"), 1u);
  EXPECT_EQ(failed(R"({"batchItemFailures":[{"itemIdentifier":""}]})"), 0u);
  EXPECT_EQ(failed(R"({"batchItemFailures":[{"itemIdentifier":"99"}]})"), 0u);
  EXPECT_EQ(failed(R"({"batchItemFailures":[{"other":1}]})"), 0u);
  EXPECT_EQ(failed(R"({"batchItemFailures":"all"})"), 0u);
}

}  // namespace
}  // namespace freshet
