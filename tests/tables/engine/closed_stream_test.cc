// Streams that were switched off, and those of deleted tables: readable for a day.
#include <map>

#include "tests/sim/seeds.h"
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

class ClosedStreamTest : public DiskStoreTest {
 protected:
  void SetUp() override {
    options.segment_bytes = 4096;
    options.stream_memory_bytes = 2000;  // Most is read from the log.
    open();
  }
  std::vector<ClosedStream> closed() {
    auto all = now(store->closed_streams());
    EXPECT_TRUE(all);
    return all ? std::move(*all) : std::vector<ClosedStream>{};
  }
  std::vector<ChangeRecord> read(const ClosedStream& stream) {
    std::vector<ChangeRecord> records;
    ReadStreamInput input;
    input.table = stream.table;
    input.label = stream.label;
    input.from = stream.bounds.oldest;
    input.limit = 7;
    for (;;) {
      auto page = now(store->read_stream(input));
      EXPECT_TRUE(page) << page.error().message;
      if (!page) return records;
      for (auto& record : page->records) records.push_back(std::move(record));
      if (page->next == input.from) return records;
      input.from = page->next;
    }
  }
  // "id from oldest to newest", and that nothing is missing.
  std::string ids_of(const ClosedStream& stream) {
    std::string out;
    uint64_t next = stream.bounds.oldest;
    for (const auto& record : read(stream)) {
      EXPECT_EQ(record.sequence, next++);
      out += std::string(record.keys.string_or("id")) + " ";
    }
    EXPECT_EQ(next, stream.bounds.next);
    return out;
  }
  void switch_stream(TableDefinition& d, std::optional<StreamView> view) {
    d.stream = view;
    auto altered = now(store->alter_table(d));
    ASSERT_TRUE(altered) << altered.error().message;
  }
  void write(const std::string& id) { ASSERT_TRUE(put("Queue", task(id, "PENDING", ++writes))); }
  // Enough to fill and retire some segments.
  void churn() {
    for (int i = 0; i < 400; ++i) {
      write("churn" + std::to_string(i % 5));
      if (i % 10 == 0) turn();
    }
    turn();
  }
  int64_t writes = 0;
};

TEST_F(ClosedStreamTest, AreReadableAndTheNextOneIsAnother) {
  TableDefinition d = queue_definition();
  create(d);
  const std::string first = now(store->describe_table("Queue"))->stream_label;
  for (const char* id : {"a", "b"}) write(id);
  turn();
  write("c");  // In the same batch as what closes the stream.
  switch_stream(d, std::nullopt);
  write("unseen");
  switch_stream(d, StreamView::kKeysOnly);  // Within the same millisecond.
  write("d");
  turn();
  const std::string second = now(store->describe_table("Queue"))->stream_label;
  EXPECT_NE(first, second);
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    ASSERT_EQ(closed().size(), 1u);
    const ClosedStream stream = closed()[0];
    EXPECT_EQ(stream.table, "Queue");
    EXPECT_EQ(stream.label, first);
    EXPECT_EQ(stream.view, StreamView::kNewAndOldImages);
    EXPECT_EQ(stream.keys, d.keys);
    EXPECT_EQ(ids_of(stream), "a b c ");
    EXPECT_EQ(now(store->stream_bounds("Queue"))->oldest, 4u) << "its numbers go on";
    ASSERT_FALSE(this->stream("Queue", 4).empty());
    EXPECT_EQ(this->stream("Queue", 4)[0].keys, (Item{{"id", Value("d")}}));
    if (round == 1) churn();
    reopen();
  }
}

TEST_F(ClosedStreamTest, OutliveTheirTable) {
  TableDefinition d = queue_definition();
  create(d);
  write("a");
  const std::string label = now(store->describe_table("Queue"))->stream_label;
  ASSERT_TRUE(now(store->delete_table("Queue")));
  turn();
  reopen();
  create(d);
  write("b");
  turn();
  churn();
  reopen();
  ASSERT_EQ(closed().size(), 1u);
  EXPECT_EQ(closed()[0].label, label);
  EXPECT_EQ(ids_of(closed()[0]), "a ");
  EXPECT_NE(now(store->describe_table("Queue"))->stream_label, label);
  EXPECT_EQ(stream("Queue", 1)[0].keys, (Item{{"id", Value("b")}})) << "the new table counts anew";
  ReadStreamInput input;
  input.table = "Queue";
  input.label = "2001-01-01T00:00:00.000";
  EXPECT_EQ(now(store->read_stream(input)).error().code, ErrorCode::kResourceNotFound);
}

