#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ReadTest = MemoryStoreTest;

Item key(const std::string& id) {
  return Item{{"id", Value(id)}};
}

Item pair(const std::string& p, Value s) {
  return Item{{"p", Value(p)}, {"s", std::move(s)}};
}

QueryInput sorts(const std::string& condition, Map values, bool forward = true) {
  QueryInput input;
  input.table = "Pairs";
  input.key_condition = condition;
  input.placeholders.values = std::move(values);
  input.forward = forward;
  return input;
}

std::vector<int64_t> numbers(const Result<Page>& page) {
  std::vector<int64_t> out;
  if (!page) ADD_FAILURE() << page.error().message;
  if (page) {
    for (const auto& item : page->items) out.push_back(item.decode().int_or("s", -999));
  }
  return out;
}

TEST_F(ReadTest, AnIndexOfAQueueGivesBothDirectionsAndKeepsTiesInTheOrderOfArrival) {
  create(queue_definition());
  for (const char* id : {"c", "a", "b"}) ASSERT_TRUE(put("Queue", task(id, "PENDING", 5)));
  ASSERT_TRUE(put("Queue", task("old", "PENDING", 1)));
  ASSERT_TRUE(put("Queue", task("new", "PENDING", 9)));
  ASSERT_TRUE(put("Queue", task("x", "TAKEN", 7)));
  ASSERT_TRUE(put("Queue", key("sparse")));
  EXPECT_THAT(ids_by_status("PENDING", true), ElementsAre("old", "c", "a", "b", "new"));
  EXPECT_THAT(ids_by_status("PENDING", false), ElementsAre("new", "b", "a", "c", "old"));
  EXPECT_THAT(ids_by_status("PENDING", false, 2), ElementsAre("new", "b"));
  // An update keeps the place among ties; leaving the index and coming back, too.
  ASSERT_TRUE(update("Queue", key("a"), "SET n = :n", Map{{":n", Value::number(1)}}));
  ASSERT_TRUE(update("Queue", key("c"), "SET #st = :n", Map{{":n", Value("TAKEN")}}));
  EXPECT_THAT(ids_by_status("PENDING", true), ElementsAre("old", "a", "b", "new"));
  ASSERT_TRUE(update("Queue", key("c"), "SET #st = :n", Map{{":n", Value("PENDING")}}));
  EXPECT_THAT(ids_by_status("PENDING", true), ElementsAre("old", "c", "a", "b", "new"));
}

TEST_F(ReadTest, NumbersThatBeginAlikeAreOrderedByTheirEndsAndTiesOfAQueueByArrival) {
  create(queue_definition());
  // Ascending; several share the first eight bytes of their ordered form, with and without more behind.
  const std::vector<std::string> rising = {"-12345678901234.5",
                                           "-12345678901234.25",
                                           "-12345678901234",
                                           "-123456789012",
                                           "-1234567890",
                                           "-1",
                                           "0",
                                           "1",
                                           "1234567890",
                                           "123456789012",
                                           "12345678901234",
                                           "12345678901234.25",
                                           "12345678901234.5",
                                           "123456789012340",
                                           "12345678901234000"};
  std::vector<std::string> expected;
  for (size_t i = 0; i < rising.size(); ++i) {
    for (const char* tie : {"b", "a", "c"}) expected.push_back(std::to_string(i) + tie);
  }
  for (const char* tie : {"b", "a", "c"}) {
    for (size_t k = 0; k < rising.size(); ++k) {
      const size_t i = k * 7 % rising.size();
      Item item = task(std::to_string(i) + tie, "PENDING", 0);
      item.set("created", Value(*Decimal::parse(rising[i])));
      ASSERT_TRUE(put("Queue", item));
    }
  }
  EXPECT_EQ(ids_by_status("PENDING", true), expected);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(ids_by_status("PENDING", false), expected);
}

