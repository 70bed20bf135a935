// Event source mappings over an engine's shards: exact batches, retries, failure destinations, lanes, filters, and what
// the stored marks say meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "streams/shards/sharded_stream.h"
#include "streams/stream_event.h"
#include "tests/runtime/invoke/sharded_world.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Batches = ShardedMappings::Batches;
using Texts = ShardedMappings::Texts;
using Marks = std::map<std::string, uint64_t>;

constexpr std::string_view kDead = "arn:aws:lambda:us-east-1:000000000000:function:Dead";

struct ShardedMapping : testing::Test, ShardedMappings {};

TEST_F(ShardedMapping, BisectingIsolatesTheFailingRecordAndTheOthersComeInOrder) {
  mapping.batch_size = 8;
  mapping.bisect_on_error = true;
  mapping.max_retries = 1;
  put_mapping();
  write({0, 1, 2, 3, 0, 1, 2, 3});
  // Fails while the batch holds i1@6.
  world.script["F"] = {fails("x"), Step{}, fails("x"), fails("x"), Step{}, fails("x"), fails("x"), Step{}};
  world.sim.run_for(seconds(30));
  const Texts first{"i0@1", "i1@2", "i2@3", "i3@4"};
  const Texts second{"i0@5", "i1@6", "i2@7", "i3@8"};
  Texts all = first;
  all.insert(all.end(), second.begin(), second.end());
  EXPECT_EQ(batches(), (Batches{all, first, second, {"i0@5", "i1@6"}, {"i0@5"}, {"i1@6"}, {"i1@6"}, {"i2@7", "i3@8"}}));
  EXPECT_EQ(log.count("STREAM_RECORDS_DROPPED"), 1u);
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 8}}));
  write({1});
  world.sim.run_for(seconds(30));
  EXPECT_EQ(batches().back(), (Texts{"i1@9"})) << "the item of the failing record goes on";
}

struct Description {
  std::string shard;
  uint64_t first = 0;
  uint64_t last = 0;
  int64_t size = 0;
  std::string condition;
  int64_t attempts = 0;
  bool operator==(const Description&) const = default;
};

void PrintTo(const Description& d, std::ostream* out) {
  *out << d.shard << ' ' << d.first << ".." << d.last << " (" << d.size << ") " << d.condition << ' ' << d.attempts;
}

Description described(const std::string& document) {
  const Map all = json(document);
  const Map& batch = *all.find("DDBStreamBatchInfo")->get_if<Map>();
  const Map& context = *all.find("requestContext")->get_if<Map>();
  return {std::string(batch.string_or("shardId")),
          ShardedMappings::plain(batch.string_or("startSequenceNumber")),
          ShardedMappings::plain(batch.string_or("endSequenceNumber")),
          batch.int_or("batchSize", -1),
          std::string(context.string_or("condition")),
          context.int_or("approximateInvokeCount", -1)};
}

struct ShardedDestination : ShardedMapping {
  ShardedDestination() {
    world.add_function("Dead");
    mapping.on_failure.target = kDead;
  }
  std::vector<Description> descriptions() {
    std::vector<Description> all;
    for (const std::string& document : world.payloads("Dead")) all.push_back(described(document));
    return all;
  }
};

TEST_F(ShardedDestination, ABatchWhoseDescriptionIsNotTakenComesAgainAfterAStop) {
  mapping.max_retries = 0;
  mapping.batching_window = seconds(0);
  put_mapping();
  tables.refuses_events = true;
  world.script["F"] = {fails("a"), fails("b")};
  write({0});
  world.sim.run_for(seconds(90));
  EXPECT_EQ(world.calls("F"), 1u);
  mapping.enabled = false;
  put_mapping();
  world.sim.run_for(seconds(90));
  EXPECT_EQ(state().state, "Disabled") << "it is not held up by its destination";
  EXPECT_THAT(marks(), testing::IsEmpty());
  tables.refuses_events = false;
  mapping.enabled = true;
  put_mapping();
  write({1});
  world.sim.run_for(seconds(90));
  EXPECT_EQ(batches().at(1).at(0), "i0@1");
  EXPECT_THAT(descriptions(), testing::SizeIs(1));
}

