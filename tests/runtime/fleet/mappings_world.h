// A world for tests of event source mappings in a fleet: daemons over one simulated engine, whose stream they read.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/definitions/shared_definitions.h"
#include "streams/shards/shard_checkpoints.h"
#include "streams/system_table.h"
#include "tables/lease/definition_log.h"
#include "tables/lease/fleet_items.h"
#include "tables/lease/positions_table.h"
#include "tables/owned/split_tables.h"
#include "tables/value/json.h"
#include "tests/runtime/fleet/shared_world.h"
#include "tests/streams/shards/fake_engine.h"

namespace freshet {

class TablesOfFleet final : public SplitTables, public HasEngineStreams {
 public:
  TablesOfFleet(Tables& own, Tables& shared, EngineStreams& streams) : SplitTables(own, shared), streams_(streams) {}
  EngineStreams* engine_streams() override { return &streams_; }

 private:
  EngineStreams& streams_;
};

class MappingsWorld : public SharedWorld {
 protected:
  static constexpr int kItems = 5;

  MappingsWorld() { begin(1); }
  ~MappingsWorld() override { end(); }

  // Everything anew.
  void begin(uint64_t seed) {
    open(seed);
    changes = std::make_unique<FakeEngine>(world, seed, kItems);
    must(provide_positions_table(*store));
    must(provide_fleet_table(*store));
    must(provide_definitions_table(*store));
    delivered.clear();
    processed.clear();
    positions.clear();
    starts.clear();
    deliveries = 0;
  }
  void end() {
    daemons.clear();
    changes.reset();
    close();
  }

  struct Daemon : DaemonWithRuntime<TablesOfFleet> {
    Daemon(MappingsWorld& all, const std::string& id, SimFaults faults)
        : DaemonWithRuntime(all, id, faults, *all.changes) {
      make_runtime(all.random, [&all, id](Context& context) { return all.play(id, context); });
      if (!all.is_alone) runtime->share_mappings([&all, id] { ++all.told[id]; });
      if (all.is_of_clients) runtime->share_definitions({shared, nullptr, nullptr});
      scope.spawn(begin(all.mapping, all.is_of_clients));
    }
    Async<void> begin(MappingDefinition definition, bool follows) {
      auto started = co_await runtime->start();
      expect_well(started);
      if (follows) {
        co_await follow_definitions();
        is_ready = true;
        co_return;
      }
      auto putting = put_function(function_named("F"));
      co_await putting;
      for (;;) {
        MappingDefinition wanted = definition;
        auto made = co_await runtime->put_mapping(std::move(wanted));
        if (made) break;
        co_await sleep_for(scheduler, milliseconds(100));
      }
      is_ready = true;
    }
    bool is_ready = false;
  };

  Daemon& start(const std::string& id, SimFaults faults = {}) {
    daemons[id] = std::make_unique<Daemon>(*this, id, faults);
    return *daemons[id];
  }
  void kill(const std::string& id) { daemons.erase(id); }
  void serve(const std::string& id, bool is_mine) { daemons.at(id)->runtime->serve_mapping("m", is_mine); }

  static std::string name_of(int item, int version) {
    return "i" + std::to_string(item) + ":" + std::to_string(version);
  }
  static std::vector<std::pair<int, int>> records_in(const std::string& payload) {
    std::vector<std::pair<int, int>> all;
    const auto event = parse_plain_json(payload);
    for (const Value& record : event->get_if<Map>()->find("Records")->get_if<List>()->elements) {
      const Map& change = *record.get_if<Map>()->find("dynamodb")->get_if<Map>();
      const Map& image = *change.find("NewImage")->get_if<Map>();
      const std::string item(image.find("id")->get_if<Map>()->string_or("S"));
      const std::string version(image.find("version")->get_if<Map>()->string_or("N"));
      all.emplace_back(std::stoi(item.substr(1)), std::stoi(version));
    }
    return all;
  }

  // The function. A version of an item may only come once the one before it has been processed.
  Async<Result<std::string>> play(std::string daemon, Context& context) {
    const auto records = records_in(context.invocation.payload.text());
    Scheduler& scheduler = daemons.at(daemon)->scheduler;
    std::map<int, int> before;
    for (const auto& [item, version] : records) {
      int& last = before.try_emplace(item, processed[item]).first->second;
      EXPECT_LE(version, last + 1) << daemon << " passes over changes before " << name_of(item, version);
      last = std::max(last, version);
      ++delivered[name_of(item, version)];
      ++deliveries;
    }
    const milliseconds takes(random.below(most_ms));
    const bool fails = random.unit() < failing;
    co_await sleep_for(scheduler, takes);
    if (fails) co_return fail(ErrorCode::kInternal, "drawn");
    for (const auto& [item, version] : records) processed[item] = std::max(processed[item], version);
    co_return std::string("null");
  }

  void pass(nanoseconds time) {
    for (nanoseconds passed{0}; passed < time; passed += milliseconds(20)) {
      world.run_for(milliseconds(20));
      judge_positions();
    }
  }
  void judge_positions() {
    for (const ItemRef& ref : must(load_items_of(*store, kPositionsTable, "shard-reader", {}))) {
      const Item item = ref.decode();
      const int64_t number = item.int_or("start", 0);
      int64_t& before = starts[std::string(item.string_or("id"))];
      EXPECT_GE(number, before);
      before = number;
    }
    for (const ItemRef& ref : must(load_items_of(*store, kPositionsTable, "shard-mark", {}))) {
      const Item item = ref.decode();
      const ShardMark mark{std::string(item.string_or("after")), item.contains("over")};
      ShardMark& before = positions[std::string(item.string_or("id"))];
      EXPECT_FALSE(is_behind(mark, before))
          << item.string_or("id") << " goes back from " << before.after << (before.over ? " over" : "") << " to "
          << mark.after << " with rev " << item.int_or("rev", 0);
      before = mark;
    }
  }
  bool is_done() const {
    for (int item = 0; item < kItems; ++item) {
      const auto done = processed.find(item);
      if ((done == processed.end() ? 0 : done->second) != changes->versions[static_cast<size_t>(item)]) return false;
    }
    return true;
  }
  void until_done(nanoseconds limit = std::chrono::minutes(5)) {
    for (nanoseconds passed{0}; passed < limit && !is_done(); passed += milliseconds(100)) pass(milliseconds(100));
    EXPECT_TRUE(is_done()) << "changes are not processed";
  }
  size_t total() const {
    size_t all = 0;
    for (const int versions : changes->versions) all += static_cast<size_t>(versions);
    return all;
  }

  static MappingDefinition template_mapping() {
    MappingDefinition mapping;
    mapping.id = "m";
    mapping.table = "T";
    mapping.function = "F";
    mapping.starting_position = StartingPosition::kTrimHorizon;
    mapping.batch_size = 4;
    return mapping;
  }

  bool is_of_clients = false;  // The daemons share definitions; they have no template.
  bool is_alone = false;       // Daemons that start are not in the fleet.
  MappingDefinition mapping = template_mapping();
  std::unique_ptr<FakeEngine> changes;
  std::map<std::string, int> delivered;  // By change.
  std::map<int, int> processed;          // By item: the highest version.
  std::map<std::string, ShardMark> positions;
  std::map<std::string, int64_t> starts;  // By reader.
  size_t deliveries = 0;
  uint64_t most_ms = 50;
  double failing = 0;
  std::map<std::string, int> told;  // By daemon: how often it was told that definitions have changed.
  std::map<std::string, std::unique_ptr<Daemon>> daemons;
};

}  // namespace freshet
