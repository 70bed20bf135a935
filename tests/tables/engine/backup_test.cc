// Backups: what they hold, what survives, what stands in their way.
#include <map>

#include "tables/backups.h"
#include "tables/engine/batch.h"
#include "tests/sim/seeds.h"
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using Contents = std::map<std::string, std::string>;  // Encoded items by id.

class BackupTest : public DiskStoreTest {
 protected:
  void SetUp() override {
    options.backup_step = 10;
    options.on_warning = [this](const std::string& table, const std::string& message) {
      warnings.push_back(table + ": " + message);
    };
    open();
  }
  // One turn; nothing is waited for.
  void step() {
    store->run_due();
    store->commit();
  }
  Contents contents(const std::string& table) {
    Contents out;
    ScanInput scan;
    scan.table = table;
    for (;;) {
      auto page = now(store->scan(scan));
      EXPECT_TRUE(page) << page.error().message;
      if (!page) return out;
      for (const auto& item : page->items) {
        out[std::string(item.decode().string_or("id"))] = item.encoded();
      }
      scan.exclusive_start_key = page->last_evaluated_key;
      if (scan.exclusive_start_key.empty()) return out;
    }
  }
  Result<BackupDescription> back_up(const std::string& table, const std::string& name = "nightly") {
    return now(store->backups()->create(table, name));
  }
  std::vector<BackupDescription> list() { return now(store->backups()->list({}))->backups; }
  Result<TableDescription> restore(const BackupDescription& backup, const std::string& name) {
    TableDefinition definition = backup.table.definition;
    definition.name = name;
    definition.stream.reset();
    definition.ttl_attribute.reset();
    definition.books.reset();
    return now(store->backups()->restore(backup.id, definition));
  }
  bool is_restoring(const std::string& table) {
    const auto described = now(store->describe_table(table));
    return described && described->restored && described->restored->in_progress;
  }
  BackupDescription complete(const BackupDescription& backup) {
    for (int i = 0; i < 1000; ++i) {
      auto described = now(store->backups()->describe(backup.id));
      EXPECT_TRUE(described) << described.error().message;
      if (!described || described->available) return described ? *described : BackupDescription{};
      step();
    }
    ADD_FAILURE() << "the backup does not come to its end";
    return {};
  }
  void fill(int items, const std::string& table = "Queue") {
    for (int i = 0; i < items; ++i) ASSERT_TRUE(put(table, task("t" + std::to_string(i), "PENDING", i)));
    turn();
  }
  void write_at_random(Random& dice, int writes) {
    for (int i = 0; i < writes; ++i) {
      const std::string id = "t" + std::to_string(dice.below(150));
      if (dice.below(3) == 0) {
        (void)erase("Queue", Item{{"id", Value(id)}});
      } else {
        (void)put("Queue", task(id, "DONE", static_cast<int64_t>(dice.below(1000))));
      }
    }
  }
  void hold_and_restore(Random& dice);

  std::vector<std::string> warnings;
};

// A backup is made while others write, and restored.
void BackupTest::hold_and_restore(Random& dice) {
  create(queue_definition());
  fill(100);
  const Contents then = contents("Queue");
  auto made = back_up("Queue");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->available);
  EXPECT_EQ(made->table.items, 100u);
  for (int turns = 0; turns < 20; ++turns) {
    write_at_random(dice, 8);
    step();
  }
  const BackupDescription backup = complete(*made);
  EXPECT_EQ(backup.name, "nightly");
  ASSERT_NE(contents("Queue"), then) << "nothing was written meanwhile";

  auto table = restore(backup, "Copy");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_TRUE(table->restored->in_progress);
  EXPECT_EQ(text(put("Copy", task("x", "PENDING", 1))), "ResourceNotFoundException: Requested resource not found");
  turn();
  EXPECT_FALSE(is_restoring("Copy"));
  EXPECT_EQ(contents("Copy"), then);
  const auto described = now(store->describe_table("Copy"));
  EXPECT_EQ(described->restored->table, "Queue");
  EXPECT_EQ(described->restored->backup, backup.id);
  ASSERT_EQ(described->indexes.size(), 1u);
  EXPECT_EQ(described->indexes[0].items, 100u);
  EXPECT_TRUE(put("Copy", task("x", "PENDING", 1)));
}

TEST_F(BackupTest, HoldsWhatWasThereWhateverIsWrittenMeanwhile) {
  for (const uint64_t seed : test_seeds(5)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    options.directory = "data-" + std::to_string(seed);
    Random dice(seed);
    reopen();
    hold_and_restore(dice);
  }
}

