// Captures of an engine's stream, whose records are in shards: simulated batches with names, as a mapping delivers
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "functions/capture/capture_lines.h"
#include "tests/functions/capture/capture_world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using W = CaptureWorld;

constexpr const char* kLabel = "2026-11-21T00:08:52.709";
constexpr const char* kFirst = "shardId-00000001700000000000-aaaaaaaa";
constexpr const char* kSecond = "shardId-00000001700000000000-bbbbbbbb";

struct Change {
  std::string shard;
  std::string number;
  size_t bytes = 10;
};

// The numbers of the records themselves are a new process's: they mean nothing.
StreamBatch batch_of(const std::vector<Change>& changes, uint64_t first = 1) {
  StreamBatch out = W::batch({}, kLabel);
  for (const Change& change : changes) {
    out.records.push_back(W::record(first++, change.bytes));
    out.records.back().keys = Item{{"id", Value(change.shard + change.number)}};
    out.names.push_back({change.shard, change.number, "e" + change.number});
  }
  return out;
}

std::string lines_of(const std::vector<Change>& changes, uint64_t first = 1) {
  const StreamBatch batch = batch_of(changes, first);
  std::string out;
  for (size_t i = 0; i < changes.size(); ++i) {
    append_named_record(out, batch.records[i], batch.source, batch.names[i]);
    out += '\n';
  }
  return out;
}

std::string part(std::string_view shard, std::string_view first) {
  return to_string({series_of_shard(kLabel, shard), shard_number_in_names(first), std::nullopt});
}

std::string finished(std::string_view shard, std::string_view first, std::string_view last) {
  return to_string({series_of_shard(kLabel, shard), shard_number_in_names(first), shard_number_in_names(last)});
}

// The numbers of all lines in a shard's files, in the order of the names.
std::vector<std::string> numbers_of(W& world, std::string_view shard) {
  std::vector<std::string> numbers;
  const std::string_view before = R"("SequenceNumber":")";
  for (const std::string& text : world.names()) {
    const auto name = parse_capture_name(text);
    if (!name || name->series != series_of_shard(kLabel, shard)) continue;
    const std::string content = world.content(text);
    EXPECT_EQ(good_lines(content, true).bytes, content.size()) << text;
    for (size_t at = content.find(before); at != std::string::npos; at = content.find(before, at + 1)) {
      const size_t from = at + before.size();
      numbers.push_back(content.substr(from, content.find('"', from) - from));
    }
  }
  return numbers;
}

void restart(W& world) {
  world.end();
  world.files.restart_process();
  world.start();
}

TEST(CaptureShards, EachShardHasItsFilesWithTheEnginesNames) {
  W world;
  const auto appended =
      world.append(batch_of({{kFirst, "100"}, {kSecond, "50"}, {kFirst, "101"}, {kSecond, "70"}, {kFirst, "400"}}));
  ASSERT_TRUE(appended) << appended.error().message;
  EXPECT_EQ(appended->written, 5u);
  EXPECT_THAT(world.names(), ElementsAre(part(kFirst, "100"), part(kSecond, "50")));
  EXPECT_EQ(part(kFirst, "100"),
            "2026-11-21T00-08-52.709_shardId-00000001700000000000-aaaaaaaa_"
            "0000000000000000000000000000000000000100.jsonl.part");
  EXPECT_THAT(numbers_of(world, kFirst), ElementsAre("100", "101", "400"));
  EXPECT_THAT(numbers_of(world, kSecond), ElementsAre("50", "70"));
  EXPECT_THAT(world.content(part(kFirst, "100")), HasSubstr(R"({"eventID":"e100",)"));
  EXPECT_EQ(world.content(part(kSecond, "50")), lines_of({{kSecond, "50"}}, 2) + lines_of({{kSecond, "70"}}, 4));
}

