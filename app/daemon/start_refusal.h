// Messages for a person whose daemon did not start because the store, or the system, refused.
#pragma once

#include <string>

#include "app/daemon/options.h"
#include "base/result.h"
#include "tables/engine/embedded.h"

namespace freshet {

// Prints to standard error why the daemon did not start. Each fault of the template `file` has its own line.
void print_refusal(const Error& error, const std::string& file = {});

// For a nearly full disk, returns an error whose message names the folder, the bytes that are left and the bytes that a
// start needs. Returns every other error unchanged. Any thread.
Error start_refusal(const Error& error, const EmbeddedStats& stats, const DaemonOptions& options);

// Explains why the daemon cannot listen, and how another port is chosen.
Error bind_refusal(const Error& error);

// Explains why the store does not open: what to do about a folder that another daemon uses, or that the daemon may not
// write, or a disk without room for the first segment; other errors are unchanged.
Error open_refusal(const Error& error, const DaemonOptions& options);

}  // namespace freshet
