#include "functions/register.h"

#include <array>

#include "functions/capture/capture_changes.h"
#include "functions/count/count_states.h"
#include "functions/functions.h"
#include "functions/own_functions.h"

namespace freshet {

namespace {

enum class Family { kQueue, kCount, kCapture };

// As far as the functions of a family need them.
struct Parts {
  Queues* queues = nullptr;
  Captures* captures = nullptr;
  EventLog log;
};

using Function = Async<Result<std::string>> (*)(Context&, const Parts&);

struct BuiltIn {
  std::string_view name;
  Family family;
  Function function;
};
constexpr BuiltIn kBuiltIns[] = {
    {"create_tasks", Family::kQueue, [](Context& c, const Parts& p) { return create_tasks(c, *p.queues, p.log); }},
    {"trigger", Family::kQueue, [](Context& c, const Parts& p) { return trigger(c, *p.queues, p.log); }},
    {"process_tasks", Family::kQueue, [](Context& c, const Parts& p) { return process_tasks(c, *p.queues, p.log); }},
    {"count_states", Family::kCount, [](Context& c, const Parts& p) { return count_states(c, p.log); }},
    {"capture_changes", Family::kCapture, [](Context& c, const Parts& p) { return capture_changes(c, *p.captures); }},
};

// Under its own name, and as the sample's template and its like spell handlers.
std::array<std::string, 3> spellings(std::string_view name) {
  const std::string plain(name);
  return {plain, "app/" + plain + ".handler", plain + ".handler"};
}

bool is_own(std::string_view handler) {
  for (const OwnFunction& own : own_functions()) {
    if (own.name == handler) return true;
  }
  return false;
}

void add(NativeRegistry& registry, Family family, const Parts& parts) {
  for (const BuiltIn& built_in : kBuiltIns) {
    if (built_in.family != family) continue;
    // Not a coroutine itself: it hands over references to what the handler owns.
    const NativeHandler handler = [function = built_in.function, parts](Context& context) {
      return function(context, parts);
    };
    for (const auto& spelling : spellings(built_in.name)) registry.add(spelling, handler);
  }
}

}  // namespace

void register_own_functions(NativeRegistry& registry) {
  for (OwnFunction& own : own_functions()) registry.add(std::move(own.name), std::move(own.handler));
}

void register_queue_functions(NativeRegistry& registry, Queues& queues, EventLog log) {
  add(registry, Family::kQueue, {&queues, nullptr, log});
}

void register_count_functions(NativeRegistry& registry, EventLog log) {
  add(registry, Family::kCount, {nullptr, nullptr, log});
}

void register_capture_functions(NativeRegistry& registry, Captures& captures) {
  add(registry, Family::kCapture, {nullptr, &captures, {}});
}

void register_functions(NativeRegistry& registry, BuiltInParts parts) {
  register_own_functions(registry);
  register_queue_functions(registry, parts.queues, parts.log);
  register_count_functions(registry, parts.log);
  register_capture_functions(registry, parts.captures);
}

void begin_captures(Captures& captures, const std::vector<FunctionDefinition>& functions) {
  for (const FunctionDefinition& function : functions) {
    if (function.host != "native" || !is_built_in(function.handler, "capture_changes")) continue;
    if (const auto settings = capture_settings(function.environment)) captures.begin(*settings);
  }
}

std::set<std::string> built_in_handlers() {
  std::set<std::string> names;
  for (const BuiltIn& built_in : kBuiltIns) {
    for (const auto& spelling : spellings(built_in.name)) names.insert(spelling);
  }
  for (const OwnFunction& own : own_functions()) names.insert(own.name);
  return names;
}

std::vector<std::string> known_variables(const FunctionDefinition& function) {
  const auto runner = function.environment.find("TASK_RUNNER");
  if (runner != function.environment.end() && runner->second.starts_with("exec:")) return {};
  if (is_own(function.handler)) return {};
  std::vector<std::string> names;
  for (const auto& row : setting_table()) names.emplace_back(row.name);
  return names;
}

bool is_built_in(std::string_view handler, std::string_view name) {
  for (const auto& spelling : spellings(name)) {
    if (spelling == handler) return true;
  }
  return false;
}

bool is_processor(std::string_view handler) {
  return is_built_in(handler, "process_tasks");
}

}  // namespace freshet
