#include "base/plain_text.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

bool has_control(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c < 0x20 || c == 0x7f || c1) return true;
  }
  return false;
}

// U+0000 to U+00FF.
std::string utf8(int code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3f))};
}

TEST(PlainTextTest, EveryControlCharacterIsEscapedAndNothingElse) {
  for (int code = 0; code < 0x100; ++code) {
    const std::string in = "a" + utf8(code) + "z";
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    EXPECT_EQ(plain_text(in) == in, !control) << code;
    EXPECT_FALSE(has_control(plain_text(in))) << code;
    EXPECT_FALSE(has_control(plain_json("\"" + in + "\"")) && code != '\n' && code != '\t') << code;
  }
  EXPECT_EQ(plain_text("\x1b]0;title\x07\r\n\t\x7f\xc2\x9b"), "\\x1b]0;title\\x07\\r\\n\\t\\x7f\\u009b");
  EXPECT_EQ(plain_text("gr\xc3\xbc\xc3\x9f \\n \xf0\x9f\x8c\x8a"), "gr\xc3\xbc\xc3\x9f \\n \xf0\x9f\x8c\x8a");
}

// Such a character shows the rest of the line in another order, or on a line of its own: a task id could hide words.
TEST(PlainTextTest, MarksOfDirectionAndSeparatorsOfLinesAreEscaped) {
  EXPECT_EQ(plain_text("a\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f z"), "a\\u061c\\u200e\\u200f z");
  EXPECT_EQ(plain_text("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xae"), "\\u2028\\u2029\\u202a\\u202e");
  EXPECT_EQ(plain_text("\xe2\x81\xa6\xe2\x81\xa9"), "\\u2066\\u2069");
  const std::string_view others =
      "\xe2\x80\x8d \xe2\x80\xa6 \xe2\x80\xaf \xd7\x90 \xd8\xa7 \xe2\x81\xa5";  // Joiner, ellipsis, letters.
  EXPECT_EQ(plain_text(others), others);
  EXPECT_EQ(plain_json("\"\xe2\x80\xae\""), "\"\\u202e\"");
}

// A terminal that does not speak UTF-8 obeys single bytes from 0x80 on.
TEST(PlainTextTest, BytesThatAreNoUtf8AreEscapedOneByOne) {
  EXPECT_EQ(plain_text("a\x9b\xff"), "a\\x9b\\xff");
  EXPECT_EQ(plain_text("\xc2"), "\\xc2") << "cut off";
  EXPECT_EQ(plain_text("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(plain_text(""), "");
}

TEST(PlainTextTest, OnlyOurOwnLinesStay) {
  EXPECT_EQ(plain_lines("one\ntwo\r\x1b[1m"), "one\ntwo\\r\\x1b[1m");
  EXPECT_EQ(plain_lines("f:1: a\nf:2: b\nforged", "f:"), "f:1: a\nf:2: b\\nforged");
}

TEST(PlainTextTest, JsonKeepsItsValue) {
  EXPECT_EQ(plain_json("{\r\n\t\"a\": \"\xc2\x9b\x7f\"}"), "{ \n\t\"a\": \"\\u009b\\u007f\"}");
  EXPECT_EQ(plain_json("no JSON \x1b[2J\x9b"), "no JSON \\u001b[2J\\u009b");
}

}  // namespace
}  // namespace freshet
