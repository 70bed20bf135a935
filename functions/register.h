// Makes the built-in functions known under their names: create_tasks, trigger, process_tasks, count_states,
// capture_changes; and under those of the sample's template (app/create_tasks.handler, ...).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "functions/capture/captures.h"
#include "functions/queue/queues.h"
#include "runtime/invoke/native_registry.h"

namespace freshet {

// The parts that built-in functions work with. All outlive the registry's use.
struct BuiltInParts {
  Queues& queues;
  Captures& captures;
  EventLog log;
};
void register_functions(NativeRegistry& registry, BuiltInParts parts);  // With those of own_functions.h.
// The same in parts. A built-in function takes the place of one of yours with the same name: yours come first.
void register_own_functions(NativeRegistry& registry);
void register_queue_functions(NativeRegistry& registry, Queues& queues, EventLog log);
void register_count_functions(NativeRegistry& registry, EventLog log);
void register_capture_functions(NativeRegistry& registry, Captures& captures);

// At readiness: those of these functions that capture changes go on where they were.
void begin_captures(Captures& captures, const std::vector<FunctionDefinition>& functions);

// The names that register_functions() makes known.
std::set<std::string> built_in_handlers();
// The environment variables that built-in functions read (docs/settings.md); nothing if the function takes any, since
// it passes them on to the program that does its tasks, or if it is none of these.
std::vector<std::string> known_variables(const FunctionDefinition& function);
// True if a function with this handler works on a queue: its environment then has that queue's settings.
bool is_processor(std::string_view handler);
// True if the handler is that built-in function, in any spelling.
bool is_built_in(std::string_view handler, std::string_view name);

}  // namespace freshet