TEST_F(ReadTest, SortKeyConditionsOnNumbers) {
  create(pair_definition());
  for (const int64_t s : {-20, -3, 0, 1, 7, 100, 1'000'000'007}) ASSERT_TRUE(put("Pairs", pair("k", Value::number(s))));
  ASSERT_TRUE(put("Pairs", pair("other", Value::number(3))));
  const auto run = [&](const std::string& condition, int64_t a, int64_t b, bool forward = true) {
    Map values{{":p", Value("k")}};
    if (condition.find(":a") != std::string::npos) values.set(":a", Value::number(a));
    if (condition.find(":b") != std::string::npos) values.set(":b", Value::number(b));
    return numbers(now(store->query(sorts(condition, std::move(values), forward))));
  };
  EXPECT_THAT(run("p = :p", 0, 0), ElementsAre(-20, -3, 0, 1, 7, 100, 1'000'000'007));
  EXPECT_THAT(run("p = :p", 0, 0, false), ElementsAre(1'000'000'007, 100, 7, 1, 0, -3, -20));
  EXPECT_THAT(run("p = :p AND s = :a", 7, 0), ElementsAre(7));
  EXPECT_THAT(run("p = :p AND s < :a", 0, 0), ElementsAre(-20, -3));
  EXPECT_THAT(run("p = :p AND s <= :a", 0, 0), ElementsAre(-20, -3, 0));
  EXPECT_THAT(run("p = :p AND s > :a", 7, 0), ElementsAre(100, 1'000'000'007));
  EXPECT_THAT(run("p = :p AND s >= :a", 7, 0, false), ElementsAre(1'000'000'007, 100, 7));
  EXPECT_THAT(run("p = :p AND s BETWEEN :a AND :b", -3, 7), ElementsAre(-3, 0, 1, 7));
}

TEST_F(ReadTest, SortKeyConditionsOnStringsAndTheirPrefixes) {
  create(pair_definition("Pairs", Type::kString));
  const std::string high = "longer than eight bytes \xff";
  for (const std::string& s : {std::string("longer than eight bytes"), std::string("longer than eight bytfs"),
                               std::string("long"), std::string("longer"), high, std::string("m")}) {
    ASSERT_TRUE(put("Pairs", pair("k", Value(s))));
  }
  const auto run = [&](const std::string& condition, const std::string& a) {
    return ids(*now(store->query(sorts(condition, Map{{":p", Value("k")}, {":a", Value(a)}}))), "s");
  };
  EXPECT_THAT(run("p = :p AND begins_with(s, :a)", "longer than eight byt"),
              ElementsAre("longer than eight bytes", high, "longer than eight bytfs"));
  EXPECT_THAT(run("p = :p AND begins_with(s, :a)", "longer than eight bytes "), ElementsAre(high));
  EXPECT_THAT(run("p = :p AND s > :a", "longer than eight bytes"), ElementsAre(high, "longer than eight bytfs", "m"));
  EXPECT_THAT(run("p = :p AND s < :a", "longer"), ElementsAre("long"));
}

TEST_F(ReadTest, PagesGoOnWhereTheyStoppedInBothDirections) {
  create(queue_definition());
  std::vector<std::string> expected;
  for (int i = 0; i < 25; ++i) {
    const std::string id = "t" + std::to_string(100 + i);
    ASSERT_TRUE(put("Queue", task(id, "PENDING", i / 4)));  // Ties across page borders.
    expected.push_back(id);
  }
  for (const bool forward : {true, false}) {
    std::vector<std::string> seen;
    QueryInput input = by_status("PENDING", forward, 3);
    for (int pages = 0; pages < 20; ++pages) {
      const auto page = now(store->query(input));
      ASSERT_TRUE(page) << page.error().message;
      for (const auto& id : ids(*page)) seen.push_back(id);
      if (page->last_evaluated_key.empty()) break;
      EXPECT_EQ(page->last_evaluated_key.size(), 3u);
      input.exclusive_start_key = page->last_evaluated_key;
    }
    if (!forward) std::reverse(seen.begin(), seen.end());
    EXPECT_EQ(seen, expected);
  }
}

// The possible fates of the item that a page ended with.
const std::vector<std::string> kFates = {"stays", "leaves", "goes", "goes and comes back"};

class PagingTest : public ReadTest {
 protected:
  void befall(const std::string& id, const std::string& fate) {
    bool done = true;
    if (fate == "leaves") done = update("Queue", key(id), "SET #st = :t", Map{{":t", Value("TAKEN")}}).has_value();
    if (fate.starts_with("goes")) done = erase("Queue", key(id)).has_value();
    if (fate.ends_with("back")) done = done && put("Queue", task(id, "PENDING", 5)).has_value();
    EXPECT_TRUE(done);
  }
  // Reads all pages; the last item of each page meets its fate before the next page.
  template <class Input>
  std::vector<std::string> read_all(Input input, const std::string& fate) {
    std::vector<std::string> seen;
    for (int pages = 0; pages < 200; ++pages) {
      Result<Page> page;
      if constexpr (std::is_same_v<Input, QueryInput>) {
        page = now(store->query(input));
      } else {
        page = now(store->scan(input));
      }
      EXPECT_TRUE(page) << page.error().message;
      if (!page) return seen;
      for (const auto& id : ids(*page)) seen.push_back(id);
      if (page->last_evaluated_key.empty()) return seen;
      befall(seen.back(), fate);
      input.exclusive_start_key = page->last_evaluated_key;
    }
    ADD_FAILURE() << "it never ends";
    return seen;
  }
  // Ids out of order, all with one key.
  std::vector<std::string> fill(TableDefinition definition) {
    create(std::move(definition));
    std::vector<std::string> all;
    for (int i = 0; i < 100; ++i) all.push_back("t" + std::to_string(100 + i * 37 % 100));
    for (const auto& id : all) EXPECT_TRUE(put("Queue", task(id, "PENDING", 5)));
    return all;
  }
  void clear() { EXPECT_TRUE(now(store->delete_table("Queue"))); }
};

TEST_F(PagingTest, OfAnIndexGoesOnWhereItStoppedWhateverBecameOfItsLastItem) {
  TableDefinition plain = queue_definition();
  plain.books.reset();
  TableDefinition without_sort = plain;
  without_sort.indexes[0].keys.sort.reset();
  for (const auto& definition : {plain, without_sort}) {
    for (const auto& fate : kFates) {
      for (const std::string how : {"forward", "backward", "scan"}) {
        SCOPED_TRACE(how + ", " + fate);
        std::vector<std::string> expected = fill(definition);
        std::sort(expected.begin(), expected.end());
        if (how == "backward") std::reverse(expected.begin(), expected.end());
        ScanInput scan;
        scan.table = "Queue";
        scan.index = "status-created";
        scan.limit = 3;
        scan.filter = "#st = :st";
        scan.placeholders = by_status("PENDING", true).placeholders;
        EXPECT_EQ(how == "scan" ? read_all(scan, fate) : read_all(by_status("PENDING", how == "forward", 3), fate),
                  expected)
            << "ties stand in the order of the table's key";
        clear();
      }
    }
  }
}

// A queue keeps its ties in the order of arrival, of which a start key says nothing.
TEST_F(PagingTest, OfAQueueGoesOnWhereItStoppedToo) {
  for (const auto& fate : kFates) {
    for (const bool forward : {true, false}) {
      // An item that comes back is the newest, so it is found again.
      if (forward && fate.ends_with("back")) continue;
      SCOPED_TRACE(fate + (forward ? "" : ", backward"));
      std::vector<std::string> expected = fill(queue_definition());
      if (!forward) std::reverse(expected.begin(), expected.end());
      EXPECT_EQ(read_all(by_status("PENDING", forward, 3), fate), expected);
      clear();
    }
  }
}

// The memory of where pages ended is bounded, and a restart forgets it.
TEST_F(PagingTest, OfAQueueRepeatsTiesRatherThanSkipSomeWhenItsPlaceIsForgotten) {
  fill(queue_definition());
  QueryInput input = by_status("PENDING", true);
  input.exclusive_start_key = task("never there", "PENDING", 5);
  EXPECT_EQ(now(store->query(input))->count, 100u);
  input.forward = false;
  EXPECT_EQ(now(store->query(input))->count, 100u);
  // An item that is there, or that has only left the index, has a place of its own.
  const auto first = ids_by_status("PENDING", true, 10);
  input.forward = true;
  input.exclusive_start_key = task(first[8], "PENDING", 5);
  EXPECT_EQ(now(store->query(input))->count, 91u);
  befall(first[8], "leaves");
  EXPECT_EQ(now(store->query(input))->count, 91u);
}

class TiesTest : public DiskStoreTest {};

// At a start indexes are sorted at once, while writes insert one by one: both must know the same order.
TEST_F(TiesTest, KeepTheirOrderAcrossARestart) {
  TableDefinition d = pair_definition("Pairs", Type::kString);
  for (const auto& [name, sort] : {std::pair("number", std::optional(KeyAttribute{"n", Type::kNumber})),
                                   std::pair("text", std::optional(KeyAttribute{"t", Type::kString})),
                                   std::pair("none", std::optional<KeyAttribute>())}) {
    IndexDefinition index;
    index.name = name;
    index.keys.partition = {"group", Type::kString};
    index.keys.sort = sort;
    d.indexes.push_back(index);
  }
  create(d);
  Random dice(7);
  for (int i = 0; i < 300; ++i) {
    const std::string p = "p" + std::to_string(dice.below(40));
    const std::string s = std::to_string(dice.below(1000));
    ASSERT_TRUE(put("Pairs", Item{{"p", Value(p)},
                                  {"s", Value(s)},
                                  {"group", Value(dice.below(2) == 0 ? "a" : "b")},
                                  {"n", Value::number(static_cast<int64_t>(dice.below(5)) - 2)},
                                  {"t", Value("longer than eight " + std::to_string(dice.below(3)))}}));
  }
  const auto read = [&](const std::string& index) {
    QueryInput input;
    input.table = "Pairs";
    input.index = index;
    input.key_condition = "#g = :g";
    input.placeholders.names = {{"#g", "group"}};
    input.placeholders.values = Map{{":g", Value("a")}};
    std::vector<std::tuple<int64_t, std::string, std::string, std::string>> out;
    const auto page = now(store->query(input));
    EXPECT_TRUE(page) << page.error().message;
    for (const auto& ref : page->items) {
      const Item item = ref.decode();
      out.emplace_back(index == "number" ? item.int_or("n", 0) : 0,
                       index == "text" ? std::string(item.string_or("t")) : std::string(),
                       std::string(item.string_or("p")), std::string(item.string_or("s")));
    }
    return out;
  };
  std::map<std::string, decltype(read(""))> before;
  for (const std::string index : {"number", "text", "none"}) {
    before[index] = read(index);
    EXPECT_GT(before[index].size(), 100u);
    EXPECT_TRUE(std::is_sorted(before[index].begin(), before[index].end())) << index;
  }
  turn();
  reopen();
  for (const auto& [index, rows] : before) EXPECT_EQ(read(index), rows) << index;
}

// `--queue TABLE` makes a queue of a table that is there.
TEST_F(TiesTest, TurnToTheOrderOfArrivalWhenATableBecomesAQueue) {
  TableDefinition d = queue_definition();
  d.books.reset();
  create(d);
  for (const char* id : {"c", "a", "b"}) ASSERT_TRUE(put("Queue", task(id, "PENDING", 5)));
  EXPECT_THAT(ids_by_status("PENDING", true), ElementsAre("a", "b", "c"));
  d.books = BooksDefinition{"status", "TAKEN"};
  ASSERT_TRUE(now(store->alter_table(d)));
  turn();
  turn();
  EXPECT_THAT(ids_by_status("PENDING", true), ElementsAre("c", "a", "b"));
  d.books.reset();
  ASSERT_TRUE(now(store->alter_table(d)));
  turn();
  turn();
  EXPECT_THAT(ids_by_status("PENDING", true), ElementsAre("a", "b", "c"));
}

TEST_F(ReadTest, StartKeysAreChecked) {
  create(queue_definition());
  QueryInput input = by_status("PENDING", true);
  input.exclusive_start_key = key("a");
  EXPECT_EQ(text(now(store->query(input))), "ValidationException: The provided starting key is invalid");
  input.exclusive_start_key = task("a", "TAKEN", 1);
  EXPECT_EQ(text(now(store->query(input))),
            "ValidationException: The provided starting key is outside query boundaries based on provided conditions");
  input.exclusive_start_key = task("a", "PENDING", 1, 5);
  EXPECT_EQ(text(now(store->query(input))), "ValidationException: The provided starting key is invalid");
}

TEST_F(ReadTest, FilterCountLimitAndProjection) {
  create(queue_definition());
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(put("Queue", task("t" + std::to_string(i), "PENDING", i, 1000 + i)));
  QueryInput input = by_status("PENDING", true, 4);
  input.filter = "#ttl >= :ttl";
  input.placeholders.names.emplace_back("#ttl", "ttl");
  input.placeholders.values.set(":ttl", Value::number(1002));
  auto page = now(store->query(input));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_THAT(ids(*page), ElementsAre("t2", "t3"));
  EXPECT_EQ(page->scanned, 4u);
  EXPECT_EQ(page->count, 2u);
  EXPECT_EQ(page->last_evaluated_key.string_or("id"), "t3");
  input.count_only = true;
  page = now(store->query(input));
  EXPECT_THAT(page->items, IsEmpty());
  EXPECT_EQ(page->count, 2u);
  input.count_only = false;
  input.projection = "id, nothing";
  page = now(store->query(input));
  EXPECT_EQ(page->items[0].decode(), key("t2"));
  input.filter = "#st = :ttl";
  EXPECT_THAT(text(now(store->query(input))), HasSubstr("ValidationException"));
  EXPECT_THAT(text(now(store->query(by_status("PENDING", true)))), "ok");
  input = by_status("PENDING", true);
  input.placeholders.values.set(":unused", Value("x"));
  EXPECT_THAT(text(now(store->query(input))), HasSubstr(":unused"));
}

TEST_F(ReadTest, APageHoldsOneMegabyte) {
  create(pair_definition());
  for (int i = 0; i < 30; ++i) {
    Item item = pair("k", Value::number(i));
    item.set("body", Value(std::string(100'000, 'x')));
    ASSERT_TRUE(put("Pairs", item));
  }
  QueryInput input = sorts("p = :p", Map{{":p", Value("k")}});
  auto page = now(store->query(input));
  EXPECT_EQ(page->count, 11u);  // The one that crosses the bound is the last.
  EXPECT_EQ(page->last_evaluated_key, pair("k", Value::number(10)));
  input.exclusive_start_key = page->last_evaluated_key;
  EXPECT_EQ(numbers(now(store->query(input))).front(), 11);
}

// A filter of many operands over many small items would hold up the loop for as long as all of them take.
TEST_F(ReadTest, APageIsBoundedByTheWorkOfItsFilterAndProjection) {
  create(pair_definition());
  constexpr int kItems = 3000;
  for (int i = 0; i < kItems; ++i) ASSERT_TRUE(put("Pairs", pair("k", Value::number(i))));
  std::string filter = "a <> :v";
  for (int i = 1; i < 150; ++i) filter += " OR a <> :v";
  std::string projection = "p, s";
  for (int i = 0; i < 298; ++i) projection += ", a" + std::to_string(i);
  for (const bool by_filter : {true, false}) {
    QueryInput input = sorts("p = :p", Map{{":p", Value("k")}});
    if (by_filter) {
      input.filter = filter;
      input.placeholders.values.set(":v", Value("x"));
    } else {
      input.projection = projection;
    }
    std::vector<int64_t> seen;
    int pages = 0;
    do {
      auto page = now(store->query(input));
      ASSERT_TRUE(page) << page.error().message;
      ++pages;
      EXPECT_LE(page->scanned, 667u) << "300 looks an item, 200,000 a page";
      for (const int64_t number : numbers(page)) seen.push_back(number);
      input.exclusive_start_key = page->last_evaluated_key;
    } while (!input.exclusive_start_key.empty());
    EXPECT_GE(pages, 5);
    EXPECT_EQ(seen.size(), static_cast<size_t>(kItems));
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  }
  QueryInput plain = sorts("p = :p", Map{{":p", Value("k")}});
  EXPECT_EQ(now(store->query(plain))->count, static_cast<uint64_t>(kItems)) << "what looks at nothing costs nothing";
}

// An item that was put again has a new place among equal sort keys. The page goes on behind the old one.
TEST_F(ReadTest, APageOfAQueueGoesOnWhereItEndedWhenItsLastItemWasPutAgain) {
  create(queue_definition());
  for (const char* id : {"a", "b", "c", "d"}) ASSERT_TRUE(put("Queue", task(id, "PENDING", 5)));
  QueryInput forward = by_status("PENDING", true, 2);
  const auto first = now(store->query(forward));
  EXPECT_THAT(ids(*first), ElementsAre("a", "b"));
  ASSERT_TRUE(erase("Queue", key("b")));
  ASSERT_TRUE(put("Queue", task("b", "PENDING", 5)));
  EXPECT_THAT(ids_by_status("PENDING", true), ElementsAre("a", "c", "d", "b"));
  forward.exclusive_start_key = first->last_evaluated_key;
  EXPECT_THAT(ids(*now(store->query(forward))), ElementsAre("c", "d"));
  QueryInput backward = by_status("PENDING", false);
  backward.exclusive_start_key = first->last_evaluated_key;
  EXPECT_THAT(ids(*now(store->query(backward))), ElementsAre("a"));
  // A put over it is an update: its place stays.
  ASSERT_TRUE(put("Queue", task("c", "PENDING", 5)));
  EXPECT_THAT(ids_by_status("PENDING", true), ElementsAre("a", "c", "d", "b"));
}

TEST_F(ReadTest, ProjectedIndexesShowOnlyWhatTheyHold) {
  TableDefinition d = queue_definition();
  d.indexes[0].projection = Projection::kKeysOnly;
  create(d);
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1, 99)));
  QueryInput input = by_status("PENDING", true);
  EXPECT_EQ(now(store->query(input))->items.at(0).decode(), task("a", "PENDING", 1));
  input.projection = "id, #ttl";
  input.placeholders.names.emplace_back("#ttl", "ttl");
  EXPECT_EQ(text(now(store->query(input))),
            "ValidationException: One or more parameter values were invalid: Global secondary index status-created "
            "does not project [ttl]");
  input = by_status("PENDING", true);
  input.consistent = true;
  EXPECT_EQ(text(now(store->query(input))),
            "ValidationException: Consistent reads are not supported on global secondary indexes");
  input.index = "none";
  EXPECT_EQ(text(now(store->query(input))), "ValidationException: The table does not have the specified index: none");
}

TEST_F(ReadTest, FiltersOfScansSeeOnlyWhatTheIndexHolds) {
  TableDefinition d = queue_definition();
  d.indexes[0].projection = Projection::kKeysOnly;
  create(d);
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1, 99)));
  const auto scanned = [&](const char* filter) {
    ScanInput input;
    input.table = "Queue";
    input.index = "status-created";
    input.filter = filter;
    input.placeholders.names.emplace_back("#ttl", "ttl");
    return ids(*now(store->scan(input)));
  };
  EXPECT_THAT(scanned("attribute_exists(#ttl)"), ElementsAre());
  EXPECT_THAT(scanned("attribute_not_exists(#ttl)"), ElementsAre("a"));
}

TEST_F(ReadTest, FiltersOfStatementsMayUseKeysAndSeeOnlyWhatTheIndexHolds) {
  TableDefinition d = queue_definition();
  d.indexes[0].projection = Projection::kKeysOnly;
  create(d);
  ASSERT_TRUE(put("Queue", task("a", "PENDING", 1, 5)));
  ASSERT_TRUE(put("Queue", task("b", "PENDING", 2, 6)));
  QueryInput input = by_status("PENDING", true);
  input.filter = "#c <> :c";
  input.placeholders.names.emplace_back("#c", "created");
  input.placeholders.values.set(":c", Value::number(1));
  EXPECT_EQ(text(now(store->query(input))).substr(0, 20), "ValidationException:") << "a request of Query may not";
  input.by_statement = true;
  auto page = now(store->query(input));
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0].decode().string_or("id"), "b");

  ScanInput scan;
  scan.table = "Queue";
  scan.index = "status-created";
  scan.filter = "#t = :t";
  scan.placeholders.names.emplace_back("#t", "ttl");
  scan.placeholders.values.set(":t", Value::number(5));
  EXPECT_EQ(now(store->scan(scan))->count, 0u) << "nor does a request of Scan see it";
  scan.by_statement = true;
  EXPECT_EQ(now(store->scan(scan))->count, 0u) << "the index does not hold ttl";
  scan.filter = "NOT #t = :t";
  EXPECT_EQ(now(store->scan(scan))->count, 2u);
}

TEST_F(ReadTest, LocalIndexFetchesFromTheTable) {
  TableDefinition d = pair_definition();
  IndexDefinition local;
  local.name = "by-rank";
  local.keys = {d.keys.partition, KeyAttribute{"rank", Type::kNumber}};
  local.local = true;
  local.projection = Projection::kKeysOnly;
  d.indexes.push_back(local);
  create(d);
  for (int i = 0; i < 3; ++i) {
    Item item = pair("k", Value::number(i));
    item.set("rank", Value::number(10 - i));
    item.set("body", Value("x"));
    ASSERT_TRUE(put("Pairs", item));
  }
  QueryInput input = sorts("p = :p", Map{{":p", Value("k")}});
  input.index = "by-rank";
  input.consistent = true;
  EXPECT_THAT(numbers(now(store->query(input))), ElementsAre(2, 1, 0));
  EXPECT_FALSE(now(store->query(input))->items[0].decode().contains("body"));
  input.projection = "body";
  EXPECT_EQ(now(store->query(input))->items.at(0).decode(), (Item{{"body", Value("x")}}));
}

TEST_F(ReadTest, ScansSeeEverythingOnceInPagesAndSegments) {
  create(pair_definition());
  std::multiset<std::pair<std::string, int64_t>> expected;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(put("Pairs", pair("p" + std::to_string(i % 37), Value::number(i))));
    expected.emplace("p" + std::to_string(i % 37), i);
  }
  for (const uint32_t segments : {1u, 3u, 16u}) {
    std::multiset<std::pair<std::string, int64_t>> seen;
    for (uint32_t segment = 0; segment < segments; ++segment) {
      ScanInput input;
      input.table = "Pairs";
      input.limit = 7;
      input.segment = segment;
      input.total_segments = segments;
      for (;;) {
        const auto page = now(store->scan(input));
        ASSERT_TRUE(page) << page.error().message;
        for (const auto& item : page->items) {
          const Item decoded = item.decode();
          seen.emplace(decoded.string_or("p"), decoded.int_or("s", -1));
        }
        if (page->last_evaluated_key.empty()) break;
        input.exclusive_start_key = page->last_evaluated_key;
      }
    }
    EXPECT_EQ(seen, expected) << segments;
  }
  ScanInput wrong;
  wrong.table = "Pairs";
  wrong.segment = 4;
  wrong.total_segments = 4;
  EXPECT_THAT(text(now(store->scan(wrong))), HasSubstr("Segment: 4 is not less than TotalSegments: 4"));
}

TEST_F(ReadTest, KeysMayBeNumbersAndBinaries) {
  TableDefinition d;
  d.name = "Odd";
  d.keys.partition = {"n", Type::kNumber};
  d.keys.sort = KeyAttribute{"b", Type::kBinary};
  create(d);
  const auto item = [](const char* n, std::string b) {
    return Item{{"n", Value(*Decimal::parse(n))}, {"b", Value(Binary{std::move(b)})}};
  };
  ASSERT_TRUE(put("Odd", item("1.50", {"\x00\x01", 2})));
  ASSERT_TRUE(put("Odd", item("1.5", {"\x00", 1})));
  EXPECT_EQ(get("Odd", item("15e-1", {"\x00", 1})), item("1.5", {"\x00", 1}));
  QueryInput input;
  input.table = "Odd";
  input.key_condition = "n = :n";
  input.placeholders.values = Map{{":n", Value(*Decimal::parse("1.5"))}};
  const auto page = now(store->query(input));
  ASSERT_EQ(page->items.size(), 2u);
  EXPECT_EQ(page->items[0].decode(), item("1.5", {"\x00", 1}));
}

}  // namespace
}  // namespace freshet
