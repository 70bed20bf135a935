#include <gmock/gmock.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/tables/engine/store_dump.h"
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using DurableTest = DiskStoreTest;

Item key(const std::string& id) {
  return Item{{"id", Value(id)}};
}

TEST_F(DurableTest, AnswersWhenTheTurnIsSynced) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  Async<Result<void>> durable = store->durable();
  EXPECT_FALSE(durable.is_ready());
  EXPECT_TRUE(stream("Queue").empty());
  const uint64_t syncs = files.syncs();
  turn();
  ASSERT_TRUE(durable.is_ready());
  EXPECT_TRUE(durable.take());
  EXPECT_EQ(files.syncs(), syncs + 1);
  EXPECT_EQ(stream("Queue").size(), 1u);
  EXPECT_TRUE(store->durable().is_ready());
  turn();
  EXPECT_EQ(files.syncs(), syncs + 1) << "a turn without writes does not sync";
}

// Opened first with the options of the test: a log that is there goes on in its large segment.
class FirstOpenTest : public StoreFixture {};

TEST_F(FirstOpenTest, SaysHowFarItHasRead) {
  options.segment_bytes = 4096;
  open();
  create(queue_definition());
  for (int i = 0; i < 200; ++i) {
    Item item = task("a" + std::to_string(i), "PENDING", 1);
    item.set("pad", Value(std::string(200, 'x')));
    ASSERT_TRUE(put("Queue", std::move(item)));
    turn();
  }
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  options.on_reading = [&seen](uint64_t segment, uint64_t segments) { seen.emplace_back(segment, segments); };
  reopen();
  ASSERT_GT(seen.size(), 3u);
  EXPECT_EQ(seen.front().first, 1u);
  EXPECT_GT(seen.front().second, 3u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back().first, seen.back().second);
}

// Somebody else's sync takes it along, or a wait for it, or it has one of its own after a while.
TEST_F(DurableTest, UnhurriedWritesAreSyncedWithOthers) {
  create(queue_definition());
  turn();
  const auto put_unhurried = [&](const std::string& id) {
    PutItemInput input;
    input.table = "Queue";
    input.item = task(id, "PENDING", 1);
    input.unhurried = true;
    ASSERT_TRUE(now(store->put_item(std::move(input))));
  };
  uint64_t syncs = files.syncs();
  put_unhurried("a");
  turn();
  turn();
  EXPECT_EQ(files.syncs(), syncs);
  EXPECT_TRUE(stream("Queue").empty());
  scheduler.run_for(milliseconds(10));
  EXPECT_EQ(files.syncs(), ++syncs);
  EXPECT_EQ(stream("Queue").size(), 1u);

  put_unhurried("b");
  turn();
  ASSERT_TRUE(put("Queue", task("c", "PENDING", 1)));
  turn();
  EXPECT_EQ(files.syncs(), ++syncs);
  EXPECT_EQ(stream("Queue").size(), 3u);

  put_unhurried("d");
  turn();
  Async<Result<void>> durable = store->durable();
  EXPECT_FALSE(durable.is_ready());
  turn();
  ASSERT_TRUE(durable.is_ready());
  EXPECT_TRUE(durable.take());
  EXPECT_EQ(files.syncs(), ++syncs);

  put_unhurried("e");
  Async<Result<void>> again = store->durable();
  turn();
  EXPECT_TRUE(again.is_ready());
  EXPECT_EQ(files.syncs(), ++syncs);
  scheduler.run_for(milliseconds(100));
  EXPECT_EQ(files.syncs(), syncs) << "all is durable";
}

