#include "functions/check_function.h"

#include <algorithm>
#include <string>

#include "functions/capture/capture_settings.h"
#include "functions/count/count_settings.h"
#include "functions/count/counter_table.h"
#include "functions/register.h"
#include "functions/runners/program.h"
#include "functions/settings.h"
#include "streams/arn.h"
#include "streams/stream_event.h"

namespace freshet {
namespace {

using Faults = std::vector<FunctionFault>;

constexpr const char* kVariables = "Environment.Variables";
constexpr const char* kEvents = "Events";

const TableDefinition* find_table(const Deployment& deployment, const std::string& name) {
  const auto found = std::find_if(deployment.tables.begin(), deployment.tables.end(),
                                  [&](const TableDefinition& table) { return table.name == name; });
  return found == deployment.tables.end() ? nullptr : &*found;
}

std::vector<const MappingDefinition*> mappings_of(const FunctionDefinition& function, const Deployment& deployment) {
  std::vector<const MappingDefinition*> mappings;
  for (const MappingDefinition& mapping : deployment.mappings) {
    if (function_name(mapping.function) == function.name) mappings.push_back(&mapping);
  }
  return mappings;
}

void check_mapping(const MappingDefinition& mapping, Faults& faults) {
  const std::string of = "its event of table " + mapping.table;
  if (mapping.parallelization_factor > 1) {
    faults.push_back({kEvents, of + " must have a ParallelizationFactor of 1: records are wanted in order"});
  }
  if (mapping.tumbling_window > seconds(0)) {
    faults.push_back({kEvents, of + " has a TumblingWindowInSeconds, which this function does not know: take it off"});
  }
  if (mapping.max_retries || mapping.max_record_age) {
    faults.push_back({kEvents,
                      of + " gives records up (MaximumRetryAttempts, MaximumRecordAgeInSeconds): those are lost "
                           "to this function",
                      true});
  }
}

void check_counted(const MappingDefinition& mapping, const CountSettings& settings, const Deployment& deployment,
                   Faults& faults) {
  if (!mapping.filters.empty()) {
    faults.push_back({kEvents, "its event of table " + mapping.table +
                                   " has FilterCriteria: count_states needs all "
                                   "records; take them off"});
  }
  if (mapping.table == settings.metrics_table) {
    faults.push_back({kVariables + std::string(".METRICS_TABLE"),
                      "it names " + mapping.table + ", the table whose stream is counted: it must be another one"});
  }
  const TableDefinition* table = find_table(deployment, mapping.table);
  if (!table || !table->stream || *table->stream == StreamView::kNewAndOldImages) return;
  faults.push_back({kEvents, "the StreamViewType of table " + mapping.table + " is " +
                                 std::string(stream_view_name(*table->stream)) +
                                 ": to count states it must be NEW_AND_OLD_IMAGES"});
}

void check_count(const FunctionDefinition& function, const Deployment& deployment, Faults& faults) {
  const auto settings = count_settings(function.environment);
  if (!settings) return faults.push_back({kVariables, settings.error().message});
  const TableDefinition* metrics = find_table(deployment, settings->metrics_table);
  if (metrics == nullptr) {
    faults.push_back({kVariables + std::string(".METRICS_TABLE"),
                      "the template has no table '" + settings->metrics_table +
                          "': nothing is counted until it is created, with the keys counted (S) and metric (S)",
                      true});
  } else if (auto wrong = wrong_metrics_keys(*metrics)) {
    faults.push_back({kVariables + std::string(".METRICS_TABLE"), *wrong});
  }
  for (const MappingDefinition* mapping : mappings_of(function, deployment)) {
    check_counted(*mapping, *settings, deployment, faults);
  }
}

void check_capture(const FunctionDefinition& function, Faults& faults) {
  const auto settings = capture_settings(function.environment);
  if (!settings) return faults.push_back({kVariables, settings.error().message});
  if (auto good = look_at_folder(settings->folder); !good) faults.push_back({kVariables, good.error().message});
}

void check_known_worker(const FunctionDefinition& processor, const FunctionDefinition& worker, Faults& faults) {
  if (is_processor(worker.handler)) {
    faults.push_back(
        {kVariables + std::string(".TASK_RUNNER"),
         "the function '" + worker.name + "' is a processor itself: name the function that does the work"});
    return;
  }
  const auto settings = process_settings(processor.environment);
  if (!settings || !worker.reserved_concurrency || settings->queue.work.adaptive) return;
  const int places = *worker.reserved_concurrency;
  const int wanted = settings->queue.work.concurrency;
  if (wanted <= places) return;
  faults.push_back({kVariables + std::string(".CONCURRENCY"),
                    "it is " + std::to_string(wanted) + ", and the ReservedConcurrentExecutions of '" + worker.name +
                        "' is " + std::to_string(places) + ": the tasks beyond only come back; make it " +
                        std::to_string(places) + ", or adaptive",
                    true});
}

// A function may be created later, so that one that is not there is a warning. A processor must not be given tasks: it
// would take others for each of them.
void check_worker(const FunctionDefinition& processor, const std::string& name, const Deployment& deployment,
                  Faults& faults) {
  const std::string wanted(plain_name(function_name(name)));
  const auto built_in = built_in_handlers();
  std::string names;
  for (const FunctionDefinition& function : deployment.functions) {
    if (function.name == wanted) return check_known_worker(processor, function, faults);
    const bool may_work = function.host != "native" || !built_in.contains(function.handler);
    if (may_work) names += (names.empty() ? "" : ", ") + function.name;
  }
  faults.push_back({kVariables + std::string(".TASK_RUNNER"),
                    "the template has no function '" + wanted + "'" + (names.empty() ? "" : " (it has " + names + ")") +
                        ": until it is created, tasks wait; write function:NAME with the name of an existing one",
                    true});
}

// Functions and tables may be changed while the daemon runs, so this refuses nothing.
void check_queue_table(const FunctionDefinition& function, const Deployment& deployment, Faults& faults) {
  const auto named = function.environment.find("QUEUE_TABLE");
  if (named == function.environment.end() || named->second.empty()) {
    faults.push_back({kVariables + std::string(".QUEUE_TABLE"),
                      "it is missing: every invocation of this function fails; write the name of the queue's table",
                      true});
    return;
  }
  if (find_table(deployment, named->second) != nullptr) return;
  std::string names;
  for (const TableDefinition& table : deployment.tables) names += (names.empty() ? "" : ", ") + table.name;
  faults.push_back({kVariables + std::string(".QUEUE_TABLE"),
                    "the template has no table '" + named->second + "'" +
                        (names.empty() ? "" : " (it has " + names + ")") +
                        ": every invocation of this function fails until it is created",
                    true});
}

// A program may come later, so this refuses nothing.
void check_runner(const FunctionDefinition& function, const Deployment& deployment, Faults& faults) {
  const auto runner = function.environment.find("TASK_RUNNER");
  if (runner == function.environment.end()) return;
  const auto settings = parse_runner(runner->second);
  if (settings && settings->kind == RunnerKind::kFunction) {
    return check_worker(function, settings->function, deployment, faults);
  }
  if (!settings || settings->kind != RunnerKind::kExec) return;
  const auto why = cannot_start(settings->argv.front());
  if (!why) return;
  faults.push_back({kVariables + std::string(".TASK_RUNNER"),
                    *why + ": until that is mended, every attempt at a task fails; write exec:PROGRAM ARGUMENTS with "
                           "the path of an existing program that may be executed",
                    true});
}

}  // namespace

std::vector<FunctionFault> check_function(const FunctionDefinition& function, const Deployment& deployment) {
  Faults faults;
  const bool counts = is_built_in(function.handler, "count_states");
  if (counts) check_count(function, deployment, faults);
  if (is_built_in(function.handler, "capture_changes")) check_capture(function, faults);
  if (is_processor(function.handler)) check_runner(function, deployment, faults);
  if (is_processor(function.handler) || is_built_in(function.handler, "create_tasks")) {
    check_queue_table(function, deployment, faults);
  }
  if (!counts && !is_built_in(function.handler, "capture_changes")) return faults;
  for (const MappingDefinition* mapping : mappings_of(function, deployment)) check_mapping(*mapping, faults);
  return faults;
}

}  // namespace freshet
