// Conditions on stored items: what they cost, and that cheap ways say the same as decoded items. conditions_test.cc
// evaluates everything in both ways.
#include <gtest/gtest.h>

#include "tests/tables/expression/support.h"

namespace freshet {
namespace {

using namespace expression_test;

class EvaluatorTest : public testing::Test {
 protected:
  // The result for an item, and its effort. The values may be as large as the item's.
  struct Outcome {
    bool holds = false;
    bool spent = false;
    uint64_t units = 0;
  };
  Outcome run(const std::string& text, const ItemRef& item, const Map& values) {
    const Placeholders placeholders{{}, values};
    Expressions expressions(cache_, placeholders);
    const auto bound = expressions.condition(text);
    EXPECT_TRUE(bound) << bound.error().message;
    if (!bound) return {};
    Effort effort(kMostItemEffort);
    const bool holds = Evaluator(*bound).holds(item, effort);
    return {holds, effort.is_spent(), kMostItemEffort - effort.left()};
  }
  static std::string repeated(const std::string& text, const std::string& between, int times) {
    std::string out = text;
    for (int i = 1; i < times; ++i) out += between + text;
    return out;
  }
  static Value nulls(size_t count, Value last) {
    std::vector<Value> elements(count, Value(Null{}));
    elements.push_back(std::move(last));
    return list(std::move(elements));
  }

