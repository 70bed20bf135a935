// The audit log: its lines, their bound, and that it goes on where it was.
#include "runtime/api/audit_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"
#include "tests/sim/late_tables.h"

namespace freshet {
namespace {

class AuditLogTest : public ::testing::TestWithParam<bool> {
 protected:
  AuditLogTest() {
    EmbeddedOptions options;
    options.directory = std::string(kMemoryDirectory);
    auto opened = open_embedded(nullptr, scheduler, random, options);
    EXPECT_TRUE(opened) << opened.error().message;
    store = std::move(*opened);
    scheduler.add(*store);
    late = std::make_unique<LateTables>(*store, scheduler, 1);
    tables = GetParam() ? static_cast<Tables*>(late.get()) : store.get();
  }
  ~AuditLogTest() override { scheduler.remove(*store); }

  template <class T>
  T wait(Async<T> work) {
    for (int i = 0; i < 1'000'000 && !work.is_ready(); ++i) {
      scheduler.run_ready();
      if (!work.is_ready()) scheduler.run_for(milliseconds(1));
    }
    EXPECT_TRUE(work.is_ready());
    return work.take();
  }
  static AuditLine line(const std::string& what, const std::string& queue) {
    return {what, {"AKID", "127.0.0.1:4711", "r-1"}, queue, "why", 7, {}};
  }
  std::string text(const Result<std::vector<ItemRef>>& lines) {
    std::string out;
    for (const auto& one : *lines) {
      const Item item = one.decode();
      out += (out.empty() ? "" : " ") + std::string(item.string_or("what"));
    }
    return out;
  }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop scheduler{clock};
  Random random{1};
  std::unique_ptr<EmbeddedTables> store;
  std::unique_ptr<LateTables> late;
  Tables* tables = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Stores, AuditLogTest, ::testing::Values(false, true),
                         [](const auto& store) { return store.param ? "late" : "embedded"; });

TEST_P(AuditLogTest, ALongTextIsCutBetweenCharacters) {
  AuditLog log(*tables, clock);
  AuditLine one = line("purge", "jobs");
  one.detail = "a";
  for (int i = 0; i < 4'000; ++i) one.detail += "é";
  ASSERT_TRUE(wait(log.add(std::move(one))));
  const auto lines = wait(log.newest(1, {}));
  ASSERT_EQ(lines->size(), 1u);
  const std::string detail(lines->at(0).decode().string_or("detail"));
  EXPECT_EQ(detail.size(), 4'095u);
  EXPECT_TRUE(detail.ends_with("é"));
}

TEST_P(AuditLogTest, ALineSaysWhoChangedWhatWhenAndFromWhere) {
  AuditLog log(*tables, clock);
  ASSERT_TRUE(wait(log.add(line("pause", "jobs"))));
  const auto lines = wait(log.newest(10, {}));
  ASSERT_TRUE(lines && lines->size() == 1);
  const Item item = lines->at(0).decode();
  EXPECT_EQ(item.string_or("who"), "AKID");
  EXPECT_EQ(item.string_or("from"), "127.0.0.1:4711");
  EXPECT_EQ(item.string_or("request"), "r-1");
  EXPECT_EQ(item.string_or("queue"), "jobs");
  EXPECT_EQ(item.string_or("detail"), "why");
  EXPECT_EQ(item.int_or("count", 0), 7);
  EXPECT_GE(item.int_or("at", 0), 1'800'000'000'000);
}

TEST_P(AuditLogTest, AnotherLifeGoesOnWhereTheLogWas) {
  {
    AuditLog log(*tables, clock);
    ASSERT_TRUE(wait(log.add(line("first", "a"))));
    ASSERT_TRUE(wait(log.add(line("second", "b"))));
  }
  AuditLog log(*tables, clock);
  EXPECT_EQ(text(wait(log.newest(10, {}))), "second first");
  ASSERT_TRUE(wait(log.add(line("third", "a"))));
  EXPECT_EQ(text(wait(log.newest(10, {}))), "third second first");
  EXPECT_EQ(text(wait(log.newest(10, "a"))), "third first");
  EXPECT_EQ(text(wait(log.newest(1, "a"))), "third");
  EXPECT_EQ(text(wait(log.newest(10, "nobody"))), "");
}

// Two open() that overlap must not give a number twice.
TEST_P(AuditLogTest, LinesThatAreAddedAtOnceAreAllThere) {
  AuditLog log(*tables, clock);
  std::vector<Async<Result<uint64_t>>> adding;
  for (int i = 0; i < 20; ++i) adding.push_back(log.add(line("n" + std::to_string(i), "a")));
  std::set<uint64_t> numbers;
  for (auto& one : adding) {
    auto number = wait(std::move(one));
    ASSERT_TRUE(number);
    numbers.insert(*number);
  }
  EXPECT_EQ(numbers.size(), 20u);
  EXPECT_EQ(wait(log.newest(100, {}))->size(), 20u);
}

TEST_P(AuditLogTest, TheOldestLinesMakeRoom) {
  AuditLog log(*tables, clock);
  for (uint64_t i = 0; i < AuditLog::kLines + 25; ++i) ASSERT_TRUE(wait(log.add(line(std::to_string(i), "a"))));
  const auto lines = wait(log.newest(100'000, {}));
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->size(), AuditLog::kLines);
  EXPECT_EQ(lines->back().decode().string_or("what"), "25");
}

// The number of a line whose transaction fails is used up all the same, and the line that it would have removed is
// removed by a later one.
TEST_P(AuditLogTest, FailedTransactionsLeaveNoOldLines) {
  const auto fail_some = [this](AuditLog& log, int times) {
    for (int i = 0; i < times; ++i) {
      TransactWriteInput transaction;
      transaction.actions = log.writes(line("failed", "a")).actions;
      std::get<PutItemInput>(transaction.actions[0]).condition = "attribute_exists(nothing)";
      ASSERT_FALSE(wait(tables->transact_write(std::move(transaction))));
    }
  };
  {
    AuditLog log(*tables, clock);
    for (uint64_t i = 0; i < AuditLog::kLines; ++i) ASSERT_TRUE(wait(log.add(line("old", "a"))));
    fail_some(log, 40);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(wait(log.add(line("new", "a"))));
    EXPECT_EQ(wait(log.newest(100'000, {}))->size(), AuditLog::kLines - 40);
    fail_some(log, 40);
  }
  AuditLog log(*tables, clock);  // A log after a restart.
  for (int i = 0; i < 90; ++i) ASSERT_TRUE(wait(log.add(line("new", "a"))));
  const auto lines = wait(log.newest(100'000, {}));
  EXPECT_LE(lines->size(), AuditLog::kLines);
  const int64_t newest = lines->front().decode().int_or("number", 0);
  EXPECT_GT(lines->back().decode().int_or("number", 0), newest - static_cast<int64_t>(AuditLog::kLines));
}

TEST_P(AuditLogTest, LongTextsAreCut) {
  AuditLog log(*tables, clock);
  auto longest = line("deploy", "a");
  longest.detail = std::string(1'000'000, 'x');
  ASSERT_TRUE(wait(log.add(std::move(longest))));
  EXPECT_EQ(wait(log.newest(1, {}))->at(0).decode().string_or("detail").size(), 4'096u);
}

}  // namespace
}  // namespace freshet
