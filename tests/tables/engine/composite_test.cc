// Global indexes whose keys have several attributes, and what an index leaves out.
#include <map>

#include "tests/sim/seeds.h"
#include "tests/tables/engine/store_fixture.h"

namespace freshet {
namespace {

// Values with ends, zeros and begins of each other, where joined bytes could go wrong.
const std::string kTexts[] = {"a", "b", "ab", std::string("a\0", 2), std::string("a\0b", 3), "a\xff"};
const int64_t kNumbers[] = {-120, -1, 0, 1, 10, 100, 101};

struct Thing {
  std::optional<size_t> region;  // An index into kTexts.
  std::optional<size_t> round;   // An index into kNumbers.
  std::optional<size_t> name;    // An index into kTexts.
  std::optional<size_t> score;   // An index into kNumbers.
  std::optional<size_t> tag;     // An index into kTexts, as a binary.

  bool is_indexed() const { return region && round && name && score && tag; }
  auto place() const { return std::tuple(kTexts[*name], kNumbers[*score], kTexts[*tag]); }
};

Item item_of(const std::string& id, const Thing& thing) {
  Item item{{"id", Value(id)}};
  if (thing.region) item.set("region", Value(kTexts[*thing.region]));
  if (thing.round) item.set("round", Value::number(kNumbers[*thing.round]));
  if (thing.name) item.set("name", Value(kTexts[*thing.name]));
  if (thing.score) item.set("score", Value::number(kNumbers[*thing.score]));
  if (thing.tag) item.set("tag", Value(Binary{kTexts[*thing.tag]}));
  return item;
}

TableDefinition things_definition(bool indexed) {
  TableDefinition d;
  d.name = "Things";
  d.keys.partition = {"id", Type::kString};
  if (!indexed) return d;
  IndexDefinition index;
  index.name = "deep";
  index.keys.partition = {"region", Type::kString};
  index.keys.more_partition = {{"round", Type::kNumber}};
  index.keys.sort = KeyAttribute{"name", Type::kString};
  index.keys.more_sort = {{"score", Type::kNumber}, {"tag", Type::kBinary}};
  index.projection = Projection::kKeysOnly;
  d.indexes.push_back(index);
  return d;
}

class CompositeTest : public DiskStoreTest {
 protected:
  std::optional<size_t> pick(size_t count) {
    return dice.below(8) == 0 ? std::nullopt : std::optional<size_t>(dice.below(count));
  }
  void write_at_random(int writes) {
    for (int i = 0; i < writes; ++i) {
      const std::string id = "t" + std::to_string(dice.below(80));
      if (dice.below(5) == 0) {
        ASSERT_TRUE(erase("Things", Item{{"id", Value(id)}}));
        things.erase(id);
        continue;
      }
      Thing thing{pick(2), pick(2), pick(std::size(kTexts)), pick(std::size(kNumbers)), pick(std::size(kTexts))};
      ASSERT_TRUE(put("Things", item_of(id, thing)));
      things[id] = thing;
    }
    turn();
  }
  struct Asked {
    QueryInput input;
    std::function<bool(const Thing&)> fits;
    std::string text;
  };
  // A query of one partition with a condition of random length.
  Asked ask() {
    Asked asked;
    QueryInput& input = asked.input;
    input.table = "Things";
    input.index = "deep";
    const size_t region = dice.below(2), round = dice.below(2), name = dice.below(std::size(kTexts)),
                 score = dice.below(std::size(kNumbers)), tag = dice.below(std::size(kTexts));
    const size_t depth = dice.below(4);  // Sort attributes with a condition.
    const char* const names[] = {"#name", "score", "tag"};
    const Value values[] = {Value(kTexts[name]), Value::number(kNumbers[score]), Value(Binary{kTexts[tag]})};
    std::string& text = input.key_condition;
    text = "#region = :region AND round = :round";
    input.placeholders.names = {{"#region", "region"}};
    input.placeholders.values = Map{{":region", Value(kTexts[region])}, {":round", Value::number(kNumbers[round])}};
    if (depth > 0) input.placeholders.names.emplace_back("#name", "name");
    for (size_t i = 0; i + 1 < depth; ++i) {
      text += " AND " + std::string(names[i]) + " = :v" + std::to_string(i);
      input.placeholders.values.set(":v" + std::to_string(i), values[i]);
    }
    const size_t kind = depth == 0 ? 0 : dice.below(depth == 2 ? 6 : 7);
    const char* const ops[] = {"=", "<", "<=", ">", ">="};
    if (depth > 0) {
      const std::string last = names[depth - 1];
      input.placeholders.values.set(":last", values[depth - 1]);
      if (kind < 5) {
        text += " AND " + last + " " + ops[kind] + " :last";
      } else if (kind == 5) {
        text += " AND " + last + " BETWEEN :last AND :last";
      } else {
        text += " AND begins_with(" + last + ", :last)";
      }
    }
    asked.text = text;
    asked.fits = [=](const Thing& thing) {
      if (!thing.is_indexed() || *thing.region != region || *thing.round != round) return false;
      const auto compare = [&](const auto& have, const auto& wanted) {
        return have < wanted ? -1 : wanted < have ? 1 : 0;
      };
      const int orders[] = {compare(kTexts[*thing.name], kTexts[name]),
                            compare(kNumbers[*thing.score], kNumbers[score]), compare(kTexts[*thing.tag], kTexts[tag])};
      for (size_t i = 0; i + 1 < depth; ++i) {
        if (orders[i] != 0) return false;
      }
      if (depth == 0) return true;
      const int order = orders[depth - 1];
      const auto& have = kTexts[depth == 1 ? *thing.name : *thing.tag];
      switch (kind) {
        case 1:
          return order < 0;
        case 2:
          return order <= 0;
        case 3:
          return order > 0;
        case 4:
          return order >= 0;
        case 6:
          return have.starts_with(kTexts[depth == 1 ? name : tag]);
        default:
          return order == 0;
      }
    };
    return asked;
  }
  std::vector<std::string> expected(const Asked& asked, bool forward) {
    std::vector<std::pair<std::string, Thing>> found;
    for (const auto& [id, thing] : things) {
      if (asked.fits(thing)) found.emplace_back(id, thing);
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.place(), a.first) < std::pair(b.second.place(), b.first);
    });
    if (!forward) std::reverse(found.begin(), found.end());
    std::vector<std::string> out;
    for (const auto& entry : found) out.push_back(entry.first);
    return out;
  }
  std::vector<std::string> answered(Asked asked, bool forward, uint32_t limit) {
    asked.input.forward = forward;
    asked.input.limit = limit;
    std::vector<std::string> out;
    for (;;) {
      auto page = now(store->query(asked.input));
      EXPECT_TRUE(page) << page.error().message;
      if (!page) return out;
      for (const auto& id : ids(*page)) out.push_back(id);
      if (page->last_evaluated_key.empty()) return out;
      EXPECT_EQ(page->last_evaluated_key.size(), 6u);
      asked.input.exclusive_start_key = page->last_evaluated_key;
    }
  }
  void compare_queries(int queries) {
    for (int i = 0; i < queries; ++i) {
      const Asked asked = ask();
      for (const bool forward : {true, false}) {
        SCOPED_TRACE(asked.text + (forward ? "" : " backwards"));
        EXPECT_EQ(answered(asked, forward, 0), expected(asked, forward));
        EXPECT_EQ(answered(asked, forward, 1 + static_cast<uint32_t>(dice.below(3))), expected(asked, forward));
      }
    }
    const auto described = now(store->describe_table("Things"));
    ASSERT_EQ(described->indexes.size(), 1u);
    uint64_t count = 0;
    for (const auto& [id, thing] : things) count += thing.is_indexed();
    EXPECT_EQ(described->indexes[0].items, count);
    EXPECT_EQ(described->indexes[0].bytes > 0, count > 0);
  }

