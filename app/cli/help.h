// The output of --help: wrapped at the width of the screen, and with the values of an option in plain words.
#pragma once

#include <string>

#include "base/terminal.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace freshet::cli {

// From now on `app`, and every command added to it later, answers --help that way on that screen.
void use_help(CLI::App& app, const Screen& screen);

// The word for a value in --help and in man pages, from the library's type of the option: NUMBER of "INT:1 to 100".
std::string value_name(const std::string& type);

// The values that the checks of an option allow, as they say it: "1 to 64". Empty if its description names them.
std::string allowed_values(const CLI::Option& option);

// The footer of a command: lines that begin with a blank are examples, each a command line, all other lines are
// running text. Text is wrapped; an example that is too wide goes on in the next line behind a backslash.
std::string wrapped_footer(const std::string& footer, size_t width);

}  // namespace freshet::cli