TEST(CaptureShards, WhatComesAgainIsLeftOutAlsoAfterARestart) {
  W world;
  ASSERT_TRUE(world.append(batch_of({{kFirst, "8"}, {kSecond, "8"}, {kFirst, "9"}})));
  // Other numbers of its own, and one with more digits.
  const auto again = world.append(batch_of({{kFirst, "9"}, {kSecond, "8"}, {kFirst, "10"}}, 700));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->written, 1u);
  EXPECT_EQ(again->seen_before, 2u);
  restart(world);
  EXPECT_EQ(
      world.append(batch_of({{kFirst, "8"}, {kFirst, "9"}, {kFirst, "10"}, {kFirst, "99"}, {kSecond, "8"}}))->written,
      1u);
  world.scheduler.run_for(seconds(61));  // They are finished.
  EXPECT_EQ(world.append(batch_of({{kFirst, "99"}, {kFirst, "100"}, {kSecond, "008"}, {kSecond, "11"}}))->written, 2u);
  EXPECT_THAT(numbers_of(world, kFirst), ElementsAre("8", "9", "10", "99", "100"));
  EXPECT_THAT(numbers_of(world, kSecond), ElementsAre("8", "11"));
  EXPECT_THAT(world.names(), ElementsAre(finished(kFirst, "8", "99"), part(kFirst, "100"), finished(kSecond, "8", "8"),
                                         part(kSecond, "9")));
}

TEST(CaptureShards, WhatIsWrittenIsKnownWithoutTheFinishedFiles) {
  W world;
  ASSERT_TRUE(world.append(batch_of({{kFirst, "5"}, {kFirst, "9"}})));
  world.scheduler.run_for(seconds(61));
  ASSERT_TRUE(world.files.remove("/changes/T/" + finished(kFirst, "5", "9")));
  restart(world);
  EXPECT_EQ(world.append(batch_of({{kFirst, "5"}, {kFirst, "9"}, {kFirst, "10"}}))->written, 1u);
  EXPECT_THAT(numbers_of(world, kFirst), ElementsAre("10"));
}

// A crash at each call of the files, in the middle of a batch of two shards and at the end of files.
TEST(CaptureShards, ACrashAnywhereLosesAndRepeatsNothing) {
  const std::vector<Change> first{{kFirst, "7"}, {kSecond, "3"}};
  const std::vector<Change> all{{kFirst, "7"},        {kSecond, "3"},         {kFirst, "12", 300}, {kSecond, "4"},
                                {kFirst, "150", 300}, {kSecond, "1000", 300}, {kFirst, "151"}};
  uint64_t crashes = 0;
  for (uint64_t call = 0;; ++call) {
    W world(call + 1);
    world.settings.limits.bytes = 900;
    ASSERT_TRUE(world.append(batch_of(first)));
    world.files.crash_at(world.files.calls() + call);
    const bool whole = world.append(batch_of(all)).has_value();
    if (!world.files.crashed()) {
      EXPECT_TRUE(whole);
      EXPECT_GT(crashes, 15u);
      return;
    }
    ++crashes;
    world.end();
    world.files.restart();
    world.start();
    const auto again = world.append(batch_of(all, 50));
    ASSERT_TRUE(again) << call << ": " << again.error().message;
    EXPECT_THAT(numbers_of(world, kFirst), ElementsAre("7", "12", "150", "151")) << call;
    EXPECT_THAT(numbers_of(world, kSecond), ElementsAre("3", "4", "1000")) << call;
  }
}

