// The commands of the binary. Each adds itself to the command line and sets the exit status when it has run.
//
// Exit statuses that scripts may use: 0 done, 1 failed, 2 wrong usage or input, 3 not found, 4 conflict, 5 throttled
// (try again), 6 the daemon cannot be reached, 7 a comparison or check found a difference.
#pragma once

namespace CLI {
class App;
}

namespace freshet {
struct DaemonOptions;
struct TemplateOptions;
}  // namespace freshet

namespace freshet::cli {

enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kNotFound = 3,
  kConflict = 4,
  kThrottled = 5,
  kUnreachable = 6,
  kDifferent = 7,
};

// Adds options only; what they fill must outlive the parse.
void add_deploy_options(CLI::App& command, TemplateOptions& options);  // --parameter and --set.
void add_run_options(CLI::App& command, DaemonOptions& options);       // All of `freshet run` but --config.

// Each keeps `exit_status`, which must outlive the parse.
void add_run(CLI::App& app, int& exit_status);
void add_put(CLI::App& app, int& exit_status);
void add_get(CLI::App& app, int& exit_status);
void add_explain(CLI::App& app, int& exit_status);
void add_list(CLI::App& app, int& exit_status);
void add_stats(CLI::App& app, int& exit_status);
void add_cancel(CLI::App& app, int& exit_status);
void add_invoke(CLI::App& app, int& exit_status);
void add_deploy(CLI::App& app, int& exit_status);
void add_logs(CLI::App& app, int& exit_status);
void add_watch(CLI::App& app, int& exit_status);
void add_redrive(CLI::App& app, int& exit_status);
void add_priority(CLI::App& app, int& exit_status);
void add_filtered(CLI::App& app, int& exit_status);
void add_record(CLI::App& app, int& exit_status);
void add_replay(CLI::App& app, int& exit_status);
void add_bench(CLI::App& app, int& exit_status);
void add_simulate(CLI::App& app, int& exit_status);
void add_bench_overload(CLI::App& bench, int& exit_status);

}  // namespace freshet::cli
