// The Lambda Runtime API between a function's process and the process host. wire/lambda serves it, for each process on
// an address of its own: clients build "http://$AWS_LAMBDA_RUNTIME_API/2018-06-01/..." or split the variable at ':', so
// nothing but host and port can tell processes apart. Loop thread.
#pragma once

#include <memory>
#include <string>

#include "base/async.h"
#include "base/result.h"
#include "runtime/invoke/function.h"

namespace freshet {

// A request to a process.
struct RuntimeEvent {
  std::string request_id;
  int64_t deadline_ms = 0;  // Wall clock.
  std::string function_arn;
  std::string trace_id;  // May be empty.
  std::string payload;
  std::string client_context = {};  // See Invocation.
};

// One process, as seen by its client.
class RuntimeSession {
 public:
  virtual ~RuntimeSession() = default;
  // Waits for the next event; returns the last one again if it was not answered. kValidation if another call waits
  // already. Destroying the Async leaves the event to the next call.
  virtual Async<Result<RuntimeEvent>> next() = 0;
  // Gives the outcome of the current event. kValidation if that event is not `request_id`: it was answered before, or
  // never existed.
  virtual Result<void> answer(const std::string& request_id, InvokeOutcome outcome) = 0;
  // Reports that the program could not initialise.
  virtual Result<void> fail_init(InvokeOutcome outcome) = 0;
};

// An address that serves one session. Closes when destroyed, before the session.
class RuntimeDoor {
 public:
  virtual ~RuntimeDoor() = default;
  virtual const std::string& address() const = 0;  // "127.0.0.1:PORT".
};

class RuntimeApi {
 public:
  virtual ~RuntimeApi() = default;
  // kIo if no address is available.
  virtual Result<std::unique_ptr<RuntimeDoor>> open(RuntimeSession& session) = 0;
};

}  // namespace freshet