TEST_F(ShardedDestination, ADroppedBatchHasOneDescriptionForEachOfItsShards) {
  mapping.batch_size = 6;
  mapping.batching_window = seconds(60);
  mapping.max_retries = 1;
  put_mapping();
  write({3});
  engine.split(0);  // Into shard-1001 with i0 and i1, and shard-1002 with i2 and i3.
  write({0, 2, 1, 0, 3});
  world.script["F"] = {fails("a"), fails("b")};
  world.sim.run_for(seconds(90));
  const Batches got = batches();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_THAT(got[0], UnorderedElementsAre("i3@1", "i0@2", "i2@3", "i1@4", "i0@5", "i3@6"));
  EXPECT_EQ(got[1], got[0]);
  const std::string condition = "RetryAttemptsExhausted";
  EXPECT_THAT(descriptions(), UnorderedElementsAre(Description{"shard-1000", 1, 1, 1, condition, 2},
                                                   Description{"shard-1001", 2, 5, 3, condition, 2},
                                                   Description{"shard-1002", 3, 6, 2, condition, 2}));
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 1}, {"shard-1001", 5}, {"shard-1002", 6}}));
  write({0});
  world.sim.run_for(seconds(90));
  EXPECT_EQ(batches().back(), (Texts{"i0@7"}));
}

TEST_F(ShardedDestination, ABisectedRecordIsDescribedAlone) {
  mapping.batch_size = 4;
  mapping.bisect_on_error = true;
  mapping.max_retries = 0;
  put_mapping();
  write({0, 1, 2, 3});
  world.script["F"] = {fails("x"), Step{}, fails("x"), fails("x")};
  world.sim.run_for(seconds(30));
  EXPECT_EQ(batches(),
            (Batches{{"i0@1", "i1@2", "i2@3", "i3@4"}, {"i0@1", "i1@2"}, {"i2@3", "i3@4"}, {"i2@3"}, {"i3@4"}}));
  EXPECT_THAT(descriptions(), ElementsAre(Description{"shard-1000", 3, 3, 1, "RetryAttemptsExhausted", 1}));
}

TEST_F(ShardedDestination, RecordsThatAreTooOldAreDescribedWithoutAnInvocation) {
  mapping.batch_size = 2;
  mapping.max_record_age = seconds(60);
  write({0, 1});
  world.sim.run_for(seconds(100));
  write({2, 3});
  put_mapping();
  world.sim.run_for(seconds(30));
  EXPECT_EQ(batches(), (Batches{{"i2@3", "i3@4"}}));
  EXPECT_THAT(descriptions(), ElementsAre(Description{"shard-1000", 1, 2, 2, "RecordAgeExceeded", 0}));
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 4}}));
}

struct ShardedItemFailures : ShardedMapping {
  ShardedItemFailures() {
    mapping.report_item_failures = true;
    mapping.batch_size = 6;
  }
  static Step reports(const std::vector<std::string>& numbers) {
    std::string members;
    for (const std::string& number : numbers) {
      members += (members.empty() ? "" : ",") + std::string(R"({"itemIdentifier":")") + number + R"("})";
    }
    return gives(R"({"batchItemFailures":[)" + members + "]}");
  }
};

TEST_F(ShardedItemFailures, TheReportedRecordIsTriedAgainWithWhatFollowsIt) {
  put_mapping();
  write({0, 1, 2, 3, 0, 1});
  world.script["F"] = {reports({FakeEngine::text(5), FakeEngine::text(3)}), reports({FakeEngine::text(3)}),
                       reports({FakeEngine::text(6)}), reports({})};
  world.sim.run_for(seconds(30));
  const Texts from_third{"i2@3", "i3@4", "i0@5", "i1@6"};
  EXPECT_EQ(batches(), (Batches{{"i0@1", "i1@2", "i2@3", "i3@4", "i0@5", "i1@6"}, from_third, from_third, {"i1@6"}}));
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 6}}));
}