  std::map<std::string, Thing> things;
  Random dice{1};
};

TEST_F(CompositeTest, QueriesFindWhatAPlainSearchFinds) {
  for (const uint64_t seed : test_seeds(10)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    dice = Random(seed);
    things.clear();
    options.directory = "data-" + std::to_string(seed);
    options.backfill_step = 7;
    reopen();
    create(things_definition(true));
    write_at_random(300);
    compare_queries(60);
    const auto before = now(store->describe_table("Things"))->indexes[0];
    reopen();
    compare_queries(30);
    EXPECT_EQ(now(store->describe_table("Things"))->indexes[0].bytes, before.bytes) << "counted as it was built";
    ASSERT_TRUE(now(store->alter_table(things_definition(false))));
    turn();
    ASSERT_TRUE(now(store->alter_table(things_definition(true))));
    store->run_due();
    write_at_random(20);  // While it is built.
    compare_queries(30);
  }
}

TEST_F(CompositeTest, KeysOfTablesAndLocalIndexesHaveOneAttributeAPart) {
  TableDefinition d = pair_definition();
  d.keys.more_sort = {{"x", Type::kString}};
  EXPECT_EQ(text(now(store->create_table(d))),
            "ValidationException: Invalid KeySchema: Only keys of global secondary indexes may have several attributes "
            "of one KeyType: Pairs");
  d.keys.more_sort.clear();
  IndexDefinition index;
  index.name = "local";
  index.local = true;
  index.keys = {{"p", Type::kString}, KeyAttribute{"x", Type::kString}, {}, {{"y", Type::kString}}};
  d.indexes = {index};
  EXPECT_EQ(text(now(store->create_table(d))),
            "ValidationException: Invalid KeySchema: Only keys of global secondary indexes may have several attributes "
            "of one KeyType: local");
  d.indexes[0].local = false;
  d.indexes[0].keys.more_sort.push_back({"x", Type::kString});
  EXPECT_EQ(text(now(store->create_table(d))),
            "ValidationException: Invalid KeySchema: Two key attributes have the same name: x");
  d.indexes[0].keys.more_sort = {{"a", Type::kString}, {"b", Type::kString}, {"c", Type::kString}};
  d.indexes[0].keys.more_partition = d.indexes[0].keys.more_sort;
  for (auto& key : d.indexes[0].keys.more_partition) key.name += "p";
  EXPECT_TRUE(now(store->create_table(d)));
  d.name = "More";
  d.indexes[0].keys.more_sort.push_back({"d", Type::kString});
  EXPECT_EQ(text(now(store->create_table(d))),
            "ValidationException: Invalid KeySchema: At most 4 RANGE key attributes are allowed, but there are 5");
}

