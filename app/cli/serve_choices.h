// Checks the options of `freshet serve` as a whole and turns them into a queue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/served_queue.h"
#include "base/result.h"

namespace freshet::cli {

struct ServeChoices {
  std::string name;
  // Exactly one of these does the work.
  std::optional<std::string> to;        // URL.
  std::optional<std::string> exec;      // PROGRAM ARGUMENTS.
  std::optional<std::string> function;  // FILE.py:FUNCTION.
  bool pull = false;
  // The texts as given. Absent: the default.
  std::optional<std::string> deadline, keep, rate, concurrency, timeout, late, order;
  std::optional<int64_t> attempts;
  std::vector<std::string> settings;  // VARIABLE=VALUE, each.
};

// kValidation, for a person: an option is missing, wrong, or contradicts another one.
Result<ServedQueue> queue_of(const ServeChoices& choices);

// The reason, for a person, if the program of --exec or the interpreter of --function cannot be started now; else
// empty. Reads PATH and the file system.
std::optional<std::string> missing_program(const ServeChoices& choices);

// The command line with these choices, for a shell.
std::string command_of(const ServeChoices& choices);

// Describes for a person the fault of a value of --rate or --keep; empty if it has none.
std::string wrong_rate(const std::string& text);
std::string wrong_keep(const std::string& text);

// The text as one word of a shell.
std::string shell_word(const std::string& text);

}  // namespace freshet::cli
