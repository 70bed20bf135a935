// Compares the memory that the store reports with the allocator's count, and tests what its bound refuses.
#include <gmock/gmock.h>

#include "base/allocation.h"
#include "tests/tables/engine/store_fixture.h"

extern "C" __attribute__((weak)) int mallctl(const char* name, void* old, size_t* old_bytes, void* now, size_t bytes);

namespace freshet {
namespace {

using ::testing::HasSubstr;

class MemoryTest : public StoreFixture {
 protected:
  MemoryTest() : StoreFixture(":memory:") {}
  void SetUp() override {
    options.stream_memory_bytes = 1u << 20;
    open();
  }

  uint64_t counted() const { return store->stats().memory_bytes; }
  static uint64_t allocated() {
    mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
    uint64_t epoch = 1;
    mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);
    uint64_t bytes = 0;
    size_t size = sizeof bytes;
    mallctl("stats.allocated", &bytes, &size, nullptr, 0);
    return bytes;
  }
  // Two measurements around what is counted; both grow by about the same.
  template <class Work>
  void expect_counted(const std::string& what, Work&& work, double least = 0.75) {
    SCOPED_TRACE(what);
    const uint64_t before = counted();
    const uint64_t had = mallctl ? allocated() : 0;
    work();
    const double grown = static_cast<double>(counted() - before);
    EXPECT_GT(grown, 0);
    if (!mallctl) return;  // Another allocator does not say.
    const double taken = static_cast<double>(allocated() - had);
    EXPECT_LT(taken, 1.15 * grown);
    EXPECT_GT(taken, least * grown);
  }
  Item small(int i) { return {{"id", Value(std::to_string(i * 7919))}}; }
  TableDefinition plain(const std::string& name) {
    TableDefinition d;
    d.name = name;
    d.keys.partition = {"id", Type::kString};
    return d;
  }
  IndexDefinition by_a(const std::string& name) {
    IndexDefinition index;
    index.name = name;
    index.keys.partition = {"a", Type::kString};
    return index;
  }
  void work_off() {
    for (int i = 0; i < 1000; ++i) store->run_due();
  }
};

TEST_F(MemoryTest, CountsManyEmptyTables) {
  expect_counted("plain", [&] {
    for (int i = 0; i < 3000; ++i) create(plain("Tab" + std::to_string(i)));
  });
  expect_counted("with an index, a stream, a TTL and books", [&] {
    for (int i = 0; i < 3000; ++i)
      create(queue_definition("a-name-that-needs-a-block-of-its-own-" + std::to_string(i)));
  });
  expect_counted("with long names and tags", [&] {
    for (int i = 0; i < 300; ++i) {
      TableDefinition d = plain(std::string(240, 'n') + std::to_string(i));
      for (int tag = 0; tag < 50; ++tag) d.settings.tags[std::to_string(tag)] = std::string(250, 't');
      for (int index = 0; index < 20; ++index) {
        IndexDefinition one;
        one.name = std::string(200, 'i') + std::to_string(index);
        one.keys.partition = {std::string(200, 'a') + std::to_string(index), Type::kString};
        one.projection = Projection::kInclude;
        for (int held = 0; held < 5; ++held)
          one.included.push_back(std::string(200, 'h') + std::to_string(index + held));
        d.indexes.push_back(one);
      }
      create(d);
    }
  });
}

TEST_F(MemoryTest, CountsItemsOfOneTableAndOfMany) {
  create(plain("One"));
  expect_counted("one table", [&] {
    for (int i = 0; i < 60'000; ++i) ASSERT_TRUE(put("One", small(i)));
  });
  for (int t = 0; t < 30; ++t) create(plain("Tab" + std::to_string(t)));
  expect_counted("many", [&] {
    for (int t = 0; t < 30; ++t) {
      for (int i = 0; i < 9000; ++i) ASSERT_TRUE(put("Tab" + std::to_string(t), small(i)));
    }
  });
  TableDefinition pairs = pair_definition("Partition");
  create(pairs);
  expect_counted("one partition", [&] {
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_TRUE(put("Partition", {{"p", Value("p")}, {"s", Value::number(i * 7919 % 20'011)}}));
    }
  });
}

TEST_F(MemoryTest, CountsIndexesAndTimeToLive) {
  TableDefinition d = queue_definition();
  d.stream.reset();
  create(d);
  expect_counted("tasks", [&] {
    for (int i = 0; i < 30'000; ++i) {
      ASSERT_TRUE(
          put("Queue", task(std::to_string(i * 7919), i % 3 ? "PENDING" : "DONE", i * 7919 % 30'011, 4'000'000'000)));
    }
  });
}

TEST_F(MemoryTest, CountsChangesOfItemsAndStreams) {
  create(queue_definition());
  expect_counted(
      "a stream's tail",
      [&] {
        for (int i = 0; i < 1000; ++i) ASSERT_TRUE(put("Queue", task(std::to_string(i), std::string(200, 'x'), i)));
      },
      0.5);  // Images that the table has, too, count for both.
  const uint64_t before = counted();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(put("Queue", task(std::to_string(i), std::string(2000, 'x'), i)));
  EXPECT_GT(counted(), before + 1000 * 1800);
}

TEST_F(MemoryTest, GivesBackWhatItemsTook) {
  create(plain("Tab"));
  const uint64_t empty = counted();
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(put("Tab", small(i)));
  EXPECT_GT(counted(), empty + 20'000 * 60);
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(erase("Tab", {{"id", Value(std::to_string(i * 7919))}}));
  EXPECT_EQ(counted(), empty);
}

TEST_F(MemoryTest, GivesBackWhatATableTookWhenItIsBuried) {
  const uint64_t empty = counted();
  create(plain("Tab"));
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(put("Tab", small(i)));
  const uint64_t full = counted();
  ASSERT_TRUE(now(store->delete_table("Tab")));
  EXPECT_EQ(counted(), full) << "it is not given back yet";
  work_off();
  EXPECT_EQ(counted(), empty);
}

TEST_F(MemoryTest, ANewIndexIsCountedAsItIsFilled) {
  create(plain("Tab"));
  for (int i = 0; i < 5000; ++i)
    ASSERT_TRUE(put("Tab", {{"id", Value(std::to_string(i))}, {"a", Value(std::to_string(i))}}));
  TableDefinition indexed = plain("Tab");
  indexed.indexes.push_back(by_a("by-a"));
  const uint64_t before = counted();
  ASSERT_TRUE(now(store->alter_table(indexed)));
  work_off();
  EXPECT_GT(counted(), before + 5000 * 24);
  ASSERT_TRUE(now(store->alter_table(plain("Tab"))));
  work_off();
  EXPECT_EQ(counted(), before);
}

class FullMemoryTest : public MemoryTest {
 protected:
  void SetUp() override {
    options.max_memory_bytes = 400'000;
    MemoryTest::SetUp();
  }
  int fill(const std::string& table) {
    int stored = 0;
    while (put(table, {{"id", Value(std::to_string(stored))}, {"x", Value(std::string(500, 'x'))}})) ++stored;
    return stored;
  }
};

TEST_F(FullMemoryTest, RefusesTables) {
  int made = 0;
  Result<TableDescription> last;
  while ((last = now(store->create_table(plain("Tab" + std::to_string(made)))))) ++made;
  EXPECT_EQ(last.error().code, ErrorCode::kLimitExceeded);
  EXPECT_THAT(last.error().message, HasSubstr("--max-memory-bytes"));
  EXPECT_GT(made, 50);
  EXPECT_LT(made, 400);
  EXPECT_LE(counted(), options.max_memory_bytes);
  ASSERT_TRUE(now(store->delete_table("Tab0")));
  ASSERT_TRUE(now(store->delete_table("Tab1")));
  work_off();
  EXPECT_TRUE(now(store->create_table(plain("more"))));
}

TEST_F(FullMemoryTest, RefusesAnIndexOfWhatIsThere) {
  create(plain("Tab"));
  for (int i = 0; i < 3000; ++i) {
    if (!put("Tab", {{"id", Value(std::to_string(i))}, {"a", Value(std::to_string(i))}})) break;
  }
  TableDefinition indexed = plain("Tab");
  for (const char* name : {"one", "two", "three"}) indexed.indexes.push_back(by_a(name));
  auto refused = now(store->alter_table(indexed));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimitExceeded);
  TableDefinition tagged = plain("Tab");
  tagged.settings.tags["a"] = "b";
  EXPECT_TRUE(now(store->alter_table(tagged)));
}

// Growth in small steps is what ends work that is there; but without an end it went past any bound.
TEST_F(FullMemoryTest, BoundsGrowthInSmallStepsToo) {
  create(plain("Tab"));
  const int stored = fill("Tab");
  ASSERT_GT(stored, 300);
  EXPECT_LE(counted(), options.max_memory_bytes);
  int grown = 0;
  for (int round = 1; round < 40; ++round) {
    for (int i = 0; i < stored; ++i) {
      const std::string text(500 + 200 * static_cast<size_t>(round), 'x');
      grown += put("Tab", {{"id", Value(std::to_string(i))}, {"x", Value(text)}}) ? 1 : 0;
    }
  }
  EXPECT_GT(grown, stored / 3) << "work that is there can be ended";
  EXPECT_LE(counted(), options.max_memory_bytes / 4 * 5);
  EXPECT_TRUE(erase("Tab", {{"id", Value("0")}}));
}

TEST_F(FullMemoryTest, CountsWhatOthersHold) {
  uint64_t beside = 0;
  options.memory_beside = [&] { return beside; };
  open();
  create(plain("Tab"));
  const uint64_t before = counted();
  beside = 1000;
  EXPECT_EQ(counted(), before + 1000);
  beside = options.max_memory_bytes;
  EXPECT_EQ(put("Tab", small(1)).error().code, ErrorCode::kThroughputExceeded);
  beside = 0;
  EXPECT_TRUE(put("Tab", small(1)));
}

class DefinitionMemoryTest : public FullMemoryTest {
 protected:
  void SetUp() override {
    options.kept_beside = [](std::string_view kind, const ItemRef&) { return kind == "topic" ? 3000u : 0u; };
    FullMemoryTest::SetUp();
    TableDefinition d;
    d.name = "freshet.system";
    d.keys.partition = {"kind", Type::kString};
    d.keys.sort = KeyAttribute{"id", Type::kString};
    d.system = true;
    create(d);
  }
  Result<WriteOutput> define(const std::string& kind, int id) {
    return put("freshet.system",
               {{"kind", Value(kind)}, {"id", Value(std::to_string(id))}, {"x", Value(std::string(400, 'x'))}});
  }
};

TEST_F(DefinitionMemoryTest, DefinitionsCountForWhatIsKeptOfThemAndAreBounded) {
  const uint64_t empty = counted();
  ASSERT_TRUE(define("topic", 0));
  EXPECT_GT(counted(), empty + 3000);
  int made = 1;
  Result<WriteOutput> last;
  while ((last = define("topic", made))) ++made;
  EXPECT_EQ(last.error().code, ErrorCode::kThroughputExceeded);
  EXPECT_LT(made, 400);
  EXPECT_LE(counted(), options.max_memory_bytes / 4 * 5);
  EXPECT_TRUE(define("event", 1)) << "what is to be worked off goes on";
  for (int i = 0; i < made; ++i) {
    ASSERT_TRUE(erase("freshet.system", {{"kind", Value("topic")}, {"id", Value(std::to_string(i))}}));
  }
  ASSERT_TRUE(erase("freshet.system", {{"kind", Value("event")}, {"id", Value("1")}}));
  EXPECT_EQ(counted(), empty);
}

TEST_F(DefinitionMemoryTest, ATableThatIsDroppedTakesThemAlong) {
  const auto described = now(store->describe_table("freshet.system"));
  ASSERT_TRUE(described);
  ASSERT_TRUE(now(store->delete_table("freshet.system")));
  scheduler.run_for(seconds(1));
  const uint64_t empty = counted();
  create(described->definition);
  for (int id = 0; id < 10; ++id) ASSERT_TRUE(define("topic", id));
  ASSERT_TRUE(define("event", 1));
  EXPECT_GT(counted(), empty + 10 * 3000);
  ASSERT_TRUE(now(store->delete_table("freshet.system")));
  scheduler.run_for(seconds(1));
  EXPECT_EQ(counted(), empty);
}

// On disk: what recovery finds is counted as it was.
class MemoryAfterRecoveryTest : public StoreFixture {};

TEST_F(MemoryAfterRecoveryTest, IsCountedAgain) {
  options.kept_beside = [](std::string_view kind, const ItemRef&) { return kind == "topic" ? 3000u : 0u; };
  options.stream_memory_bytes = 0;
  open();
  create(queue_definition());
  TableDefinition d = pair_definition("freshet.system", Type::kString);
  d.system = true;
  create(d);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(put("Queue", task(std::to_string(i), "PENDING", i, 4'000'000'000)));
    if (i % 100 == 0) {
      ASSERT_TRUE(put("freshet.system", {{"p", Value("topic")}, {"s", Value(std::to_string(i))}}));
    }
    store->commit();
  }
  const auto before = static_cast<double>(store->stats().memory_bytes);
  reopen();
  const auto after = static_cast<double>(store->stats().memory_bytes);
  EXPECT_NEAR(after / before, 1.0, 0.1);
}

}  // namespace
}  // namespace freshet
