// A world for tests of definitions that clients make: daemons of a fleet over one simulated engine, which loses,
// delays and doubles calls, with a data folder for each daemon.
#pragma once

#include "runtime/definitions/shared_definitions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/definitions/shared_code.h"
#include "runtime/invoke/codec.h"
#include "runtime/invoke/function_qualifiers.h"
#include "streams/system_table.h"
#include "streams/topic_records.h"
#include "streams/topic_service.h"
#include "tables/lease/definition_log.h"
#include "tables/lease/fleet_items.h"
#include "tables/owned/split_tables.h"
#include "tests/runtime/fleet/shared_world.h"

namespace freshet {

inline constexpr seconds kLong{120};
inline constexpr std::string_view kSharedKinds[] = {kTopicKind, kSubscriptionKind, kFunctionKind, kQualifiersKind};

// The folders with code of one daemon, which outlive its lives.
struct Folders {
  std::set<std::string> there;
  int brought = 0;
  bool busy = false;       // Nothing can be brought at the moment.
  bool broken = false;     // Nothing can be brought, for a reason that does not pass.
  bool too_large = false;  // Nothing can be given.
  std::function<void()> before_bring = nullptr;
};

class FakeCode final : public DefinitionCode {
 public:
  FakeCode(std::string daemon, Folders& folders, Tables& engine, Scheduler& scheduler, Random& random)
      : daemon_(std::move(daemon)), folders_(folders), engine_(engine), scheduler_(scheduler), random_(random) {}
  std::string path_of(const std::string& folder) const override { return "/" + daemon_ + "/code/" + folder; }
  Async<Result<std::shared_ptr<const void>>> bring(std::string folder) override {
    if (folders_.busy) co_return fail(ErrorCode::kTooManyRequests, "too many archives");
    if (folders_.broken) co_return fail(ErrorCode::kDiskFull, "the disk is full");
    if (folders_.before_bring) folders_.before_bring();
    if (!folders_.there.contains(folder)) {
      std::string name = folder;
      auto archive = co_await read_code(engine_, std::move(name));
      if (!archive) co_return fail(std::move(archive.error()));
      FRESHET_CHECK(*archive == "archive of " + folder, "the code is that of its name");
      folders_.there.insert(folder);
      ++folders_.brought;
    }
    co_return std::shared_ptr<const void>();
  }
  Async<Result<void>> give(std::string folder) override {
    if (!folders_.there.contains(folder)) co_return fail(ErrorCode::kNotFound, "there is no such code");
    if (folders_.too_large) co_return fail(ErrorCode::kRequestTooLarge, "a file is too large");
    std::string archive = "archive of " + folder;
    auto storing = store_code(engine_, scheduler_, random_, std::move(folder), std::move(archive));
    auto stored = co_await storing;
    if (on_given) on_given();
    co_return stored;
  }

 private:
  const std::string daemon_;
  Folders& folders_;
  Tables& engine_;
  Scheduler& scheduler_;
  Random& random_;
};

class DefinitionsWorld : public SharedWorld {
 protected:
  DefinitionsWorld() { begin(1); }
  ~DefinitionsWorld() override { end(); }

  void begin(uint64_t seed) {
    open(seed);
    must(provide_fleet_table(*store));
    must(provide_definitions_table(*store));
  }
  void end() {
    daemons.clear();
    folders_with_code.clear();
    close();
  }

  struct Daemon : DaemonWithRuntime<SplitTables> {
    Daemon(DefinitionsWorld& all, const std::string& id, SimFaults faults, bool is_in_fleet)
        : DaemonWithRuntime(all, id, faults), code(id, all.folders_with_code[id], shared, scheduler, all.random) {
      make_runtime(all.random, [](Context&) -> Async<Result<std::string>> { co_return std::string("{}"); });
      if (is_in_fleet) runtime->share_definitions({shared, [&all] { ++all.announced; }, &code});
      scope.spawn(begin(is_in_fleet));
    }
    Async<void> begin(bool is_in_fleet) {
      auto started = co_await runtime->start();
      expect_well(started);
      if (is_in_fleet) co_await follow_definitions();
      is_ready = true;
    }
    // The runtime goes first: it uses the code.
    ~Daemon() {
      scope.clear();
      runtime.reset();
    }
    TopicService& topics() { return runtime->topic_service(); }
    FunctionPtr find(const std::string& function) { return runtime->invoker().find(function); }
    FakeCode code;
    bool is_ready = false;
  };

  Daemon& start(const std::string& id, SimFaults faults = {}, bool is_in_fleet = true) {
    daemons[id] = std::make_unique<Daemon>(*this, id, faults, is_in_fleet);
    world.run_until([&] { return daemons[id]->is_ready; }, kLong);
    EXPECT_TRUE(daemons[id]->is_ready);
    return *daemons[id];
  }
  template <class T>
  Result<T> wait(Async<Result<T>> work) {
    world.run_until([&] { return work.is_ready(); }, kLong);
    EXPECT_TRUE(work.is_ready());
    return work.take();
  }
  // As a read of the fleet's items does.
  void read(Daemon& daemon) { daemon.runtime->definitions_are_at(must(newest_definitions(*store))); }
  void all_follow() {
    for (auto& [id, daemon] : daemons) {
      const uint64_t newest = must(newest_definitions(*store));
      const Runtime& runtime = *daemon->runtime;
      read(*daemon);
      world.run_until([&runtime, newest] { return runtime.definitions_version() >= newest; }, kLong);
      EXPECT_EQ(runtime.definitions_version(), newest) << id;
    }
  }

