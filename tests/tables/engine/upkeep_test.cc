// TTL, compaction, trimming, caps, full disks, backfill: what the store does on its own.
#include <gmock/gmock.h>

#include "tests/tables/engine/store_dump.h"
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

using UpkeepTest = DiskStoreTest;

Item key(const std::string& id) {
  return Item{{"id", Value(id)}};
}

Item heavy(const std::string& id, size_t bytes = 1000) {
  Item item = task(id, "PENDING", 1);
  item.set("body", Value(std::string(bytes, 'x')));
  return item;
}

TEST_F(UpkeepTest, ExpiredItemsGoAndSaySo) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("soon", "PENDING", 1, kNow + 2)));
  ASSERT_TRUE(put("Queue", task("later", "PENDING", 1, kNow + 100)));
  ASSERT_TRUE(put("Queue", task("ancient", "PENDING", 1, kNow - 6LL * 365 * 86400)));
  ASSERT_TRUE(put("Queue", task("held", "TAKEN", 1, kNow + 2)));
  Item text = task("text", "PENDING", 1);
  text.set("ttl", Value("1"));
  ASSERT_TRUE(put("Queue", text));
  scheduler.run_for(milliseconds(1999));
  EXPECT_NE(get("Queue", key("soon")), Item{});
  scheduler.run_for(milliseconds(20));
  EXPECT_EQ(get("Queue", key("soon")), Item{});
  EXPECT_EQ(now(store->describe_table("Queue"))->items, 4u);
  const auto records = stream("Queue");
  EXPECT_TRUE(records.back().by_ttl);
  EXPECT_EQ(records.back().kind, ChangeRecord::Kind::kRemove);
  EXPECT_EQ(books().flow.at({"PENDING", "", Cause::kTimeToLive}), 1u);
  // An item that leaves the held status is swept again.
  ASSERT_TRUE(update("Queue", key("held"), "SET #st = :s", Map{{":s", Value("PENDING")}}));
  scheduler.run_for(milliseconds(50));
  EXPECT_EQ(get("Queue", key("held")), Item{});
  EXPECT_EQ(store->stats().expired, 2u);
}

TEST_F(UpkeepTest, SweepsInBoundedSteps) {
  options.ttl_step = 10;
  open();
  create(queue_definition());
  for (int i = 0; i < 95; ++i) ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i, kNow + 1)));
  scheduler.run_for(milliseconds(500));
  clock.advance(milliseconds(600));
  for (uint64_t turns = 1; turns <= 10; ++turns) {
    store->run_due();
    EXPECT_EQ(store->stats().expired, std::min<uint64_t>(turns * 10, 95));
  }
}

TEST_F(UpkeepTest, MillisecondsInTtlAreToldOnceOrRead) {
  std::vector<std::string> warnings;
  options.on_warning = [&](const std::string& table, const std::string& text) {
    warnings.push_back(table + ": " + text);
  };
  open();
  create(queue_definition());
  TableDefinition reads = queue_definition("Reads");
  reads.ttl_in_milliseconds = true;
  create(reads);
  for (const char* id : {"a", "b"}) {
    ASSERT_TRUE(put("Queue", task(id, "PENDING", 1, (kNow + 1) * 1000)));
    ASSERT_TRUE(put("Reads", task(id, "PENDING", 1, (kNow + 1) * 1000 + 1)));
  }
  scheduler.run_for(milliseconds(1001));
  EXPECT_NE(get("Reads", key("a")), Item{}) << "rounded up, never early";
  scheduler.run_for(seconds(1));
  EXPECT_EQ(get("Reads", key("a")), Item{});
  EXPECT_NE(get("Queue", key("a")), Item{});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("the TTL attribute ttl of table Queue holds 1700000001000"));
}

TEST_F(UpkeepTest, AJumpOfTheWallClockPausesTheSweep) {
  create(queue_definition());
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1, kNow + 3600)));
  ASSERT_TRUE(put("Queue", task("b", "PENDING", 1, kNow + 5)));
  scheduler.run_for(seconds(2));
  clock.step_wall(std::chrono::hours(2));
  scheduler.run_for(seconds(10));
  EXPECT_TRUE(store->stats().ttl_paused);
  EXPECT_NE(get("Queue", key("b")), Item{});
  clock.step_wall(-std::chrono::hours(2));
  scheduler.run_for(seconds(2));
  EXPECT_FALSE(store->stats().ttl_paused);
  EXPECT_EQ(get("Queue", key("b")), Item{});
  EXPECT_NE(get("Queue", key("a")), Item{});
  // A new time that stays is believed in the end.
  clock.step_wall(std::chrono::hours(2));
  scheduler.run_for(seconds(50));
  EXPECT_NE(get("Queue", key("a")), Item{});
  scheduler.run_for(seconds(15));
  EXPECT_EQ(get("Queue", key("a")), Item{});
}

