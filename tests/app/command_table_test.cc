#include "app/cli/command_table.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <set>
#include <string>

namespace freshet::cli {
namespace {

TEST(CommandTable, GroupsStandTogetherAndNamesAreUnique) {
  CLI::App app("test");
  int exit_status = 0;
  add_commands(Command(app), exit_status);
  std::set<std::string> names, groups;
  std::string group;
  for (const CLI::App* command : app.get_subcommands({})) {
    EXPECT_TRUE(names.insert(command->get_name()).second) << command->get_name();
    if (command->get_group() == group) continue;
    group = command->get_group();
    EXPECT_TRUE(groups.insert(group).second) << group << " stands at two places";
  }
  EXPECT_EQ(groups, (std::set<std::string>{"Tasks", "Operate", "Functions", "Experiments", "More queues"}));
}

TEST(CommandTable, EveryCommandSaysWhatItDoes) {
  CLI::App app("test");
  int exit_status = 0;
  add_commands(Command(app), exit_status);
  for (const CLI::App* command : app.get_subcommands({})) {
    EXPECT_FALSE(command->get_description().empty()) << command->get_name();
    EXPECT_FALSE(command->get_footer().empty()) << command->get_name() << " has no example";
  }
}

}  // namespace
}  // namespace freshet::cli
