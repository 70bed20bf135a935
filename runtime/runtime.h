// The runtime as one thing: functions, their invoker, topics, event source mappings and schedules, over one store.
//
// All of it is durable in the system table: start() on the same store brings everything back as it was, with the
// asynchronous events that were not finished. Every put_... is an upsert of a whole definition and changes nothing if
// it is the same. Its result is *applied* (see tables/tables.h); await durable() before you tell the outside world.
// Loop thread only.
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
#include "streams/definition_writer.h"
#include "streams/subscription.h"
#include "tables/tables.h"

namespace freshet {

struct DefinitionSharing;  // runtime/definitions/shared_definitions.h
class TopicFleet;          // streams/topic_fleet.h
class TopicService;        // streams/topic_service.h

struct RuntimeOptions {
  Account account;
  InvokerOptions invoker;
  ProcessOptions processes;
  EventLog log;  // Drops all events unless set.
  // Called when a function, an invocation or a process no longer uses that folder of code: its owner may check if it is
  // still in use. Never called from inside a call to the runtime.
  std::function<void(const std::string& folder)> on_code_left;
};

// Returns a function's new definition, made from the current one (null: it does not exist).
using FunctionUpdate = std::function<Result<FunctionDefinition>(const FunctionDefinition* now)>;

// The objects that the runtime uses. All of them must outlive the runtime.
struct RuntimePorts {
  Tables& tables;
  Scheduler& scheduler;
  Random& random;
  HttpClient& http;
  Spawner& spawner;
  const NativeRegistry& natives;
  RuntimeApi* runtime_api = nullptr;  // Null: functions cannot run as processes.
  Tracer* tracer = nullptr;           // Null: no spans are made.
  WallGuard* wall = nullptr;          // Decides if the wall clock is trusted; null: notices jumps, but not a wrong
                                      // start.
};

class Runtime {
 public:
  explicit Runtime(RuntimePorts ports, RuntimeOptions options = {});
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();  // Ends every handler where it waits; unfinished asynchronous events run again at the next start.

  // The schedules are those of a fleet, in which `daemon` names this daemon; see Schedules::share(). Call it before
  // start().
  void share_schedules(std::string daemon, std::function<bool()> may_fire);
  // The event source mappings are those of a fleet: this daemon runs one while serve_mapping() says so. `changed` is
  // called after each change of their definitions; null: not called. Call share_mappings() before start().
  void share_mappings(std::function<void()> changed = nullptr);
  bool mappings_are_shared() const;
  void serve_mapping(const std::string& id, bool is_mine);
  // False once a mapping that is no longer served has no batch under way and its position is stored. True while it is
  // served.
  bool is_mapping_busy(const std::string& id) const;
  // The asynchronous events are those of a fleet, in which `daemon` names this daemon: see EventQueue::share(). They
  // run while serve_events() says so. Call share_events() before start().
  void share_events(std::string daemon);
  void serve_events(bool is_mine);
  // True while events are in work.
  bool is_busy_with_events() const;
  // There are new events in the fleet's table.
  void look_for_events();
  // The FIFO topics are those of a fleet: see TopicService::share() and serve(). Call it after share_events(), before
  // start().
  void share_topics(TopicFleet& fleet);
  // The definitions of clients are those of a fleet, see SharedDefinitions. Call it before start(), and the next one
  // after it, and after each deployment: then this daemon has all that the fleet has.
  void share_definitions(DefinitionSharing sharing);
  Async<Result<void>> follow_definitions();
  // In a fleet: somebody has read this version.
  void definitions_are_at(uint64_t version);
  uint64_t definitions_version() const;
  bool shares_definitions() const;
  // Call it before a request about a definition: if this daemon does not have it, it reads what the others have made
  // until now. A function's name may have a version or an alias. Does nothing without a fleet.
  Async<void> look_for(DefinitionName what);
  // Call it before each change of a client. In a fleet, this daemon then has all that others have changed before.
  // kValidation if the template defines that, so that clients may not change it; kUnavailable.
  Async<Result<void>> check_is_of_clients(DefinitionName what);
  // Creates the system table if it does not exist, loads its content, and continues with it. Call it once, first.
  // kValidation if the content was made for another account or region.
  Async<Result<void>> start();
  // Mappings, schedules and queued events start nothing new, and callers from outside are refused (kUnavailable; calls
  // that running functions make still work, see function_invoker.h). Waits until every running invocation has ended or
  // until `deadline`. Returns true if none is left. Events that have not run stay durable.
  Async<bool> drain(BootTime deadline);
  // Ends every handler, mapping and schedule where it waits; nothing runs afterwards. The destructor calls it; call it
  // yourself if something that handlers refer to is destroyed before the runtime.
  void end_all();

