// The commands and their options, as plain values read from the tree of commands. --help shows the same tree, so
// completions and man pages cannot disagree with it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace freshet::cli {

struct OptionFacts {
  enum class Value { kNone, kText, kFile, kFolder };

  std::vector<std::string> names;  // "--json", "-h"; empty for a positional argument.
  std::string positional;          // The name of a positional argument, like "template"; else empty.
  std::string what;
  Value value = Value::kNone;        // kNone: a flag.
  std::string placeholder;           // The word for the value, like FILE or NUMBER.
  std::string allowed;               // The values that may be given, like "1 to 100"; empty: `what` says it.
  std::vector<std::string> choices;  // All allowed values; empty: any value.
  std::string standard;              // The default, if there is one.
  std::string variable;              // The environment variable, if there is one.
  bool required = false;
  bool repeatable = false;
};

struct CommandFacts {
  std::string path;   // "" for the program itself, "put", "priority peek".
  std::string group;  // Its heading in its parent's --help.
  std::vector<std::string> aliases;
  std::string what;
  std::string examples;  // The end of its --help.
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;

  std::string name() const;  // The last word of the path.
};

CommandFacts read_reference(const CLI::App& app);

// Scripts that complete the words of a command line. They need nothing but their shell.
std::string bash_completions(const CommandFacts& program);
std::string zsh_completions(const CommandFacts& program);
std::string fish_completions(const CommandFacts& program);

// Pages for man(1): for the program, and for one of its commands with all of its subcommands.
std::string program_page(const CommandFacts& program);
std::string command_page(const CommandFacts& command);

}  // namespace freshet::cli
