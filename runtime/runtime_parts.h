// The parts of a Runtime, for the files that implement it. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/turns.h"
#include "runtime/definitions/shared_definitions.h"
#include "runtime/invoke/destinations.h"
#include "runtime/invoke/event_source_mappings.h"
#include "runtime/invoke/function_invoker.h"
#include "runtime/invoke/function_registry.h"
#include "runtime/invoke/http_host.h"
#include "runtime/invoke/native_host.h"
#include "runtime/invoke/schedules.h"
#include "runtime/runtime.h"
#include "streams/shards/engine_streams.h"
#include "streams/stream_reader.h"
#include "streams/topic_service.h"
#include "tables/traits.h"

namespace freshet {

// The endpoint of a subscription's messages; or, while it is pending, of the request to confirm it.
FunctionDefinition endpoint_of(const SubscriptionDefinition& subscription, std::string target);

// Null: the tables are not in a remote engine, or its streams may not be read.
inline EngineStreams* engine_streams_of(Tables& tables) {
  auto* engine = dynamic_cast<HasEngineStreams*>(&tables);
  return engine ? engine->engine_streams() : nullptr;
}

struct Runtime::Parts final : DefinitionFollower {
  Parts(RuntimePorts p, RuntimeOptions o)
      : ports(p),
        options(std::move(o)),
        own_wall(ports.scheduler.clock()),
        wall(ports.wall ? *ports.wall : own_wall),
        functions(ports.tables, ports.scheduler, ports.natives),
        native_host(ports.natives, services, ports.tracer),
        http_host(ports.tables, ports.http, ports.scheduler.clock()),
        endpoint_host(ports.tables, ports.http),
        process_host({ports.tables, ports.scheduler, ports.spawner, ports.runtime_api, options.processes, options.log,
                      options.on_code_left}),
        invoker(
            {ports.tables,
             ports.scheduler,
             ports.random,
             functions,
             {{"native", &native_host}, {"http", &http_host}, {"endpoint", &endpoint_host}, {"process", &process_host}},
             options.account,
             options.invoker,
             options.log,
             wall,
             ports.tracer}),
        topics(ports.tables, ports.scheduler, ports.random, wall, invoker, options.account),
        services{ports.tables, topics, ports.scheduler, ports.random, ports.http, ports.spawner, &invoker},
        destinations(invoker, topics),
        streams(ports.tables, ports.scheduler.clock(), options.account),
        mappings({ports.tables, ports.scheduler, invoker, streams, destinations, options.account, options.log, wall},
                 functions, ports.random, engine_streams_of(ports.tables)),
        schedules({ports.tables, ports.scheduler, ports.random, invoker, options.account, options.log, wall}) {
    invoker.events().set_destinations(destinations);
  }
  ~Parts() override { end_all(); }  // Handlers may use any of the other members.

  void end_all() {
    schedules.end_all();
    mappings.end_all();
    invoker.end_all();
    process_host.end_all();
  }

  // A definition was removed: its processes end, and its code may be unused once that is durable. After a crash before
  // that, the definition is back and must find its code.
  void left(const FunctionDefinition& before) {
    process_host.forget(before.name);
    if (before.code.empty()) return;
    leaving.insert(before.code);
    ports.scheduler.post([this, folder = before.code, alive = std::weak_ptr(alive)] {
      if (alive.lock()) reporting.spawn(report_left(folder));
    });
  }
  Async<void> report_left(std::string folder) {
    const auto durable = co_await ports.tables.durable();
    leaving.erase(leaving.find(folder));
    if (durable && options.on_code_left) options.on_code_left(folder);
  }

  // The function, or that version of it, was removed: events that wait for it are given up.
  void gone(const FunctionPtr& function) {
    invoker.events().forget(function);
    left(*function);
  }

  bool busy() const;

  // A change for a client: in a fleet, it holds for all daemons (SharedDefinitions::change()).
  template <class T>
  Async<Result<T>> for_client(DefinitionName what, std::function<Async<Result<T>>()> body) {
    if (!definitions) return body();
    return definitions->change<T>(std::move(what), std::move(body));
  }
  // The body of each call, in its turn.
  Async<Result<FunctionDefinition>> update_function(std::string name, FunctionUpdate update);
  Async<Result<void>> remove_function(std::string name);
  Async<Result<FunctionDefinition>> publish_version(std::string name, std::optional<std::string> description,
                                                    FunctionRegistry::Check check);
  Async<Result<void>> remove_version(std::string name, std::string version);
  Async<Result<FunctionQualifiers>> change_qualifiers(std::string name, FunctionRegistry::Change change);
  // The versions and aliases of a function.
  std::vector<FunctionPtr> qualified(const std::string& name) const;
  void aliases_changed(const std::vector<FunctionPtr>& before);

  // runtime_definitions.cc
  bool has(const DefinitionName& what) const;
  // Runs the body, which makes the topic, and finds the endpoints of subscriptions that have waited for it.
  Async<Result<void>> make_topic(std::string name, std::function<Async<Result<void>>()> body);
  void find_endpoints(const std::string& topic);
  void follow(const DefinitionKey& key, const Item* item) override;
  void follow_topic(const std::string& name, const Item* item);
  void follow_subscription(const std::string& arn, const Item* item);
  void follow_function(const std::string& name, const Item* item);
  void follow_qualifiers(const std::string& name, const Item* item);
  void follow_mapping(const std::string& id, const Item* item);
  Async<Result<void>> remove_mapping(std::string id);
  Async<Result<void>> before_sharing(Item item) override;

  void remove_endpoints(const std::string& subscription_arn) {
    for (const std::string& target : {subscription_arn, confirmation_target(subscription_arn)}) {
      functions.remove_endpoint(target);
      invoker.events().endpoint_gone(target);
    }
  }

  const RuntimePorts ports;
  const RuntimeOptions options;
  WallGuard own_wall;
  WallGuard& wall;
  FunctionRegistry functions;
  NativeHost native_host;
  HttpHost http_host;
  EndpointHost endpoint_host;
  ProcessHost process_host;
  FunctionInvoker invoker;
  TopicService topics;
  Services services;
  Destinations destinations;
  StreamReader streams;
  EventSourceMappings mappings;
  Schedules schedules;
  std::multiset<std::string> leaving;  // Folders of code that were left, until that is durable.
  const std::shared_ptr<bool> alive = std::make_shared<bool>(true);  // For work that is posted.
  Scope reporting;                          // Destroyed before the members that it works on, as are these.
  Turns endpoint_changes{ports.scheduler};  // Serialises changes of subscriptions, and of the functions for their
                                            // endpoints.
  std::unique_ptr<SharedDefinitions> definitions;  // Null without a fleet.
  Detached detached{ports.scheduler};
};

}  // namespace freshet