TEST_F(CompositeTest, AllAttributesOfAPartTogetherAreBounded) {
  create(things_definition(true));
  Item item = item_of("x", {0, 0, 0, 0, 0});
  item.set("name", Value(std::string(1000, 'n')));
  item.set("tag", Value(Binary{std::string(30, 't')}));
  EXPECT_EQ(text(put("Things", item)),
            "ValidationException: One or more parameter values were invalid: Aggregated size of all range keys has "
            "exceeded the size limit of 1024 bytes");
  item.set("tag", Value(Binary{std::string(21, 't')}));  // The score has three.
  EXPECT_TRUE(put("Things", item));
  EXPECT_EQ(text(update("Things", Item{{"id", Value("x")}}, "SET tag = :t",
                        Map{{":t", Value(Binary{std::string(22, 't')})}})),
            "ValidationException: One or more parameter values were invalid: Aggregated size of all range keys has "
            "exceeded the size limit of 1024 bytes");
  // Numbers count with the bytes that they take: what is accepted is in the index.
  item.set("score", Value(*Decimal::parse("1234567890.1234567890123456789012345678")));
  EXPECT_EQ(text(put("Things", item)),
            "ValidationException: One or more parameter values were invalid: Aggregated size of all range keys has "
            "exceeded the size limit of 1024 bytes");
  item.set("tag", Value(Binary{std::string(4, 't')}));
  ASSERT_TRUE(put("Things", item));
  EXPECT_EQ(now(store->describe_table("Things"))->indexes[0].items, 1u);
  item.set("region", Value(std::string(2048, 'r')));
  EXPECT_EQ(text(put("Things", item)),
            "ValidationException: One or more parameter values were invalid: Size of hashkey has exceeded the maximum "
            "size limit of2048 bytes");
}

