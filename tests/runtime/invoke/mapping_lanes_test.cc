// Event source mappings in several lanes, with tumbling windows, over streams that end, and while they are changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime/invoke/mapping_batch.h"
#include "streams/stream_event.h"
#include "tests/runtime/invoke/mapping_world.h"

namespace freshet {
namespace {

using MappingStreamTest = MappingTest;

TEST_F(MappingStreamTest, WhatASwitchedOffStreamHoldsIsStillDelivered) {
  world.add_function("F", {}, 0);
  world.must(world.runtime->put_mapping(mapping_of("Tasks", "F")));
  put(0, 3);
  world.sim.run_for(seconds(1));
  set_stream(false);
  world.sim.run_for(seconds(40));
  set_stream(true);
  put(3, 5);
  world.sim.run_for(seconds(40));
  EXPECT_EQ(world.calls("F"), 0u);
  world.start();
  world.add_function("F", {}, 1);
  world.sim.run_for(seconds(60));
  EXPECT_EQ(ids(), names(0, 5));
  EXPECT_EQ(log.count("STREAM_RECORDS_LOST"), 0u);
  put(5, 6);
  world.sim.run_ready();
  EXPECT_EQ(ids(), names(0, 6));
}

TEST_F(MappingStreamTest, AStreamThatEndedAndWasReadGivesWayToTheNext) {
  world.must(world.runtime->put_mapping(mapping_of("Tasks", "F")));
  put(0, 2);
  world.sim.run_ready();
  set_stream(false);
  world.sim.run_for(seconds(5));
  EXPECT_EQ(state().last_error, "Table Tasks has no stream");
  world.sim.run_for(std::chrono::hours(30));  // The closed stream is forgotten by then.
  put(2, 3);
  set_stream(true);
  put(3, 5);
  world.sim.run_for(seconds(60));
  EXPECT_EQ(ids(), (std::vector<std::string>{"t1000", "t1001", "t1003", "t1004"}));
  EXPECT_EQ(log.count("STREAM_RECORDS_LOST"), 0u);
}

TEST_F(MappingStreamTest, UnreadRecordsOfAForgottenStreamAreReportedAsLost) {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  world.must(world.runtime->put_mapping(mapping));
  mapping.enabled = false;
  world.must(world.runtime->put_mapping(mapping));
  put(0, 3);
  world.sim.run_ready();
  set_stream(false);
  world.sim.run_for(std::chrono::hours(30));
  set_stream(true);
  put(3, 4);
  mapping.enabled = true;
  world.must(world.runtime->put_mapping(mapping));
  world.sim.run_for(seconds(5));
  EXPECT_EQ(ids(), names(3, 4));
  EXPECT_EQ(log.count("STREAM_RECORDS_LOST"), 1u);
}

TEST_F(MappingStreamTest, ATableMadeAnewIsReadFromItsBeginning) {
  world.must(world.runtime->put_mapping(mapping_of("Tasks", "F")));
  put(0, 2);
  world.sim.run_ready();
  world.must(world.tables->delete_table("Tasks"));
  world.sim.run_for(seconds(3));
  world.add_table("Tasks");
  put(2, 4);
  world.sim.run_for(seconds(60));
  EXPECT_EQ(ids(), names(0, 4));
}

struct MappingChangeTest : MappingTest {
  MappingDefinition mapping = mapping_of("Tasks", "F");
};

TEST_F(MappingChangeTest, TheBatchUnderWayIsEndedAndNothingComesTwice) {
  world.must(world.runtime->put_mapping(mapping));
  world.script["F"] = {takes(seconds(20))};
  put(0, 2);
  world.sim.run_for(seconds(1));
  put(2, 6);
  mapping.batch_size = 1;
  world.must(world.runtime->put_mapping(mapping));
  EXPECT_EQ(state().state, "Updating");
  EXPECT_EQ(state().definition.batch_size, 1u);
  world.sim.run_for(seconds(10));
  EXPECT_EQ(batches(), (std::vector<std::vector<std::string>>{names(0, 2)}));
  world.sim.run_for(seconds(30));
  EXPECT_EQ(state().state, "Enabled");
  EXPECT_EQ(ids(), names(0, 6));
  EXPECT_EQ(batches().size(), 5u);
}

TEST_F(MappingChangeTest, DisablingWaitsForTheBatchUnderWayAndEnablingGoesOn) {
  world.must(world.runtime->put_mapping(mapping));
  EXPECT_EQ(state().last_result, "No records processed");
  world.script["F"] = {takes(seconds(20))};
  put(0, 2);
  world.sim.run_for(seconds(1));
  mapping.enabled = false;
  world.must(world.runtime->put_mapping(mapping));
  EXPECT_EQ(state().state, "Disabling");
  put(2, 4);
  world.sim.run_for(seconds(60));
  EXPECT_EQ(state().state, "Disabled");
  EXPECT_EQ(state().last_result, "OK");
  EXPECT_EQ(ids(), names(0, 2));
  world.power_loss();
  mapping.enabled = true;
  world.must(world.runtime->put_mapping(mapping));
  world.sim.run_ready();
  EXPECT_EQ(ids(), names(0, 4));
}

TEST_F(MappingChangeTest, ABlockedBatchIsFreedByNewLimits) {
  world.must(world.runtime->put_mapping(mapping));
  world.script["F"].assign(100, fails("poison"));
  put(0, 1);
  world.sim.run_for(seconds(120));
  EXPECT_EQ(position(), 1u);
  EXPECT_EQ(state().last_result, "PROBLEM: Function call failed");
  mapping.max_retries = 0;
  world.must(world.runtime->put_mapping(mapping));
  world.sim.run_ready();
  EXPECT_EQ(position(), 2u);
  EXPECT_EQ(log.count("STREAM_RECORDS_DROPPED"), 1u);
}

struct MappingLanesTest : MappingTest {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  MappingLanesTest() {
    mapping.parallelization_factor = 4;
    mapping.batch_size = 5;
  }
  // Sequence numbers that the function got, by item.
  std::map<std::string, std::vector<uint64_t>> sequences() {
    std::map<std::string, std::vector<uint64_t>> all;
    for (const std::string& payload : world.payloads("F")) {
      auto event = parse_plain_json(payload);
      for (const Value& record : event->get_if<Map>()->find("Records")->get_if<List>()->elements) {
        const Map& change = *record.get_if<Map>()->find("dynamodb")->get_if<Map>();
        const Map& keys = *change.find("Keys")->get_if<Map>();
        const auto sequence = parse_sequence_number(change.string_or("SequenceNumber"));
        all[std::string(keys.find("taskId")->get_if<Map>()->string_or("S"))].push_back(*sequence);
      }
    }
    return all;
  }
  // Writes every item so many times, in turns.
  void write(int items, int times) {
    for (int time = 0; time < times; ++time) {
      for (int i = 0; i < items; ++i) {
        Item item{{"taskId", "t" + std::to_string(1000 + i)}};
        item.set("n", Value::number(++writes));
        world.put("Tasks", std::move(item));
      }
    }
  }
  int writes = 0;
};

TEST_F(MappingLanesTest, ItemsKeepTheirOrderWhileBatchesRunSideBySide) {
  world.script["F"].assign(1000, takes(seconds(1)));
  world.must(world.runtime->put_mapping(mapping));
  write(20, 5);
  world.sim.run_for(seconds(200));
  EXPECT_EQ(world.most_running["F"], 4);
  const auto all = sequences();
  EXPECT_EQ(all.size(), 20u);
  for (const auto& [item, numbers] : all) {
    EXPECT_EQ(numbers.size(), 5u) << item;
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end())) << item;
  }
  EXPECT_EQ(position(), 101u);
}

