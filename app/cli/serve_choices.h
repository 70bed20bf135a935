// The options of `freshet serve`, checked as a whole and turned into the queue that they mean.
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
  // Texts as they were given. Absent: the default.
  std::optional<std::string> deadline, keep, rate, concurrency, timeout, late, order;
  std::optional<int64_t> attempts;
  std::vector<std::string> settings;  // VARIABLE=VALUE, each.
};

// kValidation, for a person: an option is missing, wrong, or contradicts another one.
Result<ServedQueue> queue_of(const ServeChoices& choices);

// Why the program of --exec cannot be started now, for a person; nothing if it can, or if there is none. Reads the file
// system.
std::optional<std::string> missing_program(const ServeChoices& choices);

// The command line that asks for this, for a shell.
std::string command_of(const ServeChoices& choices);

// They say for a person what is wrong with a value of --rate or --keep; empty if nothing is.
std::string wrong_rate(const std::string& text);
std::string wrong_keep(const std::string& text);

// The text as one word of a shell.
std::string shell_word(const std::string& text);

}  // namespace freshet::cli