// Items that are older than an index need not fit into it: they are left out.
TEST_F(CompositeTest, ANewIndexLeavesOutWhatCannotBeAKey) {
  TableDefinition d = queue_definition();
  IndexDefinition index = d.indexes[0];
  d.indexes.clear();
  create(d);
  ASSERT_TRUE(put("Queue", task("good", "PENDING", 1)));
  ASSERT_TRUE(put("Queue", task("empty", "", 2)));
  ASSERT_TRUE(put("Queue", task("long", std::string(2049, 'x'), 3)));
  ASSERT_TRUE(
      put("Queue", Item{{"id", Value("other type")}, {"status", Value::number(1)}, {"created", Value::number(1)}}));
  index.projection = Projection::kKeysOnly;
  d.indexes.push_back(index);
  ASSERT_TRUE(now(store->alter_table(d)));
  const auto check = [&](uint64_t items) {
    turn();
    ScanInput scan;
    scan.table = "Queue";
    scan.index = index.name;
    EXPECT_EQ(now(store->scan(scan))->count, items);
    EXPECT_EQ(now(store->describe_table("Queue"))->indexes[0].items, items);
  };
  check(1);
  reopen();
  check(1);
  // They come and go with their values, as any other.
  ASSERT_TRUE(update("Queue", Item{{"id", Value("empty")}}, "SET note = :n", Map{{":n", Value("x")}}));
  check(1);
  ASSERT_TRUE(update("Queue", Item{{"id", Value("empty")}}, "SET #st = :s", Map{{":s", Value("PENDING")}}));
  check(2);
  ASSERT_TRUE(erase("Queue", Item{{"id", Value("long")}}));
  check(2);
  ASSERT_TRUE(erase("Queue", Item{{"id", Value("empty")}}));
  check(1);
}

TEST_F(CompositeTest, AnIndexCountsTheBytesItHolds) {
  TableDefinition d = queue_definition();
  IndexDefinition keys = d.indexes[0];
  keys.name = "keys";
  keys.projection = Projection::kKeysOnly;
  IndexDefinition some = keys;
  some.name = "some";
  some.projection = Projection::kInclude;
  some.included = {"note"};
  d.indexes.push_back(keys);
  d.indexes.push_back(some);
  create(d);
  const auto bytes = [&](size_t index) { return now(store->describe_table("Queue"))->indexes[index].bytes; };
  Item item = task("t", "PENDING", 1);
  ASSERT_TRUE(put("Queue", item));
  const uint64_t bare = bytes(1);
  EXPECT_GT(bare, 20u);
  EXPECT_EQ(bytes(2), bare);
  item.set("note", Value(std::string(100, 'n')));
  item.set("body", Value(std::string(1000, 'b')));
  ASSERT_TRUE(put("Queue", item));
  EXPECT_EQ(bytes(0), now(store->describe_table("Queue"))->bytes) << "the index holds all of its only item";
  EXPECT_EQ(bytes(1), bare);
  EXPECT_GE(bytes(2), bare + 104);
  EXPECT_LT(bytes(2), bare + 120);
  ASSERT_TRUE(erase("Queue", Item{{"id", Value("t")}}));
  for (const size_t index : {0, 1, 2}) EXPECT_EQ(bytes(index), 0u);
}

}  // namespace
}  // namespace freshet
