#include "app/cli/command_table.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <set>
#include <string>

namespace freshet::cli {
namespace {

TEST(CommandTable, GroupsStandTogetherAndNamesAreUnique) {
  std::set<std::string> names, groups;
  std::string group;
  for (const CommandRow& row : command_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    if (row.group == group) continue;
    group = row.group;
    EXPECT_TRUE(groups.insert(group).second) << group << " stands at two places";
  }
  EXPECT_EQ(groups, (std::set<std::string>{"Tasks", "Operate", "Functions", "Experiments", "More queues"}));
}

TEST(CommandTable, EveryCommandIsAddedInItsGroupAndSaysWhatItDoes) {
  CLI::App app("test");
  int exit_status = 0;
  add_commands(Command(app), exit_status);
  for (const CommandRow& row : command_table()) {
    const CLI::App* command = app.get_subcommand(row.name);
    EXPECT_EQ(command->get_group(), row.group);
    EXPECT_FALSE(command->get_description().empty()) << row.name;
    EXPECT_FALSE(command->get_footer().empty()) << row.name << " has no example";
  }
  EXPECT_EQ(app.get_subcommands({}).size(), command_table().size());
}

}  // namespace
}  // namespace freshet::cli
