#include "app/cli/command_line.h"

int main(int argc, char** argv) {
  return freshet::cli::run_command_line(argc, argv);
}