class CompactionTest : public StoreFixture {
 protected:
  void SetUp() override {
    options.segment_bytes = 16u << 10;
    options.move_step_bytes = 2048;
    options.stream_max_bytes = 40'000;
    options.stream_memory_bytes = 10'000;
    open();
  }
  // Writes over 20 items again and again, beside 20 that never change.
  void churn(int rounds) {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(put("Queue", heavy("still" + std::to_string(i), 200)));
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 20; ++i) {
        Item item = heavy("busy" + std::to_string(i), 200);
        item.set("round", Value::number(round));
        ASSERT_TRUE(put("Queue", item));
      }
      turn();
    }
  }
};

TEST_F(CompactionTest, TheLogStaysShortAndTheStoreTheSame) {
  TableDefinition d = queue_definition();
  d.stream.reset();
  create(d);
  churn(300);
  const EmbeddedStats stats = store->stats();
  EXPECT_GT(stats.appended_bytes, 1'500'000u);
  EXPECT_GT(stats.moved_bytes, 0u);
  EXPECT_LT(stats.moved_bytes, stats.appended_bytes);
  EXPECT_LT(stats.log_bytes, 2 * stats.live_bytes + 7 * options.segment_bytes);
  const std::string before = dump(*store);
  reopen();
  EXPECT_TRUE(dump(*store) == before);
  EXPECT_EQ(now(store->describe_table("Queue"))->items, 40u);
}

// Without live items there is nothing in a segment to read: damage in one goes unseen, and in another does not.
TEST_F(CompactionTest, SegmentsWithoutLiveItemsAreNotRead) {
  std::optional<Error> failure;
  options.on_failure = [&](const Error& error) { failure = error; };
  TableDefinition d = queue_definition();
  d.stream.reset();
  const auto churn_over_damage = [&](const std::string& directory, bool live) {
    options.directory = directory;
    open();
    create(d);
    if (live) {
      ASSERT_TRUE(put("Queue", heavy("still", 200)));
    }
    const std::string first = directory + "/segment-0000000001.log";
    for (int round = 0; round < 500 && files.exists(first) && !failure; ++round) {
      Item item = heavy("busy", 1000);
      item.set("round", Value::number(round));
      ASSERT_TRUE(put("Queue", item));
      turn();
      if (round == 30) files.set_content(first, std::string(16u << 10, 'x'));  // It is no longer the open one.
    }
    EXPECT_FALSE(files.exists(first) && !failure) << "compaction has got there";
  };
  churn_over_damage("dead", false);
  EXPECT_FALSE(failure);
  churn_over_damage("live", true);
  EXPECT_TRUE(failure);
}

