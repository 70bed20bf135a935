// `freshet completions` and `freshet man`: what the program says about itself, for shells and for man(1).
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/reference.h"
#include "base/out_file.h"
#include "base/plain_text.h"

namespace freshet::cli {
namespace {

CommandFacts reference_of(Command command) {
  const CLI::App* app = &command.app();
  while (app->get_parent() != nullptr) app = app->get_parent();
  return read_reference(*app);
}

int print_completions(Command command, const std::string& shell) {
  const CommandFacts program = reference_of(command);
  std::cout << (shell == "bash"  ? bash_completions(program)
                : shell == "zsh" ? zsh_completions(program)
                                 : fish_completions(program));
  return kDone;
}

bool write_page(const std::string& file, const std::string& page) {
  std::ofstream out(file, std::ios::binary);
  out << page;
  out.close();
  if (out) return true;
  std::cerr << "freshet man: " << plain_text(cannot_write(file)) << '\n';
  return false;
}

int write_pages(const CommandFacts& program, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error && !std::filesystem::is_directory(folder)) {
    std::cerr << "freshet man: cannot make the folder '" << plain_text(folder) << "': " << error.message() << '\n';
    return kFailed;
  }
  if (!write_page(folder + "/freshet.1", program_page(program))) return kFailed;
  for (const CommandFacts& command : program.commands) {
    if (!write_page(folder + "/freshet-" + command.name() + ".1", command_page(command))) return kFailed;
  }
  return kDone;
}

int print_page(const CommandFacts& program, const std::string& name) {
  if (name.empty()) {
    std::cout << program_page(program);
    return kDone;
  }
  for (const CommandFacts& command : program.commands) {
    if (command.name() != name) continue;
    std::cout << command_page(command);
    return kDone;
  }
  std::cerr << "freshet man: '" << plain_text(name) << "' is no command; freshet --help lists them\n";
  return kUsage;
}

}  // namespace

void add_completions(Command app, int& exit_status) {
  auto shell = std::make_shared<std::string>();
  const Command command = app.add_subcommand("completions", "Print the completion script for your shell");
  command.footer(
      "For the shell that you are in (the Debian package has installed it already):\n"
      "  source <(freshet completions bash)\n"
      "  source <(freshet completions zsh)\n"
      "  freshet completions fish | source");
  command.add_option("shell", *shell, "Your shell").required().one_of({"bash", "zsh", "fish"});
  command.callback([=, &exit_status] { exit_status = print_completions(command, *shell); });
}

void add_man(Command app, int& exit_status) {
  auto name = std::make_shared<std::string>();
  auto folder = std::make_shared<std::string>();
  const Command command = app.add_subcommand("man", "Print the page for man(1) of the program or of one command");
  command.footer(
      "To read one:\n"
      "  freshet man put | man -l -\n"
      "All of them, where man looks for them:\n"
      "  freshet man --folder ~/.local/share/man/man1");
  command.add_option("command", *name, "The command; none: the program itself");
  command.add_option("--folder", *folder, "Write the pages of all commands into this folder; it is made if need be")
      .folder();
  command.callback([=, &exit_status] {
    const CommandFacts program = reference_of(command);
    exit_status = folder->empty() ? print_page(program, *name) : write_pages(program, *folder);
  });
}

}  // namespace freshet::cli
