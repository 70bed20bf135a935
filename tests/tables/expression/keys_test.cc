// Key conditions and projections.
#include <gtest/gtest.h>

#include "tests/tables/expression/support.h"

namespace freshet {
namespace {

using namespace expression_test;

const KeySchema kSimple{{"a", Type::kString}, std::nullopt};
const KeySchema kComposite{{"a", Type::kString}, KeyAttribute{"b", Type::kNumber}};
const KeySchema kStrings{{"a", Type::kString}, KeyAttribute{"b", Type::kString}};

// "a=<partition> <range>" or the error.
std::string range(std::string_view text, Map values, const KeySchema& keys, Names names = {}) {
  ExpressionCache cache;
  Placeholders placeholders{std::move(names), std::move(values)};
  Expressions expressions(cache, placeholders);
  auto bound = expressions.key_condition(text);
  if (!bound) return text_of(bound.error());
  auto found = key_range(*bound, keys);
  if (!found) return text_of(found.error());
  auto shown = [](const Value& value) {
    const auto* s = value.get_if<std::string>();
    return s ? *s : value.get_if<Decimal>()->to_string();
  };
  std::string out = "a=" + shown(found->partition);
  for (const auto& value : found->more_partition) out += " b=" + shown(value);
  for (const auto& value : found->first_sort) out += " c=" + shown(value);
  if (found->lower) out += (found->lower->inclusive ? " >=" : " >") + shown(found->lower->value);
  if (found->upper) out += (found->upper->inclusive ? " <=" : " <") + shown(found->upper->value);
  if (found->prefix) out += " ^" + shown(*found->prefix);
  return out;
}

TEST(KeyConditions, Ranges) {
  const Map p{{":p", "x"}};
  const Map pn{{":p", "x"}, {":n", n(5)}};
  const Map pnm{{":p", "x"}, {":n", n(5)}, {":m", n(7)}};
  EXPECT_EQ(range("a = :p", p, kSimple), "a=x");
  EXPECT_EQ(range(":p = a", p, kSimple), "a=x");
  EXPECT_EQ(range("#k = :p", p, kSimple, {{"#k", "a"}}), "a=x");
  EXPECT_EQ(range("a = :p AND b = :n", pn, kComposite), "a=x >=5 <=5");
  EXPECT_EQ(range("b < :n AND a = :p", pn, kComposite), "a=x <5");
  EXPECT_EQ(range("(a = :p) and (b <= :n)", pn, kComposite), "a=x <=5");
  EXPECT_EQ(range("a = :p AND b > :n", pn, kComposite), "a=x >5");
  EXPECT_EQ(range("a = :p AND b >= :n", pn, kComposite), "a=x >=5");
  EXPECT_EQ(range("a = :p AND :n >= b", pn, kComposite), "a=x <=5");
  EXPECT_EQ(range("a = :p AND :n < b", pn, kComposite), "a=x >5");
  EXPECT_EQ(range("a = :p AND b BETWEEN :n AND :m", pnm, kComposite), "a=x >=5 <=7");
  EXPECT_EQ(range("a = :p AND begins_with(b, :q)", {{":p", "x"}, {":q", "pre"}}, kStrings), "a=x ^pre");
  EXPECT_EQ(range("a = :p AND begins_with(b, :q)", {{":p", "x"}, {":q", ""}}, kStrings), "a=x ^");
}

TEST(KeyConditions, Contain) {
  KeyRange all{Value("x"), {}, {}, {}};
  EXPECT_TRUE(all.contains(n(1)));
  KeyRange range{Value("x"), KeyBound{n(2), true}, KeyBound{n(4), false}, {}};
  EXPECT_FALSE(range.contains(n(1)));
  EXPECT_TRUE(range.contains(n(2)));
  EXPECT_TRUE(range.contains(n("3.999")));
  EXPECT_FALSE(range.contains(n(4)));
  EXPECT_FALSE(range.contains(Value("3")));
  KeyRange prefix{Value("x"), {}, {}, Value("ab")};
  EXPECT_TRUE(prefix.contains(Value("abc")));
  EXPECT_TRUE(prefix.contains(Value("ab")));
  EXPECT_FALSE(prefix.contains(Value("a")));
  EXPECT_FALSE(prefix.contains(b("abc")));
}

TEST(KeyConditions, Forms) {
  const Map ab{{":a", "1"}, {":b", "1"}};
  const std::pair<const char*, const char*> refusals[] = {
      {"a > b and size(b) > c or a > c",
       "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: OR"},
      {"a in (b, size(c), d)", "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: IN"},
      {"attribute_exists(a)",
       "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: attribute_exists"},
      {"contains(a.d, b)", "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: contains"},
      {"not a > b", "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: NOT"},
      {"a <> b", "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: <>"},
      {":a between size(b) and size(a) and b > :b",
       "Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: BETWEEN operator must have the "
       "key attribute as its first "
       "operand"},
      {"begins_with(:a, b) and a > :b",
       "Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: begins_with operator must have "
       "the key attribute as its first "
       "operand"},
      {"size(b) > a AND a.b > b AND b > c",
       "Invalid KeyConditionExpression: KeyConditionExpressions cannot contain nested operations"},
      {"a > size(b.d)", "Invalid KeyConditionExpression: KeyConditionExpressions cannot contain nested operations"},
      {"b > a.b",
       "Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: Multiple attribute names used in "
       "one condition"},
      {"a between b and size(a)",
       "Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: Multiple attribute names used in "
       "one condition"},
      {"b.d > a AND c.d > e.f",
       "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes"},
      {"b[0] > a",
       "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes"},
      {":b > :a AND a < :b",
       "Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: No key attribute specified"},
      {"b > :a AND b < :a and c = :a and d = :a",
       "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key"},
      {"(a > :a and b > :a) and (b > :a and c > :a)",
       "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key"},
      {":a = a and b = :a and :a = c",
       "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)"},
      {"z = :a", "Query condition missed key schema element: a"},
      {"a = :a AND z = :b", "Query condition missed key schema element: b"},
      {"b = :a", "Query condition missed key schema element: a"},
      {"a > :a", "Query key condition not supported"},
      {"begins_with(a, :a)", "Query key condition not supported"}};
  for (const auto& [text, message] : refusals) EXPECT_EQ(range(text, ab, kComposite), message) << text;
}

TEST(KeyConditions, OfSeveralAttributes) {
  const KeySchema keys{{"a", Type::kString},
                       KeyAttribute{"c", Type::kString},
                       {{"b", Type::kNumber}},
                       {{"d", Type::kNumber}, {"e", Type::kString}}};
  const Map all{{":a", "x"}, {":b", n(1)}, {":c", "y"}, {":d", n(2)}, {":e", "z"}};
  const auto values = [&](const std::string& names) {
    Map out;
    for (const char name : names) out.set(std::string(":") + name, *all.find(std::string(":") + name));
    return out;
  };
  EXPECT_EQ(range("a = :a AND b = :b", values("ab"), keys), "a=x b=1");
  EXPECT_EQ(range("c < :c AND b = :b AND a = :a", values("abc"), keys), "a=x b=1 <y");
  EXPECT_EQ(range("a = :a AND b = :b AND c = :c AND d BETWEEN :b AND :d", values("abcd"), keys), "a=x b=1 c=y >=1 <=2");
  EXPECT_EQ(range("e > :e AND d = :d AND c = :c AND b = :b AND a = :a", values("abcde"), keys), "a=x b=1 c=y c=2 >z");
  EXPECT_EQ(range("a = :a AND b = :b AND begins_with(c, :c)", values("abc"), keys), "a=x b=1 ^y");
  const std::pair<std::string, std::string> refusals[] = {
      {"a = :a", "HASH key attributes b must have equality conditions specified in the query"},
      {"b = :b AND c = :c", "HASH key attributes a must have equality conditions specified in the query"},
      {"a = :a AND b > :b", "HASH key attributes b must have equality conditions specified in the query"},
      {"a = :a AND b = :b AND d = :d",
       "RANGE key attributes c must have equality conditions specified in the query because a condition is present on "
       "key attribute d"},
      {"a = :a AND b = :b AND c = :c AND e = :e",
       "RANGE key attributes d must have equality conditions specified in the query because a condition is present on "
       "key attribute e"},
      {"a = :a AND b = :b AND c > :c AND d = :d",
       "RANGE key attributes c must have equality conditions specified in the query because a condition is present on "
       "key attribute d"},
      {"a = :a AND b = :b AND begins_with(c, :c) AND d = :d",
       "RANGE key attributes c must have equality conditions specified in the query because a condition is present on "
       "key attribute d"},
      {"a = :a AND b = :b AND z = :c", "Query condition missed key schema element: c"},
      {"a = :a AND b = :b AND c = :c AND d = :d AND e = :e AND z = :e",
       "The number of query conditions (6) exceeds the number of key attributes defined in the schema (5)"}};
  for (const auto& [text, message] : refusals) {
    std::string used;
    for (const char name : std::string("abcde")) {
      if (text.find(std::string(":") + name) != std::string::npos) used += name;
    }
    EXPECT_EQ(range(text, values(used), keys), message) << text;
  }
}

TEST(KeyConditions, Types) {
  const std::string schema =
      "One or more parameter values were invalid: Condition parameter type does not match schema type";
  const std::string operand =
      "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: ";
  const Map wrong{{":p", "q"}, {":n", n(1)}, {":t", yes()}, {":s", "s"}};
  EXPECT_EQ(range("a = :p AND begins_with(b, :n)", wrong, kStrings), operand + "begins_with, operand type: N");
  EXPECT_EQ(range("a = :p AND begins_with(b, :s)", wrong, kComposite), schema);
  EXPECT_EQ(range("a = :p AND b < :t", wrong, kComposite), operand + "<, operand type: BOOL");
  EXPECT_EQ(range("a = :p AND :t >= b", wrong, kComposite), operand + ">=, operand type: BOOL");
  EXPECT_EQ(range("a = :p AND b = :t", wrong, kComposite), schema);
  EXPECT_EQ(range("a = :n", wrong, kComposite), schema);
  EXPECT_EQ(range("a = :p AND b BETWEEN :n AND :t", wrong, kComposite), operand + "BETWEEN, operand type: BOOL");
  EXPECT_EQ(range("a between :n and :s", wrong, kComposite),
            "Invalid KeyConditionExpression: The BETWEEN operator requires same data type for lower and upper bounds; "
            "lower bound operand: AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:s}");
  EXPECT_EQ(range("a = :e", {{":e", ""}}, kSimple),
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            "empty string value. Key: a");
  EXPECT_EQ(range("a = :p AND z = :s", wrong, kSimple),
            "The number of query conditions (2) exceeds the number of key attributes defined in the schema (1)");
  EXPECT_FALSE(key_range({}, kSimple));
}

Item projected(std::string_view text, const Item& item, Names names = {}) {
  ExpressionCache cache;
  Placeholders placeholders{std::move(names), {}};
  Expressions expressions(cache, placeholders);
  auto bound = expressions.projection(text);
  if (!bound) return Item{{"error", bound.error().message}};
  const Item decoded = project(*bound, item);
  EXPECT_TRUE(decoded == project(*bound, ItemRef::encode(item))) << text;
  return decoded;
}

TEST(Projections, Paths) {
  const Item item{{"id", "1"},
                  {"a", Map{{"b", n(2)}, {"c", list({n(1), Map{{"x", n(5)}, {"y", n(6)}}, n(3)})}, {"d", Map{}}}},
                  {"e", list({n(7), n(8), n(9)})},
                  {"f", "text"}};
  EXPECT_TRUE(projected("id, f, absent", item) == (Item{{"id", "1"}, {"f", "text"}}));
  EXPECT_TRUE(projected("a.b", item) == (Item{{"a", Map{{"b", n(2)}}}}));
  EXPECT_TRUE(projected("f,a.b,a.d,id", item) ==
              (Item{{"a", Map{{"b", n(2)}, {"d", Map{}}}}, {"f", "text"}, {"id", "1"}}));
  EXPECT_TRUE(projected("e[2], e[0]", item) == (Item{{"e", list({n(7), n(9)})}}));
  EXPECT_TRUE(projected("a.c[1].y, a.c[0]", item) == (Item{{"a", Map{{"c", list({n(1), Map{{"y", n(6)}}})}}}}));
  EXPECT_TRUE(projected("#1.#2[1].#3", item, {{"#1", "a"}, {"#2", "c"}, {"#3", "x"}}) ==
              (Item{{"a", Map{{"c", list({Value(Map{{"x", n(5)}})})}}}}));
  for (const char* text : {"absent", "a.absent", "a[0]", "e.x", "e[9]", "f.x", "f[0]", "a.c[7].x", "a.c[0].x"}) {
    EXPECT_TRUE(projected(text, item).empty()) << text;
  }
  EXPECT_TRUE(projected("", item) == item);
}

TEST(Projections, TopLevelAttributes) {
  ExpressionCache cache;
  Placeholders placeholders{{{"#x", "named"}}, {}};
  Expressions expressions(cache, placeholders);
  EXPECT_EQ(top_level_attributes(*expressions.projection("b, a.x, #x[0], a.y")),
            (std::vector<std::string_view>{"b", "a", "named"}));
}

}  // namespace
}  // namespace freshet
