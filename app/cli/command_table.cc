#include "app/cli/command_table.h"

#include "app/cli/commands.h"
#include "app/cli/ordered.h"

namespace freshet::cli {
namespace {

struct CommandRow {
  const char* group;                           // The heading in `freshet --help`. Rows of one group stand together.
  const char* name;                            // The name that `add` gives to the command.
  void (*add)(Command app, int& exit_status);  // Adds the command with its options. See commands.h.
};

constexpr const char* kTasks = "Tasks";
constexpr const char* kOperate = "Operate";
constexpr const char* kFunctions = "Functions";
constexpr const char* kExperiments = "Experiments";
constexpr const char* kMoreQueues = "More queues";

constexpr CommandRow kCommandRows[] = {
    {kTasks, "serve", add_serve},
    {kTasks, "put", add_put},
    {kTasks, "get", add_get},
    {kTasks, "explain", add_explain},
    {kTasks, "list", add_list},
    {kTasks, "cancel", add_cancel},
    {kTasks, "redrive", add_redrive},
    {kOperate, "run", add_run},
    {kOperate, "stats", add_stats},
    {kOperate, "watch", add_watch},
    {kOperate, "queues", add_queues},
    {kOperate, "fleet", add_fleet},
    {kOperate, "pause", add_pause},
    {kOperate, "resume", add_resume},
    {kOperate, "purge", add_purge},
    {kOperate, "policy", add_policy},
    {kOperate, "sheds", add_sheds},
    {kOperate, "audit", add_audit},
    {kOperate, "copy", add_copy},
    {kOperate, "doctor", add_doctor},
    {kOperate, "completions", add_completions},
    {kOperate, "man", add_man},
    {kFunctions, "deploy", add_deploy},
    {kFunctions, "invoke", add_invoke},
    {kFunctions, "logs", add_logs},
    {kExperiments, "demo", add_demo},
    {kExperiments, "record", add_record},
    {kExperiments, "recording", add_recording},
    {kExperiments, "replay", add_replay},
    {kExperiments, "simulate", add_simulate},
    {kExperiments, "whatif", add_whatif},
    {kExperiments, "ui", add_ui},
    {kExperiments, "bench", add_bench},
    {kMoreQueues, "priority", add_priority},
    {kMoreQueues, "filtered", add_filtered},
    {kMoreQueues, "ordered", add_ordered},
};

}  // namespace

void add_commands(Command app, int& exit_status) {
  for (const CommandRow& row : kCommandRows) {
    row.add(app, exit_status);
    app.get_subcommand(row.name).group(row.group);
  }
}

}  // namespace freshet::cli
