// The definition of a function, and its context while it runs.
//
// A function is addressed by name; a Host runs its code: native (C++ in process), http (POST to an endpoint), process
// (a program that speaks the Lambda Runtime API). In-process functions reach tables, topics and timers only through
// their Context, as coroutines resumed by the loop, so that the same source runs on the embedded store, on a remote
// one, and in simulation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/async.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "runtime/invoke/payload.h"
#include "runtime/ports.h"
#include "tables/tables.h"

namespace freshet {

// Name -> value: the function's environment, from the template and --set.
using Environment = std::map<std::string, std::string>;

struct Destination {
  std::string target;  // ARN of a function or a topic; empty for none.
  bool operator==(const Destination&) const = default;
};

// Settings for asynchronous invocations of a function (Lambda: EventInvokeConfig).
struct AsyncConfig {
  seconds max_event_age{6 * 3600};
  int max_retries = 2;
  Destination on_success;
  Destination on_failure;
  bool operator==(const AsyncConfig&) const = default;
};

struct FunctionDefinition {
  // A value of `modified_ms` for clients: set it to the current time, even if nothing else differs.
  static constexpr int64_t kModifiedNow = -1;

  // "F", or with its qualifier: "F:7" of a published version, "F:live" of an alias.
  std::string name;
  std::string handler;  // Native: the registered name. http: the URL. process: its program gives it a meaning.
  std::string host = "native";
  // For a process: "python3.12", "nodejs20.x", "provided.al2023"; the absolute path of the folder that it runs in; and
  // its memory limit.
  std::string runtime;
  std::string code;
  int memory_mib = 128;
  milliseconds timeout{3000};
  std::optional<int> reserved_concurrency;  // Empty: no limit of its own.
  Environment environment;
  AsyncConfig async;
  Destination dead_letter;  // A topic that receives an event itself when the event is given up. Event invoke configs do
                            // not change it.
  // Values that clients give and read back, without effect; empty if a template deployed the function.
  std::string description;
  std::string role;
  std::string code_sha256;        // Base64, of the uploaded archive; empty for a folder.
  uint64_t code_bytes = 0;        // The size of that archive.
  int64_t modified_ms = 0;        // Wall time of the last change of code or configuration; 0: unknown.
  int64_t async_modified_ms = 0;  // Wall time of the last change of `async`.
  std::string version;            // "7" for a published version and for an alias that points to it; empty: $LATEST.
  bool operator==(const FunctionDefinition&) const = default;
};

struct Invocation {
  std::string request_id;  // UUID.
  Payload payload;
  BootTime deadline{};         // The time at which the timeout ends it.
  std::string trace_id;        // "Root=1-...;Parent=...;Sampled=1", or empty.
  std::string client_context;  // The caller's description of itself: a JSON object that fits into a header, or empty.
  bool wants_log = false;      // True: the outcome includes the end of the function's log.
  std::string invoked_as =
      {};  // The function's name as the caller gave it, with its qualifier. Empty: as the definition.
  bool ends_with_caller = false;  // True: destroying Host::invoke()'s Async ends the handler, whatever kind it is.
  bool only_starts = false;       // A process gets ready and stays warm; its handler is not called.
};

// A failure of the handler. An invocation that could not be made is an Error instead.
struct FunctionError {
  std::string type;  // E.g. "Runtime.ExitError", "Sandbox.Timedout", or the handler's own.
  std::string message;
  bool handled = false;  // True if its runtime said so when it reported the error.
};

struct InvokeOutcome {
  std::string payload;  // JSON; the error document if `error` is set.
  std::optional<FunctionError> error;
  std::string log = {};         // The last 4 KB of the log, if wanted and if the host has one.
  std::string request_id = {};  // The id of the invocation; the invoker sets it.
  std::string version = {};     // The version that ran; the invoker sets it. Empty: $LATEST.
};

class Invoker;
class Publisher;  // streams/topics.h
class Tracer;

// The services that a native function may use. Outlives every invocation. Loop thread.
struct Services {
  Tables& tables;
  Publisher& topics;
  Scheduler& scheduler;
  Random& random;
  HttpClient& http;
  Spawner& spawner;
  Invoker* functions = nullptr;  // The functions of this daemon. Null if there are none: in tests, the lab, replays.
};

// Where a traced invocation adds spans of its own; `plain` are services that continue no trace. Both outlive the
// invocation's work.
struct Tracing {
  Tracer& tracer;
  Services& plain;
};

// One invocation's view. Owned by the host for as long as the handler runs.
struct Context {
  Services& services;
  const FunctionDefinition& function;
  Invocation invocation;
  // Work that continues after the invocation keeps a copy of this while it uses `services`. Null: the services outlive
  // all work.
  std::shared_ptr<const void> services_kept = nullptr;
  std::optional<Tracing> tracing = std::nullopt;  // Empty: the invocation is not traced.
  BootTime now() const { return services.scheduler.clock().boot(); }
  nanoseconds remaining() const { return invocation.deadline - now(); }
};

// A native handler: a coroutine from event (context.invocation.payload) to result JSON. An Error is an unhandled
// function error. At the timeout it is destroyed where it waits.
using NativeHandler = std::function<Async<Result<std::string>>(Context& context)>;

// Runs the code of functions of one kind. Loop thread.
class Host {
 public:
  virtual ~Host() = default;
  virtual Async<InvokeOutcome> invoke(const FunctionDefinition& function, Invocation invocation) = 0;
  // False while a further invocation would have to wait in the host. Events are then not started, because they can wait
  // in their queue and would stand before callers. Becomes true at the earliest when an invocation ends.
  virtual bool has_room() const { return true; }
};

}  // namespace freshet