TEST_F(CompactionTest, StreamsKeepRetiredSegmentsWithinTheirBound) {
  create(queue_definition());
  churn(300);
  const StreamBounds bounds = *now(store->stream_bounds("Queue"));
  EXPECT_GT(bounds.oldest, 1u);
  EXPECT_GT(bounds.next - bounds.oldest, 100u) << "more than memory holds";
  EXPECT_LT(store->stats().log_bytes, 2 * store->stats().live_bytes + 7 * options.segment_bytes + 60'000);
  const std::string before = dump(*store);
  reopen();
  EXPECT_TRUE(dump(*store) == before);
  ReadStreamInput input;
  input.table = "Queue";
  EXPECT_EQ(now(store->read_stream(input)).error().code, ErrorCode::kTrimmedDataAccess);
}

TEST_F(CompactionTest, StreamsForgetAfterADay) {
  options.stream_max_bytes = 1u << 30;
  open();
  create(queue_definition());
  churn(20);
  const uint64_t next = now(store->stream_bounds("Queue"))->next;
  EXPECT_EQ(now(store->stream_bounds("Queue"))->oldest, 1u);
  clock.advance(std::chrono::hours(23));
  churn(5);
  EXPECT_EQ(now(store->stream_bounds("Queue"))->oldest, 1u);
  clock.advance(std::chrono::hours(2));
  turn();
  const StreamBounds bounds = *now(store->stream_bounds("Queue"));
  EXPECT_GT(bounds.oldest, next / 2);
  EXPECT_LE(bounds.oldest, next);
  EXPECT_EQ(stream("Queue", bounds.oldest).front().sequence, bounds.oldest);
}

// In one turn the sweep removes the last live item of the oldest segment, compaction is done with that segment, and the
// batch that says so needs a new one: a crash between the new segment's header and the batch must not lose the item.
TEST_F(CompactionTest, ASegmentIsNotRetiredBeforeItsLastItemIsDeadOnDisk) {
  options.segment_bytes = 8u << 10;
  options.move_step_bytes = options.segment_bytes;  // The whole segment in one turn.
  const auto run = [&](size_t shift, uint64_t call) {
    options.directory = "shift" + std::to_string(shift) + "call" + std::to_string(call);
    open();
    create(queue_definition());
    Item last = heavy("last", shift);
    last.set("ttl", Value::number(epoch_s(clock.wall()) + 2));
    ASSERT_TRUE(put("Queue", last));
    int round = 0;
    const auto busy = [&] {
      Item item = heavy("busy", 500);
      item.set("round", Value::number(++round));
      ASSERT_TRUE(put("Queue", item));
    };
    const auto compacts = [&] {
      return store->stats().log_bytes > 2 * store->stats().live_bytes + 4 * options.segment_bytes;
    };
    for (int i = 0; i < 200 && !compacts(); ++i) {
      busy();
      store->commit();  // Without what is due: compaction begins in the turn that counts.
    }
    ASSERT_TRUE(compacts());
    clock.advance(seconds(3));
    busy();
    files.crash_at(files.calls() + call);
    store->run_due();
    store->commit();
    close();
    files.crash_at(UINT64_MAX);
    files.restart();
    auto opened = try_open();
    ASSERT_TRUE(opened) << opened.error().message;
    books();
  };
  for (size_t shift = 100; shift < 1500 && !HasFailure(); shift += 100) {
    for (uint64_t call = 1; call <= 16 && !HasFailure(); ++call) {
      SCOPED_TRACE("shift " + std::to_string(shift) + ", crash at call " + std::to_string(call));
      run(shift, call);
    }
  }
}

TEST_F(UpkeepTest, AFullMemoryRefusesGrowthOnly) {
  options.max_memory_bytes = 200'000;
  open();
  create(queue_definition());
  int stored = 0;
  Result<WriteOutput> last;
  while ((last = put("Queue", heavy("t" + std::to_string(stored))))) {
    ++stored;
    turn();
  }
  EXPECT_EQ(last.error().code, ErrorCode::kThroughputExceeded);
  EXPECT_THAT(last.error().message, HasSubstr("--max-memory-bytes"));
  EXPECT_GT(stored, 100);
  EXPECT_LT(stored, 200);
  for (int i = 0; put("Queue", task("small" + std::to_string(i), "PENDING", i)); ++i) turn();
  EXPECT_TRUE(update("Queue", key("t0"), "SET #st = :s", Map{{":s", Value("DONE")}}));
  EXPECT_FALSE(update("Queue", key("t0"), "SET more = :s", Map{{":s", Value(std::string(300, 'x'))}}));
  EXPECT_TRUE(erase("Queue", key("t1")));
  EXPECT_TRUE(erase("Queue", key("t2")));
  turn();
  EXPECT_TRUE(put("Queue", heavy("again")));
  EXPECT_GT(store->stats().throttled, 0u);
}

class FullDiskTest : public StoreFixture {
 protected:
  // Fills until growth is refused; how many items there are then.
  int fill() {
    create(queue_definition());
    for (int stored = 0;; ++stored) {
      auto result = put("Queue", heavy("t" + std::to_string(stored)));
      if (stored % 5 == 4) turn();
      if (result) continue;
      EXPECT_EQ(result.error().code, ErrorCode::kThroughputExceeded) << result.error().message;
      EXPECT_THAT(result.error().message, HasSubstr("out of disk space"));
      return stored;
    }
  }
  void work_it_off(int stored) {
    // Every task goes through its life, though nothing new fits.
    for (int i = 0; i < stored; ++i) {
      const Item k = key("t" + std::to_string(i));
      for (const char* status : {"TAKEN", "DONE"}) {
        auto moved = update("Queue", k, "SET #st = :s", Map{{":s", Value(status)}});
        ASSERT_TRUE(moved) << i << " of " << stored << ": " << moved.error().message << " left "
                           << store->stats().log_bytes_left << " live " << store->stats().live_bytes << " used "
                           << store->stats().log_bytes;
        if (i % 3 == 0) turn();
      }
      if (i % 2) {
        ASSERT_TRUE(erase("Queue", k));
      }
      Async<Result<void>> durable = store->durable();
      scheduler.run_for(milliseconds(20));
      ASSERT_TRUE(durable.is_ready() && durable.take())
          << i << " of " << stored << " left " << store->stats().log_bytes_left << " live " << store->stats().live_bytes
          << " used " << store->stats().log_bytes << " moved " << store->stats().moved_bytes;
    }
  }
  void empty(int stored) {
    for (int i = 0; i < stored; i += 2) {
      ASSERT_TRUE(erase("Queue", key("t" + std::to_string(i))));
      turn();
    }
    scheduler.run_for(seconds(5));
  }
};

TEST_F(FullDiskTest, TheBoundRefusesGrowthAndRecoversWithoutARestart) {
  options.max_data_bytes = 1u << 20;
  open();
  const int stored = fill();
  EXPECT_GT(stored, 150);
  work_it_off(stored);
  EXPECT_LE(files.bytes_allocated(), options.max_data_bytes);
  empty(stored);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(put("Queue", heavy("n" + std::to_string(i)))) << i;
    turn();
  }
  const std::string before = dump(*store);
  reopen();
  EXPECT_TRUE(dump(*store) == before);
}

