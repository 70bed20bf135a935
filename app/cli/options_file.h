// Options from other sources than the command line: lists in FRESHET_ variables, and the file of `--config`.
#pragma once

#include <string>

#include "app/cli/options.h"

namespace freshet::cli {

// For a command that has been parsed: an option that may be repeated, and got its value from its environment variable,
// gets one value for each line of that variable. Empty lines are skipped.
void split_environment_lists(Command command);

// Sets options of a parsed command from a file of `name = value` lines, except options that the command line or the
// environment sets. The name is that of an option without its dashes; the value goes to the end of the line, in double
// quotes if it begins or ends with a blank. A repeatable option may have several lines. Lines that are empty or begin
// with # are skipped.
//
// Throws CLI::ParseError, naming file and line, for a line that cannot be read, an unknown name or a refused value.
void apply_options_file(Command command, const std::string& path);

}  // namespace freshet::cli
