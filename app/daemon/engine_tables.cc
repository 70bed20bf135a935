#include "app/daemon/engine_tables.h"

#include <algorithm>
#include <utility>

#include "app/daemon/options.h"
#include "app/daemon/plan.h"
#include "app/daemon/world.h"
#include "base/check.h"
#include "base/points.h"
#include "base/url.h"
#include "functions/queue/attributes.h"
#include "functions/queue_states.h"
#include "runtime/invoke/codec.h"
#include "runtime/invoke/mapping_position.h"
#include "streams/shards/engine_streams.h"
#include "streams/system_table.h"
#include "tables/lease/events_table.h"
#include "tables/owned/owned_tables.h"
#include "tables/owned/split_tables.h"
#include "wire/http/client.h"
#include "wire/store/reach.h"
#include "wire/store/remote_streams.h"
#include "wire/store/remote_tables.h"

namespace freshet {

namespace {

constexpr const char* kEmbedded = "embedded";
constexpr const char* kDynamoDb = "dynamodb";
constexpr const char* kNodeTable = "freshet.node";  // Its id names this data folder.
constexpr uint64_t kMemoryShare = 4;                // Recent writes have that part of --max-memory-bytes, at most.
constexpr size_t kLargestAnswer = 64u << 20;        // A page of 1 MiB of items, written out as JSON.

// In a fleet, what a queue remembers goes with it from daemon to daemon.
std::set<std::string> shared_tables(bool is_fleet) {
  if (!is_fleet) return {};
  return {std::string(kQueueStates), std::string(kOwnEventsTable)};
}

Counter& throttled(Metrics& metrics, std::string_view reason) {
  return metrics.counter("freshet_engine_throttled_total", "Requests that the engine throttled",
                         {{"reason", std::string(reason)}});
}

// The parts under the tables, made before these.
struct EngineParts {
  EngineParts(DaemonParts& parts, std::unique_ptr<EmbeddedTables> recent)
      : loop(parts.loop),
        http(make_http_client(client_options(parts), parts.io_threads, parts.world.clock(), parts.loop, parts.loop)),
        keys(remote::keys_from(places_of(parts.world), *http, parts.loop)),
        caller(caller_options(parts), *http, *keys, parts.loop, parts.random),
        stream_caller(remote::streams_caller_options(caller_options(parts)), *http, *keys, parts.loop, parts.random),
        engine(caller, parts.random, remote_options(parts)),
        streams(caller, stream_caller),
        wrapped_streams(parts.world.make_streams(streams)),
        memory(std::move(recent)),
        owned(engine, *memory, parts.loop, owned_options(parts)),
        daemon(parts) {
    loop.add(*memory);
    daemon.memory_of_engine = [this] { return owned.memory_bytes(); };
    daemon.trouble_of_engine = [this] {
      const std::string away = caller.trouble();
      return (away.empty() ? away : away + "\n") + owned.trouble();
    };
    daemon.start_over = [this](const std::string& table) { owned.start_over(table); };
  }
  EngineParts(const EngineParts&) = delete;
  EngineParts& operator=(const EngineParts&) = delete;
  ~EngineParts() {
    daemon.memory_of_engine = nullptr;
    daemon.trouble_of_engine = nullptr;
    loop.remove(*memory);
  }

  static OwnedOptions owned_options(const DaemonParts& parts) {
    OwnedOptions options;
    options.version = attribute::kRev;
    options.recent.bytes = std::min(options.recent.bytes, parts.memory_limit / kMemoryShare);
    options.on_lag = [log = parts.log](const std::string& table, const std::string& index, bool is_behind) {
      log.warn(is_behind ? "ENGINE_INDEX_BEHIND" : "ENGINE_INDEX_CAUGHT_UP", {{"table", table}, {"index", index}});
    };
    return options;
  }
  static remote::RemoteOptions remote_options(const DaemonParts& parts) {
    remote::RemoteOptions options;
    if (parts.options.hedge_after_ms > 0) options.hedged_after = milliseconds(parts.options.hedge_after_ms);
    options.on_building = [log = parts.log](const std::string& table) {
      log.info("ENGINE_BUILDS_INDEX", {{"table", table}});
    };
    return options;
  }

  static HttpClientOptions client_options(const DaemonParts& parts) {
    HttpClientOptions options;
    options.trust = parts.plan.trust;
    options.limits.body_bytes = kLargestAnswer;
    return options;
  }
  static remote::KeyPlaces places_of(const World& world) {
    remote::KeyPlaces places = remote::own_places();
    places.environment = [&world](const std::string& name) { return world.variable(name); };
    return places;
  }
  static remote::CallerOptions caller_options(const DaemonParts& parts) {
    remote::CallerOptions options;
    options.endpoints = parts.options.endpoints;
    for (std::string& endpoint : options.endpoints) {
      while (endpoint.ends_with('/')) endpoint.pop_back();
    }
    options.region = parts.options.deploy.account.region;
    options.on_throttled = [&metrics = parts.metrics](std::string_view reason) { throttled(metrics, reason).add(1); };
    for (const std::string_view reason : remote::kThrottlingReasons) throttled(parts.metrics, reason);
    return options;
  }

