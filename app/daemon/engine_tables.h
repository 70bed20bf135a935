// The tables of a daemon whose queues live in a DynamoDB-compatible engine (--store dynamodb). Users' tables are in the
// engine; Freshet's own (definitions, topics, pauses, logs) are in the daemon's data folder. docs/engines.md says what
// works.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "app/daemon/module.h"
#include "base/async.h"
#include "runtime/deploy/deployment.h"

namespace freshet {

struct TemplateOptions;

// Checks the options about the engine. kValidation names the wrong option.
Result<void> check_engine(const DaemonOptions& options);
bool is_on_engine(const DaemonOptions& options);
// Checks the options about a fleet. kValidation names the wrong option.
Result<void> check_fleet(const DaemonOptions& options);

// Removes the event source mappings that only invoke the trigger function: an engine's streams do not start it, so the
// queue starts its processor itself. Warns of that if a user wrote the template, and so asked for the stream.
void leave_out_triggers(const TemplateOptions& options, Deployment& deployment);

// The tables as the runtime and the queues see them; null: they use the store itself. Sets `parts.tables` and
// `parts.node`. Destroy the result before the store, and after everything that uses it. Loop thread, before the loop
// runs.
Result<std::unique_ptr<Tables>> make_runtime_tables(DaemonParts& parts);
// Asks the engine whether it is there, before anything else does. kUnavailable if no endpoint answers within two
// seconds, kValidation if the engine has no transactions. Requires is_on_engine(); `tables` is from
// make_runtime_tables() and outlives the result.
Async<Result<void>> meet_engine(Tables& tables);
// The engine itself, under the tables that make_runtime_tables() made: without what a daemon remembers and counts of
// the tables that it owns. Requires is_on_engine(). It lives as long as they.
Tables& engine_under(Tables& tables);

}  // namespace freshet
