// Which tasks a change of many is for.
#include "functions/queue/policy/where.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

TEST(Where, EachAttributeMustBeAsTheTextSays) {
  const ItemRef one = task({{"group", Value("eu")}, {"priority", Value::number(5)}, {"paid", Value::boolean(true)}});
  EXPECT_TRUE(matches(one, {}));
  EXPECT_TRUE(matches(one, {{"group", "eu"}}));
  EXPECT_TRUE(matches(one, {{"group", "eu"}, {"priority", "5"}, {"paid", "true"}}));
  EXPECT_FALSE(matches(one, {{"group", "eu"}, {"priority", "6"}}));
  EXPECT_FALSE(matches(one, {{"group", "e"}}));
  EXPECT_FALSE(matches(one, {{"group", ""}}));
  EXPECT_FALSE(matches(one, {{"region", ""}})) << "it must be there";
}

TEST(Where, AStringThatLooksLikeANumberIsAString) {
  EXPECT_TRUE(matches(task({{"size", Value("5")}}), {{"size", "5"}}));
  EXPECT_FALSE(matches(task({{"size", Value("5.0")}}), {{"size", "5"}}));
}

TEST(Where, WhatCanNeverMatchIsRefused) {
  const auto message = [](const TaskWhere& where) {
    const auto refused = never_matches(where);
    return refused ? refused->message : "";
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({{"group", "eu"}, {"priority", "-5"}, {"attempt", "0"}, {"size", "much"}}), "");
  EXPECT_EQ(message({{"", "x"}}), "'where' needs the name of an attribute before '='");
  EXPECT_EQ(message({{"taskStatus", "DEAD"}}),
            "'where' cannot choose by taskStatus: the state is chosen beside it ('states', --state)");
  for (const std::string wrong : {"high", "", "-", "5.0", "05", "1234567890123456789"}) {
    EXPECT_EQ(message({{"priority", wrong}}),
              "'where' 'priority=" + wrong + "' never matches: 'priority' is a whole number, as in priority=5");
  }
  TaskWhere many;
  for (int i = 0; i < 16; ++i) many.emplace_back("a" + std::to_string(i), "x");
  EXPECT_EQ(message(many), "");
  many.emplace_back("a16", "x");
  EXPECT_EQ(message(many), "'where' has 17 attributes; at most 16 may be");
}

}  // namespace
}  // namespace freshet