TEST_F(BackupTest, SurvivesARestart) {
  create(queue_definition());
  fill(100);
  const Contents then = contents("Queue");
  const BackupDescription backup = complete(*back_up("Queue"));
  ASSERT_TRUE(now(store->delete_table("Queue")));
  turn();
  reopen();
  ASSERT_EQ(list().size(), 1u);
  const BackupDescription found = list()[0];
  EXPECT_EQ(found.id, backup.id);
  EXPECT_EQ(found.name, "nightly");
  EXPECT_EQ(found.created, backup.created);
  EXPECT_TRUE(found.available);
  EXPECT_EQ(found.table.definition, queue_definition());
  EXPECT_EQ(found.table.items, 100u);
  EXPECT_EQ(found.table.bytes, backup.table.bytes);
  ASSERT_TRUE(restore(found, "Queue"));
  turn();
  reopen();
  EXPECT_EQ(contents("Queue"), then);
  ASSERT_TRUE(now(store->backups()->remove(found.id)));
  EXPECT_TRUE(list().empty());
  turn();
  EXPECT_FALSE(files.exists("data/backups/" + found.id + ".backup"));
  reopen();
  EXPECT_TRUE(list().empty());
  EXPECT_EQ(contents("Queue"), then);
}

// Power is lost at the n-th call to the files, while a backup is made and then a table restored from it.
TEST_F(BackupTest, NothingIsLeftHalfDoneWheneverPowerIsLost) {
  std::map<std::string, int> outcomes;
  options.backup_step = 500;
  for (uint64_t n = 1; n <= 60; ++n) {
    SCOPED_TRACE("crash at call " + std::to_string(n));
    close();
    options.directory = "data-" + std::to_string(n);
    open();
    create(queue_definition());
    fill(1000);  // More than one block.
    const Contents then = contents("Queue");
    files.crash_at(files.calls() + n);
    auto made = back_up("Queue");
    for (int i = 0; i < 1000 && made && !files.crashed(); ++i) {
      const auto described = now(store->backups()->describe(made->id));
      if (!described) break;
      if (described->available && !now(store->describe_table("Copy"))) (void)restore(*described, "Copy");
      (void)put("Queue", task("n" + std::to_string(i), "PENDING", 100 + i));
      step();
      if (now(store->describe_table("Copy")) && !is_restoring("Copy")) break;
    }
    files.crash_at(UINT64_MAX);
    close();
    files.restart();
    open();
    const auto names = files.list(options.directory + "/backups");
    for (const auto& name : *names) EXPECT_FALSE(name.ends_with(".part")) << name;
    if (list().empty()) {
      ++outcomes["no backup"];
      continue;
    }
    const BackupDescription backup = list()[0];
    const bool restoring = is_restoring("Copy");
    ++outcomes[restoring ? "restoring" : now(store->describe_table("Copy")) ? "restored" : "backup"];
    turn();
    if (!now(store->describe_table("Copy"))) {
      ASSERT_TRUE(restore(backup, "Copy"));
    }
    turn();
    EXPECT_EQ(contents("Copy"), then);
  }
  for (const char* outcome : {"no backup", "backup", "restoring", "restored"}) {
    EXPECT_GT(outcomes[outcome], 0) << "no crash left: " << outcome;
  }
}