TEST_F(MappingLanesTest, AStuckItemHoldsUpItsOwnLaneAlone) {
  world.must(world.runtime->put_mapping(mapping));
  world.script["F"] = {takes(seconds(3600))};  // The first that comes hangs; the rest goes on.
  write(20, 1);
  world.sim.run_for(seconds(60));
  const auto all = sequences();
  size_t seen = 0;
  for (const auto& [item, numbers] : all) seen += numbers.size();
  EXPECT_EQ(seen, 20u);
  EXPECT_LT(position(), 21u);
  const size_t before = ids().size();
  write(20, 1);
  world.sim.run_for(seconds(30));
  EXPECT_GT(ids().size(), before + 5);
}

TEST_F(MappingLanesTest, AnotherNumberOfLanesRepeatsAndSkipsNothing) {
  world.must(world.runtime->put_mapping(mapping));
  world.script["F"] = {takes(seconds(30))};
  write(20, 3);
  world.sim.run_for(seconds(5));  // One lane hangs, the others are far ahead.
  EXPECT_LT(position(), 61u);
  mapping.parallelization_factor = 3;
  world.must(world.runtime->put_mapping(mapping));
  world.sim.run_for(seconds(100));
  EXPECT_EQ(position(), 61u);
  mapping.parallelization_factor = 1;
  world.must(world.runtime->put_mapping(mapping));
  world.sim.run_ready();
  EXPECT_EQ(world.stored("mapping-position"), 1u);
  write(20, 1);
  world.sim.run_for(seconds(5));
  for (const auto& [item, numbers] : sequences()) {
    EXPECT_EQ(numbers.size(), 4u) << item;
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end())) << item;
  }
}