  // A client's calls.
  Result<void> create_topic(Daemon& daemon, const std::string& name, TopicSettings settings = {}) {
    return wait(daemon.runtime->create_topic(name, std::move(settings)));
  }
  static std::function<Result<void>(TopicSettings&)> count_up() {
    return [](TopicSettings& settings) -> Result<void> {
      std::string& count = settings.attributes["DisplayName"];
      count = std::to_string(count.empty() ? 1 : std::stoi(count) + 1);
      return {};
    };
  }
  static int count_of(Daemon& daemon, const std::string& topic) {
    const auto found = daemon.topics().find_topic(topic);
    if (!found || !found->settings.attributes.contains("DisplayName")) return 0;
    return std::stoi(found->settings.attributes.at("DisplayName"));
  }
  Result<SubscriptionState> subscribe(Daemon& daemon, const std::string& topic, const std::string& endpoint) {
    SubscriptionDefinition asked;
    asked.topic = topic;
    asked.protocol = endpoint.starts_with("http://") ? "http" : "lambda";
    asked.endpoint = endpoint;
    return wait(daemon.runtime->request_subscription(std::move(asked), any(), "http://server:1"));
  }
  static ChangeSubscription any() {
    return [](SubscriptionDefinition&, SubscriptionSettings&) { return Result<void>(); };
  }

  // A client's call that uploads code and makes or changes the function.
  Result<FunctionDefinition> upload(Daemon& daemon, const std::string& function, const std::string& folder) {
    folders_with_code[daemon.name].there.insert(folder);
    expect_well(wait(daemon.code.give(folder)));
    FunctionUpdate update = [&daemon, function, folder](const FunctionDefinition*) -> Result<FunctionDefinition> {
      FunctionDefinition definition;
      definition.name = function;
      definition.handler = "app.handler";
      definition.host = "process";
      definition.runtime = "python3.11";
      definition.code = daemon.code.path_of(folder);
      definition.code_sha256 = "sha of " + folder;
      definition.modified_ms = FunctionDefinition::kModifiedNow;
      return definition;
    };
    return wait(daemon.runtime->update_function(function, std::move(update)));
  }
  static FunctionRegistry::Check any_function() {
    return [](const FunctionDefinition&) { return Result<void>(); };
  }
  static FunctionRegistry::Change point(const std::string& alias, const std::string& version) {
    return [alias, version](FunctionQualifiers& now) -> Result<void> {
      now.aliases[alias].version = version;
      return {};
    };
  }
  size_t code_in_engine() { return must(load_items_of(*store, kDefinitionsTable, "code", "")).size(); }

  // The definitions that a daemon serves, and those in its system table.
  static std::string shown(Daemon& daemon) {
    std::string text;
    for (const std::string& name : daemon.topics().topics_after("", 1000)) {
      const auto topic = daemon.topics().find_topic(name);
      text += name + " " + std::to_string(topic->settings.deleted);
      for (const auto& [key, value] : topic->settings.attributes) text += " " + key + "=" + value;
      text += "\n";
    }
    for (const auto& one : daemon.topics().subscriptions_after("", "", 1000)) {
      text += one.arn + " " + one.definition.endpoint + (one.settings.pending ? " pending\n" : "\n");
    }
    for (const FunctionDefinition& one : daemon.runtime->all_functions()) {
      text += one.name + " " + one.description + " " + std::to_string(one.modified_ms) + " " +
              one.code.substr(one.code.rfind('/') + 1) + "\n";
      if (!one.version.empty()) continue;
      const FunctionQualifiers beside = daemon.runtime->qualifiers(one.name);
      for (const auto& [alias, points] : beside.aliases) {
        const FunctionPtr found = daemon.find(one.name + ":" + alias);
        text += one.name + ":" + alias + " " + points.version + " " + (found ? found->version : "?") + "\n";
      }
    }
    return text;
  }
  std::set<std::string> stored(const std::string& id) {
    std::set<std::string> keys;
    for (const std::string_view kind : kSharedKinds) {
      for (const ItemRef& item : must(load_system_items(folder_of(id), std::string(kind)))) {
        keys.insert(std::string(kind) + "/" + std::string(item.decode().string_or("id")));
      }
    }
    return keys;
  }
  // Records these names as those of the daemon's template.
  void deploy(const std::string& id, const std::string& topic, const std::string& subscription = "") {
    record_deployment(id, {{"topics", topic}, {"subscriptions", subscription}});
  }

  std::map<std::string, std::unique_ptr<Daemon>> daemons;
  std::map<std::string, Folders> folders_with_code;  // By daemon.
  int announced = 0;
};

}  // namespace freshet
