// The messages for a wrong command line: the command, the fault, what would be right.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace freshet::cli {

// Explains that the first word, or the first two, name no command, and lists the existing ones. `app` is the program,
// or the command whose subcommands are meant. `word` is empty if it is missing.
std::string explain_commands(const CLI::App& app, const std::string& word);

// Explains why the words that `app` has parsed are refused. User input in it is escaped.
std::string explain_usage(const CLI::App& app, const CLI::ParseError& error);

// The edit distance of the words: letters changed, inserted or removed, without regard to case.
size_t letters_between(const std::string& from, const std::string& to);

}  // namespace freshet::cli
