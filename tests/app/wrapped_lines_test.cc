// Wrapped messages of commands.
#include "app/cli/wrapped_lines.h"

#include <gtest/gtest.h>

#include <sstream>

namespace freshet::cli {
namespace {

constexpr Screen kNarrow{.terminal = true, .width = 20};

TEST(WrappedLines, LinesAreWrappedWhicheverPartsTheyAreMadeOf) {
  std::ostringstream out;
  {
    const WrappedLines wraps(out, kNarrow);
    out << "freshet: cannot reach " << 7070 << ": refused\nIs it running?\n  indented text goes on below\n";
  }
  EXPECT_EQ(out.str(), "freshet: cannot\nreach 7070: refused\nIs it running?\n  indented text goes\n  on below\n");
  out << "a line that is as wide as it likes to be\n";
  EXPECT_TRUE(out.str().ends_with("\na line that is as wide as it likes to be\n"));
}

TEST(WrappedLines, AQuestionIsThereBeforeItsLineEnds) {
  std::ostringstream out;
  const WrappedLines wraps(out, kNarrow);
  out << "Type its name, please, to go on: " << std::flush;
  EXPECT_EQ(out.str(), "Type its name,\nplease, to go on: ");
}

TEST(WrappedLines, AProgressLineStaysAsItIs) {
  std::ostringstream out;
  const WrappedLines wraps(out, kNarrow);
  out << "\r1,000,000 of 2,000,000 tasks" << std::flush;
  EXPECT_EQ(out.str(), "\r1,000,000 of 2,000,000 tasks");
}

TEST(WrappedLines, AScriptGetsWholeLines) {
  std::ostringstream out;
  const WrappedLines wraps(out, {.terminal = false, .width = 20});
  out << "freshet: cannot reach the daemon, whoever may want it\n";
  EXPECT_EQ(out.str(), "freshet: cannot reach the daemon, whoever may want it\n");
}

}  // namespace
}  // namespace freshet::cli