TEST(CaptureShards, AShardThatIsOverLeavesNothingOpenAndInTimeNothingButItsFiles) {
  W world;
  const std::string low = "shardId-00000001700000014400-cccccccc";
  const std::string high = "shardId-00000001700000014400-dddddddd";
  ASSERT_TRUE(world.append(batch_of({{kFirst, "5"}, {low, "6"}, {high, "7"}})));  // A split.
  world.scheduler.run_for(seconds(121));
  EXPECT_EQ(world.files.open_files(), 0u);
  EXPECT_THAT(world.names(), ElementsAre(finished(kFirst, "5", "5"), part(kFirst, "6"), finished(low, "6", "6"),
                                         part(low, "7"), finished(high, "7", "7"), part(high, "8")));
  restart(world);
  EXPECT_EQ(world.files.open_files(), 0u);
  world.scheduler.run_for(CaptureFile::kEmptyFileStays - seconds(60));
  ASSERT_TRUE(world.append(batch_of({{low, "6"}, {low, "9"}})));
  world.scheduler.run_for(seconds(3600 + 121));  // They are not all removed at one moment.
  EXPECT_THAT(world.names(), ElementsAre(finished(kFirst, "5", "5"), finished(low, "6", "6"), finished(low, "9", "9"),
                                         part(low, "10"), finished(high, "7", "7")));
  // One that goes on after all is known by the files that are left.
  EXPECT_EQ(world.append(batch_of({{high, "7"}, {high, "8"}}))->written, 1u);
  EXPECT_THAT(numbers_of(world, high), ElementsAre("7", "8"));
  EXPECT_EQ(world.append(batch_of({{kFirst, "5"}}))->seen_before, 1u);
}

TEST(CaptureShards, ManyShardsHoldFewFilesOpen) {
  W world;
  std::vector<Change> changes;
  for (int i = 1000; i < 1200; ++i) changes.push_back({"shard-" + std::to_string(i), "5"});
  size_t most = 0;
  const auto look = [&](const std::string&) { most = std::max(most, world.files.open_files()); };
  for (const char* number : {"5", "6", "7"}) {
    for (Change& change : changes) change.number = number;
    world.files.on_call(look);
    ASSERT_EQ(world.append(batch_of(changes))->written, 200u);
    world.files.on_call(nullptr);
    if (number == std::string("6")) restart(world);
  }
  world.files.on_call(look);
  world.scheduler.run_for(seconds(61));  // All come of age.
  world.files.on_call(nullptr);
  EXPECT_LE(most, Captures::kMostOpen + 5) << "a file that is finished, folders and the lock are open, too";
  for (const Change& change : changes) {
    ASSERT_THAT(numbers_of(world, change.shard), ElementsAre("5", "6", "7"));
    ASSERT_EQ(world.names().size(), 400u);
  }
}

TEST(CaptureShards, ObjectsOfTwoDaemonsDoNotOverwriteOneAnother) {
  std::map<std::string, std::string> objects;
  for (const bool second : {false, true}) {
    W world;
    world.settings.target = {"http://127.0.0.1:9000", "bucket", "us-east-1", "id", "secret"};
    world.objects.objects = objects;
    ASSERT_TRUE(world.append(second ? batch_of({{kFirst, "1"}, {kFirst, "3"}})
                                    : batch_of({{kFirst, "1"}, {kFirst, "2"}, {kFirst, "3"}})));
    world.scheduler.run_for(seconds(70));
    objects = world.objects.objects;
  }
  ASSERT_EQ(objects.size(), 2u);
  const std::string name = finished(kFirst, "1", "3");
  for (const auto& [key, body] : objects) {
    EXPECT_THAT(key, ::testing::StartsWith("T/" + name.substr(0, name.rfind('.')) + "_"));
    EXPECT_EQ(key.size(), name.size() + 2 + 17);
  }
}

std::string why(W& world, const StreamBatch& batch) {
  const auto appended = world.append(batch);
  return appended ? "no error" : appended.error().message;
}

TEST(CaptureShards, SayWhatCannotBeCaptured) {
  W world;
  StreamBatch lanes = batch_of({{kFirst, "1"}});
  lanes.lanes = 2;
  EXPECT_THAT(why(world, lanes), HasSubstr("ParallelizationFactor"));
  for (const std::string& number : {std::string(), std::string("x1"), std::string(41, '1'), std::string(40, '9')}) {
    EXPECT_THAT(why(world, batch_of({{kFirst, number}})), HasSubstr("up to 40 digits")) << number;
  }
  EXPECT_FALSE(world.append(batch_of({{"", "1"}})));
  EXPECT_TRUE(world.names().empty());
}