// Numbers of the daemon's own, and those of another batch, name no record.
TEST_F(ShardedItemFailures, AnIdentifierThatNamesNoRecordFailsTheWholeBatch) {
  mapping.batch_size = 2;
  put_mapping();
  write({0, 1, 2, 3});
  world.script["F"] = {reports({}), reports({sequence_number(3)}), reports({FakeEngine::text(1)}), reports({})};
  world.sim.run_for(seconds(30));
  const Texts second{"i2@3", "i3@4"};
  EXPECT_EQ(batches(), (Batches{{"i0@1", "i1@2"}, second, second, second}));
}

TEST_F(ShardedItemFailures, ARecordOfASecondShardIsFoundByItsNumber) {
  engine.split(0);
  mapping.batching_window = seconds(60);
  put_mapping();
  write({0, 2, 1, 3, 0, 2});
  world.script["F"] = {takes(seconds(3))};  // The first answer names nothing, which is success.
  world.sim.run_for(seconds(90));
  write({0, 2, 1, 3, 0, 2});
  world.sim.run_until([&] { return world.calls("F") == 1; }, seconds(1));
  ASSERT_EQ(batches().size(), 1u);
  world.script["F"] = {reports({FakeEngine::text(10)})};
  world.sim.run_for(seconds(90));
  const Batches got = batches();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_THAT(got[1], UnorderedElementsAre("i0@7", "i2@8", "i1@9", "i3@10", "i0@11", "i2@12"));
  EXPECT_EQ(got[2], Texts(std::find(got[1].begin(), got[1].end(), "i3@10"), got[1].end()));
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 0}, {"shard-1001", 11}, {"shard-1002", 12}}));
}

// Lanes.

struct Lanes : ShardedMappings {
  static constexpr int kItems = 12;
  explicit Lanes(uint64_t seed) : ShardedMappings(seed, kItems), random(seed) {
    mapping.parallelization_factor = 4;
    mapping.batch_size = 3;
    mapping.batching_window = milliseconds(0);
  }
  // The next invocations take times that are drawn.
  void draw_times(int count) {
    for (int i = 0; i < count; ++i) {
      times.emplace_back(100 + static_cast<int64_t>(random.below(2000)));
      world.script["F"].push_back(takes(times.back()));
    }
  }
  void write_all(int rounds) {
    for (int i = 0; i < rounds * kItems; ++i) engine.write(i % kItems);
  }
  // The numbers of the records whose invocation has ended.
  std::set<uint64_t> processed() const {
    std::set<uint64_t> all;
    for (size_t i = 0; i < world.seen.size(); ++i) {
      if (world.seen[i].at + times[i] > world.clock.boot()) continue;
      for (const std::string& record : records_of(world.seen[i].payload)) all.insert(number_in(record));
    }
    return all;
  }
  // No mark passes a record that is not processed.
  void check_marks() {
    const std::set<uint64_t> done = processed();
    for (const auto& [shard, mark] : marks()) {
      for (const FakeEngine::Change& change : engine.shard(shard).changes) {
        EXPECT_TRUE(change.number > mark || done.contains(change.number)) << shard << ' ' << change.number;
      }
    }
  }
  // Each item's numbers since the invocation `from` rise, and no record of it is left out between them.
  void check_items(size_t from) const {
    std::map<std::string, uint64_t> last;
    for (size_t i = from; i < world.seen.size(); ++i) {
      for (const std::string& record : records_of(world.seen[i].payload)) {
        uint64_t& before = last[item_in(record)];
        EXPECT_TRUE(before == 0 || number_in(record) == before + kItems) << record << " follows " << before;
        before = number_in(record);
      }
    }
  }
  size_t stored_records() const {
    size_t count = 0;
    for (const FakeEngine::Shard& shard : engine.tree) count += shard.changes.size();
    return count;
  }

  Random random;
  std::vector<milliseconds> times;  // Each invocation's.
};

