// The Lambda Runtime API over HTTP, for the processes of functions:
//
//   GET  /2018-06-01/runtime/invocation/next            held open without limit
//   POST /2018-06-01/runtime/invocation/ID/response     a chunked body is taken whole
//   POST /2018-06-01/runtime/invocation/ID/error
//   POST /2018-06-01/runtime/init/error
//
// Each process has a loopback port of its own, which identifies its calls. The port serves only processes of the
// daemon's user; connections of other users get 403 and are closed. It speaks plain HTTP, whatever the daemon's own
// address does.
#pragma once

#include <memory>
#include <vector>

#include "base/scheduler.h"
#include "runtime/invoke/runtime_api.h"
#include "wire/http/io_thread.h"

namespace freshet {

// The I/O threads, the mailbox and the scheduler outlive it; it outlives its doors. Loop thread.
std::unique_ptr<RuntimeApi> make_runtime_api(std::vector<IoThread*> threads, const Clock& clock, Scheduler& scheduler,
                                             Mailbox& mailbox);

}  // namespace freshet
