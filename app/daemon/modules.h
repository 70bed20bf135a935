// The features that a daemon can have. modules.cc is the list.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "app/cli/options.h"
#include "app/daemon/module.h"
#include "app/daemon/options.h"
#include "base/result.h"

namespace freshet {

// Where the options of a module stand in the help of `freshet run`.
enum class OptionGroup { kQueues, kFunctions, kTraces };

struct ModuleKind {
  std::string_view name;
  // Reads what the options name, before anything is opened: kValidation in words for the person who starts the daemon.
  // The options outlive the module.
  Result<std::unique_ptr<Module>> (*make)(const DaemonOptions& options);
  // Null: it has no options of its own.
  void (*add_options)(cli::Command command, DaemonOptions& options) = nullptr;
  OptionGroup group = OptionGroup::kQueues;
};

// All of them, in the order in which a daemon calls them.
std::vector<ModuleKind> all_modules();

// Native functions of your own (docs/native-functions.md).
ModuleKind own_functions_module();
// LIFO queues: the task API, and the functions that work on them. All that a queue of tasks needs.
ModuleKind queue_module();
ModuleKind count_module();
ModuleKind capture_module();
ModuleKind priority_module();
ModuleKind filtered_module();
ModuleKind ordered_module();
// The item store and its streams for DynamoDB's clients.
ModuleKind item_store_module();
// The Lambda API; functions as processes, and their code.
ModuleKind lambda_module();
ModuleKind sns_module();
// GET /record.
ModuleKind record_module();
// GET /logs.
ModuleKind log_module();
ModuleKind trace_module();
// The daemon's own figures in GET /metrics.
ModuleKind figures_module();

// For modules without anything to read.
template <class M>
Result<std::unique_ptr<Module>> make_module(const DaemonOptions&) {
  return std::unique_ptr<Module>(std::make_unique<M>());
}

}  // namespace freshet
