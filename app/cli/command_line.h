// The command line of the binary.
#pragma once

namespace freshet::cli {

// The exit status (see commands.h). When standard output could not be written whole, it is not kDone.
int run_command_line(int argc, char** argv);

}  // namespace freshet::cli
