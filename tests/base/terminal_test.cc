#include "base/terminal.h"

#include <gtest/gtest.h>

#include <map>

namespace freshet {
namespace {

Screen screen(bool terminal, size_t columns, const std::map<std::string, std::string>& variables = {}) {
  return make_screen(terminal, columns, 0, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

TEST(Terminal, WidthIsTheTerminalsUnlessColumnsSaysAnother) {
  EXPECT_EQ(screen(true, 120).width, 120u);
  EXPECT_EQ(screen(true, 120, {{"COLUMNS", "99"}}).width, 99u);
  EXPECT_EQ(screen(false, 0, {{"COLUMNS", "99"}}).width, 99u);
  EXPECT_EQ(screen(true, 0).width, 80u) << "it does not say";
  for (const char* wrong : {"0", "-1", "wide", "99x", "99999999999999999999999"}) {
    EXPECT_EQ(screen(true, 120, {{"COLUMNS", wrong}}).width, 120u) << wrong;
  }
  EXPECT_EQ(screen(true, 120, {{"LINES", "50"}}).height, 50u);
  EXPECT_EQ(screen(true, 3).width, 20u) << "nothing could be read in less";
}

TEST(Terminal, ColoursAreForTerminalsWhoseUserHasNotTurnedThemOff) {
  EXPECT_TRUE(screen(true, 80, {{"TERM", "xterm"}}).colours);
  EXPECT_TRUE(screen(true, 80, {{"NO_COLOR", ""}}).colours) << "empty is as if not set";
  EXPECT_FALSE(screen(true, 80, {{"NO_COLOR", "1"}}).colours);
  EXPECT_FALSE(screen(true, 80, {{"TERM", "dumb"}}).colours);
  EXPECT_FALSE(screen(false, 80).colours);
  EXPECT_EQ(painted(screen(true, 80), Colour::kRed, "DEAD"), "\033[31mDEAD\033[0m");
  EXPECT_EQ(painted(screen(false, 80), Colour::kRed, "DEAD"), "DEAD");
  EXPECT_EQ(painted(screen(true, 80), Colour::kPlain, "DEAD"), "DEAD");
}

TEST(Terminal, CountsColumnsNotBytes) {
  EXPECT_EQ(columns_of("order-17"), 8u);
  EXPECT_EQ(columns_of("Ærø"), 3u);
  EXPECT_EQ(columns_of("注文"), 4u) << "wide";
  EXPECT_EQ(columns_of("e\u0301"), 1u) << "combining";
  EXPECT_EQ(columns_of("\xff"), 1u) << "no UTF-8";
}

TEST(Terminal, CutsAtTheEndOfAWholeCharacter) {
  EXPECT_EQ(cut_to_columns("order-17", 8), "order-17");
  EXPECT_EQ(cut_to_columns("order-17", 7), "orde...");
  EXPECT_EQ(cut_to_columns("注文注文", 6), "注...") << "half of a wide character has no room";
  EXPECT_EQ(cut_to_columns("Ærøskøbing", 6), "Ærø...");
  EXPECT_EQ(cut_to_columns("order-17", 2), "..");
}

TEST(Terminal, WrapsBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("one\ntwo  three", 80), std::vector<std::string>{"one two three"});
  EXPECT_EQ(wrapped("a longerword b", 4), (std::vector<std::string>{"a", "longerword", "b"}));
  EXPECT_EQ(wrapped("", 80), std::vector<std::string>{""});
  const auto broken = [](std::string_view text, size_t columns) { return wrapped(text, columns, LongWords::kBroken); };
  EXPECT_EQ(broken("a /long/path/to b", 8), (std::vector<std::string>{"a /long/", "path/to", "b"}));
  EXPECT_EQ(broken("abcdefghij", 4), (std::vector<std::string>{"abcd", "efgh", "ij"}));
  EXPECT_EQ(broken("\u00e4\u00e4\u00e4\u00e4\u00e4 x", 3),
            (std::vector<std::string>{"\u00e4\u00e4\u00e4", "\u00e4\u00e4", "x"}));
  EXPECT_EQ(broken("\u4e2d\u4e2d", 1), (std::vector<std::string>{"\u4e2d", "\u4e2d"})) << "a character is never torn";
  EXPECT_EQ(broken("one two three", 7), wrapped("one two three", 7));
}

}  // namespace
}  // namespace freshet
