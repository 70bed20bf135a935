// JSON of the command line keeps every digit, and looks as the library's own otherwise.
#include "app/cli/exact_json.h"

#include <gtest/gtest.h>

namespace freshet::cli {
namespace {

TEST(ExactJsonTest, NumbersKeepTheirDigits) {
  for (const std::string number : {"12345678901234567890.123456789", "99999999999999999999999999999999999999",
                                   "-18446744073709551617", "0.30000000000000000000001", "1.7976931348623157e+125",
                                   "18446744073709551615", "-9223372036854775808", "0.1", "1721770090000", "-1.5"}) {
    EXPECT_EQ(text_of(parse_exact(number)), number);
    const std::string inside = R"({"a":[)" + number + R"(,{"b":)" + number + "}]}";
    EXPECT_EQ(text_of(parse_exact(inside)), inside);
  }
}

TEST(ExactJsonTest, LooksAsTheLibraryWritesIt) {
  const std::string text =
      R"({"z": [1, [], {}, "x\n\u00fc", null, true], "a": {"deep": {"deeper": [{"n": 0.5}, 2]}}, "empty": ""})";
  const Json expected = Json::parse(text);
  EXPECT_EQ(parse_exact(text), expected);
  EXPECT_EQ(text_of(expected), expected.dump());
  EXPECT_EQ(text_of(expected, 2), expected.dump(2));
  EXPECT_EQ(text_of(Json::array(), 2), "[]");
}

TEST(ExactJsonTest, WhatIsNoJson) {
  for (const std::string text : {"", "{", "{a: 1}", "[1,]", "1 2", "\"\xff\"", "nul"}) {
    EXPECT_TRUE(parse_exact(text).is_discarded()) << text;
  }
  EXPECT_FALSE(parse_exact(std::string(200, '[') + std::string(200, ']')).is_discarded());
  EXPECT_TRUE(parse_exact(std::string(201, '[') + std::string(201, ']')).is_discarded());
  EXPECT_TRUE(parse_exact(std::string(100'000, '[')).is_discarded());
  const auto wrong = read_argument("the key", "{");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(
      wrong.error().message,
      "the key is not JSON in UTF-8: names and texts stand in double quotes, and the shell wants single ones around "
      "all of it, as in '{\"id\": \"a\"}'");
}

TEST(ExactJsonTest, OfTwoMembersWithOneNameTheLastCounts) {
  EXPECT_EQ(text_of(parse_exact(R"({"a": 1, "b": 2, "a": 3})")), R"({"a":3,"b":2})");
}

}  // namespace
}  // namespace freshet::cli