TEST_F(ClosedStreamTest, AreForgottenAfterADay) {
  TableDefinition d = queue_definition();
  create(d);
  write("a");
  switch_stream(d, std::nullopt);
  turn();
  const ClosedStream stream = closed()[0];
  clock.advance(std::chrono::hours(23));
  EXPECT_EQ(closed().size(), 1u);
  EXPECT_EQ(ids_of(stream), "a ");
  clock.advance(std::chrono::hours(2));
  EXPECT_TRUE(closed().empty());
  ReadStreamInput input;
  input.table = stream.table;
  input.label = stream.label;
  EXPECT_EQ(now(store->read_stream(input)).error().code, ErrorCode::kResourceNotFound);
  options.trust_clock = true;  // A day has passed without a write.
  reopen();                    // The log still says it.
  EXPECT_TRUE(closed().empty());
  turn();
  churn();
  reopen();
  EXPECT_TRUE(closed().empty());
}

TEST_F(ClosedStreamTest, AreTrimmedLikeOpenOnes) {
  options.stream_max_bytes = 20'000;
  reopen();
  TableDefinition d = queue_definition();
  create(d);
  churn();
  switch_stream(d, std::nullopt);
  turn();
  const uint64_t end = closed()[0].bounds.next;
  churn();
  churn();
  const ClosedStream stream = closed()[0];
  EXPECT_GT(stream.bounds.oldest, 1u);
  EXPECT_EQ(stream.bounds.next, end);
  ids_of(stream);
  reopen();
  EXPECT_EQ(closed()[0].bounds.next, end);
  EXPECT_GE(closed()[0].bounds.oldest, stream.bounds.oldest);
  ids_of(closed()[0]);
}

// The stream is switched on and off while power is lost at the n-th call to the files: what is closed has all of its
// records, and each record is in one stream.
TEST_F(ClosedStreamTest, AreWholeWheneverPowerIsLost) {
  int with_closed = 0;
  for (const uint64_t seed : test_seeds(60)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    Random dice(seed);
    close();
    options.directory = "data-" + std::to_string(seed);
    open();
    TableDefinition d = queue_definition();
    create(d);
    turn();
    files.crash_at(files.calls() + 1 + dice.below(120));
    for (int i = 0; i < 200 && !files.crashed(); ++i) {
      const uint64_t what = dice.below(10);
      if (what == 0) {
        d.stream =
            d.stream ? std::nullopt : std::optional(dice.below(2) ? StreamView::kKeysOnly : StreamView::kOldImage);
        (void)now(store->alter_table(d));
      } else if (what == 1 && dice.below(3) == 0) {
        (void)now(store->delete_table("Queue"));
        (void)now(store->create_table(d));
      } else {
        (void)put("Queue", task("t" + std::to_string(dice.below(20)), "PENDING", i));
      }
      clock.advance(milliseconds(1));
      if (dice.below(3) == 0) turn();
    }
    files.crash_at(UINT64_MAX);
    close();
    files.restart();
    for (int round = 0; round < 2; ++round) {
      open();
      with_closed += !closed().empty();
      for (const auto& stream : closed()) ids_of(stream);
      const auto described = now(store->describe_table("Queue"));
      if (described && described->definition.stream) {
        const StreamBounds bounds = *now(store->stream_bounds("Queue"));
        uint64_t next = bounds.oldest;
        for (const auto& record : stream("Queue", bounds.oldest)) EXPECT_EQ(record.sequence, next++);
        for (const auto& old : closed()) {
          if (old.label == described->stream_label) ADD_FAILURE() << "the stream is open and closed";
        }
      }
      close();
      files.restart_process();
    }
    open();
  }
  EXPECT_GT(with_closed, 20);
}

using MemoryClosedStreamTest = MemoryStoreTest;
TEST_F(MemoryClosedStreamTest, AreReadableWithoutALogToo) {
  TableDefinition d = queue_definition();
  create(d);
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  ASSERT_TRUE(now(store->delete_table("Queue")));
  const auto all = now(store->closed_streams());
  ASSERT_EQ(all->size(), 1u);
  ReadStreamInput input;
  input.table = "Queue";
  input.label = (*all)[0].label;
  EXPECT_EQ(now(store->read_stream(input))->records.size(), 1u);
}

// The records of one stream in memory may be the whole budget: too much to free in one turn.
TEST_F(ClosedStreamTest, AreForgottenInSteps) {
  options.stream_memory_bytes = 1u << 20;
  options.backfill_step = 100;
  reopen();
  create(queue_definition());
  for (int i = 0; i < 1000; ++i) write("t" + std::to_string(i));
  turn();
  ASSERT_TRUE(now(store->delete_table("Queue")));
  turn();
  clock.advance(options.stream_retention + seconds(1));
  EXPECT_TRUE(closed().empty()) << "nobody sees them any more";
  uint64_t before = store->stats().memory_bytes;
  const uint64_t step = before / 8;
  ASSERT_GT(before, 0u);
  int turns = 0;
  for (; store->stats().memory_bytes > 0 && turns < 100; ++turns) {
    store->run_due();
    const uint64_t left = store->stats().memory_bytes;
    EXPECT_LE(before - left, step);
    before = left;
  }
  EXPECT_GE(turns, 9);
  EXPECT_LE(turns, 11);
}

}  // namespace
}  // namespace freshet
