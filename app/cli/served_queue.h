// The queue that `freshet serve` runs, as a value, and its template: that of config/lifo.yaml with the queue's own name
// and settings.
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
  std::string name;      // The name of the queue and of its table.
  Environment settings;  // The variables of ProcessTasksFunction, except QUEUE_TABLE.
  std::optional<ServedFunction> function;
};

// kValidation if a table cannot have this name.
Result<void> check_queue_name(const std::string& name);

// The settings that the queue will have. kValidation names a wrong variable.
Result<ProcessSettings> settings_of(const ServedQueue& queue);

// A template in YAML. `command` is the equivalent command line, which its first lines show.
std::string template_of(const ServedQueue& queue, const std::string& command);

}  // namespace freshet::cli