TEST_F(MappingLanesTest, EveryLaneGoesOnWhereItStoodAfterARestart) {
  world.must(world.runtime->put_mapping(mapping));
  world.script["F"] = {takes(seconds(3000))};
  write(20, 1);
  world.sim.run_for(seconds(10));
  const size_t first = sequences().size();
  EXPECT_EQ(first, 20u);
  const std::vector<std::string> hung = batches().front();
  world.seen.clear();
  world.power_loss();
  world.sim.run_for(seconds(10));
  // Only what hung, and what waited behind it, comes again.
  ASSERT_FALSE(batches().empty());
  EXPECT_EQ(batches().front(), hung);
  EXPECT_LT(ids().size(), 20u);
  EXPECT_EQ(position(), 21u);
}

struct TumblingTest : MappingTest {
  MappingDefinition mapping = mapping_of("Tasks", "F");
  TumblingTest() {
    mapping.tumbling_window = seconds(60);
    // The clock starts at 1700000000: 20 s into a minute.
  }
  static Step state(const std::string& json) { return gives(R"({"state":)" + json + "}"); }
  std::string text(size_t call) { return world.payloads("F").at(call); }
};

TEST_F(TumblingTest, TheStateGoesFromBatchToBatchAndTheWindowEndsByTheClock) {
  world.must(world.runtime->put_mapping(mapping));
  world.script["F"] = {state(R"({"n":1,"x":[1.50,"é",null]})"), state(R"({"n":2})"), state("{}")};
  put(0, 1);
  world.sim.run_for(seconds(10));
  put(1, 2);
  world.sim.run_for(seconds(20));
  ASSERT_EQ(world.calls("F"), 2u);
  EXPECT_NE(text(0).find(R"("window":{"start":"2023-11-14T22:13:00Z","end":"2023-11-14T22:14:00Z"},"state":{},)"),
            std::string::npos)
      << text(0);
  EXPECT_NE(text(0).find(R"("isFinalInvokeForWindow":false,"isWindowTerminatedEarly":false})"), std::string::npos);
  EXPECT_NE(text(1).find(R"("state":{"n":1,"x":[1.50,"é",null]})"), std::string::npos) << text(1);
  world.sim.run_for(seconds(15));
  ASSERT_EQ(world.calls("F"), 3u);
  EXPECT_EQ(text(2).find(R"({"Records":[],"window":)"), 0u) << text(2);
  EXPECT_NE(text(2).find(R"("state":{"n":2})"), std::string::npos);
  EXPECT_NE(text(2).find(R"("isFinalInvokeForWindow":true)"), std::string::npos);
  world.sim.run_for(seconds(300));
  EXPECT_EQ(world.calls("F"), 3u);
}

