// The tables of a daemon whose queues live in a DynamoDB-compatible engine (--store dynamodb): everybody's tables are
// there, Freshet's own (definitions, topics, pauses, logs) in the daemon's data folder. docs/engines.md says what
// works.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "app/daemon/module.h"
#include "runtime/deploy/deployment.h"

namespace freshet {

// kValidation, naming the option, if what the options say of the engine is wrong.
Result<void> check_engine(const DaemonOptions& options);
bool is_on_engine(const DaemonOptions& options);
// kValidation, naming the option, if what the options say of a fleet is wrong.
Result<void> check_fleet(const DaemonOptions& options);

// For an engine, whose streams do not start the trigger function: the queue starts its processor by itself. Leaves out
// the event source mappings that only invoke the trigger function, with a warning. `file`: the template's name.
void leave_out_triggers(const std::string& file, Deployment& deployment);

// The tables as the runtime and the queues see them; null: they use the store itself. Sets `parts.tables` and
// `parts.node`. The result ends before the store, and after all that uses it. Loop thread, before the loop runs.
Result<std::unique_ptr<Tables>> make_runtime_tables(DaemonParts& parts);

}  // namespace freshet
