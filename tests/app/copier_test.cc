// Copies of tables between the embedded store and one across a network, which loses, delays and repeats requests.
#include "app/engines/copier.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"
#include "tests/wire/store/fixed_key.h"
#include "tests/wire/store/looped_back.h"
#include "wire/dynamodb/route.h"
#include "wire/store/remote_tables.h"

namespace freshet::engines {
namespace {

class CopierTest : public testing::TestWithParam<bool> {
 protected:
  CopierTest() {
    remote::CallerOptions options;
    options.endpoints = {"http://store:8000"};
    AccessKey key;
    key.id = key.secret = "test";
    keys_ = remote::fixed_key(std::move(key));
    caller_ = std::make_unique<remote::Caller>(std::move(options), http, *keys_, loop, random_);
    remote_ = std::make_unique<remote::RemoteTables>(*caller_, random_);
  }
  ~CopierTest() override {
    for (auto* store : {here.get(), there.get()}) loop.remove(*store);
  }

  template <class T>
  T wait(Async<T> work) {
    loop.run_until([&] { return work.is_ready(); }, seconds(3'600));
    EXPECT_TRUE(work.is_ready()) << "no answer";
    return work.take();
  }

  static TableDefinition things() {
    TableDefinition d;
    d.name = "Things";
    d.keys.partition = {"id", Type::kString};
    d.keys.sort = KeyAttribute{"n", Type::kNumber};
    IndexDefinition index;
    index.name = "by-state";
    index.keys.partition = {"taskStatus", Type::kString};
    index.keys.sort = KeyAttribute{"n", Type::kNumber};
    d.indexes.push_back(index);
    d.stream = StreamView::kNewAndOldImages;
    d.ttl_attribute = "ttl";
    d.books = BooksDefinition{};
    return d;
  }

  // Items of all types; every seventh has a ttl.
  static Item thing(int64_t n) {
    Item item{{"id", Value("a" + std::to_string(n % 3))}, {"n", Value::number(n)}};
    item.set("taskStatus", Value(n % 5 == 0 ? "DEAD" : "PENDING"));
    item.set("big", Value(*Decimal::parse("1234567890123456789012345678901234567E-20")));
    item.set("bytes", Value(Binary{std::string("\0\xff", 2)}));
    item.set("list", Value(List{{Value::boolean(true), Value(Null{}), Value("x\n\"")}}));
    item.set("map", Value(Map{{"inner", Value(NumberSet{{Decimal(1), Decimal(20)}})}}));
    item.set("set", Value(StringSet{{"a", "b"}}));
    if (n % 7 == 0) item.set("ttl", Value::number(1'700'000'000));
    return item;
  }

  void fill(Tables& tables, int64_t count) {
    ASSERT_TRUE(wait(tables.create_table(things())));
    for (int64_t n = 0; n < count; ++n) put(tables, thing(n));
  }
  void put(Tables& tables, Item item) {
    PutItemInput input;
    input.table = "Things";
    input.item = std::move(item);
    ASSERT_TRUE(wait(tables.put_item(std::move(input))));
  }

  Result<std::vector<CopiedTable>> copy(Tables& from, Tables& to, CopyOptions options = {}) {
    return wait(copy_tables(from, to, std::move(options)));
  }
  uint64_t count(Tables& tables) {
    ScanInput scan;
    scan.table = "Things";
    const auto page = wait(tables.scan(std::move(scan)));
    return page ? page->count : 0;
  }

  Tables& far() { return *remote_; }

 private:
  std::unique_ptr<EmbeddedTables> open() {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    auto opened = open_embedded(nullptr, loop, random_, options);
    EXPECT_TRUE(opened);
    loop.add(**opened);
    return std::move(*opened);
  }

 protected:
  SimClock clock{WallTime(milliseconds(1'600'000'000'000))};
  SimLoop loop{clock};

 private:
  Random random_{1};

 protected:
  std::unique_ptr<EmbeddedTables> here = open();
  std::unique_ptr<EmbeddedTables> there = open();  // Behind the network.

 private:
  std::unique_ptr<Route> route_ = make_dynamodb_route(*there, clock);

 protected:
  LoopedBack http{*route_, loop, 7, GetParam() ? WireFaults::some() : WireFaults{}};

 private:
  std::unique_ptr<remote::AccessKeySource> keys_;
  std::unique_ptr<remote::Caller> caller_;
  std::unique_ptr<remote::RemoteTables> remote_;
};

INSTANTIATE_TEST_SUITE_P(Networks, CopierTest, testing::Values(false, true),
                         [](const auto& lossy) { return lossy.param ? "Lossy" : "Faithful"; });

TEST_P(CopierTest, CopiesDefinitionsAndEveryItem) {
  fill(*here, 2'500);
  const auto copied = copy(*here, far());
  ASSERT_TRUE(copied) << copied.error().message;
  ASSERT_EQ(copied->size(), 1u);
  const CopiedTable& table = copied->front();
  EXPECT_EQ(table.items, 2'500u);
  EXPECT_EQ(table.copied, 2'500u);
  EXPECT_EQ(table.states.at("DEAD"), 500u);
  EXPECT_TRUE(table.created);
  const auto described = wait(there->describe_table("Things"));
  ASSERT_TRUE(described);
  auto expected = things();
  expected.books.reset();  // The protocol has no words for them.
  EXPECT_EQ(described->definition.indexes, expected.indexes);
  EXPECT_EQ(described->definition.stream, expected.stream);
  EXPECT_EQ(described->definition.ttl_attribute, expected.ttl_attribute);
  // The stream was switched on behind the items.
  EXPECT_EQ(wait(there->stream_bounds("Things"))->next, 1u);
}

TEST_P(CopierTest, GoesOnWhereItStopped) {
  fill(*here, 2'500);
  int pages = 0;
  CopyOptions options;
  options.is_stopped = [&] { return ++pages == 1; };
  const auto stopped = copy(*here, far(), std::move(options));
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  const auto done = count(*there);
  EXPECT_GT(done, 0u);
  EXPECT_LT(done, 2'500u);
  const auto copied = copy(*here, far());
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->front().there, done);
  EXPECT_EQ(copied->front().copied, 2'500u - done);
}

TEST_P(CopierTest, AnotherContentIsLeftAloneAndNamed) {
  fill(*here, 10);
  ASSERT_TRUE(copy(*here, far()));
  Item other = thing(3);
  other.set("taskStatus", Value("SUCCESS"));
  put(*there, std::move(other));
  const auto refused = copy(*here, far());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(refused.error().message, "table 'Things': the item id = \"a0\", n = 3 is there with another content");
}

TEST_P(CopierTest, ItemsThatOnlyTheTargetHasAreADifference) {
  fill(*here, 10);
  ASSERT_TRUE(copy(*here, far()));
  put(*there, thing(99));
  const auto refused = copy(*here, far());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "table 'Things': the target has 11 items and the source 10");
}

TEST_P(CopierTest, ATableWithOtherKeysOrIndexesIsAConflict) {
  fill(*here, 3);
  auto other = things();
  other.indexes.clear();
  ASSERT_TRUE(wait(there->create_table(other)));
  EXPECT_EQ(
      copy(*here, far()).error().message,
      "table 'Things': it is there without the index 'by-state': add that, or delete the table, so that the copy makes "
      "it");
  ASSERT_TRUE(wait(there->delete_table("Things")));
  other.keys.sort.reset();
  ASSERT_TRUE(wait(there->create_table(other)));
  EXPECT_EQ(copy(*here, far()).error().message, "table 'Things': it is there with other keys");
}

TEST_P(CopierTest, CountingChangesNothing) {
  fill(*here, 20);
  CopyOptions options;
  options.only_count = true;
  const auto counted = copy(*here, far(), std::move(options));
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->front().items, 20u);
  EXPECT_EQ(counted->front().states.at("PENDING"), 16u);
  EXPECT_FALSE(wait(there->describe_table("Things")));
}

TEST_P(CopierTest, ComesBackAsItWas) {
  fill(*there, 1'200);
  const auto copied = copy(far(), *here);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->front().copied, 1'200u);
  EXPECT_EQ(count(*here), 1'200u);
}

TEST_P(CopierTest, ItemsThatAreTooManyToBeRememberedAreLookedUp) {
  fill(*here, 2'500);
  CopyOptions stopping;
  int pages = 0;
  stopping.is_stopped = [&] { return ++pages == 2; };
  ASSERT_FALSE(copy(*here, far(), std::move(stopping)));
  const auto done = count(*there);
  CopyOptions options;
  options.most_known = 700;
  const auto copied = copy(*here, far(), std::move(options));
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->front().there, done);
  EXPECT_EQ(copied->front().copied, 2'500u - done);
}

TEST_P(CopierTest, WaitsForCapacityAlsoWhereItLooksForWhatIsThere) {
  fill(*here, 2'500);
  ASSERT_TRUE(copy(*here, far()));
  int refused = 0;
  http.refuses = [&](const std::string& operation) -> std::optional<HttpResponse> {
    if (operation != "BatchGetItem" || ++refused > 100) return std::nullopt;
    return LoopedBack::error(400, "ProvisionedThroughputExceededException");
  };
  CopyOptions options;
  options.scheduler = &loop;
  options.most_known = 0;
  std::set<std::string> doings;
  options.on_progress = [&](const std::string&, const std::string& doing, uint64_t) { doings.insert(doing); };
  http.sent.clear();
  const auto copied = copy(*here, far(), std::move(options));
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->front().there, 2'500u);
  EXPECT_EQ(copied->front().copied, 0u);
  EXPECT_EQ(http.sent["PutItem"], 0);
  EXPECT_EQ(doings, (std::set<std::string>{"copied", "compared", "seen; waiting until the store has capacity"}));
}

TEST_P(CopierTest, ATtlInMillisecondsIsRefusedBeforeAnythingIsCopied) {
  fill(*here, 3);
  auto other = things();
  other.name = "Zebras";
  other.ttl_in_milliseconds = true;
  ASSERT_TRUE(wait(here->create_table(other)));
  const auto refused = copy(*here, far());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(refused.error().message,
            "table 'Zebras': its ttl is in milliseconds, which an engine does not know: its items would never expire "
            "there. Deploy it without TtlInMilliseconds before the copy, and with it once it is back");
  EXPECT_FALSE(wait(there->describe_table("Things"))) << "nothing was begun";
}

TEST_P(CopierTest, ATtlInMillisecondsGoesToAnotherFolder) {
  auto table = things();
  table.ttl_in_milliseconds = true;
  ASSERT_TRUE(wait(here->create_table(table)));
  auto plain = things();
  plain.ttl_attribute.reset();
  for (const bool is_there : {false, true}) {
    if (is_there) {
      ASSERT_TRUE(wait(there->create_table(plain)));
    }
    const auto copied = copy(*here, *there);
    ASSERT_TRUE(copied) << copied.error().message;
    EXPECT_EQ(wait(there->describe_table("Things"))->definition, table);
    ASSERT_TRUE(wait(there->delete_table("Things")));
  }
}

TEST_P(CopierTest, ACopyIsWholeAlthoughItsTtlCannotBeSwitchedOnYet) {
  fill(*here, 30);
  auto other = things();
  other.name = "Zebras";
  other.ttl_attribute.reset();
  ASSERT_TRUE(wait(here->create_table(other)));
  http.refuses = [](const std::string& operation) -> std::optional<HttpResponse> {
    if (operation != "UpdateTimeToLive") return std::nullopt;
    return LoopedBack::error(400, "ValidationException",
                             "Time to live has been modified multiple times within a fixed interval");
  };
  const auto copied = copy(*here, far());
  ASSERT_TRUE(copied) << copied.error().message;
  ASSERT_EQ(copied->size(), 2u) << "the next table is copied all the same";
  EXPECT_FALSE(copied->back().without_ttl);
  ASSERT_TRUE(copied->front().without_ttl);
  EXPECT_EQ(copied->front().without_ttl->code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(
      copied->front().without_ttl->message,
      "table 'Things': all items are copied and equal, but its ttl could not be switched on: the ttl of table "
      "'Things' was changed within the last hour, and the store changes it once an hour (Time to live has been "
      "modified multiple times within a fixed interval). Run the same command again later: it copies nothing anew");
  auto described = wait(there->describe_table("Things"));
  EXPECT_EQ(described->definition.stream, things().stream);
  EXPECT_FALSE(described->definition.ttl_attribute);

  http.refuses = nullptr;  // An hour later.
  const auto again = copy(*here, far());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->front().without_ttl);
  EXPECT_EQ(again->front().copied, 0u);
  EXPECT_EQ(wait(there->describe_table("Things"))->definition.ttl_attribute, "ttl");
}

TEST_P(CopierTest, NamedTablesMustBeThere) {
  fill(*here, 1);
  CopyOptions options;
  options.tables = {"Things", "Nothing"};
  const auto refused = copy(*here, far(), std::move(options));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "there is no table 'Nothing'");
  EXPECT_FALSE(wait(there->describe_table("Things"))) << "nothing was begun";
}

TEST_P(CopierTest, FreshetsOwnTablesStayAlsoIfTheyAreNamed) {
  auto own = things();
  own.name = "freshet.own";
  own.system = true;
  ASSERT_TRUE(wait(here->create_table(own)));
  CopyOptions options;
  options.tables = {"freshet.own"};
  const auto refused = copy(*here, far(), std::move(options));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "table 'freshet.own' is Freshet's own, and stays where it is");
}

}  // namespace
}  // namespace freshet::engines
