// The file of `--config`: options that neither the command line nor the environment sets.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace freshet::cli {

// Sets the options of a command that has been parsed from a file of `name = value` lines: the name of an option without
// its dashes; a value to the end of the line, in double quotes if it is to begin or end with a blank. An option that
// may be given several times may stand on several lines. Lines that are empty or begin with # are skipped.
//
// Throws CLI::ParseError, naming file and line, for what cannot be read, unknown names, values that are refused.
void apply_options_file(CLI::App& command, const std::string& path);

}  // namespace freshet::cli