  // All: kValidation for a bad definition, kNotFound for a part that does not exist.
  Async<Result<void>> put_function(FunctionDefinition function);
  // Changes a function in place, or only if it exists: updates of one function run one after the other, so that none is
  // lost however long the store takes. Returns the new definition; errors of `update` too.
  Async<Result<FunctionDefinition>> update_function(std::string name, FunctionUpdate update);
  // Tells that programs in that folder were changed: functions that run from it count as changed, so their processes
  // start anew. Returns their names.
  Async<Result<std::vector<std::string>>> renew_functions(std::string folder);
  // Also removes its versions, aliases and policies. Its queued events go to its failure destination or are deleted.
  Async<Result<void>> remove_function(std::string name);
  // Versions, aliases and policies of a function, by its plain name; function_registry.h has errors and promises.
  // Events that wait for a removed version or alias go to its failure destination.
  Async<Result<FunctionDefinition>> publish_version(std::string name, std::optional<std::string> description,
                                                    FunctionRegistry::Check check);
  Async<Result<void>> remove_version(std::string name, std::string version);
  Async<Result<FunctionQualifiers>> change_qualifiers(std::string name, FunctionRegistry::Change change);
  FunctionQualifiers qualifiers(const std::string& name) const;
  std::vector<FunctionDefinition> versions(const std::string& name) const;
  Async<Result<void>> put_topic(TopicDefinition topic);
  Async<Result<void>> remove_topic(std::string name);                         // Also removes its subscriptions.
  Async<Result<std::string>> subscribe(SubscriptionDefinition subscription);  // Returns the subscription's ARN.
  Async<Result<void>> unsubscribe(std::string subscription_arn);
  // For clients, see TopicService.
  Async<Result<void>> create_topic(std::string name, TopicSettings asked);
  Async<Result<void>> change_topic(std::string name, std::function<Result<void>(TopicSettings&)> change);
  Async<Result<void>> change_subscription(std::string subscription_arn, ChangeSubscription change);
  // For clients, see TopicService: a subscription to an HTTP endpoint is pending, and each call asks the endpoint to
  // confirm it at `server` (http://HOST:PORT).
  Async<Result<SubscriptionState>> request_subscription(SubscriptionDefinition asked, ChangeSubscription configure,
                                                        std::string server);
  Async<Result<SubscriptionState>> confirm_subscription(std::string topic, std::string token,
                                                        bool authenticated = false);
  // Returns its id. An existing mapping changes while it runs: the current batch is finished with the old definition,
  // the rest continues from its position with the new one. Another table begins at the starting position.
  Async<Result<std::string>> put_mapping(MappingDefinition mapping);
  // For clients: makes a new mapping. `check` is called when all earlier changes are in effect; an error of it refuses
  // the mapping. In a fleet, the mapping misses no change from when this returns, although it may run some moments
  // later.
  Async<Result<std::string>> create_mapping(MappingDefinition mapping, std::function<Result<void>()> check);
  // For clients: changes the mapping as it is when all earlier changes are in effect. Errors of `change`, too;
  // kResourceNotFound if there is no such mapping.
  Async<Result<std::string>> change_mapping(std::string id, std::function<Result<void>(MappingDefinition&)> change);
  Async<Result<void>> remove_mapping(std::string id);
  Async<Result<void>> put_schedule(ScheduleDefinition schedule);
  Async<Result<void>> remove_schedule(std::string name);

  // The current definitions, sorted by name or id.
  std::vector<FunctionDefinition> functions() const;      // Without versions.
  std::vector<FunctionDefinition> all_functions() const;  // Includes versions.
  bool uses_code(const std::string& folder) const;        // True if a function names the folder, or something still
                                                          // runs from it.
  std::vector<TopicDefinition> topics() const;
  std::vector<SubscriptionDefinition> subscriptions() const;
  std::vector<MappingState> mappings() const;
  std::vector<ScheduleDefinition> schedules() const;
  std::vector<ScheduleState> schedule_states() const;

  // Programs can be started from now on; until then, invocations that need one wait. Call it once.
  void serve_processes(ProgramSettings settings);
  // Starts a process of the function, which stays warm for its first invocation. The outcome says why it cannot be
  // started or cannot load its handler. Nothing happens for a function that runs in no process, or is not there. It
  // counts as no invocation. The Async must be destroyed before the runtime.
  Async<InvokeOutcome> make_ready(std::string function);
  std::map<std::string, ProcessStats> process_stats() const;  // By function.

  Invoker& invoker();
  Publisher& publisher();
  TopicService& topic_service();  // For everything but changes of topics and subscriptions.
  Services& services();           // The services that native functions get.
  const Account& account() const;
  // For requests that change something through calls of the runtime: a client that hangs up does not interrupt them
  // half-way. Such work ends before the runtime's parts are destroyed.
  Detached& detached();

 private:
  // The body of each call, which runs in its turn.
  Async<Result<void>> remove_topic_now(std::string name);
  Async<Result<std::string>> subscribe_now(SubscriptionDefinition subscription);
  Async<Result<void>> unsubscribe_now(std::string subscription_arn);
  Async<Result<SubscriptionState>> request_subscription_now(SubscriptionDefinition asked, ChangeSubscription configure,
                                                            std::string server);
  Async<Result<SubscriptionState>> confirm_subscription_now(std::string topic, std::string token, bool authenticated);

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace freshet