TEST_F(BackupTest, SaysWhatStandsInTheWay) {
  create(queue_definition());
  create(pair_definition());
  fill(50);
  EXPECT_EQ(text(back_up("None")), "TableNotFoundException: Table not found: None");
  auto made = back_up("Queue");
  ASSERT_TRUE(made);
  EXPECT_EQ(text(back_up("Queue")), "BackupInUseException: Another backup of the table is being created: Queue");
  EXPECT_EQ(text(now(store->backups()->remove(made->id))),
            "BackupInUseException: Backup is being created: " + made->id);
  EXPECT_EQ(text(restore(*made, "Copy")), "BackupInUseException: Backup is being created: " + made->id);
  EXPECT_EQ(text(now(store->delete_table("Queue"))),
            "ResourceInUseException: Attempt to change a resource which is still in use: Table is being backed up: "
            "Queue");
  const BackupDescription backup = complete(*made);
  EXPECT_EQ(text(restore(backup, "Pairs")), "TableAlreadyExistsException: Table already exists: Pairs");
  ASSERT_TRUE(restore(backup, "Copy"));
  EXPECT_EQ(text(restore(backup, "Copy")), "TableInUseException: Table is being created: Copy");
  EXPECT_EQ(text(back_up("Copy")), "TableInUseException: Table is being created: Copy");
  EXPECT_EQ(text(now(store->delete_table("Copy"))),
            "ResourceInUseException: Attempt to change a resource which is still in use: Table is being created: Copy");
  TableDefinition other = queue_definition("Copy");
  EXPECT_EQ(text(now(store->alter_table(other))),
            "ResourceInUseException: Attempt to change a resource which is still in use: Table is being created: Copy");
  EXPECT_EQ(text(now(store->create_table(other))), "ResourceInUseException: Table already exists: Copy");
  EXPECT_EQ(text(now(store->backups()->remove(backup.id))),
            "BackupInUseException: A table is being restored from the backup: " + backup.id);
  turn();
  EXPECT_TRUE(now(store->delete_table("Copy")));
  ASSERT_TRUE(now(store->backups()->remove(backup.id)));
  EXPECT_EQ(text(now(store->backups()->remove(backup.id))), "BackupNotFoundException: Backup not found: " + backup.id);
  EXPECT_EQ(text(now(store->backups()->describe(backup.id))),
            "BackupNotFoundException: Backup not found: " + backup.id);
}

TEST_F(BackupTest, LeavesTheReserveAlone) {
  options.directory = "small";
  options.segment_bytes = 4096;
  options.max_data_bytes = 256u << 10;
  reopen();
  create(queue_definition());
  std::vector<BackupDescription> made;
  Result<BackupDescription> backup;
  fill(200);
  do {
    backup = back_up("Queue");
    if (backup) made.push_back(complete(*backup));
  } while (backup && made.size() < 1000);
  ASSERT_FALSE(backup);
  EXPECT_TRUE(text(backup).starts_with("LimitExceededException: Not enough disk space (or --max-data-bytes): "))
      << text(backup);
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(text(restore(made[0], "Copy")).starts_with("LimitExceededException: Not enough disk space"));
  EXPECT_TRUE(put("Queue", task("t0", "DONE", 1))) << "what the store needs for itself is still there";
  ASSERT_TRUE(now(store->backups()->remove(made[0].id)));
  turn();
  EXPECT_TRUE(back_up("Queue"));
}

// The space that the disk leaves is without the backups already: only max_data_bytes is shared with them.
TEST_F(BackupTest, UsesNothingOfWhatAFullDiskLeaves) {
  options.directory = "small";
  options.segment_bytes = 4096;
  options.max_data_bytes = 1u << 20;
  reopen();
  create(queue_definition());
  fill(200);
  for (int i = 0; i < 6; ++i) complete(*back_up("Queue"));
  turn();
  files.set_disk_bytes(files.bytes_allocated());
  ASSERT_TRUE(put("Queue", task("t0", "TAKEN", 1)));
  scheduler.run_for(milliseconds(200));  // The store sees that the disk is full.
  EXPECT_TRUE(put("Queue", task("t1", "TAKEN", 1))) << "the reserve is still there";
  turn();
  files.set_disk_bytes(1u << 30);
  scheduler.run_for(milliseconds(200));  // Though nothing is written.
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(put("Queue", task("new" + std::to_string(i), "PENDING", 1))) << i;
}

TEST_F(BackupTest, IsGivenUpWhenItsFileCannotBeWritten) {
  create(queue_definition());
  fill(1000);
  auto made = back_up("Queue");
  ASSERT_TRUE(made);
  files.fail_write(1);
  store->run_due();
  for (int i = 0; i < 200 && !list().empty(); ++i) store->run_due();
  EXPECT_TRUE(list().empty());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("Queue: backup " + made->id + " is given up: ")) << warnings[0];
  turn();
  EXPECT_TRUE(files.list("data/backups")->empty());
  EXPECT_TRUE(back_up("Queue")) << "the table can be backed up again";
  EXPECT_TRUE(put("Queue", task("more", "PENDING", 1)));
}

TEST_F(BackupTest, OpensWithWhatWasGivenUpStillInTheTrash) {
  create(queue_definition());
  fill(1000);
  ASSERT_TRUE(back_up("Queue"));
  files.fail_write(1);
  for (int i = 0; i < 200 && !list().empty(); ++i) store->run_due();
  ASSERT_EQ(files.list("data/backups")->size(), 1u) << "the next step would delete it";
  close();
  files.restart_process();
  const auto opened = try_open();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(files.list("data/backups")->empty());
}

