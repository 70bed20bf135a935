// A store on simulated files, clock and loop, and short ways to say what a test does to it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"
#include "tests/sim/sim_files.h"

namespace freshet {

inline TableDefinition queue_definition(const std::string& name = "Queue") {
  TableDefinition d;
  d.name = name;
  d.keys.partition = {"id", Type::kString};
  IndexDefinition index;
  index.name = "status-created";
  index.keys.partition = {"status", Type::kString};
  index.keys.sort = KeyAttribute{"created", Type::kNumber};
  d.indexes.push_back(index);
  d.stream = StreamView::kNewAndOldImages;
  d.ttl_attribute = "ttl";
  d.books = BooksDefinition{"status", "TAKEN"};
  return d;
}

inline TableDefinition pair_definition(const std::string& name = "Pairs", Type sort = Type::kNumber) {
  TableDefinition d;
  d.name = name;
  d.keys.partition = {"p", Type::kString};
  d.keys.sort = KeyAttribute{"s", sort};
  return d;
}

inline Item task(const std::string& id, const std::string& status, int64_t created, int64_t ttl = 0) {
  Item item{{"id", Value(id)}, {"status", Value(status)}, {"created", Value::number(created)}};
  if (ttl != 0) item.set("ttl", Value::number(ttl));
  return item;
}

class StoreFixture : public ::testing::Test {
 protected:
  explicit StoreFixture(std::string directory = "data") { options.directory = std::move(directory); }
  ~StoreFixture() override { close(); }

  void open() {
    auto result = try_open();
    ASSERT_TRUE(result) << result.error().message;
  }
  Result<void> try_open() {
    close();
    auto result = open_embedded(&files, scheduler, random, options);
    if (!result) return fail(result.error());
    store = std::move(*result);
    scheduler.add(*store);
    return {};
  }
  void close() {
    if (store) scheduler.remove(*store);
    store.reset();
  }
  // Restarts the process; everything written is kept.
  void reopen() {
    close();
    files.restart_process();
    open();
  }

  template <class T>
  T now(Async<T> result) {
    FRESHET_CHECK(result.is_ready(), "the embedded store answers at once");
    return result.take();
  }
  void create(TableDefinition d) {
    auto result = now(store->create_table(std::move(d)));
    ASSERT_TRUE(result) << result.error().message;
  }
  Result<WriteOutput> put(const std::string& table, Item item, const std::string& condition = {},
                          Placeholders placeholders = {}) {
    PutItemInput input;
    input.table = table;
    input.item = std::move(item);
    input.condition = condition;
    input.placeholders = std::move(placeholders);
    return now(store->put_item(std::move(input)));
  }
  Result<WriteOutput> update(const std::string& table, Item key, const std::string& text, Map values,
                             const std::string& condition = {}, ReturnValues returns = ReturnValues::kNone,
                             Cause cause = Cause::kClient) {
    UpdateItemInput input;
    input.table = table;
    input.key = std::move(key);
    input.update = text;
    input.condition = condition;
    input.placeholders.values = std::move(values);
    input.return_values = returns;
    input.cause = cause;
    if (text.find("#st") != std::string::npos) input.placeholders.names.emplace_back("#st", "status");
    return now(store->update_item(std::move(input)));
  }
  Result<WriteOutput> erase(const std::string& table, Item key, const std::string& condition = {}) {
    DeleteItemInput input;
    input.table = table;
    input.key = std::move(key);
    input.condition = condition;
    return now(store->delete_item(std::move(input)));
  }
  Item get(const std::string& table, Item key) {
    auto result = now(store->get_item({table, std::move(key), {}, {}, true}));
    return result && *result ? result->decode() : Item{};
  }
  // Newest or oldest of a status by the index of queue_definition().
  QueryInput by_status(const std::string& status, bool forward, uint32_t limit = 0) {
    QueryInput input;
    input.table = "Queue";
    input.index = "status-created";
    input.key_condition = "#st = :st";
    input.placeholders.names = {{"#st", "status"}};
    input.placeholders.values = Map{{":st", Value(status)}};
    input.forward = forward;
    input.limit = limit;
    return input;
  }
  std::vector<std::string> ids(const Page& page, const std::string& attribute = "id") {
    std::vector<std::string> out;
    for (const auto& item : page.items) out.emplace_back(item.decode().string_or(attribute));
    return out;
  }
  std::vector<std::string> ids_by_status(const std::string& status, bool forward, uint32_t limit = 0) {
    auto page = now(store->query(by_status(status, forward, limit)));
    EXPECT_TRUE(page) << page.error().message;
    return page ? ids(*page) : std::vector<std::string>{};
  }
  Books books(const std::string& table = "Queue") {
    auto result = now(store->books(table));
    EXPECT_TRUE(result);
    auto balanced = check_balance(*result);
    EXPECT_TRUE(balanced) << balanced.error().message;
    return *result;
  }
  std::vector<ChangeRecord> stream(const std::string& table, uint64_t from = 1, uint32_t limit = 1000) {
    ReadStreamInput input;
    input.table = table;
    input.from = from;
    input.limit = limit;
    auto page = now(store->read_stream(input));
    EXPECT_TRUE(page) << page.error().message;
    return page ? std::move(page->records) : std::vector<ChangeRecord>{};
  }
  // One turn of the loop: what was applied is durable afterwards.
  void turn() { scheduler.run_ready(); }

  SimFiles files{1};
  SimClock clock{WallTime(milliseconds(1'700'000'000'000))};
  SimLoop scheduler{clock};
  Random random{1};
  EmbeddedOptions options;
  std::unique_ptr<EmbeddedTables> store;
};

inline constexpr int64_t kNow = 1'700'000'000;  // Epoch seconds of the fixture's clock at the start.

class MemoryStoreTest : public StoreFixture {
 protected:
  MemoryStoreTest() : StoreFixture(":memory:") {}
  void SetUp() override { open(); }
};
class DiskStoreTest : public StoreFixture {
 protected:
  void SetUp() override { open(); }
};

// Error text of a failed result, with the code's standard name in front.
template <class T>
std::string text(const Result<T>& result) {
  return result ? "ok" : std::string(error_name(result.error().code)) + ": " + result.error().message;
}

}  // namespace freshet