// Records about tables are in the log as well: they must not take the space that completions and compaction need.
TEST_F(FullDiskTest, WordsAboutTablesAreRefusedInTime) {
  options.max_data_bytes = 1u << 20;
  open();
  const int stored = fill();
  TableDefinition d = queue_definition();
  size_t refused = 0;
  for (int i = 0; i < 300; ++i) {  // In one turn.
    d.settings.tags["note"] = std::string(5000, static_cast<char>('a' + i % 26));
    const auto altered = now(store->alter_table(d));
    if (altered) continue;
    EXPECT_EQ(altered.error().code, ErrorCode::kThroughputExceeded);
    ++refused;
  }
  EXPECT_GT(refused, 0u);
  const uint64_t appended = store->stats().appended_bytes;
  turn();
  EXPECT_GT(store->stats().appended_bytes, appended);
  work_it_off(stored);
}

TEST_F(FullDiskTest, AFullDiskDoesToo) {
  options.segment_bytes = 32u << 10;
  files.set_disk_bytes(700'000);
  open();
  const int stored = fill();
  EXPECT_GT(stored, 100);
  work_it_off(stored);
  empty(stored);
  EXPECT_TRUE(put("Queue", heavy("new")));
  turn();
  reopen();
  EXPECT_EQ(get("Queue", key("new")), heavy("new"));
}

// As the processor does it: newest first, a hundred in a turn, each task a little larger with every step (256 bytes in
// all, as the reserve allows), none deleted.
// The garbage arises in the newest segments, behind all that compaction has to move to get there.
TEST_F(FullDiskTest, EveryTaskCanBeDoneNewestFirst) {
  options.segment_bytes = 64u << 10;
  files.set_disk_bytes(3'000'000);
  open();
  create(queue_definition());
  int stored = 0;
  for (; put("Queue", heavy("t" + std::to_string(stored), 450)); ++stored) {
    if (stored % 50 == 49) turn();
  }
  EXPECT_GT(stored, 1000);
  for (int first = stored; first > 0; first -= 100) {
    for (const char* status : {"TAKEN", "DONE"}) {
      for (int i = first - 1; i >= std::max(first - 100, 0); --i) {
        auto moved =
            update("Queue", key("t" + std::to_string(i)), "SET #st = :s, " + std::string(status) + "Note = :more",
                   Map{{":s", Value(status)}, {":more", Value(std::string(100, 'x'))}});
        ASSERT_TRUE(moved) << i << " of " << stored << ": " << moved.error().message << " left "
                           << store->stats().log_bytes_left << " live " << store->stats().live_bytes << " used "
                           << store->stats().log_bytes;
      }
      scheduler.run_for(milliseconds(1));
    }
  }
}

TEST_F(FullDiskTest, ADiskFilledByOthersIsWaitedFor) {
  options.segment_bytes = 32u << 10;
  files.set_disk_bytes(2'000'000);
  open();
  create(queue_definition());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(put("Queue", heavy("t" + std::to_string(i))));
  turn();
  files.set_disk_bytes(files.bytes_allocated());
  Result<WriteOutput> last;
  int more = 0;
  for (; more < 500 && (last = put("Queue", heavy("u" + std::to_string(more)))); ++more) {
    Async<Result<void>> durable = store->durable();
    scheduler.run_for(milliseconds(200));
    ASSERT_TRUE(durable.is_ready() && durable.take());
  }
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, ErrorCode::kThroughputExceeded);
  EXPECT_TRUE(update("Queue", key("t0"), "SET #st = :s", Map{{":s", Value("TAKEN")}}));
  turn();
  files.set_disk_bytes(4'000'000);
  scheduler.run_for(milliseconds(200));  // Though nothing is written.
  EXPECT_TRUE(put("Queue", heavy("new")));
}