  ExpressionCache cache_;
};

// A hundred such candidates held the loop for half a second a condition.
TEST_F(EvaluatorTest, AWholeAttributeIsComparedAsItIsStored) {
  const Value large = nulls(200'000, n(1));
  const auto item = ItemRef::encode(Item{{"a", large}, {"m", Map{{"a", large}}}});
  const Map values{{":other", nulls(200'000, n(2))}, {":same", large}};
  const auto in = run("a IN (" + repeated(":other", ",", 99) + ",:same)", item, values);
  EXPECT_TRUE(in.holds);
  EXPECT_LT(in.units, 100u * 200'000 / 4) << "it is neither decoded nor compared element by element";
  EXPECT_LT(
      run("attribute_exists(a) AND attribute_type(a, :l) AND size(a) > :n", item, {{":l", "L"}, {":n", n(200'000)}})
          .units,
      100u);
  EXPECT_TRUE(run("contains(a, :n)", item, {{":n", n(1)}}).holds);
  EXPECT_FALSE(run("contains(a, :n)", item, {{":n", n(2)}}).holds);
}

TEST_F(EvaluatorTest, WhatIsLookedIntoIsDecodedOnceAndBounded) {
  const Value large = nulls(200'000, n(1));
  const auto item = ItemRef::encode(Item{{"m", Map{{"a", large}, {"s", "x"}}}});
  const Map values{{":other", nulls(200'000, n(2))}};
  const auto once = run("m.a = :other", item, values);
  EXPECT_FALSE(once.spent);
  EXPECT_GT(once.units, 8u * 200'000);
  const auto many = run(repeated("m.a = :other", " OR ", 100), item, values);
  EXPECT_TRUE(many.spent);
  EXPECT_FALSE(many.holds);
  EXPECT_EQ(many.units, kMostItemEffort);
  EXPECT_TRUE(run("m.a IN (" + repeated(":other", ",", 100) + ")", item, values).spent);
  // Small values beside it cost next to nothing, however many there are.
  std::string text = "m.s <> :x";
  for (int i = 0; i < 140; ++i) text += " OR m.s <> :x";
  const auto small = run(text, item, {{":x", "x"}});
  EXPECT_FALSE(small.spent);
  EXPECT_LT(small.units, 2u << 20);
}

TEST_F(EvaluatorTest, WalksOverListsAreBounded) {
  const auto item = ItemRef::encode(Item{{"a", nulls(380'000, n(1))}});
  EXPECT_FALSE(run("contains(a, :n)", item, {{":n", n(2)}}).spent);
  EXPECT_TRUE(run(repeated("contains(a, :n)", " OR ", 150), item, {{":n", n(2)}}).spent);
}

// Many names are found in one walk over the item, few one after the other.
TEST_F(EvaluatorTest, ItDoesNotMatterHowManyAttributesAConditionLooksAt) {
  Item item;
  for (int i = 0; i < 60; i += 2) item.set("a" + std::to_string(100 + i), n(i));
  const auto stored = ItemRef::encode(item);
  std::string text;
  Map values;
  for (int i = 0; i < 60; ++i) {
    const std::string name = "a" + std::to_string(100 + i);
    text +=
        (i == 0 ? "" : " AND ") + (i % 2 == 0 ? name + " = :v" + std::to_string(i)
                                              : "attribute_not_exists(" + name + ") AND " + name + " <> " + name + "x");
    if (i % 2 == 0) values.set(":v" + std::to_string(i), n(i));
    EXPECT_TRUE(run(text, stored, values).holds) << text;
    EXPECT_EQ(condition(text, item, {}, values), "true");
  }
  EXPECT_FALSE(run(text + " AND a100 = a102", stored, values).holds);
  EXPECT_FALSE(run(text, ItemRef(), values).holds);
}

TEST_F(EvaluatorTest, GoesFromItemToItem) {
  const Placeholders placeholders{{}, {{":l", list({n(1), "x"})}, {":n", n(5)}}};
  Expressions expressions(cache_, placeholders);
  const auto bound = expressions.filter("a = :l OR b = :n");
  ASSERT_TRUE(bound);
  Evaluator evaluator(*bound);
  Effort effort(kMostItemEffort);
  EXPECT_TRUE(evaluator.holds(ItemRef::encode({{"a", list({n(1), "x"})}}), effort));
  EXPECT_FALSE(evaluator.holds(ItemRef::encode({{"a", list({n(2), "x"})}}), effort));
  EXPECT_TRUE(evaluator.holds(ItemRef::encode({{"b", n("5.0")}}), effort));
  EXPECT_FALSE(evaluator.holds(ItemRef(), effort));
}

// Every pair of kinds of operands: whole attributes, what is within one, values of the request, sizes.
TEST_F(EvaluatorTest, AllKindsOfOperandsAgreeWithTheDecodedItem) {
  const std::vector<Value> samples = {"",
                                      "x",
                                      "xyz",
                                      n(0),
                                      n(-5),
                                      n("5.50"),
                                      b("x"),
                                      b(""),
                                      yes(),
                                      Value(Null{}),
                                      list({}),
                                      list({n(1), "x"}),
                                      Map{},
                                      Map{{"k", list({n(1)})}},
                                      strings({"x"}),
                                      numbers({-5, 1}),
                                      strings(std::vector<std::string>{"x", "xyz"})};
  const std::vector<std::string> tests = {"$1 = $2",
                                          "$1 <> $2",
                                          "$1 < $2",
                                          "$1 >= $2",
                                          "begins_with($1, $2)",
                                          "contains($1, $2)",
                                          "$1 BETWEEN $2 AND $1",
                                          "$1 IN (q, $2)",
                                          "size($1) = $2",
                                          "size($1) > size($2)",
                                          "attribute_exists($1) AND $1 = $2"};
  const auto replace = [](std::string text, const std::string& mark, const std::string& by) {
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), by);
    return text;
  };
  for (const auto& left : samples) {
    for (const auto& right : samples) {
      const Item item{{"a", left}, {"c", right}, {"m", Map{{"a", left}, {"l", list({right})}}}};
      for (const auto& test : tests) {
        for (const std::string l : {"a", "m.a"}) {
          for (const std::string r : {"c", "m.l[0]", ":r"}) {
            const std::string text = replace(replace(test, "$1", l), "$2", r);
            const Map values = r == ":r" ? Map{{":r", right}} : Map{};
            EXPECT_NE(condition(text, item, {}, values), "the decoded and the stored item disagree") << text;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace freshet
