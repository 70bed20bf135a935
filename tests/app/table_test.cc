#include "app/cli/table.h"

#include <gtest/gtest.h>

namespace freshet::cli {
namespace {

Screen screen(size_t width, bool colours = false) {
  return {.terminal = true, .colours = colours, .width = width};
}

TEST(Table, ColumnsAreAsWideAsWhatTheyHold) {
  Table table(screen(80), {{.header = "TASK"}, {.header = "AGE", .right = true}, {.header = "PAYLOAD"}});
  table.add({{"order-17"}, {"9.0 s"}, {"{}"}});
  table.add({{"注文"}, {"120.0 s"}, {""}});
  EXPECT_EQ(table.text(),
            "TASK          AGE  PAYLOAD\n"
            "order-17    9.0 s  {}\n"
            "注文      120.0 s\n");
}

TEST(Table, TheColumnThatGivesWayIsCutFirst) {
  Table table(screen(30), {{.header = "TASK"}, {.header = "PAYLOAD", .gives_way = true}});
  table.add({{"order-17-of-today"}, {"{\"from\": \"somewhere\"}"}});
  EXPECT_EQ(table.text(),
            "TASK               PAYLOAD\n"
            "order-17-of-today  {\"from\":...\n");
}

TEST(Table, NoLineIsWiderThanTheScreen) {
  Table table(screen(30), {{.header = "TASK"}, {.header = "STATUS"}, {.header = "PAYLOAD", .gives_way = true}});
  table.add({{std::string(100, 'x')}, {"CANCELLED"}, {std::string(100, 'y')}});
  EXPECT_EQ(table.text(),
            "TASK        STATUS     PAYLOAD\n"
            "xxxxxxx...  CANCELLED  yyyy...\n");
}

// A column that wraps stands below its row if need be: the columns before it keep what they can.
TEST(Table, AColumnThatIsSpareGoesBeforeAnotherIsCut) {
  const auto table_of = [](size_t width) {
    Table table(
        screen(width),
        {{.header = "TASK", .gives_way = true}, {.header = "FROM", .spare = true}, {.header = "WHY", .wraps = true}});
    table.add({{"order-17-of-today"}, {"127.0.0.1:50000"}, {"it had not started by its deadline"}});
    return table.text();
  };
  EXPECT_EQ(table_of(36),
            "TASK               FROM\n"
            "order-17-of-today  127.0.0.1:50000\n"
            "    it had not started by its\n"
            "    deadline\n");
  EXPECT_EQ(table_of(30),
            "TASK\n"
            "order-17-of-today\n"
            "    it had not started by its\n"
            "    deadline\n");
}

TEST(Table, NothingIsCutInAPipe) {
  Table table({.terminal = false, .width = 20}, {{.header = "TASK"}, {.header = "DETAIL", .wraps = true}});
  table.add({{std::string(30, 'x')}, {std::string(20, 'y') + " " + std::string(20, 'z')}});
  EXPECT_EQ(table.text(), "TASK" + std::string(28, ' ') + "DETAIL\n" + std::string(30, 'x') + "  " +
                              std::string(20, 'y') + " " + std::string(20, 'z') + "\n");
}

TEST(Table, ALongLastColumnGoesOnInFurtherLines) {
  Table table(screen(34), {{.header = "TASK"}, {.header = "DETAIL", .wraps = true}});
  table.add({{"a"}, {"the queue was paused by somebody else"}});
  table.add({{"b"}, {"short"}});
  EXPECT_EQ(table.text(),
            "TASK  DETAIL\n"
            "a     the queue was paused by\n"
            "      somebody else\n"
            "b     short\n");
}

TEST(Table, ALastColumnWithoutRoomStandsBelow) {
  Table table(screen(30), {{.header = "TIME"}, {.header = "WHO"}, {.header = "DETAIL", .wraps = true}});
  table.add({{"12:00:00"}, {"local"}, {"the queue was paused by somebody else"}});
  table.add({{"12:00:01"}, {"local"}, {""}});
  EXPECT_EQ(table.text(),
            "TIME      WHO\n"
            "12:00:00  local\n"
            "    the queue was paused by\n"
            "    somebody else\n"
            "12:00:01  local\n");
}

TEST(Table, SpareColumnsAreLeftOutBeforeOthersAreCut) {
  const auto text = [](size_t width) {
    Table table(screen(width), {{.header = "QUEUE"},
                                {.header = "KIND", .spare = true},
                                {.header = "PENDING", .right = true},
                                {.header = "RUNNER", .spare = true}});
    table.add({{"emails"}, {"tasks"}, {"94"}, {"http"}});
    return table.text();
  };
  EXPECT_EQ(text(30),
            "QUEUE   KIND   PENDING  RUNNER\n"
            "emails  tasks       94  http\n");
  EXPECT_EQ(text(29),
            "QUEUE   KIND   PENDING\n"
            "emails  tasks       94\n");
  EXPECT_EQ(text(20),
            "QUEUE   PENDING\n"
            "emails       94\n");
}

TEST(Table, PaintsWhatItShowsAndEscapesWhatOthersWrote) {
  Table table(screen(80, true), {{.header = "TASK"}, {.header = "STATUS"}});
  table.add({{"a\x1b[2J"}, {"DEAD", colour_of_status("DEAD")}});
  EXPECT_EQ(table.text(), "\033[1mTASK\033[0m      \033[1mSTATUS\033[0m\na\\x1b[2J  \033[31mDEAD\033[0m\n");
}

}  // namespace
}  // namespace freshet::cli
