// The commands of the binary. Each adds itself to the command line and sets the exit status when it has run.
//
// Exit statuses that scripts may use: 0 done, 1 failed, 2 wrong usage or input, 3 not found, 4 conflict, 5 throttled
// (try again), 6 the daemon cannot be reached, 7 a comparison or check found a difference.
#pragma once

#include "app/cli/options.h"

namespace freshet {
struct Account;
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
void add_deploy_options(Command command, TemplateOptions& options);  // --parameter and --set.
void add_account_options(Command command, Account& account);         // --account and --region.
void add_run_options(Command command, DaemonOptions& options);       // All options of `freshet run` except --config.
void add_serve_options(Command command, DaemonOptions& options);     // The same, without those about a template.

// Each keeps `exit_status`, which must outlive the parse.
void add_run(Command app, int& exit_status);
void add_serve(Command app, int& exit_status);
void add_put(Command app, int& exit_status);
void add_get(Command app, int& exit_status);
void add_explain(Command app, int& exit_status);
void add_list(Command app, int& exit_status);
void add_stats(Command app, int& exit_status);
void add_cancel(Command app, int& exit_status);
void add_queues(Command app, int& exit_status);
void add_fleet(Command app, int& exit_status);
void add_pause(Command app, int& exit_status);
void add_resume(Command app, int& exit_status);
void add_purge(Command app, int& exit_status);
void add_policy(Command app, int& exit_status);
void add_sheds(Command app, int& exit_status);
void add_audit(Command app, int& exit_status);
void add_copy(Command app, int& exit_status);
void add_doctor(Command app, int& exit_status);
void add_invoke(Command app, int& exit_status);
void add_deploy(Command app, int& exit_status);
void add_logs(Command app, int& exit_status);
void add_watch(Command app, int& exit_status);
void add_redrive(Command app, int& exit_status);
void add_priority(Command app, int& exit_status);
void add_filtered(Command app, int& exit_status);
void add_record(Command app, int& exit_status);
void add_recording(Command app, int& exit_status);
void add_replay(Command app, int& exit_status);
void add_bench(Command app, int& exit_status);
void add_simulate(Command app, int& exit_status);
void add_whatif(Command app, int& exit_status);
void add_ui(Command app, int& exit_status);
void add_demo(Command app, int& exit_status);
void add_completions(Command app, int& exit_status);
void add_man(Command app, int& exit_status);
void add_bench_overload(Command bench, int& exit_status);

}  // namespace freshet::cli
