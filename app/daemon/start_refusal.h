// The messages for a person whose daemon does not start because the store refused.
#pragma once

#include <string>

#include "app/daemon/options.h"
#include "base/result.h"
#include "tables/engine/embedded.h"

namespace freshet {

// Prints to standard error why the daemon did not start. Each fault of the template `file` has its own line.
void print_refusal(const Error& error, const std::string& file = {});

// The error as it is, but for one: that the disk is nearly full is said in other words than to a client, who is to come
// back later: which folder, how many bytes are left and how many a start needs. Any thread.
Error start_refusal(const Error& error, const EmbeddedStats& stats, const DaemonOptions& options);

// Why the store does not open: what to do about a folder that another daemon has, or a disk without room for the first
// segment; all else as it is.
Error open_refusal(const Error& error, const DaemonOptions& options);

}  // namespace freshet
