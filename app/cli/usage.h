// The messages for a command line that cannot be carried out: the command, what is wrong, what would be right.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace freshet::cli {

// The command that the first word, or the first two, name if they name none, and the ones that there are. `app` is the
// program, or the command whose commands are meant. `word` is empty if it is missing.
std::string explain_commands(const CLI::App& app, const std::string& word);

// Why the words that `app` has parsed are refused. User input in it is escaped.
std::string explain_usage(const CLI::App& app, const CLI::ParseError& error);

// How many letters have to be changed, put in or left out to make one word of the other, without regard to case.
size_t letters_between(const std::string& from, const std::string& to);

}  // namespace freshet::cli
