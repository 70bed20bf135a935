// Conditions on items. Every case runs on the decoded and on the stored item.
#include <gtest/gtest.h>

#include "tests/tables/expression/support.h"

namespace freshet {
namespace {

using namespace expression_test;

Item sample() {
  return Item{{"id", "task-1"},
              {"amount", n(5)},
              {"price", n("12.50")},
              {"raws", b(std::string("hi there"))},
              {"flag", yes()},
              {"unset", Value::boolean(false)},
              {"nothing", Null{}},
              {"word", "hello"},
              {"unicode", "\xC3\xA9\xF0\x9D\x84\x9E"},  // One and two UTF-16 units.
              {"tags", strings({"blue", "red"})},
              {"nums", numbers({2, 4, 7})},
              {"blobs", Value(BinarySet{{"a", "b"}})},
              {"things", list({n(2), Value("dog"), list({n(3)}), numbers({1, 2})})},
              {"doc", Map{{"x", n(1)}, {"y", list({n(-1), n(2), n(0)})}, {"box", Map{{"deep", "v"}}}}}};
}

struct Case {
  const char* expression;
  bool holds;
};

void check(std::initializer_list<Case> cases, const Map& values = {}, const Names& names = {}) {
  const Names reserved = names;
  for (const auto& each : cases) {
    // Each case uses some of the values; unused ones are left out.
    Map used;
    for (const auto& [name, value] : values) {
      const std::string text(each.expression);
      for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        const size_t end = at + name.size();
        if (end == text.size() || !(std::isalnum(text[end]) || text[end] == '_')) used.set(name, value);
      }
    }
    EXPECT_EQ(condition(each.expression, sample(), reserved, used), each.holds ? "true" : "false") << each.expression;
  }
}

TEST(Conditions, Equality) {
  check({{"word = :hello", true},
         {"word = :other", false},
         {"word <> :other", true},
         {"word <> :hello", false},
         {"price = :price", true},
         {"price = :string", false},
         {"price <> :string", true},
         {"flag = :yes", true},
         {"unset = :yes", false},
         {"nothing = :null", true},
         {"raws = :raw", true},
         {"tags = :tags", true},
         {"nums = :nums", true},
         {"things = :things", true},
         {"doc = :doc", true},
         {"doc <> :doc", false},
         {"doc.box.deep = :v", true},
         {":hello = word", true},
         {":hello = :hello", true}},
        {{":hello", "hello"},
         {":other", "hellO"},
         {":price", n("12.5")},
         {":string", "12.5"},
         {":yes", yes()},
         {":null", Null{}},
         {":raw", b("hi there")},
         {":tags", strings({"blue", "red"})},
         {":nums", numbers({2, 4, 7})},
         {":things", *sample().find("things")},
         {":doc", *sample().find("doc")},
         {":v", "v"}});
}

TEST(Conditions, WhatIsNotThereEqualsNothing) {
  check({{"absent = :v", false},
         {"absent <> :v", true},
         {"absent = gone", false},
         {"absent <> gone", true},
         {"absent < :v", false},
         {":v >= absent", false},
         {"absent BETWEEN :v AND :v", false},
         {"absent IN (:v, gone)", false},
         {"NOT absent = :v", true},
         {"NOT absent < :v", true},
         {"doc.z < doc.y[100]", false},
         {"word.x = :v", false},
         {"things.x = :v", false},
         {"doc[0] = :v", false},
         {"size(absent) = :v", false},
         {"size(absent) <> :v", true},
         {"contains(absent, :v)", false},
         {"begins_with(absent, word)", false}},
        {{":v", n(1)}});
  EXPECT_EQ(condition("a = :v", Item{}, {}, {{":v", n(1)}}), "false");
  EXPECT_EQ(condition("attribute_not_exists(a)", Item{}), "true");
}

TEST(Conditions, Order) {
  check({{"amount < :six", true},
         {"amount < :five", false},
         {"amount <= :five", true},
         {"amount > :five", false},
         {"amount >= :five", true},
         {"amount > :four", true},
         {"word < :help", true},
         {"word > :help", false},
         {"raws > :hi", true},
         {"raws < :hi", false},
         {"amount < :text", false},
         {"amount >= :text", false},
         {"things < :six", false},
         {":six > amount", true},
         {"doc.x < doc.y[1]", true},
         {"doc.x < doc.y[0]", false},
         {"price > :ten", true},
         {"nothing <= :six", false}},
        {{":six", n(6)},
         {":five", n("5.0")},
         {":four", n(4)},
         {":ten", n(10)},
         {":help", "help"},
         {":hi", b("hi")},
         {":text", "5"}});
  // Strings are ordered by their UTF-8 bytes.
  EXPECT_EQ(condition("a < :v", Item{{"a", "z"}}, {}, {{":v", "\xC3\xA9"}}), "true");
  EXPECT_EQ(condition("a < :v", Item{{"a", "Z"}}, {}, {{":v", "a"}}), "true");
}

TEST(Conditions, BetweenAndIn) {
  check({{"amount BETWEEN :four AND :six", true},
         {"amount between :five and :five", true},
         {"amount BETWEEN :six AND :nine", false},
         {"amount BETWEEN doc.x AND :six", true},
         {"amount BETWEEN word AND :six", false},
         {"word BETWEEN :a AND :z", true},
         {"price BETWEEN :a AND :z", false},
         {"amount IN (:four, :five)", true},
         {"amount in (:four, :a)", false},
         {"word IN (:a, id, word2, :hello)", true},
         {"things IN (:a, :things)", true},
         {"amount BETWEEN :four AND :six AND word = :hello", true}},
        {{":four", n(4)},
         {":five", n(5)},
         {":six", n(6)},
         {":nine", n(9)},
         {":a", "a"},
         {":z", "z"},
         {":hello", "hello"},
         {":things", *sample().find("things")}});
}

TEST(Conditions, Logic) {
  check({{"amount = :n5 OR amount = :n6 AND word = :no", true},     // AND before OR.
         {"(amount = :n5 OR amount = :n6) AND word = :no", false},  //
         {"NOT amount = :n6 AND word = :hello", true},              // NOT before AND.
         {"NOT (amount = :n6 OR word = :hello)", false},
         {"not amount = :n5 oR word = :hello", true},
         {"NOT NOT NOT NOT amount = :n5", true},
         {"NOT NOT NOT amount = :n5", false},
         {"amount = :n6 AND word = :hello OR amount = :n5", true},
         {"amount = :n5 AND word = :hello AND attribute_exists(flag)", true},
         {"(amount)=(:n5)", true}},
        {{":n5", n(5)}, {":n6", n(6)}, {":no", "no"}, {":hello", "hello"}}, {});
}

TEST(Conditions, Existence) {
  check({{"attribute_exists(word)", true},
         {"attribute_exists(absent)", false},
         {"attribute_not_exists(absent)", true},
         {"attribute_not_exists(nothing)", false},
         {"attribute_exists(doc.box.deep)", true},
         {"attribute_exists(doc.box.shallow)", false},
         {"attribute_exists(things[2][0])", true},
         {"attribute_exists(things[4])", false},
         {"attribute_exists (things [0])", true}});
}

TEST(Conditions, AttributeType) {
  const std::pair<const char*, const char*> types[] = {
      {"word", "S"}, {"amount", "N"}, {"raws", "B"},  {"flag", "BOOL"}, {"nothing", "NULL"},
      {"doc", "M"},  {"things", "L"}, {"tags", "SS"}, {"nums", "NS"},   {"blobs", "BS"}};
  for (const auto& [name, type] : types) {
    for (const auto& [unused, other] : types) {
      EXPECT_EQ(condition("attribute_type(" + std::string(name) + ", :t)", sample(), {}, {{":t", other}}),
                std::string_view(type) == other ? "true" : "false")
          << name << " " << other;
    }
  }
  EXPECT_EQ(condition("attribute_type(:v, :t)", sample(), {}, {{":v", n(1)}, {":t", "N"}}), "true");
  EXPECT_EQ(condition("attribute_type(absent, :t)", sample(), {}, {{":t", "N"}}), "false");
}

TEST(Conditions, BeginsWith) {
  check({{"begins_with(word, :hell)", true},
         {"begins_with(word, :empty)", true},
         {"begins_with(word, :ello)", false},
         {"begins_with(word, :hi)", false},
         {"begins_with(raws, :hi)", true},
         {"begins_with(amount, :hell)", false},
         {"begins_with(:hellohi, word)", true},
         {"begins_with(word, amount)", false},
         {"begins_with(word, id)", false}},
        {{":hell", "hell"}, {":empty", ""}, {":ello", "ello"}, {":hi", b("hi")}, {":hellohi", "hellohi"}});
}

TEST(Conditions, Contains) {
  check({{"contains(word, :ell)", true},    {"contains(word, :n4)", false},     {"contains(raws, :here)", true},
         {"contains(raws, :dog)", false},   {"contains(tags, :red)", true},     {"contains(tags, :ed)", false},
         {"contains(nums, :n4)", true},     {"contains(nums, :n5)", false},     {"contains(nums, :red)", false},
         {"contains(blobs, :ba)", true},    {"contains(blobs, :red)", false},   {"contains(things, :n2)", true},
         {"contains(things, :dogs)", true}, {"contains(things, :l3)", true},    {"contains(things, :ns12)", true},
         {"contains(things, :red)", false}, {"contains(things, :ns21)", false}, {"contains(doc, :x)", false},
         {"contains(amount, :n5)", false},  {"contains(:hello3, word)", true}},
        {{":ell", "ell"},
         {":n4", n(4)},
         {":n5", n(5)},
         {":n2", n("2.0")},
         {":here", b("here")},
         {":dog", b("dog")},
         {":dogs", "dog"},
         {":red", "red"},
         {":ed", "ed"},
         {":ba", b("a")},
         {":l3", list({n(3)})},
         {":ns12", numbers({1, 2})},
         {":ns21", numbers({2})},
         {":x", "x"},
         {":hello3", "say hello"}});
}

TEST(Conditions, Size) {
  check({{"size(word) = :n5", true},
         {"size(unicode) = :n3", true},
         {"size(raws) = :n8", true},
         {"size(tags) = :n2", true},
         {"size(nums) = :n3", true},
         {"size(blobs) = :n2", true},
         {"size(things) = :n4", true},
         {"size(doc) = :n3", true},
         {"size(doc.y) >= :n3", true},
         {"size(amount) = :n1", false},
         {"size(amount) >= :n1", false},
         {"size(flag) = :n1", false},
         {"size(nothing) = :n1", false},
         {"size(word) = :s", false},
         {"size(word) = amount", true},
         {"size(:s) = :n1", true},
         {"size(word) BETWEEN :n4 AND :n8", true},
         {"size(word) IN (:n4, :n5)", true},
         {"amount = size(word)", true},
         {"NOT size(word) > :n5", true}},
        {{":n1", n(1)}, {":n2", n(2)}, {":n3", n(3)}, {":n4", n(4)}, {":n5", n(5)}, {":n8", n(8)}, {":s", "5"}});
}

TEST(Conditions, NamePlaceholders) {
  const Item item{{"and", Map{{"or", n(2)}, {"a.b", n(3)}}}, {"a.b", n(4)}, {"3 odd!", n(5)}};
  EXPECT_EQ(condition("#1.#2 = :v", item, {{"#1", "and"}, {"#2", "or"}}, {{":v", n(2)}}), "true");
  EXPECT_EQ(condition("#1.#2 = :v", item, {{"#1", "and"}, {"#2", "a.b"}}, {{":v", n(3)}}), "true");
  EXPECT_EQ(condition("#1 = :v", item, {{"#1", "a.b"}}, {{":v", n(4)}}), "true");
  EXPECT_EQ(condition("#_9 = :_", item, {{"#_9", "3 odd!"}}, {{":_", n(5)}}), "true");
  EXPECT_EQ(condition("attribute_exists(#1) AND #1 <> :v", item, {{"#1", "and"}}, {{":v", n(2)}}), "true");
}

TEST(Conditions, AttributesThatAreRead) {
  ExpressionCache cache;
  Placeholders placeholders{{{"#n", "named"}}, {{":v", n(1)}}};
  Expressions expressions(cache, placeholders);
  auto bound = expressions.filter("a.b = :v AND (size(#n) > c[0] OR a = c OR NOT begins_with(d, #n))");
  ASSERT_TRUE(bound);
  EXPECT_EQ(top_level_attributes(*bound), (std::vector<std::string_view>{"a", "named", "c", "d"}));
}

TEST(Conditions, FiltersKeepAwayFromKeys) {
  TableDefinition table;
  table.keys = {{"pk", Type::kString}, KeyAttribute{"sk", Type::kNumber}};
  table.indexes.emplace_back().keys.partition = {"g", Type::kString};
  ExpressionCache cache;
  Placeholders placeholders{{{"#s", "sk"}}, {{":v", n(1)}}};
  Expressions expressions(cache, placeholders);
  EXPECT_TRUE(check_filter(*expressions.filter("a = :v"), table.keys));
  EXPECT_EQ(check_filter(*expressions.filter("a = :v AND #s > :v"), table.keys).error().message,
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk");
  const std::string nested =
      "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: ";
  EXPECT_EQ(check_keys(*expressions.filter("attribute_exists(#s[0])"), table).error().message, nested + "Key: sk");
  EXPECT_EQ(check_keys(*expressions.condition("pk.a = :v"), table).error().message, nested + "Key: pk");
  EXPECT_EQ(check_keys(*expressions.projection("a, pk.a"), table).error().message, nested + "Key: pk");
  EXPECT_TRUE(check_keys(*expressions.projection("a.b, pk"), table));
  EXPECT_EQ(check_keys(*expressions.projection("a, g.a"), table).error().message, nested + "IndexKey: g");
  EXPECT_EQ(check_keys(*expressions.condition("a = :v AND g[0] = :v"), table).error().message, nested + "IndexKey: g");
  EXPECT_TRUE(check_keys(*expressions.filter("pk = :v"), table));
}

}  // namespace
}  // namespace freshet
