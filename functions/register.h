// Makes the built-in functions known under their names: create_tasks, trigger, process_tasks; and under those of the
// sample's template (app/create_tasks.handler, ...). The queues and the registry outlive each other's use.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "functions/queue/queues.h"
#include "runtime/invoke/native_registry.h"

namespace freshet {

void register_functions(NativeRegistry& registry, Queues& queues, EventLog log);

// The names that register_functions() makes known.
std::set<std::string> built_in_handlers();
// The environment variables that built-in functions read (docs/operations.md); nothing if the function takes any, since
// it passes them on to the program that does its tasks.
std::vector<std::string> known_variables(const FunctionDefinition& function);
// Whether a function with this handler works on a queue: its environment then holds that queue's settings.
bool is_processor(std::string_view handler);

}  // namespace freshet
