// A world for tests of several daemons over one simulated engine: the engine's store, a data folder for each daemon
// that outlives the daemon's lives, and a daemon that has a runtime.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runtime/runtime.h"
#include "streams/system_table.h"
#include "tables/engine/embedded.h"
#include "tests/runtime/fakes.h"
#include "tests/runtime/fleet/member_scheduler.h"
#include "tests/sim/sim_engine.h"

namespace freshet {

template <class T>
void expect_well(const Result<T>& result) {
  FRESHET_CHECK(result.has_value(), result ? "" : result.error().message.c_str());
}

// Its daemons refer to it: destroy them before you call close().
class SharedWorld : public testing::Test {
 public:
  SharedWorld() : world(clock), random(1) {}

  // Begins anew. Nothing may be open.
  void open(uint64_t seed) {
    random = Random(seed);
    store = open_in_memory();
  }
  void close() {
    for (auto& [name, folder] : folders) world.remove(*folder);
    folders.clear();
    world.remove(*store);
  }
  Tables& folder_of(const std::string& daemon) {
    auto& folder = folders[daemon];
    if (!folder) folder = open_in_memory();
    return *folder;
  }
  // Records these names as those of the daemon's template: `kind` is "topics", "mappings", ...
  void record_deployment(const std::string& daemon, const std::map<std::string, std::string>& by_kind) {
    Tables& folder = folder_of(daemon);
    must(ensure_system_table(folder));
    Item record = system_item("deployment", "current");
    for (const auto& [kind, name] : by_kind) {
      List names;
      if (!name.empty()) names.elements.emplace_back(name);
      record.set(kind, std::move(names));
    }
    must(folder.put_item(put_system_item(std::move(record))));
  }
  // The answer of a store in memory.
  template <class T>
  static T now_of(Async<T> work) {
    FRESHET_CHECK(work.is_ready(), "a store in memory answers at once");
    return work.take();
  }
  template <class T>
  static T must(Async<Result<T>> work) {
    Result<T> result = now_of(std::move(work));
    expect_well(result);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
  }

  SimClock clock{WallTime(seconds(1'800'000'000))};
  SimLoop world;
  Random random;
  std::unique_ptr<EmbeddedTables> store;                           // The engine's.
  std::map<std::string, std::unique_ptr<EmbeddedTables>> folders;  // By daemon.

 private:
  std::unique_ptr<EmbeddedTables> open_in_memory() {
    EmbeddedOptions options;
    options.directory = kMemoryDirectory;
    auto opened = open_embedded(nullptr, world, random, options);
    expect_well(opened);
    world.add(**opened);
    return std::move(*opened);
  }
};

// `Split` has the daemon's own tables and those of the engine; `more` are its further arguments.
template <class Split>
struct DaemonWithRuntime {
  template <class... More>
  DaemonWithRuntime(SharedWorld& all, const std::string& id, SimFaults faults, More&&... more)
      : name(id),
        scheduler(all.world, 1),
        shared(*all.store, scheduler, all.random.next(), faults),
        tables(all.folder_of(id), shared, std::forward<More>(more)...) {}
  // Its functions have the handler `script`.
  template <class Play>
  void make_runtime(Random& random, Play play, RuntimeOptions options = {}) {
    natives.add("script", std::move(play));
    RuntimePorts ports{tables, scheduler, random, http, spawner, natives};
    runtime = std::make_unique<Runtime>(ports, options);
  }
  static FunctionDefinition function_named(const std::string& function) {
    FunctionDefinition definition;
    definition.name = function;
    definition.handler = "script";
    return definition;
  }
  // Until the daemon has all that the fleet has.
  Async<void> follow_definitions() {
    for (;;) {
      auto following = runtime->follow_definitions();
      auto followed = co_await following;
      if (followed) co_return;
      co_await sleep_for(scheduler, milliseconds(50));
    }
  }
  Async<void> put_function(FunctionDefinition definition) {
    auto put = co_await runtime->put_function(std::move(definition));
    expect_well(put);
  }

  const std::string name;
  MemberScheduler scheduler;
  SimEngine shared;
  Split tables;
  NativeRegistry natives;
  FakeHttp http{scheduler};
  NoSpawner spawner;
  std::unique_ptr<Runtime> runtime;
  Scope scope;  // It is destroyed before all of these.
};

}  // namespace freshet
