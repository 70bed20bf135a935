// Starts a change of many tasks on the server and watches it to its end (docs/running-queues.md, "Changing many
// tasks").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/cli/remote.h"

namespace freshet::cli {

struct BulkOptions {
  std::vector<std::string> states;  // Empty: the states that the action is for.
  std::vector<std::string> where;   // NAME=VALUE each.
  std::string older_than;           // A duration with its unit.
  std::optional<int64_t> limit;
  double rate = 0;  // Tasks a second; 0: the daemon's own pace.
  bool dry_run = false;
  bool no_wait = false;  // Returns once it has begun; the daemon goes on.
};

// Adds --where, --older-than, --rate, --dry-run and --no-wait, unless the command has an option of that name already.
void add_bulk_options(Command command, BulkOptions& options);

// Starts it and shows its progress until it has ended. Ctrl-C leaves it to the daemon, and says so. The exit status:
// kDone, kFailed if it failed or somebody else stopped it, or that of the refusal. `done` is the word for the changed
// tasks, as in "purged".
int run_bulk(const Remote& remote, const std::string& action, const BulkOptions& options, const std::string& done);

// Turns NAME=VALUE texts into {"NAME": "VALUE"}. If one does not have that form, prints that and returns empty.
std::optional<Json> conditions_of(const std::vector<std::string>& where);

}  // namespace freshet::cli
