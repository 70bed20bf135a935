// A failing disk: whichever call fails, the store reports it once, and no caller waits for it or gets an empty answer
// any more.
#include <gmock/gmock.h>

#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kFailed = "InternalServerError: The store has failed and acknowledges nothing any more: ";

class StoreFailureTest : public StoreFixture {
 protected:
  void SetUp() override {
    options.segment_bytes = 16u << 10;
    options.stream_memory_bytes = 4u << 10;
    options.stream_max_bytes = 64u << 10;
    options.on_failure = [this](const Error& error) { told.push_back(error.message); };
  }
  void TearDown() override {
    files.fail_calls(ErrorCode::kIo, nullptr);
    close();
  }
  // One turn of traffic: items come, change and go, and a reader reads the oldest records, from the disk.
  void work(int round) {
    for (int i = 0; i < 6; ++i) {
      Item item = task("t" + std::to_string((round + i) % 9), "PENDING", round);
      item.set("pad", Value(std::string(600, 'x')));
      static_cast<void>(put("Queue", std::move(item)));
    }
    static_cast<void>(erase("Queue", Item{{"id", Value("t" + std::to_string(round % 9))}}));
    if (auto bounds = now(store->stream_bounds("Queue"))) static_cast<void>(read(bounds->oldest));
    scheduler.run_for(milliseconds(20));
  }
  Result<StreamPage> read(uint64_t from) {
    ReadStreamInput input;
    input.table = "Queue";
    input.from = from;
    return now(store->read_stream(std::move(input)));
  }
  // On another set of files.
  void begin_anew() {
    files.fail_calls(ErrorCode::kIo, nullptr);
    told.clear();
    options.directory = "data" + std::to_string(++directories_);
    open();
    create(queue_definition());
    for (int round = 0; round < 40; ++round) work(round);
    ASSERT_GT(now(store->stream_bounds("Queue"))->oldest, 1u) << "segments have been removed";
    ASSERT_TRUE(told.empty());
  }
  // A call without the numbers in it.
  static std::string kind_of(std::string call) {
    std::erase_if(call, [](char c) { return c >= '0' && c <= '9'; });
    return call;
  }

  std::vector<std::string> told;

 private:
  int directories_ = 0;
};

// No file descriptor is free for a while: reads fail, writes wait, and everything goes on afterwards.
TEST_F(StoreFailureTest, WithoutFreeDescriptorsTheStoreWaits) {
  begin_anew();
  const uint64_t oldest = now(store->stream_bounds("Queue"))->oldest;
  files.fail_calls(ErrorCode::kUnavailable, [](const std::string& call) { return call.starts_with("open "); });
  const auto refused = read(oldest);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable) << refused.error().message;
  for (int round = 40; round < 80; ++round) work(round);
  EXPECT_TRUE(told.empty()) << told.front();
  const auto no_write = put("Queue", task("refused", "PENDING", 1));
  ASSERT_FALSE(no_write);
  EXPECT_THAT(no_write.error().message, ::testing::HasSubstr("lacks a file descriptor")) << "the disk has room";
  files.fail_calls(ErrorCode::kIo, nullptr);
  scheduler.run_for(seconds(2));
  for (int round = 80; round < 120; ++round) work(round);
  EXPECT_TRUE(told.empty()) << told.front();
  const auto page = read(now(store->stream_bounds("Queue"))->oldest);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_FALSE(page->records.empty());
  reopen();
  EXPECT_TRUE(put("Queue", task("after", "PENDING", 1)));
}

TEST_F(StoreFailureTest, AFailedStoreAnswersStreamReadsWithItsError) {
  open();
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  turn();
  ReadStreamInput input;
  input.table = "Queue";
  input.from = 2;
  input.wait_until = clock.boot() + std::chrono::hours(1);
  auto waiting = store->read_stream(input);
  EXPECT_FALSE(waiting.is_ready());
  files.fail_sync(1);
  ASSERT_TRUE(put("Queue", task("b", "PENDING", 1)));
  turn();
  ASSERT_EQ(told.size(), 1u);
  ASSERT_TRUE(waiting.is_ready()) << "who waits is told";
  EXPECT_THAT(text(waiting.take()), StartsWith(std::string(kFailed)));
  auto again = store->read_stream(input);
  ASSERT_TRUE(again.is_ready());
  EXPECT_THAT(text(again.take()), StartsWith(std::string(kFailed)));
  input.from = 1;
  EXPECT_THAT(text(now(store->read_stream(input))), StartsWith(std::string(kFailed)))
      << "nor is what is there given out";
}

