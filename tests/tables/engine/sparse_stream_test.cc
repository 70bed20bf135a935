// A stream that seldom gets a record, in a log that others fill: what lies between two of its records is not read.
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

class SparseStreamTest : public StoreFixture {
 protected:
  static constexpr int kRecords = 5;

  void SetUp() override {
    options.segment_bytes = 16u << 10;
    options.stream_memory_bytes = 4u << 10;
    open();
    create(queue_definition("Busy"));
    create(queue_definition("Seldom"));
    for (int record = 0; record < kRecords; ++record) {
      ASSERT_TRUE(put("Seldom", task("s" + std::to_string(record), "PENDING", record)));
      for (int i = 0; i < 40; ++i) {
        Item item = task("b" + std::to_string(i % 4), "PENDING", record * 100 + i);
        item.set("pad", Value(std::string(5000, 'x')));
        ASSERT_TRUE(put("Busy", std::move(item)));
        turn();
      }
    }
  }
  // How many reads of the disk it takes to get all records of the stream.
  int reads_for_all() {
    int reads = 0;
    files.fail_calls(ErrorCode::kIo, [&](const std::string& call) {
      reads += call.starts_with("read ");
      return false;
    });
    const auto records = stream("Seldom");
    files.fail_calls(ErrorCode::kIo, nullptr);
    EXPECT_EQ(records.size(), size_t{kRecords});
    for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].sequence, i + 1);
    return reads;
  }
};

TEST_F(SparseStreamTest, ReadsWhereItsRecordsAre) {
  const uint64_t segments = store->stats().log_bytes / options.segment_bytes;
  ASSERT_GT(segments, 100u) << "there is much to read in between";
  EXPECT_LE(reads_for_all(), 4 * kRecords);
  reopen();  // Only the beginnings of segments on the disk are known now.
  EXPECT_LE(reads_for_all(), 4 * kRecords);
}

// A page may be full of skipped records. What comes behind them is there already, and nobody wakes the reader for it.
TEST_F(SparseStreamTest, WhoSkipsIsNotLeftWaitingForWhatIsThere) {
  ASSERT_TRUE(put("Busy", task("last", "PENDING", 1)));
  turn();
  const uint64_t end = now(store->stream_bounds("Busy"))->next;
  ReadStreamInput input;
  input.table = "Busy";
  input.limit = 10;
  input.skip.kinds[StreamSkip::kind_index(ChangeRecord::Kind::kModify, false)] = true;
  std::vector<uint64_t> inserts;
  for (uint64_t reads = 0; input.from < end; ++reads) {
    ASSERT_LT(reads, end);
    input.wait_until = clock.boot() + seconds(10);
    auto reading = store->read_stream(input);
    ASSERT_TRUE(reading.is_ready()) << "from " << input.from << " of " << end;
    auto page = reading.take();
    ASSERT_TRUE(page) << page.error().message;
    for (const auto& record : page->records) inserts.push_back(record.sequence);
    input.from = page->next;
  }
  EXPECT_EQ(inserts, (std::vector<uint64_t>{1, 2, 3, 4, end - 1}));
}

// Memory may still have records that the log has lost. When it drops one of those, later ones stay as readable as
// before.
TEST_F(StoreFixture, TheOldestRecordOfAStreamNeverGoesBack) {
  options.segment_bytes = 16u << 10;
  options.stream_memory_bytes = 200u << 10;
  options.stream_max_bytes = 20'000;
  open();
  create(queue_definition("Busy"));
  uint64_t oldest = 1;
  uint64_t moves = 0;
  for (int i = 0; i < 400; ++i) {
    Item item = task("b" + std::to_string(i % 4), "PENDING", i);
    item.set("pad", Value(std::string(2000, 'x')));
    ASSERT_TRUE(put("Busy", std::move(item)));
    turn();
    const uint64_t now_oldest = now(store->stream_bounds("Busy"))->oldest;
    ASSERT_GE(now_oldest, oldest) << "after " << i << " writes";
    moves += now_oldest > oldest;
    oldest = now_oldest;
  }
  EXPECT_GT(moves, 10u);
}

}  // namespace
}  // namespace freshet
