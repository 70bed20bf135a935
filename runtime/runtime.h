// The runtime as one thing: functions, their invoker, topics, event source mappings and schedules, over one store.
//
// All of it is durable in the system table: start() on the same store brings everything back as it was, with the
// asynchronous events that were not finished. Every put_... is an upsert of a whole definition and changes nothing
// when it is the same; its result is *applied* (see tables/tables.h), the caller that tells the world awaits
// durable(). Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/detached.h"
#include "base/log.h"
#include "base/result.h"
#include "base/wall_guard.h"
#include "runtime/invoke/definitions.h"
#include "runtime/invoke/function.h"
#include "runtime/invoke/function_registry.h"
#include "runtime/invoke/invoker.h"
#include "runtime/invoke/native_registry.h"
#include "runtime/invoke/process_host.h"
#include "runtime/ports.h"
#include "runtime/trace/tracer.h"
#include "streams/arn.h"
#include "streams/subscription.h"
#include "streams/topic_service.h"
#include "streams/topics.h"
#include "tables/tables.h"

namespace freshet {

struct RuntimeOptions {
  Account account;
  InvokerOptions invoker;
  ProcessOptions processes;
  EventLog log;  // Drops everything unless set.
  // A function, an invocation or a process has left that folder of code: whoever keeps it may look whether anybody
  // still uses it. Never from inside a call to the runtime.
  std::function<void(const std::string& folder)> on_code_left;
};

// What a function is to be, made of what it is by then (null: it is not there).
using FunctionUpdate = std::function<Result<FunctionDefinition>(const FunctionDefinition* now)>;

// What the runtime stands on. All of it must outlive the runtime.
struct RuntimePorts {
  Tables& tables;
  Scheduler& scheduler;
  Random& random;
  HttpClient& http;
  Spawner& spawner;
  const NativeRegistry& natives;
  RuntimeApi* runtime_api = nullptr;  // Null: functions cannot run as processes.
  Tracer* tracer = nullptr;           // Null: no spans are made.
  WallGuard* wall = nullptr;          // Decides if the wall clock is trusted; null: notices jumps, but no wrong start.
};

struct MappingState {
  MappingDefinition definition;
  uint64_t position = 0;         // Sequence of the next record to deliver, of the lane that is furthest behind.
  std::string last_error;        // Why it is waiting, or empty.
  std::string_view state;        // As the Lambda API says it: "Enabled", "Disabled", "Updating", ...
  std::string_view last_result;  // The same: "OK", "No records processed", "PROBLEM: Function call failed".
};

class Runtime {
 public:
  explicit Runtime(RuntimePorts ports, RuntimeOptions options = {});
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();  // Ends every handler where it waits; unfinished asynchronous events run again at the next start.

  // Creates the system table if it is not there, loads what it holds, and goes on with it. Once, first. kValidation if
  // what it holds was made for another account or region.
  Async<Result<void>> start();
  // Mappings, schedules and queued events start nothing new, and callers from outside are refused (kUnavailable; calls
  // that running functions make still work, see function_invoker.h). Waits until every running invocation has ended or
  // until `deadline`. True if nothing is left running. What has not run stays durable.
  Async<bool> drain(BootTime deadline);
  // Ends every handler, mapping and schedule where it waits; nothing runs after that. The destructor does it too; for
  // owners of what handlers refer to and that goes before the runtime.
  void end_all();

  // All kValidation for a bad definition, kNotFound for a part that is not there.
  Async<Result<void>> put_function(FunctionDefinition function);
  // The same for who changes what is there, or must not: updates of one function come one after the other, so that none
  // is lost however long the store takes. What it is then; errors of `update` too.
  Async<Result<FunctionDefinition>> update_function(std::string name, FunctionUpdate update);
  // Programs in that folder were changed: functions that run from it are of another time from now on, so that their
  // processes start anew. Which ones.
  Async<Result<std::vector<std::string>>> renew_functions(std::string folder);
  // With its versions, aliases and policies. Its queued events go to its failure destination or are gone.
  Async<Result<void>> remove_function(std::string name);
  // Versions, aliases and policies of a function, by its plain name; errors and promises: function_registry.h. Events
  // that wait for a version or an alias that is removed go to its failure destination.
  Async<Result<FunctionDefinition>> publish_version(std::string name, std::optional<std::string> description,
                                                    FunctionRegistry::Check check);
  Async<Result<void>> remove_version(std::string name, std::string version);
  Async<Result<FunctionQualifiers>> change_qualifiers(std::string name, FunctionRegistry::Change change);
  FunctionQualifiers qualifiers(const std::string& name) const;
  std::vector<FunctionDefinition> versions(const std::string& name) const;
  Async<Result<void>> put_topic(TopicDefinition topic);
  Async<Result<void>> remove_topic(std::string name);                         // With its subscriptions.
  Async<Result<std::string>> subscribe(SubscriptionDefinition subscription);  // The subscription's ARN.
  Async<Result<void>> unsubscribe(std::string subscription_arn);
  // As clients do it, see TopicService: a subscription to an HTTP endpoint is pending, and the endpoint is asked, each
  // time, to confirm it at `server` (http://HOST:PORT).
  Async<Result<SubscriptionState>> request_subscription(SubscriptionDefinition asked, ChangeSubscription configure,
                                                        std::string server);
  Async<Result<SubscriptionState>> confirm_subscription(std::string topic, std::string token,
                                                        bool authenticated = false);
  // Its id. One that is there changes while it runs: the batch under way is ended as it was begun, the rest goes on
  // from its place as the new definition says. Another table begins at the starting position.
  Async<Result<std::string>> put_mapping(MappingDefinition mapping);
  Async<Result<void>> remove_mapping(std::string id);
  Async<Result<void>> put_schedule(ScheduleDefinition schedule);
  Async<Result<void>> remove_schedule(std::string name);

  // What is there now, sorted by name or id.
  std::vector<FunctionDefinition> functions() const;      // Without versions.
  std::vector<FunctionDefinition> all_functions() const;  // With them.
  bool uses_code(const std::string& folder) const;        // A function names it, or something still runs from it.
  std::vector<TopicDefinition> topics() const;
  std::vector<SubscriptionDefinition> subscriptions() const;
  std::vector<MappingState> mappings() const;
  std::vector<ScheduleDefinition> schedules() const;
  std::vector<ScheduleState> schedule_states() const;

  // Programs can be started from now on; until then what is to run in one waits. Once.
  void serve_processes(ProgramSettings settings);
  std::map<std::string, ProcessStats> process_stats() const;  // By function.

  Invoker& invoker();
  Publisher& publisher();
  TopicService& topic_service();  // For what touches no subscription's endpoint; that is here.
  Services& services();           // What native functions see.
  const Account& account() const;
  // For requests that change something by calls of the runtime: a client that hangs up ends none of them half-way. What
  // runs there ends before the runtime's parts do.
  Detached& detached();

 private:
  // Each in its turn.
  Async<Result<void>> remove_topic_now(std::string name);
  Async<Result<std::string>> subscribe_now(SubscriptionDefinition subscription);
  Async<Result<void>> unsubscribe_now(std::string subscription_arn);
  Async<Result<SubscriptionState>> request_subscription_now(SubscriptionDefinition asked, ChangeSubscription configure,
                                                            std::string server);
  Async<Result<SubscriptionState>> confirm_subscription_now(std::string topic, std::string token, bool authenticated);
  Async<Result<void>> save_mappings_now();
  Async<Result<std::string>> put_mapping_now(MappingDefinition mapping);
  Async<Result<void>> remove_mapping_now(std::string id);

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace freshet