// A batch larger than a segment needs a file of its own, for which spares have to make room. All that is admitted can
// be written: otherwise the store would refuse everything from then on, and never answer.
TEST_F(FullDiskTest, ATransactionLargerThanASegmentFindsSpace) {
  const auto run = [&] {
    open();
    create(queue_definition());
    std::vector<WriteInput> actions;
    for (const std::string id : {"a", "b", "c"}) {
      ASSERT_TRUE(put("Queue", heavy(id, 390'000)));
      turn();
      UpdateItemInput input{"Queue", key(id), "SET flag = :x", {}, {}};
      actions.emplace_back(std::move(input));
    }
    int stored = 0;
    while (put("Queue", heavy("t" + std::to_string(stored), 20'000))) {
      ++stored;
      scheduler.run_for(milliseconds(1));
    }
    ASSERT_GT(stored, 50);
    int admitted = 0;
    for (int i = 0; i < 40; ++i) {
      for (auto& action : actions) {
        std::get<UpdateItemInput>(action).placeholders.values = Map{{":x", Value::number(i)}};
      }
      admitted += now(store->transact_write({actions, {}})).has_value();
      Async<Result<void>> durable = store->durable();
      scheduler.run_for(milliseconds(500));
      ASSERT_TRUE(durable.is_ready() && durable.take()) << i << ", left " << store->stats().log_bytes_left;
    }
    EXPECT_GT(admitted, 0);
    for (int i = 0; i < stored; ++i) {
      ASSERT_TRUE(erase("Queue", key("t" + std::to_string(i))));
      scheduler.run_for(milliseconds(1));
    }
    scheduler.run_for(seconds(5));
    EXPECT_TRUE(put("Queue", heavy("new")));
    EXPECT_TRUE(now(store->transact_write({actions, {}})));
    turn();
    reopen();
    EXPECT_EQ(get("Queue", key("c")).int_or("flag", -1), 39);
    EXPECT_EQ(books().stock.at("PENDING"), 4u);
  };
  {
    SCOPED_TRACE("at the bound");
    options.max_data_bytes = 13u << 20;
    run();
    EXPECT_LE(files.bytes_allocated(), options.max_data_bytes);
  }
  SCOPED_TRACE("on a full disk");
  options = {};
  options.directory = "other";
  options.segment_bytes = 1u << 20;
  files.set_disk_bytes(files.bytes_allocated() + (16u << 20));
  run();
}

TEST_F(UpkeepTest, NewIndexesAreFilledInSteps) {
  options.backfill_step = 10;
  open();
  TableDefinition d = queue_definition();
  const auto index = d.indexes[0];
  d.indexes.clear();
  d.ttl_attribute.reset();
  create(d);
  for (int i = 0; i < 95; ++i) {
    ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i, kNow + (i < 50 ? 1 : 1000))));
  }
  d.indexes.push_back(index);
  d.ttl_attribute = "ttl";
  ASSERT_TRUE(now(store->alter_table(d)));
  EXPECT_EQ(text(now(store->query(by_status("PENDING", true)))),
            "ValidationException: Cannot read from backfilling global secondary index: status-created");
  // Writes go on meanwhile, on both sides of the walk.
  for (int i = 0; i < 95; i += 3) {
    if (i % 9 == 0) store->run_due();
    const Item k = key("t" + std::to_string(i));
    if (i % 2) {
      ASSERT_TRUE(erase("Queue", k));
    } else {
      ASSERT_TRUE(update("Queue", k, "SET #st = :s", Map{{":s", Value("DONE")}}));
    }
    ASSERT_TRUE(put("Queue", task("n" + std::to_string(i), "PENDING", 1000 + i)));
  }
  turn();
  EXPECT_EQ(ids_by_status("PENDING", true).size(), 95u);
  EXPECT_EQ(ids_by_status("DONE", true).size(), 16u);
  const std::string before = dump(*store);
  reopen();
  EXPECT_TRUE(dump(*store) == before) << "what was filled is what a restart builds";
  scheduler.run_for(seconds(2));
  EXPECT_EQ(store->stats().expired, 42u);
}

TEST_F(UpkeepTest, AnOpenedStoreGoesOnFilling) {
  options.backfill_step = 10;
  open();
  TableDefinition d = queue_definition();
  const auto indexes = std::exchange(d.indexes, {});
  create(d);
  for (int i = 0; i < 95; ++i) ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i)));
  d.indexes = indexes;
  ASSERT_TRUE(now(store->alter_table(d)));
  store->commit();
  reopen();
  EXPECT_EQ(ids_by_status("PENDING", true).size(), 95u);
}

