// Registers the built-in functions under their names: create_tasks, trigger, process_tasks, count_states,
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
void register_functions(NativeRegistry& registry, BuiltInParts parts);  // Includes those of own_functions.h.
// The same in parts. A built-in function replaces one of yours with the same name, so register yours first.
void register_own_functions(NativeRegistry& registry);
void register_queue_functions(NativeRegistry& registry, Queues& queues, EventLog log);
void register_count_functions(NativeRegistry& registry, EventLog log);
void register_capture_functions(NativeRegistry& registry, Captures& captures);

// At readiness: the functions that capture changes continue where they were.
void begin_captures(Captures& captures, const std::vector<FunctionDefinition>& functions);

// The names that register_functions() registers.
std::set<std::string> built_in_handlers();
// The environment variables that a built-in function reads (docs/settings.md); empty if it accepts any, because it
// passes them to the program that does its tasks, or if it is not built in.
std::vector<std::string> known_variables(const FunctionDefinition& function);
// True if a function with this handler works on a queue: its environment then has that queue's settings.
bool is_processor(std::string_view handler);
// True if the handler is that built-in function, in any spelling.
bool is_built_in(std::string_view handler, std::string_view name);

}  // namespace freshet