TEST_F(BackupTest, TheFirstOfAStoreSurvivesALossOfPower) {
  create(queue_definition());
  fill(100);
  complete(*back_up("Queue"));
  close();
  files.restart();
  open();
  EXPECT_EQ(list().size(), 1u);
}

// A daemon dies when the file has its name and nobody knows yet if that is durable. The next one says that the backup
// is there, so it stays.
TEST_F(BackupTest, OneThatAStartFindsSurvivesALossOfPower) {
  for (int n = 1; n <= 12; ++n) {
    SCOPED_TRACE(n);
    close();
    options.directory = "data-" + std::to_string(n);
    open();
    create(queue_definition());
    fill(100);
    files.on_call([this](const std::string& call) {
      if (call == "sync directory " + options.directory + "/backups") files.crash_at(files.calls() + 1);
    });
    const auto made = back_up("Queue");
    for (int i = 0; i < 100 && !files.crashed(); ++i) step();
    ASSERT_TRUE(files.crashed());
    files.on_call(nullptr);
    close();
    files.restart_process();
    open();
    ASSERT_EQ(list().size(), 1u);
    close();
    files.restart();
    open();
    ASSERT_EQ(list().size(), 1u);
  }
}

// Until the restored table is safe, its backup is all that there is of it.
TEST_F(BackupTest, CannotBeRemovedBeforeWhatWasRestoredIsSafe) {
  create(queue_definition());
  fill(1000);
  const Contents then = contents("Queue");
  const BackupDescription backup = complete(*back_up("Queue"));
  ASSERT_TRUE(now(store->delete_table("Queue")));
  ASSERT_TRUE(restore(backup, "Queue"));
  store->commit();
  while (is_restoring("Queue")) store->run_due();
  EXPECT_EQ(text(now(store->backups()->remove(backup.id))),
            "BackupInUseException: A table is being restored from the backup: " + backup.id);
  close();
  files.restart();  // Power is lost.
  open();
  turn();
  EXPECT_EQ(contents("Queue"), then);
  EXPECT_TRUE(now(store->backups()->remove(backup.id)));
}

TEST_F(BackupTest, ATurnRestoresAFewItemsHoweverSmallTheyAre) {
  options.backfill_step = 100;
  reopen();
  create(queue_definition());
  fill(1000);
  const BackupDescription backup = complete(*back_up("Queue"));
  ASSERT_TRUE(restore(backup, "Copy"));
  while (is_restoring("Copy")) {
    const uint64_t before = store->stats().items;
    step();
    EXPECT_LE(store->stats().items, before + 50) << "of each item the index is told, too";
  }
  EXPECT_EQ(store->stats().items, 2000u);
}

// Syncs that last as long as the test wants.
class HeldSync final : public BackgroundSync {
 public:
  void begin(File& file) override {
    file_ = &file;
    ++begun;
  }
  bool over() const override { return !held; }
  Result<void> end() override { return std::exchange(file_, nullptr)->sync(); }
  bool held = true;
  int begun = 0;

 private:
  File* file_ = nullptr;
};

TEST_F(BackupTest, DoesNotRunFarAheadOfItsSyncs) {
  constexpr int kItems = 200;
  constexpr size_t kBody = 100'000;
  HeldSync beside;
  options.backup_sync = &beside;
  reopen();
  create(queue_definition());
  const auto write = [&](int i, char body) {
    Item item = task("t" + std::to_string(i), "PENDING", i);
    item.set("body", Value(std::string(kBody, body)));
    ASSERT_TRUE(put("Queue", std::move(item)));
  };
  for (int i = 0; i < kItems; ++i) write(i, 'a');
  turn();
  const Contents then = contents("Queue");
  const auto made = back_up("Queue");
  ASSERT_TRUE(made);
  const std::string part = "data/backups/" + made->id + ".part";
  for (int i = 0; i < 1000; ++i) step();
  EXPECT_EQ(beside.begun, 1);
  const size_t ahead = files.content(part).size();
  EXPECT_GT(ahead, 4u << 20);
  EXPECT_LT(ahead, 9u << 20);
  EXPECT_GT(store->next_due(), clock.boot()) << "the end of a sync brings a turn";
  // Items that writes replace meanwhile go to the file at once: memory does not hold all of them.
  for (int i = 0; i < kItems; ++i) {
    write(i, 'b');
    step();
  }
  EXPECT_GT(files.content(part).size(), kItems * kBody);
  beside.held = false;
  const BackupDescription backup = complete(*made);
  ASSERT_TRUE(restore(backup, "Copy"));
  turn();
  EXPECT_EQ(contents("Copy"), then);
  close();
}

