// The cache, and texts that nobody wrote.
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/tables/expression/support.h"

namespace freshet {
namespace {

using namespace expression_test;

TEST(ExpressionCache, KeepsByKindAndText) {
  ExpressionCache cache(2);
  auto first = cache.condition("a = b", ExpressionKind::kCondition);
  ASSERT_TRUE(first);
  EXPECT_EQ(*cache.condition("a = b", ExpressionKind::kCondition), *first);
  EXPECT_NE(*cache.condition("a = b", ExpressionKind::kFilter), *first);
  EXPECT_NE(*cache.condition("a = b", ExpressionKind::kKeyCondition), *first);
  EXPECT_TRUE(cache.update("SET a = b"));
  EXPECT_TRUE(cache.projection("a"));
  EXPECT_EQ(cache.hits(), 1u);
  EXPECT_EQ(cache.misses(), 5u);
  EXPECT_EQ(cache.size(), 5u);
}

TEST(ExpressionCache, DropsTheLeastRecentlyUsed) {
  ExpressionCache cache(2);
  auto a = *cache.projection("a");
  auto b = *cache.projection("b");
  EXPECT_EQ(*cache.projection("a"), a);
  EXPECT_TRUE(cache.projection("c"));
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(*cache.projection("a"), a);
  EXPECT_NE(*cache.projection("b"), b);
  EXPECT_NE(*cache.projection("b"), nullptr);
}

TEST(ExpressionCache, LongTextsTakeMoreOfTheRoom) {
  ExpressionCache cache(1000);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(cache.projection(std::string(4000, 'a') + std::to_string(i)));
  EXPECT_LT(cache.size(), 100u);
  EXPECT_GT(cache.size(), 50u);
}

TEST(ExpressionCache, ForgetsFailures) {
  ExpressionCache cache;
  EXPECT_FALSE(cache.update("SET"));
  EXPECT_FALSE(cache.update("SET"));
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(cache.misses(), 2u);
  EXPECT_TRUE(ExpressionCache(0).update("SET a = b"));
}

TEST(ExpressionCache, AnEvictedExpressionStaysWithItsUser) {
  ExpressionCache cache(1);
  Placeholders placeholders{{}, {{":v", n(1)}}};
  Expressions expressions(cache, placeholders);
  auto bound = expressions.condition("a = :v");
  ASSERT_TRUE(cache.condition("c = a", ExpressionKind::kCondition));
  EXPECT_TRUE(evaluate(*bound, Item{{"a", n(1)}}));
}

std::string soup(Random& random) {
  constexpr std::string_view kPieces[] = {"a",
                                          "b",
                                          "c.d",
                                          "#n",
                                          "#m",
                                          ":s",
                                          ":n",
                                          ":l",
                                          ":m",
                                          ":ss",
                                          "(",
                                          ")",
                                          ",",
                                          ".",
                                          "[0]",
                                          "[7]",
                                          "[",
                                          "]",
                                          "=",
                                          "<>",
                                          "<",
                                          "<=",
                                          ">",
                                          ">=",
                                          "+",
                                          "-",
                                          "AND",
                                          "OR",
                                          "NOT",
                                          "BETWEEN",
                                          "IN",
                                          "SET",
                                          "REMOVE",
                                          "ADD",
                                          "DELETE",
                                          "size(",
                                          "if_not_exists(",
                                          "list_append(",
                                          "contains(",
                                          "begins_with(",
                                          "attribute_exists(",
                                          "attribute_type(",
                                          "\xC3\xBC",
                                          "\xFF",
                                          "#",
                                          ":",
                                          "99999999999",
                                          "status",
                                          "f("};
  std::string text;
  const uint64_t length = 1 + random.below(14);
  for (uint64_t i = 0; i < length; ++i) {
    text += kPieces[random.below(std::size(kPieces))];
    if (random.below(3) != 0) text += ' ';
  }
  return text;
}

// A grammar that is mostly right, so that the soup also reaches evaluation.
std::string likely(Random& random, int depth = 0) {
  constexpr std::string_view kOperands[] = {"a", "b[1]", "#n", "c.d", ":s", ":n", ":l", ":m", ":ss", "size(a)"};
  auto operand = [&] { return std::string(kOperands[random.below(std::size(kOperands))]); };
  constexpr std::string_view kComparators[] = {" = ", " <> ", " < ", " <= ", " > ", " >= "};
  switch (depth > 4 ? random.below(5) : random.below(8)) {
    case 0:
      return operand() + std::string(kComparators[random.below(6)]) + operand();
    case 1:
      return operand() + " BETWEEN " + operand() + " AND " + operand();
    case 2:
      return operand() + " IN (" + operand() + ", " + operand() + ")";
    case 3:
      return "contains(" + operand() + ", " + operand() + ")";
    case 4:
      return "attribute_exists(" + operand() + ")";
    case 5:
      return "NOT " + likely(random, depth + 1);
    case 6:
      return "(" + likely(random, depth + 1) + " OR " + likely(random, depth + 1) + ")";
    default:
      return likely(random, depth + 1) + " AND " + likely(random, depth + 1);
  }
}

std::string likely_update(Random& random) {
  constexpr std::string_view kTargets[] = {"a", "b[1]", "b[9]", "#n", "c.d", "c.e", "e", "b[0]"};
  constexpr std::string_view kValues[] = {
      "a", ":n", ":l", ":m", ":ss", ":n + :n", "a - :n", "#n + :n", "if_not_exists(a, :s)", "list_append(:l, b)"};
  std::string text = "SET ";
  const uint64_t actions = 1 + random.below(3);
  for (uint64_t i = 0; i < actions; ++i) {
    text += std::string(i ? ", " : "") + std::string(kTargets[random.below(std::size(kTargets))]) + " = " +
            std::string(kValues[random.below(std::size(kValues))]);
  }
  if (random.below(2)) text += " REMOVE " + std::string(kTargets[random.below(std::size(kTargets))]);
  if (random.below(2)) text += " ADD " + std::string(kTargets[random.below(std::size(kTargets))]) + " :n";
  if (random.below(2)) text += " DELETE " + std::string(kTargets[random.below(std::size(kTargets))]) + " :ss";
  return text;
}

// For any text: an error with the kind's name, or an expression that can be evaluated.
void drive(const std::string& text, const Item& item) {
  static ExpressionCache cache(64);
  const Placeholders placeholders{
      {{"#n", "number"}, {"#m", "c"}},
      {{":s", "x"}, {":n", n(3)}, {":l", list({n(1)})}, {":m", Map{{"k", "v"}}}, {":ss", strings({"x", "y"})}}};
  Expressions expressions(cache, placeholders);
  for (auto bound : {expressions.condition(text), expressions.filter(text), expressions.key_condition(text)}) {
    if (!bound) {
      EXPECT_EQ(bound.error().message.rfind("Invalid ", 0), 0u) << bound.error().message;
      continue;
    }
    EXPECT_EQ(evaluate(*bound, item), evaluate(*bound, ItemRef::encode(item))) << text;
    key_range(*bound, KeySchema{{"a", Type::kString}, KeyAttribute{"number", Type::kNumber}});
    top_level_attributes(*bound);
  }
  if (auto bound = expressions.update(text)) {
    auto after = apply(*bound, item);
    if (after) {
      updated_attributes(*bound, item, *after);
      EXPECT_TRUE(ItemRef::encode(*after).decode() == *after) << text;
    } else {
      EXPECT_FALSE(after.error().message.empty());
    }
  }
  if (auto bound = expressions.projection(text)) project(*bound, item);
}

TEST(ExpressionSoup, NeverCrashes) {
  const uint64_t seed = 20260721;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const Item item{
      {"a", "x"}, {"b", list({strings({"x"}), n(2), strings({"z"})})}, {"c", Map{{"d", n(4)}}}, {"number", n(1)}};
  for (int i = 0; i < 3000; ++i) drive(soup(random), item);
  for (int i = 0; i < 1500; ++i) drive(likely(random), item);
  for (int i = 0; i < 1500; ++i) drive(likely_update(random), item);
}

}  // namespace
}  // namespace freshet
