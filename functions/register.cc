#include "functions/register.h"

#include <array>

#include "functions/functions.h"

namespace freshet {

namespace {

using Function = Async<Result<std::string>> (*)(Context&, Queues&, const EventLog&);

struct BuiltIn {
  std::string_view name;
  Function function;
};
constexpr BuiltIn kBuiltIns[] = {
    {"create_tasks", create_tasks}, {"trigger", trigger}, {"process_tasks", process_tasks}};

// Under its own name, and as the sample's template and its like spell handlers.
std::array<std::string, 3> spellings(std::string_view name) {
  const std::string plain(name);
  return {plain, "app/" + plain + ".handler", plain + ".handler"};
}

}  // namespace

void register_functions(NativeRegistry& registry, Queues& queues, EventLog log) {
  for (const auto& [name, function] : kBuiltIns) {
    // Not a coroutine itself: it hands over references to what the handler owns.
    const NativeHandler handler = [function = function, &queues, log](Context& context) {
      return function(context, queues, log);
    };
    for (const auto& spelling : spellings(name)) registry.add(spelling, handler);
  }
}

std::set<std::string> built_in_handlers() {
  std::set<std::string> names;
  for (const auto& [name, function] : kBuiltIns) {
    for (const auto& spelling : spellings(name)) names.insert(spelling);
  }
  return names;
}

std::vector<std::string> known_variables(const FunctionDefinition& function) {
  const auto runner = function.environment.find("TASK_RUNNER");
  if (runner != function.environment.end() && runner->second.starts_with("exec:")) return {};
  std::vector<std::string> names;
  for (const auto& row : setting_table()) names.emplace_back(row.name);
  return names;
}

bool is_processor(std::string_view handler) {
  for (const auto& spelling : spellings("process_tasks")) {
    if (spelling == handler) return true;
  }
  return false;
}

}  // namespace freshet
