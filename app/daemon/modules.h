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

// The heading of a module's options in the help of `freshet run`.
enum class OptionGroup { kQueues, kFunctions, kTraces };

struct ModuleKind {
  std::string_view name;
  // Checks the files that the options name, before anything is opened: kValidation for the person who starts the
  // daemon. The options outlive the module.
  Result<std::unique_ptr<Module>> (*make)(const DaemonOptions& options);
  // Null: the module has no options.
  void (*add_options)(cli::Command command, DaemonOptions& options) = nullptr;
  OptionGroup group = OptionGroup::kQueues;
};

// All modules, in the order in which a daemon calls them.
std::vector<ModuleKind> all_modules();

// Native functions of your own (docs/native-functions.md).
ModuleKind own_functions_module();
// LIFO queues: the task API, and the functions that work on them. Everything that a queue of tasks needs.
ModuleKind queue_module();
ModuleKind count_module();
ModuleKind capture_module();
ModuleKind priority_module();
ModuleKind filtered_module();
ModuleKind ordered_module();
// The item store and its streams for DynamoDB's clients.
ModuleKind item_store_module();
// The Lambda API; functions as processes, and their code. GET /functions and GET /mappings.
ModuleKind lambda_module();
ModuleKind sns_module();
// In a fleet: what clients define holds for all daemons.
ModuleKind definitions_module();
// GET /record.
ModuleKind record_module();
// GET /logs.
ModuleKind log_module();
// GET /schedules.
ModuleKind schedules_module();
// The dashboard at /ui/.
ModuleKind ui_module();
ModuleKind trace_module();
// Sends the metrics to an OTLP endpoint.
ModuleKind metrics_export_module();
// The daemon's own figures in GET /metrics.
ModuleKind figures_module();

// Makes a module that has no files to read.
template <class M>
Result<std::unique_ptr<Module>> make_module(const DaemonOptions&) {
  return std::unique_ptr<Module>(std::make_unique<M>());
}

}  // namespace freshet