// At the end of a turn that waited for a sync; while one runs beside; or when it has waited long enough itself.
TEST_F(DurableTest, ALullIsWhenOthersHaveBeenServedOrWaitForTheDisk) {
  SimSync beside(files, scheduler);
  options.sync_beside = &beside;
  options.sync_beside_bytes = 2000;
  open();
  create(queue_definition());
  scheduler.run_for(milliseconds(10));
  const auto soon = [this] { return clock.boot() + milliseconds(2); };
  Async<void> first = store->lull(soon());
  turn();
  EXPECT_FALSE(first.is_ready()) << "nothing is written";
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  const uint64_t begun = beside.begun();
  turn();
  EXPECT_EQ(beside.begun(), begun) << "a small write is synced at once";
  turn();
  EXPECT_TRUE(first.is_ready());
  scheduler.run_for(milliseconds(10));

  Async<void> second = store->lull(soon());
  scheduler.run_for(milliseconds(1));
  EXPECT_FALSE(second.is_ready());
  scheduler.run_for(milliseconds(1));
  EXPECT_TRUE(second.is_ready()) << "there is nobody else";

  Async<void> third = store->lull(soon());
  Item large = task("b", "PENDING", 1);
  large.set("body", Value(std::string(3000, 'x')));
  ASSERT_TRUE(put("Queue", large));
  Async<Result<void>> durable = store->durable();
  turn();
  EXPECT_EQ(beside.begun(), begun + 1);
  turn();
  EXPECT_TRUE(third.is_ready());
  EXPECT_FALSE(durable.is_ready()) << "meanwhile";
  scheduler.run_for(milliseconds(10));
  EXPECT_TRUE(durable.is_ready());
  close();
}

