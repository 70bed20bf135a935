// The queue that `freshet serve` runs, as a value, and the template that it stands for: that of config/lifo.yaml with
// the queue's own name and settings.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "functions/settings.h"
#include "runtime/invoke/function.h"

namespace freshet::cli {

// A function that does the work of each task.
struct ServedFunction {
  std::string runtime;  // As templates name it: "python3", "nodejs".
  std::string folder;   // Absolute.
  std::string handler;  // MODULE.FUNCTION.
};
// "PATH/FILE.py[:FUNCTION]", or .mjs, .js or .cjs; without a name the function is called `handler`. kValidation: there
// is no such file, or its kind has no runtime.
Result<ServedFunction> read_served_function(const std::string& text);

struct ServedQueue {
  std::string name;      // The queue and its table have it.
  Environment settings;  // The variables of ProcessTasksFunction, but for QUEUE_TABLE.
  std::optional<ServedFunction> function;
};

// kValidation: a table cannot have this name.
Result<void> check_queue_name(const std::string& name);

// The settings of the queue as they will be in force. kValidation names the variable that is wrong.
Result<ProcessSettings> settings_of(const ServedQueue& queue);

// A template in YAML. `command` is the command line that it stands for; its first lines say so.
std::string template_of(const ServedQueue& queue, const std::string& command);

}  // namespace freshet::cli