TEST(ShardedLanes, ItemsKeepTheirOrderAndARestartLosesNothing) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Lanes lanes(seed);
    lanes.draw_times(1000);
    lanes.put_mapping();
    lanes.write_all(3);
    lanes.engine.split(0);
    lanes.write_all(3);
    const int pieces = 10 + static_cast<int>(lanes.random.below(40));
    for (int i = 0; i < pieces; ++i) {
      lanes.world.sim.run_for(milliseconds(100));
      lanes.check_marks();
    }
    EXPECT_GT(lanes.world.most_running["F"], 1);
    lanes.check_items(0);
    const std::set<uint64_t> before = lanes.processed();
    EXPECT_LT(before.size(), lanes.stored_records()) << "the restart is in the middle";
    const bool stops = seed % 2 == 0;  // Else it is killed.
    EXPECT_TRUE(!stops || lanes.drain());
    const size_t calls = lanes.world.seen.size();
    // Invocations that the kill ends are processed by nobody.
    for (size_t i = 0; i < calls; ++i) {
      if (lanes.world.seen[i].at + lanes.times[i] > lanes.world.clock.boot()) lanes.times[i] = std::chrono::hours(24);
    }
    lanes.start();
    for (int i = 0; i < 600; ++i) {
      lanes.world.sim.run_for(milliseconds(100));
      if (i % 10 == 0) lanes.check_marks();
    }
    lanes.check_items(calls);
    EXPECT_EQ(lanes.processed().size(), lanes.stored_records());
  }
}

TEST(ShardedLanes, AMarkWaitsForTheLaneThatIsFurthestBehind) {
  Lanes lanes(1);
  lanes.times = {std::chrono::hours(1)};
  lanes.world.script["F"] = {takes(lanes.times.front())};
  lanes.times.resize(200);  // The others take no time.
  lanes.put_mapping();
  lanes.write_all(4);
  lanes.world.sim.run_for(seconds(60));
  const Texts hung = lanes.batches().front();
  EXPECT_GT(lanes.processed().size(), 2u * Lanes::kItems);
  const uint64_t mark = lanes.marks()["shard-1000"];
  EXPECT_EQ(mark + 1, Lanes::number_in(hung.front())) << "all before it is processed";
  const size_t calls = lanes.world.seen.size();
  lanes.start();
  lanes.world.sim.run_for(seconds(60));
  std::set<uint64_t> again;
  for (size_t i = calls; i < lanes.world.seen.size(); ++i) {
    for (const std::string& record : Lanes::records_of(lanes.world.seen[i].payload)) {
      again.insert(Lanes::number_in(record));
    }
  }
  EXPECT_EQ(again.size(), lanes.stored_records() - mark) << "all behind the mark, and nothing before it";
  EXPECT_EQ(lanes.marks()["shard-1000"], lanes.stored_records());
}

// Lanes that end their batches in one moment store their marks together, and none of them is left for later.
TEST(ShardedLanes, AfterAStopWithNothingLeftNothingComesTwice) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Lanes lanes(seed);
    lanes.world.script["F"].assign(100, takes(seconds(1)));
    lanes.put_mapping();
    lanes.write_all(1);
    lanes.world.sim.run_until([&] { return lanes.delivered().size() == Lanes::kItems; }, seconds(60));
    EXPECT_TRUE(lanes.drain());
    EXPECT_EQ(lanes.marks(), (Marks{{"shard-1000", Lanes::kItems}}));
    const size_t calls = lanes.world.seen.size();
    lanes.start();
    lanes.world.sim.run_for(seconds(30));
    EXPECT_EQ(lanes.world.seen.size(), calls);
    lanes.engine.write(0);
    lanes.world.sim.run_for(seconds(30));
    EXPECT_EQ(lanes.batches().back(), (Texts{"i0@13"}));
  }
}

// Two lanes have no full batch when the reader's room is used up; nothing more comes until they deliver what is there.
TEST(ShardedLanes, ABatchingWindowEndsWhenThereIsNoRoomForMore) {
  Lanes lanes(1);
  lanes.engine.page_of_records = 1000;
  lanes.mapping.parallelization_factor = 2;
  lanes.mapping.batch_size = 10'000;
  lanes.mapping.batching_window = seconds(300);
  lanes.write_all(2'500);
  lanes.put_mapping();
  lanes.world.sim.run_for(seconds(60));
  EXPECT_GE(lanes.delivered().size(), 2u * ShardedStream::kMostRecords);
  for (const Texts& batch : lanes.batches()) EXPECT_GT(batch.size(), 1000u) << "all that is there is one batch";
  lanes.world.sim.run_for(seconds(300));
  EXPECT_EQ(lanes.delivered().size(), lanes.stored_records());
}

// Filters.

TEST_F(ShardedMapping, RecordsThatAreFilteredOutMoveTheMarks) {
  mapping.filters = {R"({"eventName":["REMOVE"]})"};
  put_mapping();
  write({0, 1, 2});
  engine.split(0);
  write({0, 3});
  world.sim.run_for(seconds(10));
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 3}, {"shard-1001", 4}, {"shard-1002", 5}}));
  start();
  world.sim.run_for(seconds(10));
  EXPECT_EQ(world.calls("F"), 0u);
}