// A disk that has just stalled may do so again, and the loop has other things to do than to stand still meanwhile.
TEST_F(DurableTest, AfterAStallSyncsRunBesideTheLoopForAWhile) {
  SimSync beside(files, scheduler);
  options.sync_beside = &beside;
  open();
  create(queue_definition());
  scheduler.run_for(milliseconds(10));
  milliseconds takes{1};
  files.on_sync([&] { clock.advance(takes); });
  const auto put_one = [&](const std::string& id) {
    const uint64_t begun = beside.begun();
    const auto synced = files.syncs();
    EXPECT_TRUE(put("Queue", task(id, "PENDING", 1)));
    Async<Result<void>> durable = store->durable();
    turn();
    const bool was_beside = beside.begun() > begun;
    EXPECT_EQ(durable.is_ready(), files.syncs() > synced) << "acknowledged after the sync, wherever it runs";
    EXPECT_TRUE(durable.is_ready() || was_beside);
    scheduler.run_for(milliseconds(10));
    EXPECT_TRUE(durable.is_ready());
    return was_beside;
  };
  EXPECT_FALSE(put_one("a"));
  takes = milliseconds(60);
  EXPECT_FALSE(put_one("b"));
  takes = milliseconds(1);
  EXPECT_TRUE(put_one("c"));
  scheduler.run_for(milliseconds(29'000));
  EXPECT_TRUE(put_one("d"));
  scheduler.run_for(milliseconds(2'000));
  EXPECT_FALSE(put_one("e")) << "the disk is as it was for long enough";
  takes = milliseconds(10);
  EXPECT_FALSE(put_one("f"));
  takes = milliseconds(1);
  scheduler.run_for(milliseconds(4'900));
  EXPECT_TRUE(put_one("g"));
  scheduler.run_for(milliseconds(200));
  EXPECT_FALSE(put_one("h")) << "the shorter it was, the sooner";
  takes = milliseconds(5'000);
  EXPECT_FALSE(put_one("i"));
  takes = milliseconds(1);
  scheduler.run_for(milliseconds(61'000));
  EXPECT_FALSE(put_one("j")) << "a minute at most";
  close();
  files.on_sync(nullptr);
}

// One that goes on stalling beside the loop is found out there, too.
TEST_F(DurableTest, WhileTheDiskStallsSyncsStayBesideTheLoop) {
  SimSync beside(files, scheduler, milliseconds(200));
  options.sync_beside = &beside;
  open();
  create(queue_definition());
  scheduler.run_for(milliseconds(10));
  files.on_sync([&] { clock.advance(milliseconds(60)); });
  ASSERT_TRUE(put("Queue", task("first", "PENDING", 1)));
  turn();
  for (int i = 0; i < 10; ++i) {
    const uint64_t begun = beside.begun();
    ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", 1)));
    turn();
    EXPECT_EQ(beside.begun(), begun + 1) << i;
    scheduler.run_for(milliseconds(2'000));
  }
  close();
  files.on_sync(nullptr);
}

TEST_F(DurableTest, IntervalSyncsWhenItIsOver) {
  options.durability = {DurabilityMode::kInterval, milliseconds(50)};
  open();
  create(queue_definition());
  turn();
  scheduler.run_for(milliseconds(60));
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  Async<Result<void>> durable = store->durable();
  turn();
  EXPECT_FALSE(durable.is_ready());
  scheduler.run_for(milliseconds(60));
  EXPECT_TRUE(durable.is_ready());
}

TEST_F(DurableTest, ReopeningShowsTheSameStore) {
  create(queue_definition());
  create(pair_definition());
  TableDefinition plain = pair_definition("Plain", Type::kBinary);
  plain.stream = StreamView::kKeysOnly;
  create(plain);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i / 3, kNow + 3600)));
    ASSERT_TRUE(put("Pairs", Item{{"p", Value("k")}, {"s", Value::number(i)}}));
    ASSERT_TRUE(put("Plain", Item{{"p", Value("k")}, {"s", Value(Binary{std::to_string(i)})}}));
    if (i % 7 == 0) turn();
  }
  for (int i = 0; i < 50; i += 5) {
    ASSERT_TRUE(update("Queue", key("t" + std::to_string(i)), "SET #st = :s", Map{{":s", Value("TAKEN")}}, {},
                       ReturnValues::kNone, Cause::kQueue));
    ASSERT_TRUE(erase("Plain", Item{{"p", Value("k")}, {"s", Value(Binary{std::to_string(i)})}}));
  }
  ASSERT_TRUE(erase("Queue", key("t7")));
  ASSERT_TRUE(erase("Queue", key("t8")));  // Put, gone and put again: replay keeps the order of one key.
  ASSERT_TRUE(put("Queue", task("t8", "PENDING", 77)));
  ASSERT_TRUE(now(store->delete_table("Pairs")));
  create(pair_definition());
  turn();
  const std::string before = dump(*store);
  EXPECT_THAT(before, HasSubstr("PENDING->TAKEN by 1: 10"));
  reopen();
  EXPECT_EQ(dump(*store), before);
  // Sequences go on.
  ASSERT_TRUE(put("Queue", task("next", "PENDING", 99)));
  turn();
  EXPECT_EQ(stream("Queue").back().sequence, 64u);
  reopen();
  EXPECT_EQ(get("Queue", key("next")), task("next", "PENDING", 99));
}

// Enough items that replay applies them on another thread while it reads on: in their order, and none of a dropped
// table.
TEST_F(DurableTest, ReopeningShowsManyItems) {
  constexpr int kItems = 70'000;
  const auto at = [](int i) { return Item{{"p", Value("k" + std::to_string(i % 1000))}, {"s", Value::number(i)}}; };
  create(pair_definition("Gone"));
  create(pair_definition());
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kItems; i += 1 + round) {
      Item item = at(i);
      item.set("round", Value::number(round));
      ASSERT_TRUE(put("Pairs", std::move(item)));
      ASSERT_TRUE(round > 0 || put("Gone", at(i)));
      ASSERT_TRUE(i % 3 != 0 || erase("Pairs", at(i)));
      if (i % 500 == 0) turn();
    }
  }
  ASSERT_TRUE(now(store->delete_table("Gone")));
  turn();
  const std::string before = dump(*store);
  reopen();
  EXPECT_TRUE(dump(*store) == before);
}

// Items of a dropped table that were read may still be applied when replay is over: sooner or later, as more follows
// each time.
TEST_F(DurableTest, ATableThatGoesWithManyItemsMayBeNearTheEndOfTheLog) {
  constexpr int kItems = 1 << 16;  // The last one begins the putting.
  constexpr int kFurther = 1'000;
  create(pair_definition("Gone"));
  create(pair_definition());
  const auto put_some = [&](const char* table, int from, int to) {
    for (int i = from; i < to; ++i) {
      ASSERT_TRUE(put(table, Item{{"p", Value("k" + std::to_string(i))}, {"s", Value::number(i)}}));
      if (i % 500 == 0) turn();
    }
  };
  put_some("Gone", 0, kItems);
  ASSERT_TRUE(now(store->delete_table("Gone")));
  turn();
  for (int round = 0; round < 20; ++round) {
    reopen();
    turn();
    put_some("Pairs", round * kFurther, (round + 1) * kFurther);
  }
  turn();
  const std::string before = dump(*store);
  reopen();
  EXPECT_TRUE(dump(*store) == before);
}

TEST_F(DurableTest, UnsyncedWritesMayBeLostButNotHalved) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  turn();
  ASSERT_TRUE(put("Queue", task("b", "PENDING", 1)));
  close();  // Without the end of the turn.
  files.restart();
  open();
  EXPECT_EQ(get("Queue", key("a")), task("a", "PENDING", 1));
  EXPECT_EQ(get("Queue", key("b")), Item{});
  EXPECT_EQ(books().stock.at("PENDING"), 1u);
}

TEST_F(DurableTest, AFailedSyncStopsTheStoreLoudly) {
  std::vector<std::string> told;
  options.on_failure = [&](const Error& error) { told.push_back(error.message); };
  open();
  create(queue_definition());
  turn();
  files.fail_sync(1);
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  Async<Result<void>> durable = store->durable();
  turn();
  ASSERT_TRUE(durable.is_ready());
  EXPECT_THAT(text(durable.take()), HasSubstr("The store has failed and acknowledges nothing any more"));
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(put("Queue", task("b", "PENDING", 1)).error().code, ErrorCode::kInternal);
  EXPECT_FALSE(now(store->durable()));
  turn();
  EXPECT_EQ(told.size(), 1u);
}

TEST_F(DurableTest, OneProcessHasADirectory) {
  auto second = open_embedded(&files, scheduler, random, options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
}

TEST_F(DurableTest, StreamsGiveImagesByView) {
  create(queue_definition());
  TableDefinition d = queue_definition("Keys");
  d.stream = StreamView::kKeysOnly;
  create(d);
  for (const char* table : {"Queue", "Keys"}) {
    ASSERT_TRUE(put(table, task("a", "PENDING", 1)));
    ASSERT_TRUE(put(table, task("a", "PENDING", 1)));  // Changes nothing: no record.
    ASSERT_TRUE(put(table, task("a", "DONE", 1)));
    ASSERT_TRUE(erase(table, key("a")));
  }
  turn();
  for (int round = 0; round < 2; ++round) {
    const auto full = stream("Queue");
    ASSERT_EQ(full.size(), 3u);
    using Kind = ChangeRecord::Kind;
    EXPECT_EQ(full[0].kind, Kind::kInsert);
    EXPECT_EQ(full[0].keys, key("a"));
    EXPECT_FALSE(full[0].before);
    EXPECT_EQ(full[0].after.decode(), task("a", "PENDING", 1));
    EXPECT_EQ(full[1].kind, Kind::kModify);
    EXPECT_EQ(full[1].before.decode(), task("a", "PENDING", 1));
    EXPECT_EQ(full[2].kind, Kind::kRemove);
    EXPECT_EQ(full[2].before.decode(), task("a", "DONE", 1));
    EXPECT_FALSE(full[2].after);
    EXPECT_EQ(full[2].sequence, 3u);
    const auto keys = stream("Keys");
    ASSERT_EQ(keys.size(), 3u);
    EXPECT_FALSE(keys[2].before);
    EXPECT_EQ(keys[2].keys, key("a"));
    reopen();
  }
}

TEST_F(DurableTest, ReadersWaitForRecords) {
  create(queue_definition());
  turn();
  ReadStreamInput input;
  input.table = "Queue";
  input.wait_until = clock.boot() + seconds(5);
  auto waiting = store->read_stream(input);
  auto vain = store->read_stream(input);
  EXPECT_FALSE(waiting.is_ready());
  scheduler.run_for(seconds(1));
  EXPECT_FALSE(waiting.is_ready());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  EXPECT_FALSE(waiting.is_ready());
  turn();
  ASSERT_TRUE(waiting.is_ready());
  EXPECT_EQ(waiting.take()->records.size(), 1u);
  ASSERT_TRUE(vain.is_ready());
  input.from = 2;
  auto late = store->read_stream(input);
  scheduler.run_for(seconds(5));
  ASSERT_TRUE(late.is_ready());
  const auto page = late.take();
  EXPECT_TRUE(page->records.empty());
  EXPECT_EQ(page->next, 2u);
}

// There may be thousands of them: each holds what it waits with, and nothing more.
TEST_F(DurableTest, AWaitingReaderHoldsOneTimer) {
  create(queue_definition());
  turn();
  ReadStreamInput input;
  input.table = "Queue";
  input.wait_until = clock.boot() + seconds(5);
  const size_t before = scheduler.timers();
  std::vector<Async<Result<StreamPage>>> waiting;
  for (int i = 0; i < 10; ++i) waiting.push_back(store->read_stream(input));
  EXPECT_EQ(scheduler.timers(), before + 10);
  waiting.clear();
  EXPECT_EQ(scheduler.timers(), before);
}

// Every record has a reader that skips it by who wrote it, and one by its kind; memory may tell both, the log the kind.
TEST_F(DurableTest, ReadersAreSparedWhatTheySkip) {
  create(queue_definition());
  for (int i = 0; i < 50; ++i) {
    const std::string id = "t" + std::to_string(i);
    ASSERT_TRUE(put("Queue", task(id, "PENDING", i)));
    ASSERT_TRUE(
        update("Queue", key(id), "SET #st = :s", Map{{":s", Value("TAKEN")}}, {}, ReturnValues::kNone, Cause::kQueue));
    ASSERT_TRUE(erase("Queue", key(id)));
  }
  turn();
  for (const bool from_log : {false, true}) {
    ReadStreamInput input;
    input.table = "Queue";
    input.skip.kinds[StreamSkip::kind_index(ChangeRecord::Kind::kInsert, false)] = true;
    input.skip.kinds[StreamSkip::kind_index(ChangeRecord::Kind::kRemove, true)] = true;  // There is none.
    input.skip.queue_writes = true;
    const auto page = now(store->read_stream(input));
    ASSERT_TRUE(page);
    EXPECT_EQ(page->next, 151u);
    size_t removed = 0;
    for (const auto& record : page->records) {
      EXPECT_NE(record.kind, ChangeRecord::Kind::kInsert);
      EXPECT_TRUE(from_log || record.kind == ChangeRecord::Kind::kRemove);
      removed += record.kind == ChangeRecord::Kind::kRemove;
    }
    EXPECT_EQ(removed, 50u);
    reopen();
  }
}

TEST_F(DurableTest, AReaderThatSkipsEverythingHearsHowFarItIs) {
  create(queue_definition());
  ReadStreamInput input;
  input.table = "Queue";
  input.skip.kinds.fill(true);
  input.wait_until = clock.boot() + seconds(5);
  auto waiting = store->read_stream(input);
  for (int i = 0; i < 9'000; ++i) ASSERT_TRUE(put("Queue", task("t", "PENDING", i)));
  turn();
  EXPECT_FALSE(waiting.is_ready());
  for (int i = 0; i < 2'000; ++i) ASSERT_TRUE(put("Queue", task("u", "PENDING", i)));
  turn();
  ASSERT_TRUE(waiting.is_ready());
  const auto page = waiting.take();
  EXPECT_TRUE(page->records.empty());
  EXPECT_EQ(page->next, 11'001u);
}

TEST_F(DurableTest, OldRecordsComeBackFromTheLog) {
  options.stream_memory_bytes = 4096;
  options.segment_bytes = 32u << 10;
  open();
  create(queue_definition());
  create(queue_definition("Other"));
  for (int i = 0; i < 600; ++i) {
    ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i)));
    ASSERT_TRUE(put("Other", task("t" + std::to_string(i), "PENDING", i)));
    if (i % 10 == 9) turn();
  }
  for (int round = 0; round < 2; ++round) {
    uint64_t next = 1;
    while (next <= 600) {
      const auto records = stream("Queue", next, 17);
      ASSERT_FALSE(records.empty()) << next;
      for (const auto& record : records) {
        EXPECT_EQ(record.sequence, next);
        EXPECT_EQ(record.keys.string_or("id"), "t" + std::to_string(next - 1));
        ++next;
      }
    }
    EXPECT_EQ(next, 601u);
    reopen();
  }
  EXPECT_LT(store->stats().memory_bytes, 600u * 2 * 400);
}

TEST_F(DurableTest, MemoryKeepsNothingAndIsDurableAtOnce) {
  options.directory = std::string(kMemoryDirectory);
  options.stream_memory_bytes = 2000;
  open();
  create(queue_definition());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i)));
  EXPECT_TRUE(store->durable().is_ready());
  const StreamBounds bounds = *now(store->stream_bounds("Queue"));
  EXPECT_EQ(bounds.next, 101u);
  EXPECT_GT(bounds.oldest, 80u);
  EXPECT_EQ(stream("Queue", bounds.oldest).size(), 101 - bounds.oldest);
  ReadStreamInput input;
  input.table = "Queue";
  EXPECT_EQ(now(store->read_stream(input)).error().code, ErrorCode::kTrimmedDataAccess);
  reopen();
  EXPECT_TRUE(now(store->list_tables())->empty());
}

}  // namespace
}  // namespace freshet