  Loop& loop;
  std::unique_ptr<HttpClient> http;
  std::unique_ptr<remote::AccessKeySource> keys;
  remote::Caller caller;
  remote::Caller stream_caller;
  remote::RemoteTables engine;
  remote::RemoteStreams streams;
  std::unique_ptr<EngineStreams> wrapped_streams;  // See World::make_streams().
  std::unique_ptr<EmbeddedTables> memory;
  OwnedTables owned;
  DaemonParts& daemon;
};

class EngineTables final : private EngineParts, public SplitTables, public HasEngineStreams {
 public:
  EngineTables(DaemonParts& parts, std::unique_ptr<EmbeddedTables> recent)
      : EngineParts(parts, std::move(recent)),
        SplitTables(*parts.store, owned, parts.options.create_tables ? TableChanges::kAllowed : TableChanges::kRefused,
                    shared_tables(parts.options.fleet)) {}

  Tables& itself() { return engine; }
  Async<Result<void>> meet() {
    auto endpoints = caller_options(daemon).endpoints;
    auto answer = co_await remote::reach(*http, loop, std::move(endpoints));
    if (!answer) co_return fail(answer.error().code, "--endpoint " + answer.error().message);
    // Without an item it is refused in any case.
    std::string nothing = R"({"TransactItems":[]})";
    const auto asked = co_await caller.call("TransactGetItems", std::move(nothing), remote::Caller::Kind::kRead);
    if (asked || asked.error().code != ErrorCode::kUnknownOperation) co_return Result<void>();
    co_return invalid("--endpoint " + daemon.options.endpoints.front() +
                      ": this engine has no transactions (TransactGetItems), which queues need");
  }
  EngineStreams* engine_streams() override { return wrapped_streams ? wrapped_streams.get() : &streams; }
};

// The daemon's own store answers at once.
template <class T>
T at_once(Async<T> work) {
  FRESHET_CHECK(work.is_ready(), "the daemon's own store answers at once");
  return work.take();
}

uint64_t living_tasks(const Books& books) {
  uint64_t out = 0;
  for (const auto& [state, tasks] : books.stock) out += is_live(state) ? tasks : 0;
  return out;
}

template <class Functions>
bool only_wakes_a_processor(const MappingDefinition& mapping, const Functions& functions) {
  return std::any_of(functions.begin(), functions.end(), [&](const FunctionDefinition& function) {
    return function.host == "native" && function.handler == "trigger" &&
           function_name(mapping.function) == function.name;
  });
}

// The folder has them from a time without an engine. A deployment makes them again when there is none.
Result<void> drop_saved_triggers(const DaemonParts& parts) {
  const auto items = at_once(load_system_items(*parts.store, std::string(kFunctionKind)));
  const auto mappings = at_once(load_system_items(*parts.store, std::string(kMappingKind)));
  if (!items || !mappings) return {};  // A new folder.
  std::vector<FunctionDefinition> functions;
  for (const ItemRef& item : *items) functions.push_back(function_of(item.decode()));
  for (const ItemRef& item : *mappings) {
    const MappingDefinition mapping = mapping_of(item.decode());
    if (!only_wakes_a_processor(mapping, functions)) continue;
    std::vector<WriteInput> gone = position_removals(mapping.id);
    gone.emplace_back(delete_system_item(kMappingKind, mapping.id));
    for (const auto& written : at_once(parts.store->write_many(std::move(gone)))) {
      if (!written) return fail(written.error());
    }
    parts.log.info("MAPPING_LEFT_OUT", {{"mapping", mapping.id}, {"table", mapping.table}});
  }
  return {};
}

// Users who move from the embedded store to an engine may think that the tasks come along.
void warn_of_tasks_left(const DaemonParts& parts) {
  const auto tables = at_once(parts.store->list_tables());
  if (!tables) return;
  for (const std::string& table : *tables) {
    if (table.starts_with(kSystemTablePrefix)) continue;
    const auto books = at_once(parts.store->books(table));
    const uint64_t tasks = books ? living_tasks(*books) : 0;
    if (tasks == 0) continue;
    parts.log.warn("TASKS_LEFT_BEHIND",
                   {{"table", table},
                    {"tasks", tasks},
                    {"what",
                     "these tasks are in the data folder, where nobody serves them. If they are not in the engine "
                     "yet, stop the daemon and move them: freshet copy " +
                         parts.options.data + " " + parts.options.endpoints.front() + " --table " + table}});
  }
}

// A name that no other daemon has: each ends the leases of its own earlier lives at its start, and no others.
Result<std::string> node_of(Tables& store) {
  auto there = at_once(store.describe_table(kNodeTable));
  if (FRESHET_PLANTED("fleet-shared-name")) return std::string("member");
  if (there) return there->id;
  TableDefinition definition;
  definition.name = kNodeTable;
  definition.keys = {{"name", Type::kString}, {}};
  definition.system = true;
  auto created = at_once(store.create_table(std::move(definition)));
  if (!created) return fail(std::move(created.error()));
  return created->id;
}

Result<std::unique_ptr<Tables>> make_engine_tables(DaemonParts& parts) {
  auto node = node_of(*parts.store);
  if (!node) return fail(std::move(node.error()));
  parts.node = std::move(*node);
  EmbeddedOptions in_memory;
  in_memory.directory = kMemoryDirectory;
  warn_of_tasks_left(parts);
  if (auto dropped = drop_saved_triggers(parts); !dropped) return fail(std::move(dropped.error()));
  auto memory = open_embedded(nullptr, parts.loop, parts.random, std::move(in_memory));
  if (!memory) return fail(std::move(memory.error()));
  return std::make_unique<EngineTables>(parts, std::move(*memory));
}

}  // namespace

Async<Result<void>> meet_engine(Tables& tables) {
  return static_cast<EngineTables&>(tables).meet();
}

Tables& engine_under(Tables& tables) {
  return static_cast<EngineTables&>(tables).itself();
}

bool is_on_engine(const DaemonOptions& options) {
  return options.store == kDynamoDb;
}

Result<void> check_engine(const DaemonOptions& options) {
  if (options.store != kEmbedded && options.store != kDynamoDb) {
    return invalid("--store " + options.store + ": must be embedded or dynamodb");
  }
  if (!is_on_engine(options)) {
    if (!options.endpoints.empty()) return invalid("--endpoint needs --store dynamodb");
    if (options.create_tables) return invalid("--create-tables needs --store dynamodb");
    if (options.hedge_after_ms != 0) return invalid("--hedge-after-ms needs --store dynamodb");
    return {};
  }
  if (options.endpoints.empty()) {
    return invalid("--store dynamodb needs --endpoint http[s]://HOST[:PORT]: where the engine is");
  }
  for (std::string endpoint : options.endpoints) {
    while (endpoint.ends_with('/')) endpoint.pop_back();
    const auto url = parse_url(endpoint);
    if (!url) return invalid("--endpoint: " + url.error().message);
    if (url->target != "/")
      return invalid("--endpoint " + endpoint + ": must be http[s]://HOST[:PORT], without a path");
  }
  return {};
}

Result<void> check_fleet(const DaemonOptions& options) {
  if (!options.fleet) {
    if (!options.advertise.empty()) return invalid("--advertise needs --fleet");
    if (!options.fleet_name.empty()) return invalid("--fleet-name needs --fleet");
    return {};
  }
  if (!is_on_engine(options)) {
    return invalid("--fleet needs --store dynamodb: the daemons of a fleet share the tables of one engine");
  }
  if (options.advertise.empty()) {
    const auto listen = parse_listen(options.listen, true);
    if (listen && (listen->host == "0.0.0.0" || listen->host == "::")) {
      return invalid("--fleet needs --advertise http[s]://HOST[:PORT], because --listen " + options.listen +
                     " does not say where others reach this daemon");
    }
    return {};
  }
  const auto url = parse_url(options.advertise);
  if (!url) return invalid("--advertise: " + url.error().message);
  if (url->target != "/") {
    return invalid("--advertise " + options.advertise + ": must be http[s]://HOST[:PORT], without a path");
  }
  return {};
}

void leave_out_triggers(const TemplateOptions& options, Deployment& deployment) {
  const auto is_trigger = [&deployment](const MappingDefinition& mapping) {
    return only_wakes_a_processor(mapping, deployment.functions);
  };
  const bool is_written_by_user = options.text.empty();
  for (const auto& mapping : deployment.mappings) {
    if (!is_trigger(mapping) || !is_written_by_user) continue;
    const auto place = deployment.places.find("table " + mapping.table);
    const TemplatePlace where = place == deployment.places.end() ? TemplatePlace{} : place->second;
    deployment.warnings.push_back({options.path, where.line, where.resource, "StreamSpecification",
                                   "the stream of table " + mapping.table +
                                       " is not read on an engine: the queue starts its processor by itself"});
  }
  std::erase_if(deployment.mappings, is_trigger);
}

Result<std::unique_ptr<Tables>> make_runtime_tables(DaemonParts& parts) {
  parts.tables = parts.store;
  parts.node = parts.options.data == kMemoryDirectory ? "memory" : "local";
  if (!is_on_engine(parts.options)) {
    auto between = parts.world.make_tables(*parts.store, parts.loop);
    // One that answers at once, as the store does, stands in for it before clients, too: a simulated engine.
    if (between && between->traits().immediate) parts.tables = between.get();
    return between;
  }
  auto tables = make_engine_tables(parts);
  if (tables) parts.tables = tables->get();
  return tables;
}

}  // namespace freshet