TEST_F(TumblingTest, ARecordOfTheNextWindowEndsTheOneBeforeFirst) {
  world.must(world.runtime->put_mapping(mapping));
  world.script["F"] = {gives(R"({"state":{"n":1}})", seconds(50)), state("{}"), state(R"({"n":2})")};
  put(0, 1);
  world.sim.run_for(seconds(45));
  put(1, 2);  // Records of the next minute arrive while the first batch still runs.
  world.sim.run_for(seconds(10));
  ASSERT_EQ(world.calls("F"), 3u);
  EXPECT_NE(text(1).find(R"("state":{"n":1})"), std::string::npos);
  EXPECT_NE(text(1).find(R"("isFinalInvokeForWindow":true)"), std::string::npos);
  EXPECT_NE(text(2).find(R"("start":"2023-11-14T22:14:00Z")"), std::string::npos) << text(2);
  EXPECT_NE(text(2).find(R"("state":{},)"), std::string::npos);
}

TEST_F(TumblingTest, TheStateSurvivesARestart) {
  world.must(world.runtime->put_mapping(mapping));
  const std::string large(700'000, 'x');
  world.script["F"] = {state(R"({"s":")" + large + R"("})"), state("{}")};
  put(0, 1);
  world.sim.run_for(seconds(1));
  world.power_loss();
  world.sim.run_for(seconds(60));
  ASSERT_EQ(world.calls("F"), 2u);
  EXPECT_NE(text(1).find(large), std::string::npos);
  EXPECT_EQ(world.stored("mapping-state"), 0u);
}

TEST_F(TumblingTest, AResponseWithoutStateIsAnErrorAndALargeStateEndsTheWindow) {
  world.must(world.runtime->put_mapping(mapping));
  world.script["F"] = {gives("null"), gives(R"({"state":1})"),
                       state(R"({"s":")" + std::string(1'100'000, 'x') + R"("})"), state("{}"), state(R"({"n":1})")};
  put(0, 1);
  world.sim.run_for(seconds(5));
  ASSERT_EQ(world.calls("F"), 4u);
  EXPECT_NE(text(3).find(R"("isFinalInvokeForWindow":true,"isWindowTerminatedEarly":true})"), std::string::npos);
  put(1, 2);  // In the same minute: the window is opened again.
  world.sim.run_ready();
  ASSERT_EQ(world.calls("F"), 5u);
  EXPECT_NE(text(4).find(R"("start":"2023-11-14T22:13:00Z")"), std::string::npos);
  EXPECT_NE(text(4).find(R"("state":{},)"), std::string::npos);
}

TEST_F(TumblingTest, TheEndOfAWindowIsTriedUntilItSucceeds) {
  mapping.max_retries = 0;
  world.must(world.runtime->put_mapping(mapping));
  world.script["F"] = {state("{}"), fails("a"), fails("b"), state("{}"), state("{}")};
  put(0, 1);
  world.sim.run_for(seconds(50));
  EXPECT_EQ(world.calls("F"), 4u);
  EXPECT_EQ(log.count("STREAM_RECORDS_DROPPED"), 0u);
}

TEST_F(TumblingTest, OnlyWithOneLane) {
  mapping.parallelization_factor = 2;
  auto refused = world.wait(world.runtime->put_mapping(mapping));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("parallelization factor of 1"), std::string::npos);
}

}  // namespace
}  // namespace freshet
