// The results of updates of items.
#include <gtest/gtest.h>

#include "tests/tables/expression/support.h"

namespace freshet {
namespace {

using namespace expression_test;

constexpr const char* kBadPath = "The document path provided in the update expression is invalid for update";
constexpr const char* kBadType = "An operand in the update expression has an incorrect data type";
constexpr const char* kMissing = "The provided expression refers to an attribute that does not exist in the item";

void expect(const char* text, const Item& before, const Map& values, const Item& after) {
  const auto result = update(text, before, values);
  EXPECT_EQ(result.error, "") << text;
  EXPECT_TRUE(result.item == after) << text;
}

void expect_error(const char* text, const Item& before, const Map& values, const char* message) {
  EXPECT_EQ(update(text, before, values).error, message) << text;
}

TEST(Updates, SetCopiesAndReadsBeforeItWrites) {
  const Item item{{"id", "1"}, {"a", "hello"}, {"b", n(2)}};
  expect("SET c = :v, a = :w", item, {{":v", n(1)}, {":w", "x"}}, {{"id", "1"}, {"a", "x"}, {"b", n(2)}, {"c", n(1)}});
  expect("set a = b, b = a", item, {}, {{"id", "1"}, {"a", n(2)}, {"b", "hello"}});
  expect("REMOVE a SET c = a", item, {}, {{"id", "1"}, {"b", n(2)}, {"c", "hello"}});
  expect("SET a = a", item, {}, item);
  expect("SET c = id", item, {}, {{"id", "1"}, {"a", "hello"}, {"b", n(2)}, {"c", "1"}});
  expect_error("SET z = z", item, {}, kMissing);
  expect_error("SET x = :v, y = x", item, {{":v", n(4)}}, kMissing);
  expect_error("SET c = d.e", item, {}, kMissing);
  expect_error("SET c = d.e", {}, {}, kMissing);
}

TEST(Updates, Arithmetic) {
  const Item item{{"a", n(2)}, {"s", "text"}};
  expect("SET b = :x + :y", item, {{":x", n(4)}, {":y", n("0.5")}}, {{"a", n(2)}, {"b", n("4.5")}, {"s", "text"}});
  expect("SET a = a - :y", item, {{":y", n(7)}}, {{"a", n(-5)}, {"s", "text"}});
  expect("SET a = a + a", item, {}, {{"a", n(4)}, {"s", "text"}});
  expect("SET a = if_not_exists(z, :zero) + :one", item, {{":zero", n(0)}, {":one", n(1)}},
         {{"a", n(1)}, {"s", "text"}});
  expect("SET a = (if_not_exists(a, :zero) - :one)", item, {{":zero", n(0)}, {":one", n(1)}},
         {{"a", n(1)}, {"s", "text"}});
  expect_error("SET a = s + :one", item, {{":one", n(1)}}, kBadType);
  expect_error("SET a = :one - s", item, {{":one", n(1)}}, kBadType);
  expect_error("SET a = z + :one", item, {{":one", n(1)}}, kMissing);
  expect_error("SET a = if_not_exists(z, s) + :one", item, {{":one", n(1)}}, kBadType);
  EXPECT_NE(update("SET a = :x + :x", item, {{":x", n("9.9e125")}}).error, "");
}

TEST(Updates, IfNotExists) {
  const Item item{{"a", n(1)}, {"d", Map{{"x", n(5)}}}};
  expect("SET a = if_not_exists(a, :v)", item, {{":v", n(9)}}, item);
  expect("SET b = if_not_exists(c, :v)", item, {{":v", n(9)}}, {{"a", n(1)}, {"b", n(9)}, {"d", Map{{"x", n(5)}}}});
  expect("SET a = if_not_exists(d.x, :v)", item, {{":v", n(9)}}, {{"a", n(5)}, {"d", Map{{"x", n(5)}}}});
  expect("SET b = if_not_exists(c, if_not_exists(e, :v))", item, {{":v", n(9)}},
         {{"a", n(1)}, {"b", n(9)}, {"d", Map{{"x", n(5)}}}});
  expect_error("SET b = if_not_exists(c, e)", item, {}, kMissing);
}

TEST(Updates, ListAppend) {
  const Item item{{"a", list({n(1), n(2)})}, {"s", "text"}};
  auto with = [&](Value a) {
    Item after = item;
    after.set("a", std::move(a));
    return after;
  };
  expect("SET a = list_append(a, :v)", item, {{":v", list({n(3)})}}, with(list({n(1), n(2), n(3)})));
  expect("SET a = list_append(:v, a)", item, {{":v", list({n(3)})}}, with(list({n(3), n(1), n(2)})));
  expect("SET a = list_append(a, a)", item, {}, with(list({n(1), n(2), n(1), n(2)})));
  expect("SET a = list_append(if_not_exists(z, :e), :v)", item, {{":e", list({})}, {":v", list({n(3)})}},
         with(list({n(3)})));
  expect_error("SET a = list_append(s, :v)", item, {{":v", list({n(3)})}}, kBadType);
  expect_error("SET a = list_append(z, :v)", item, {{":v", list({n(3)})}}, kMissing);
}

TEST(Updates, NestedPaths) {
  const Item item{{"a", Map{{"b", n(3)}, {"c", Map{{"y", n(3)}}}}},
                  {"l", list({Value("one"), Value("two"), list({n(1)})})}};
  expect("SET a.b = :v", item, {{":v", n(7)}},
         {{"a", Map{{"b", n(7)}, {"c", Map{{"y", n(3)}}}}}, {"l", *item.find("l")}});
  expect("SET a.d = :v, a.c.z = a.b REMOVE a.c.y", item, {{":v", n(7)}},
         {{"a", Map{{"b", n(3)}, {"c", Map{{"z", n(3)}}}, {"d", n(7)}}}, {"l", *item.find("l")}});
  expect("SET l[1] = :v, l[2][0] = :w", item, {{":v", "2"}, {":w", n(9)}},
         {{"a", *item.find("a")}, {"l", list({Value("one"), Value("2"), list({n(9)})})}});
  for (const char* text : {"SET l.x = :v", "SET a[0] = :v", "SET z.x = :v", "SET z[0] = :v", "SET a.b.x = :v",
                           "SET l[7].x = :v", "SET a.z.x = :v", "SET a.b[0] = :v"}) {
    expect_error(text, item, {{":v", n(1)}}, kBadPath);
  }
  for (const char* text : {"REMOVE l.x", "REMOVE a[0]", "REMOVE z.x", "REMOVE a.z.x", "REMOVE a.b.c", "REMOVE z[0]"}) {
    expect_error(text, item, {}, kBadPath);
  }
  expect_error("ADD z.x :v", item, {{":v", n(1)}}, kBadPath);
  expect_error("DELETE z.x :v", item, {{":v", strings({"a"})}}, kBadPath);
}

TEST(Updates, ListIndexesMeanTheListAsItWas) {
  const Item item{{"a", list({n(2), n(3), n(4), n(5), n(6), n(7)})}};
  for (const char* text : {"REMOVE a[1] SET a[3] = :v", "SET a[3] = :v REMOVE a[1]"}) {
    expect(text, item, {{":v", n(17)}}, {{"a", list({n(2), n(4), n(17), n(6), n(7)})}});
  }
  for (const char* text : {"SET a[17] = :v REMOVE a[6]", "REMOVE a[6] SET a[17] = :v"}) {
    SCOPED_TRACE(text);  // A value that the update appends is not removed.
    expect(text, item, {{":v", n(9)}}, {{"a", list({n(2), n(3), n(4), n(5), n(6), n(7), n(9)})}});
  }
  expect("REMOVE a[0], a[2], a[5], a[17]", item, {}, {{"a", list({n(3), n(5), n(6)})}});
  expect("REMOVE a[5], a[0], a[2]", item, {}, {{"a", list({n(3), n(5), n(6)})}});
  expect("SET a[84] = :1, a[37] = :2, a[17] = :3, a[50] = :4 REMOVE a[0], a[1], a[2], a[3], a[4]", item,
         {{":1", "a1"}, {":2", "a2"}, {":3", "a3"}, {":4", "a4"}},
         {{"a", list({n(7), Value("a3"), Value("a2"), Value("a4"), Value("a1")})}});
  const Item nested{{"a", list({list({n(1), n(2)}), list({n(3), n(4)})})}};
  expect("REMOVE a[0], a[1][0]", nested, {}, {{"a", list({list({n(4)})})}});
  expect("REMOVE a[0][0], a[1] SET a[0][9] = :v", nested, {{":v", n(5)}}, {{"a", list({list({n(2), n(5)})})}});
}

TEST(Updates, RemoveLeavesEmptyContainers) {
  expect("REMOVE a.b", Item{{"a", Map{{"b", n(1)}}}}, {}, {{"a", Map{}}});
  expect("REMOVE a[0]", Item{{"a", list({n(1)})}}, {}, {{"a", list({})}});
  expect("REMOVE absent, a.absent", Item{{"a", Map{{"b", n(1)}}}}, {}, {{"a", Map{{"b", n(1)}}}});
}

TEST(Updates, Add) {
  const Item item{{"n", n(3)},
                  {"s", "hi"},
                  {"ss", strings({"cat", "dog"})},
                  {"ns", numbers({1, 5})},
                  {"bs", Value(BinarySet{{"a"}})}};
  auto with = [&](const char* name, Value value) {
    Item after = item;
    after.set(name, std::move(value));
    return after;
  };
  expect("ADD n :v", item, {{":v", n(4)}}, with("n", n(7)));
  expect("ADD fresh :v", item, {{":v", n(-4)}}, with("fresh", n(-4)));
  expect("ADD ss :v", item, {{":v", strings({"cow", "dog"})}}, with("ss", strings({"cat", "cow", "dog"})));
  expect("ADD ns :v", item, {{":v", numbers({0, 5, 9})}}, with("ns", numbers({0, 1, 5, 9})));
  expect("ADD bs :v", item, {{":v", Value(BinarySet{{"\xFF"}})}}, with("bs", Value(BinarySet{{"a", "\xFF"}})));
  expect("ADD fresh :v", item, {{":v", strings({"x"})}}, with("fresh", strings({"x"})));
  expect_error("ADD s :v", item, {{":v", n(1)}}, kBadType);
  expect_error("ADD n :v", item, {{":v", strings({"x"})}}, kBadType);
  expect_error("ADD ss :v", item, {{":v", numbers({1})}}, kBadType);
}

TEST(Updates, Delete) {
  const Item item{{"s", "hi"},
                  {"ss", strings({"cat", "dog", "mouse"})},
                  {"ns", numbers({1, 5})},
                  {"d", Map{{"l", list({strings({"x"}), n(1)})}}}};
  auto with = [&](const char* name, Value value) {
    Item after = item;
    after.set(name, std::move(value));
    return after;
  };
  expect("DELETE ss :v", item, {{":v", strings({"cat", "mouse", "owl"})}}, with("ss", strings({"dog"})));
  expect("DELETE ns :v", item, {{":v", numbers({9})}}, item);
  Item without_ns = item;
  without_ns.erase("ns");
  expect("DELETE ns :v", item, {{":v", numbers({1, 5})}}, without_ns);
  expect("DELETE absent :v", item, {{":v", numbers({1, 5})}}, item);
  expect("DELETE d.l[0] :v", item, {{":v", strings({"x"})}}, with("d", Map{{"l", list({n(1)})}}));
  expect_error("DELETE s :v", item, {{":v", strings({"x"})}}, kBadType);
  expect_error("DELETE ns :v", item, {{":v", strings({"x"})}}, kBadType);
}

TEST(Updates, SetsOfCallersAreSorted) {
  const Item item{{"ss", strings({"cat", "dog"})}};
  expect("ADD ss :v", item, {{":v", strings({"owl", "cow"})}}, {{"ss", strings({"cat", "cow", "dog", "owl"})}});
  expect("SET l = :v REMOVE ss", item, {{":v", list({strings({"b", "a"})})}}, {{"l", list({strings({"a", "b"})})}});
  EXPECT_EQ(condition("ss = :v", item, {}, {{":v", strings({"dog", "cat"})}}), "true");
  const std::string start =
      "ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: ";
  EXPECT_EQ(condition("ss = :v", item, {}, {{":v", numbers({})}}),
            start + "An number set  may not be empty for key :v");
  EXPECT_EQ(condition("ss = :v", item, {}, {{":v", strings({"a", "a"})}}),
            start + "Input collection [a, a] contains duplicates. for key :v");
}

TEST(Updates, ReturnedAttributes) {
  const Item item{{"id", "1"}, {"a", Map{{"b", "dog"}, {"c", list({n(1), n(2), n(3)})}}}, {"d", "cat"}, {"e", n(1)}};
  auto result = update("SET a.b = :v, f = :v, a.c[1] = :v REMOVE d ADD e :n", item, {{":v", "hi"}, {":n", n(2)}});
  ASSERT_EQ(result.error, "");
  EXPECT_TRUE(result.updated_old == (Item{{"a", Map{{"b", "dog"}, {"c", list({n(2)})}}}, {"d", "cat"}, {"e", n(1)}}));
  EXPECT_TRUE(result.updated_new ==
              (Item{{"a", Map{{"b", "hi"}, {"c", list({Value("hi")})}}}, {"e", n(3)}, {"f", "hi"}}));
  result = update("REMOVE d", item);
  EXPECT_TRUE(result.updated_new.empty());
  result = update("SET x = :v", item, {{":v", "hi"}});
  EXPECT_TRUE(result.updated_old.empty());
}

// Where it stands now, and not where its path would lead.
TEST(Updates, ReturnWhatTheySetInLists) {
  const Item item{{"l", list({n(0), n(1), n(2), n(3)})}, {"m", list({list({n(5)}), Map{{"x", n(6)}}})}};
  const auto set = [&](const char* text) { return update(text, item, {{":v", "new"}, {":w", "newer"}}).updated_new; };
  EXPECT_TRUE(update("SET l[9] = :v", item, {{":v", "new"}}).updated_new == (Item{{"l", list({"new"})}}));
  EXPECT_TRUE(update("SET l[9] = :v", item, {{":v", "new"}}).updated_old.empty());
  EXPECT_TRUE(set("SET l[9] = :w, l[7] = :v, l[0] = :w") == (Item{{"l", list({"newer", "new", "newer"})}}));
  EXPECT_TRUE(set("SET l[3] = :v, l[2] = :w REMOVE l[0]") == (Item{{"l", list({"newer", "new"})}}));
  EXPECT_TRUE(set("SET l[3] = :v, m[1].x = :w REMOVE l[1]") ==
              (Item{{"l", list({"new"})}, {"m", list({Map{{"x", "newer"}}})}}));
  EXPECT_TRUE(update("REMOVE l[1]", item).updated_new.empty()) << "what was removed is no longer there";
  EXPECT_TRUE(update("REMOVE l[1]", item).updated_old == (Item{{"l", list({n(1)})}}));
  EXPECT_TRUE(set("SET l[9] = :v, l[8] = :w REMOVE l[3]") == (Item{{"l", list({"newer", "new"})}}));
  EXPECT_TRUE(set("SET m[1].x = :v, m[1].y = :w REMOVE m[0]") ==
              (Item{{"m", list({Map{{"x", "new"}, {"y", "newer"}}})}}));
  EXPECT_TRUE(set("SET m[0][3] = :v, m[1].x = :w") == (Item{{"m", list({list({"new"}), Map{{"x", "newer"}}})}}));
}

// One walk over a list or map for all that is removed of it; once it was one for each.
TEST(Updates, RemoveManyElementsAtOnce) {
  std::vector<Value> elements;
  Map map;
  for (int i = 0; i < 1000; ++i) {
    elements.push_back(n(i));
    map.set("k" + std::to_string(1000 + i), n(i));
  }
  const Item item{{"l", list({list(elements), n(1)})}, {"m", map}};
  std::string text = "REMOVE l[1]";
  std::vector<Value> left_elements;
  Map left_map;
  for (int i = 0; i < 1000; ++i) {
    if (i % 10 == 3) {
      text += ", l[0][" + std::to_string(i) + "], m.k" + std::to_string(1000 + i);
    } else {
      left_elements.push_back(n(i));
      left_map.set("k" + std::to_string(1000 + i), n(i));
    }
  }
  expect(text.c_str(), item, {}, {{"l", list({list(left_elements)})}, {"m", left_map}});
}

TEST(Updates, DeleteFromASmallSetWhatALargeOneHas) {
  std::vector<std::string> many;
  for (int i = 0; i < 1000; ++i) many.push_back(std::to_string(1000 + i));
  expect("DELETE s :many, t :many", Item{{"s", strings({"1003", "x"})}, {"t", strings({"1999"})}},
         {{":many", strings(many)}}, {{"s", strings({"x"})}});
}

TEST(Updates, CreateTouchAndKeys) {
  TableDefinition table;
  table.keys = {{"pk", Type::kString}, KeyAttribute{"sk", Type::kNumber}};
  table.indexes.emplace_back().keys.partition = {"g", Type::kString};
  ExpressionCache cache;
  Placeholders placeholders{{{"#s", "sk"}}, {{":v", numbers({1})}}};
  Expressions expressions(cache, placeholders);
  EXPECT_TRUE(creates({}));
  EXPECT_TRUE(creates(*expressions.update("REMOVE b SET a = :v")));
  EXPECT_TRUE(creates(*expressions.update("ADD a :v")));
  EXPECT_FALSE(creates(*expressions.update("REMOVE a DELETE b :v")));
  EXPECT_TRUE(check_update(*expressions.update("SET a = pk"), table));
  const std::string nested =
      "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: ";
  EXPECT_EQ(check_update(*expressions.update("SET a = :v REMOVE #s"), table).error().message,
            "One or more parameter values were invalid: Cannot update attribute sk. This attribute is part of the key");
  EXPECT_EQ(check_update(*expressions.update("SET pk = :v"), table).error().message,
            "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key");
  EXPECT_EQ(check_update(*expressions.update("SET pk.a = :v"), table).error().message, nested + "Key: pk");
  EXPECT_EQ(check_update(*expressions.update("SET a = if_not_exists(pk.a, :v)"), table).error().message,
            nested + "Key: pk");
  EXPECT_TRUE(check_update(*expressions.update("SET g = :v REMOVE b[0]"), table));
  for (const char* text : {"REMOVE g[0]", "SET a = :v, b = g.c", "ADD g.a :v", "SET a = b + g[1]"}) {
    EXPECT_EQ(check_update(*expressions.update(text), table).error().message, nested + "IndexKey: g") << text;
  }
}

TEST(Updates, ResultsAreBounded) {
  const Item item{{"id", "1"}, {"big", std::string(200 * 1024, 'x')}};
  EXPECT_EQ(update("SET b = big", item).error, "Item size to update has exceeded the maximum allowed size");
  Value deep = Map{};
  for (int i = 0; i < 30; ++i) deep = Value(Map{{"d", deep}});
  EXPECT_EQ(update("SET a = :v", item, {{":v", deep}}).error, "");
  EXPECT_EQ(update("SET a.b = :v", Item{{"a", Map{}}}, {{":v", deep}}).error,
            "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported "
            "limit");
}

}  // namespace
}  // namespace freshet