TEST_F(StoreFailureTest, ASegmentThatCannotBeReadEndsTheStore) {
  for (const bool gone : {false, true}) {
    begin_anew();
    const uint64_t oldest = now(store->stream_bounds("Queue"))->oldest;
    const std::string reading = gone ? "open " + options.directory + "/segment" : "read " + options.directory;
    files.fail_calls(gone ? ErrorCode::kNotFound : ErrorCode::kIo,
                     [&](const std::string& call) { return call.starts_with(reading); });
    EXPECT_THAT(text(read(oldest)), StartsWith(std::string(kFailed)));
    EXPECT_EQ(told.size(), 1u);
    EXPECT_EQ(put("Queue", task("b", "PENDING", 1)).error().code, ErrorCode::kInternal);
    turn();
  }
}

// Readers of those records get the error; all other work goes on.
TEST_F(StoreFailureTest, DamagedRecordsOfAStreamAreTheirReadersAlone) {
  begin_anew();
  const uint64_t oldest = now(store->stream_bounds("Queue"))->oldest;
  files.fail_calls(ErrorCode::kCorruption, [](const std::string& call) { return call.starts_with("read "); });
  EXPECT_EQ(read(oldest).error().code, ErrorCode::kCorruption);
  files.fail_calls(ErrorCode::kIo, nullptr);
  EXPECT_TRUE(told.empty());
  EXPECT_TRUE(put("Queue", task("b", "PENDING", 1)));
  EXPECT_TRUE(read(oldest));
}

// Each kind of call that the work makes, once and from then on, with everything in the turn and beside it.
TEST_F(StoreFailureTest, EveryCallThatFailsEndsTheStore) {
  SimSync sync(files, scheduler);
  SimWork chores(files, scheduler);
  for (const bool beside : {false, true}) {
    options.sync_beside = beside ? &sync : nullptr;
    options.sync_beside_bytes = 0;
    options.log_chores = beside ? &chores : nullptr;
    begin_anew();
    std::set<std::string> kinds;
    files.fail_calls(ErrorCode::kIo, [&](const std::string& call) {
      kinds.insert(kind_of(call));
      return false;
    });
    for (int round = 40; round < 100; ++round) work(round);
    EXPECT_GE(kinds.size(), 14u);
    for (const std::string& kind : kinds) {
      for (const bool once : {true, false}) {
        SCOPED_TRACE(kind + (once ? ", once" : ", from then on") + (beside ? ", beside" : ""));
        begin_anew();
        int hits = 0;
        files.fail_calls(ErrorCode::kIo,
                         [&](const std::string& call) { return kind_of(call) == kind && (++hits == 1 || !once); });
        for (int round = 40; round < 100 && told.empty(); ++round) work(round);
        ASSERT_GT(hits, 0);
        ASSERT_EQ(told.size(), 1u);
        EXPECT_THAT(told[0], HasSubstr("simulated fault"));
        EXPECT_EQ(put("Queue", task("late", "PENDING", 1)).error().code, ErrorCode::kInternal);
        EXPECT_EQ(read(1).error().code, ErrorCode::kInternal);
        EXPECT_FALSE(now(store->durable()));
        scheduler.run_for(seconds(5));
        EXPECT_EQ(told.size(), 1u) << "once";
      }
    }
  }
}

// A failure to make the reserve is reported by the open, not by the first write that might never come.
TEST_F(StoreFailureTest, AReserveThatCannotBeMadeRefusesTheStart) {
  bool in_time = false;
  files.fail_calls(ErrorCode::kIo, [&](const std::string& call) {
    in_time = in_time || call == "allocate space for data/spare-2";
    return call == "allocate space for data/spare-2";
  });
  auto opened = try_open();
  EXPECT_TRUE(in_time);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("data/spare-2"));
}

}  // namespace
}  // namespace freshet