TEST_F(UpkeepTest, ADeletedTableGoesInStepsAndItsNameIsFreeAtOnce) {
  options.backfill_step = 10;
  open();
  create(queue_definition());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i, kNow + 1000)));
  turn();
  const Item held = get("Queue", key("t7"));
  ASSERT_TRUE(now(store->delete_table("Queue")));
  create(queue_definition());
  EXPECT_EQ(store->stats().items, 0u);
  ASSERT_TRUE(put("Queue", task("t7", "TAKEN", 1)));
  for (int turns = 0; turns < 20; ++turns) {
    store->run_due();
    store->commit();
  }
  EXPECT_GT(store->next_due(), clock.boot()) << "nothing is left to give back";
  EXPECT_EQ(get("Queue", key("t7")), task("t7", "TAKEN", 1));
  EXPECT_NE(held, Item{});
  const std::string before = dump(*store);
  reopen();
  EXPECT_TRUE(dump(*store) == before);
}

TEST_F(UpkeepTest, BooksMayBeTurnedOnLater) {
  TableDefinition d = queue_definition();
  d.books.reset();
  create(d);
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  EXPECT_EQ(text(now(store->books("Queue"))), "ValidationException: Table Queue keeps no books");
  d.books = BooksDefinition{"status", "TAKEN"};
  ASSERT_TRUE(now(store->alter_table(d)));
  EXPECT_EQ(text(now(store->books("Queue"))), "ServiceUnavailableException: The books of table Queue are being opened");
  turn();
  EXPECT_EQ(books().stock.at("PENDING"), 1u);
  reopen();
  EXPECT_EQ(books().stock.at("PENDING"), 1u);
}

TEST_F(UpkeepTest, StreamsMayBeTurnedOffAndOn) {
  TableDefinition d = queue_definition();
  create(d);
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1)));
  turn();
  d.stream.reset();
  ASSERT_TRUE(now(store->alter_table(d)));
  ASSERT_TRUE(put("Queue", task("b", "PENDING", 1)));
  EXPECT_EQ(now(store->stream_bounds("Queue")).error().code, ErrorCode::kResourceNotFound);
  d.stream = StreamView::kKeysOnly;
  ASSERT_TRUE(now(store->alter_table(d)));
  ASSERT_TRUE(put("Queue", task("c", "PENDING", 1)));
  turn();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(now(store->stream_bounds("Queue"))->oldest, 2u);
    ASSERT_EQ(stream("Queue", 2).size(), 1u);
    EXPECT_EQ(stream("Queue", 2)[0].keys, key("c"));
    reopen();
  }
}

}  // namespace
}  // namespace freshet