TEST_F(BackupTest, WhatFailsDuringASyncIsGivenUpAfterIt) {
  HeldSync beside;
  options.backup_sync = &beside;
  reopen();
  create(queue_definition());
  for (int i = 0; i < 100; ++i) {
    Item item = task("t" + std::to_string(i), "PENDING", i);
    item.set("body", Value(std::string(100'000, 'x')));
    ASSERT_TRUE(put("Queue", std::move(item)));
  }
  turn();
  ASSERT_TRUE(back_up("Queue"));
  while (beside.begun == 0) step();
  files.fail_write(1);
  for (int i = 0; i < 10; ++i) store->run_due();
  EXPECT_EQ(list().size(), 1u) << "the sync thread still has the file";
  EXPECT_TRUE(put("Queue", task("t0", "DONE", 1)));
  beside.held = false;
  turn();
  EXPECT_TRUE(list().empty());
  EXPECT_TRUE(files.list("data/backups")->empty());
  close();
}

TEST_F(BackupTest, DamagedFilesAreNamedAndLeftAlone) {
  create(queue_definition());
  fill(1000);
  const BackupDescription backup = complete(*back_up("Queue"));
  const std::string path = "data/backups/" + backup.id + ".backup";
  std::string bytes = files.content(path);
  bytes[bytes.size() - 100] ^= 1;
  files.set_content(path, bytes);
  ASSERT_TRUE(restore(backup, "Copy"));
  turn();
  EXPECT_FALSE(now(store->describe_table("Copy")));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("Copy: the table could not be restored and is dropped: the backup " + path +
                                      " is damaged at offset "))
      << warnings[0];
  bytes[20] ^= 1;
  files.set_content(path, bytes);
  reopen();
  EXPECT_TRUE(list().empty());
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[1], ": the backup " + path + " is damaged at offset 16: the checksum is wrong; it is left alone");
  bytes[8] = 2;
  files.set_content(path, bytes);
  reopen();
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(warnings[2],
            ": the backup " + path + " has format version 2; this program reads version 1; it is left alone");
  EXPECT_TRUE(files.exists(path));
  EXPECT_EQ(contents("Queue").size(), 1000u);
}

TEST_F(BackupTest, SyncsBesideTheLoop) {
  SimSync beside(files, scheduler);
  options.backup_sync = &beside;
  reopen();
  create(queue_definition());
  fill(100);
  const Contents then = contents("Queue");
  auto made = back_up("Queue");
  ASSERT_TRUE(made);
  for (int i = 0; i < 100 && !now(store->backups()->describe(made->id))->available; ++i)
    scheduler.run_for(milliseconds(1));
  EXPECT_EQ(beside.begun(), 1u);
  close();
  files.restart();  // Power is lost.
  open();
  ASSERT_EQ(list().size(), 1u);
  ASSERT_TRUE(restore(list()[0], "Copy"));
  turn();
  EXPECT_EQ(contents("Copy"), then);
  close();
}

TEST_F(BackupTest, WhatIsRestoredGoesThroughCompaction) {
  options.directory = "small";
  options.segment_bytes = 4096;
  options.stream_max_bytes = 8192;
  reopen();
  create(queue_definition());
  fill(100);
  const Contents then = contents("Queue");
  const BackupDescription backup = complete(*back_up("Queue"));
  ASSERT_TRUE(restore(backup, "Copy"));
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(put("Queue", task("t" + std::to_string(i % 100), "DONE", i)));
    if (i % 10 == 0) turn();
  }
  EXPECT_FALSE(files.exists("small/segment-0000000001.log")) << "nothing was compacted";
  reopen();
  EXPECT_EQ(contents("Copy"), then);
}

using MemoryBackupTest = MemoryStoreTest;
TEST_F(MemoryBackupTest, LivesAsLongAsTheStore) {
  create(queue_definition());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i)));
  auto made = now(store->backups()->create("Queue", "one"));
  ASSERT_TRUE(made) << made.error().message;
  turn();
  TableDefinition definition = queue_definition("Copy");
  ASSERT_TRUE(now(store->backups()->restore(made->id, definition)));
  turn();
  EXPECT_EQ(now(store->describe_table("Copy"))->items, 10u);
}

}  // namespace
}  // namespace freshet