TEST(CaptureShards, NamesAreReadBackAndNothingElseIs) {
  const std::string odd = part("H_1:a/b~", "0");
  EXPECT_THAT(odd, HasSubstr("_H~5F1~3Aa~2Fb~7E_0000"));
  for (const std::string& name : {part(kFirst, "7"), finished(kFirst, "7", "1000"), odd}) {
    const auto parsed = parse_capture_name(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(to_string(*parsed), name);
    EXPECT_TRUE(parsed->series.is_shard());
  }
  EXPECT_FALSE(parse_capture_name(W::part(7))->series.is_shard());
  EXPECT_LT(finished(kFirst, "7", "9"), part(kFirst, "10"));
  const std::string zeros(kShardDigits - 1, '0');
  for (const std::string& other :
       std::vector<std::string>{"l__" + zeros + "7.jsonl.part", "l_s_" + zeros + "7.jsonl", "l_s_7.jsonl.part",
                                "l_s_t_" + zeros + "7.jsonl.part", "l_" + zeros + "7.jsonl.part",
                                "l_s_" + zeros + "7-" + zeros + "x.jsonl"}) {
    EXPECT_FALSE(parse_capture_name(other)) << other;
  }
  EXPECT_EQ(number_after("0199"), "0200");
  EXPECT_EQ(number_before("0200"), "0199");
  EXPECT_EQ(number_before("0000"), "");
}

// Random crashes, restarts and batches that come again, over shards that follow one another.
class ShardsRun {
 public:
  explicit ShardsRun(uint64_t seed) : world_(seed), random_(seed), seed_(seed) {
    world_.settings.limits.bytes = 500 + random_.below(3000);
    uint64_t number = random_.below(200);
    for (int i = 0; i < 200; ++i) {
      number += 1 + random_.below(i % 50 == 0 ? 100'000 : 12);
      const uint64_t shard = static_cast<uint64_t>(i) / 60 + random_.below(2);
      changes_.push_back({"shard-" + std::to_string(shard), std::to_string(number), random_.below(500)});
    }
  }

  void go() {
    while (done_ < changes_.size()) step();
    begin_again(true);  // The last fault is over.
    std::map<std::string, std::vector<std::string>> wanted;
    for (const Change& change : changes_) wanted[change.shard].push_back(change.number);
    for (const auto& [shard, numbers] : wanted) EXPECT_EQ(numbers_of(world_, shard), numbers) << "seed " << seed_;
  }

 private:
  void step() {
    if (random_.below(6) == 0) world_.files.crash_at(world_.files.calls() + random_.below(25));
    if (random_.below(12) == 0) world_.files.fail_sync(1 + random_.below(3));
    if (random_.below(12) == 0) world_.files.fail_write(1 + random_.below(3));
    const size_t from = done_ - random_.below(std::min<size_t>(done_, 9) + 1);
    const size_t to = std::min(changes_.size(), from + 1 + random_.below(20));
    const auto at = [&](size_t i) { return changes_.begin() + static_cast<ptrdiff_t>(i); };
    const StreamBatch batch = batch_of({at(from), at(to)}, 1 + random_.below(1000));
    {
      auto running = world_.captures->append(world_.settings, batch);
      while (!running.is_ready() && random_.below(60) > 0) world_.scheduler.run_for(milliseconds(1));
      if (running.is_ready() && running.take()) done_ = std::max(done_, to);
    }
    if (random_.below(10) == 0) world_.scheduler.run_for(seconds(random_.below(100)));
    if (!world_.files.crashed() && random_.below(20) > 0) return;
    begin_again(world_.files.crashed() || random_.below(2) == 0);
  }

  void begin_again(bool power) {
    world_.end();
    power ? world_.files.restart() : world_.files.restart_process();
    world_.start();
  }

  W world_;
  Random random_;
  const uint64_t seed_;
  std::vector<Change> changes_;
  size_t done_ = 0;
};

TEST(CaptureShards, EachRecordStandsInTheFilesOnce) {
  for (const uint64_t seed : test_seeds(100)) ShardsRun(seed).go();
}

}  // namespace
}  // namespace freshet
