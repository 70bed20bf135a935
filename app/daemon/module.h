// A feature of the daemon in one class: what it opens, its routes, metrics, start and end. The page that wires a daemon
// (daemon.cc) knows features by this interface only; modules.cc lists them.
//
// Order. Every module gets a call, in the order of the list, before any module gets the next call:
//
//   open      the address is bound; the store is not open yet, which may take long
//   support   the store is open, sockets can be made: make the objects that the runtime uses
//   join      the runtime exists and has not started
//   restore   before the runtime starts, which continues with the events of its store
//   check     before a template changes anything
//   deployed  a template has been applied; at a start without one, once with the parts that the options name
//   start     open the parts that the options define; requests are served afterwards
//   routes    (requests are asked for their routes in the order of the list)
//   begin     requests are served
//   drain     a stop has begun: accept no new work
//   returned  the runtime has drained, or its time has run out
//   release   no client is connected any more
//   finish    the last write is durable, or cannot be
//   leave     the runtime is about to be destroyed
//
// A start that fails ends with the call that failed. leave() and the destructor are called in any case, in the reverse
// order of the list. In a simulated crash, the calls from drain() to finish() are left out.
//
// Ownership: the page owns modules, and DaemonParts outlives them. Destroy in leave() the objects that join() and later
// calls made, because the runtime is destroyed between leave() and the destructors. The objects of open() and support()
// outlive the runtime. The routes are the server's, which ends before leave(); every Async has ended by then, too.
//
// Threads: the loop's, for every call. open(), support() and join() run before the loop does.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "runtime/api/audit_log.h"
#include "runtime/api/task_queue.h"
#include "runtime/invoke/native_registry.h"
#include "runtime/loop/loop.h"
#include "runtime/ports.h"
#include "runtime/runtime.h"
#include "tables/engine/embedded.h"

namespace freshet {

class DefinitionCode;
class Deployer;
class HttpServer;
class IoThread;
class MemberCalls;
class QueueUnits;
class RecentLog;
class RecentSpans;
class World;
struct DaemonOptions;
struct DaemonPlan;
struct PlannedDeployment;

using Routes = std::vector<std::unique_ptr<Route>>;

// The parts that the page shares with modules, and modules with each other. Pointers are null before the named call.
struct DaemonParts {
  World& world;
  const DaemonOptions& options;
  const DaemonPlan& plan;
  EventLog log;
  RecentLog& recent_log;
  Random& random;
  Metrics& metrics;  // Metrics that are counted as events happen.
  Loop& loop;
  NativeRegistry& natives;
  // From support() on.
  EmbeddedTables* store = nullptr;
  Tables* tables = nullptr;  // The tables of queues and of users. From join() on, as is the next.
  std::string node = {};     // Name of this daemon in leases, the same in each of its lives.
  AuditLog* audit = nullptr;
  uint64_t memory_limit = 0;  // --max-memory-bytes, or the value used instead.
  HttpClient* http = nullptr;
  std::vector<IoThread*> io_threads = {};
  // From join() on.
  Runtime* runtime = nullptr;
  Deployer* deployer = nullptr;
  // The base URL at which programs of this machine reach the daemon. From begin() on.
  std::string local_url = {};
  HttpServer* server = nullptr;                    // From begin() on.
  std::function<std::string()> trouble = nullptr;  // Why the daemon is not ready; empty: it is. From begin() on.
  std::function<Async<std::string>()> metrics_page = nullptr;  // The page of GET /metrics. From begin() until leave().

  // Modules set these for the page and for later modules.
  Tracer* tracer = nullptr;                                               // Set in open(), as is the next.
  const RecentSpans* spans = nullptr;                                     // Null: nothing is traced.
  RuntimeApi* runtime_api = nullptr;                                      // Set in support(), as are the next two.
  std::function<void(const std::string& folder)> on_code_left = nullptr;  // See RuntimeOptions.
  uint16_t span_port = 0;                                                 // Where programs may send spans by UDP.
  std::function<std::unique_ptr<Route>(std::unique_ptr<Route>)> around_route = nullptr;  // Wraps each module's routes.
  // Null without a fleet. The queue module owns them, sets them in join(), and joins before the modules that use them.
  QueueUnits* fleet_units = nullptr;
  MemberCalls* member_calls = nullptr;
  DefinitionCode* definition_code = nullptr;  // The same; the module of the Lambda API owns it.
  TaskQueues* task_queues = nullptr;          // Set in join().
  // Returns the bytes that modules hold and that count against the memory limit. Null: they hold none.
  std::function<uint64_t()> memory_held = nullptr;
  // Describes the troubles of the engine, a line each; "" if there are none. From join() on, as are the next two.
  std::function<std::string()> trouble_of_engine = nullptr;
  // Call it before this daemon serves the queue on this table after another daemon has served it.
  std::function<void(const std::string& table)> start_over = nullptr;
  // Returns the bytes that the engine's tables hold and that count against the memory limit.
  std::function<uint64_t()> memory_of_engine = nullptr;
};

class Module {
 public:
  virtual ~Module() = default;

  virtual Result<void> open(DaemonParts&) { return {}; }
  virtual Result<void> support(DaemonParts&) { return {}; }
  virtual Result<void> join(DaemonParts&) { return {}; }
  virtual Async<Result<void>> restore() { return Result<void>(); }
  virtual Async<Result<void>> check() { return Result<void>(); }
  // The deployment outlives the Async. Called again at each deployment, also before start() has ended.
  virtual Async<Result<void>> deployed(const PlannedDeployment&) { return Result<void>(); }
  virtual Async<Result<void>> start() { return Result<void>(); }
  virtual void add_routes(Routes&) {}
  virtual void begin() {}

  // For GET /metrics: sets the values that are read at each request. `histograms` takes families in Prometheus's text
  // that do not fit into the registry. At any time between begin() and leave().
  virtual Async<void> measure(Metrics&, [[maybe_unused]] std::string& histograms) { return {}; }
  // The reasons why the daemon is not ready although it runs, one per line; empty if there are none.
  virtual std::string broken() const { return {}; }

  virtual void drain() {}
  // Waits until others have given back what they hold, until `deadline` at most. Returns true if nothing is held.
  virtual Async<bool> returned(BootTime) { return true; }
  // Gives back what this daemon holds. Takes until the given time at most.
  virtual Async<void> release(BootTime) { return {}; }
  virtual Async<void> finish() { return {}; }
  virtual void leave() {}
};

}  // namespace freshet
