// The output of --help: wrapped at the width of the screen, and with the values of an option in plain words.
#pragma once

#include <string>

#include "base/terminal.h"

namespace CLI {
class App;
}

namespace freshet::cli {

// From now on `app`, and every command added to it later, answers --help that way on that screen.
void use_help(CLI::App& app, const Screen& screen);

// The footer of a command: lines that begin with a blank are examples, each a command line, all other lines are
// running text. Text is wrapped; an example that is too wide goes on in the next line behind a backslash.
std::string wrapped_footer(const std::string& footer, size_t width);

}  // namespace freshet::cli
