// Options from elsewhere than the command line: lists in FRESHET_ variables, and the file of `--config`.
#pragma once

#include <string>

#include "app/cli/options.h"

namespace freshet::cli {

// For a command that has been parsed: an option that may be repeated, and got its value from its environment variable,
// gets one value for each line of that variable. Empty lines are skipped.
void split_environment_lists(Command command);

// Sets the options of a command that has been parsed, but those that the command line or the environment sets, from a
// file of `name = value` lines: the name of an option without its dashes; a value to the end of the line, in double
// quotes if it is to begin or end with a blank. An option that may be given several times may stand on several lines.
// Lines that are empty or begin with # are skipped.
//
// Throws CLI::ParseError, naming file and line, for what cannot be read, unknown names, values that are refused.
void apply_options_file(Command command, const std::string& path);

}  // namespace freshet::cli