TEST_F(ShardedMapping, AFilterSeesImagesAndTheEnginesNumbers) {
  mapping.batch_size = 3;
  mapping.filters = {R"({"dynamodb":{"NewImage":{"id":{"S":["i1"]}}}})",
                     R"({"dynamodb":{"SequenceNumber":["100000003"]}})", R"({"eventID":["e100000006"]})"};
  put_mapping();
  write({0, 1, 2, 3, 1, 2, 0, 1, 3});
  world.sim.run_for(seconds(20));
  EXPECT_EQ(batches(), (Batches{{"i1@2", "i2@3", "i1@5"}, {"i2@6", "i1@8"}}));
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 9}})) << "the last one was filtered out";
  start();
  write({1, 0});
  world.sim.run_for(seconds(20));
  EXPECT_EQ(batches().back(), (Texts{"i1@10"}));
  EXPECT_EQ(batches().size(), 3u);
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 11}}));
}

// Switched off and on.

struct ShardedSwitch : ShardedMapping {
  void enable(bool on) {
    mapping.enabled = on;
    put_mapping();
    world.sim.run_for(seconds(10));
    EXPECT_EQ(state().state, on ? "Enabled" : "Disabled");
  }
  void begin() {
    put_mapping();
    write({0, 1, 0});
    world.sim.run_for(seconds(10));
    EXPECT_EQ(batches(), (Batches{{"i0@1", "i1@2", "i0@3"}}));
    enable(false);
    EXPECT_EQ(marks(), (Marks{{"shard-1000", 3}}));
  }
};

TEST_F(ShardedSwitch, AMappingThatIsEnabledAgainGoesOnAtItsMark) {
  begin();
  write({1, 0});
  world.sim.run_for(seconds(60));
  EXPECT_EQ(batches().size(), 1u) << "it reads nothing meanwhile";
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 3}}));
  enable(true);
  EXPECT_EQ(batches(), (Batches{{"i0@1", "i1@2", "i0@3"}, {"i1@4", "i0@5"}}));
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 5}}));
}

TEST_F(ShardedSwitch, ItGoesOnAtItsMarkAfterARestartAndASplit) {
  begin();
  write({1});
  engine.split(0);
  write({1, 3});
  start();
  world.sim.run_for(seconds(60));
  EXPECT_EQ(batches().size(), 1u);
  enable(true);
  const Batches got = batches();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].front(), "i1@4") << "the parent's rest comes first";
  EXPECT_THAT(got[1], UnorderedElementsAre("i1@4", "i1@5", "i3@6"));
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 4}, {"shard-1001", 5}, {"shard-1002", 6}}));
  EXPECT_EQ(log.count("STREAM_RECORDS_LOST"), 0u);
}

TEST_F(ShardedSwitch, TheBatchUnderWayIsEndedAndDoesNotComeAgain) {
  mapping.batching_window = milliseconds(0);
  mapping.batch_size = 1;
  put_mapping();
  world.script["F"] = {takes(seconds(20))};
  write({0, 1});
  world.sim.run_for(seconds(3));
  EXPECT_EQ(batches(), (Batches{{"i0@1"}}));
  mapping.enabled = false;
  put_mapping();
  EXPECT_EQ(state().state, "Disabling");
  world.sim.run_for(seconds(30));
  EXPECT_EQ(state().state, "Disabled");
  EXPECT_EQ(marks(), (Marks{{"shard-1000", 1}}));
  enable(true);
  EXPECT_EQ(batches(), (Batches{{"i0@1"}, {"i1@2"}}));
}

}  // namespace
}  // namespace freshet
