// The output of --help.
#include "app/cli/help.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "app/cli/checks.h"
#include "app/cli/command_table.h"

namespace freshet::cli {
namespace {

TEST(Help, TellsTheValuesOfAnOptionInPlainWords) {
  CLI::App app("Put water into a bucket");
  use_help(app, {.width = 60});
  int liters = 7;
  std::string colour = "red", bucket, size;
  const Command command(app);
  command.add_option("bucket", bucket, "The bucket").required();
  command.add_option("--liters", liters, "How much water").check(whole(1, 10)).envname("LITERS").capture_default_str();
  command.add_option("--colour", colour, "red or blue").one_of({"red", "blue"});
  command.add_option("--size", size, "How large").one_of({"small", "large"});
  command.footer(
      "Two buckets that stand\nbeside each other:\n  pour a --liters 2 --colour \"red blue\" && pour bucket-b --liters "
      "3");
  app.name("pour");
  EXPECT_EQ(app.help(),
            "Put water into a bucket\n"
            "Usage: pour [OPTIONS] bucket\n"
            "\n"
            "Arguments:\n"
            "  bucket  The bucket\n"
            "\n"
            "Options:\n"
            "  -h, --help          Show this help\n"
            "      --liters NUMBER\n"
            "                      How much water [1 to 10; default: 7;\n"
            "                      LITERS]\n"
            "      --colour WORD   red or blue\n"
            "      --size WORD     How large [small, large]\n"
            "\n"
            "Two buckets that stand beside each other:\n"
            "  pour a --liters 2 --colour \"red blue\" && pour bucket-b \\\n"
            "      --liters 3\n");
}

void check_widths(const CLI::App& command, const std::string& name, size_t width) {
  std::istringstream lines(command.help(name));  // `name`: of its parents.
  for (std::string line; std::getline(lines, line);) {
    // A word that does not fit has a line of its own; the shell's quotes make one, too.
    const size_t first = line.find_first_not_of(' ');
    const bool one_word = line.find(' ', first) == std::string::npos || line[first] == '\'';
    EXPECT_TRUE(columns_of(line) <= width || one_word) << name << ": " << line;
  }
  for (const CLI::App* below : command.get_subcommands({}))
    check_widths(*below, name + " " + command.get_name(), width);
}

TEST(Help, NoCommandsHelpIsWiderThanTheScreen) {
  for (const size_t width : {60u, 80u, 120u}) {
    CLI::App app("Freshet");
    use_help(app, {.terminal = true, .width = width});
    int exit_status = 0;
    add_commands(Command(app), exit_status);
    app.name("freshet");
    check_widths(app, "", width);
  }
}

// The example lines of a footer, which begin with a blank.
std::string examples_of(const CLI::App& command) {
  std::istringstream lines(command.get_footer());
  std::string out;
  for (std::string line; std::getline(lines, line);) out += line.starts_with("  ") ? line + " \n" : "";
  return out;
}

void check_examples(const CLI::App& command, const std::string& path) {
  const auto below = command.get_subcommands({});
  for (const CLI::App* one : below) check_examples(*one, path + " " + one->get_name());
  const bool has_one = !below.empty() || examples_of(command).find(path + " ") != std::string::npos;
  EXPECT_TRUE(has_one) << path << " ends with: " << command.get_footer();
}

TEST(Help, EveryCommandHasAnExampleOfItsOwn) {
  CLI::App app("Freshet");
  int exit_status = 0;
  add_commands(Command(app), exit_status);
  check_examples(app, "freshet");
}

}  // namespace
}  // namespace freshet::cli
