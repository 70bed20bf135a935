// A runtime whose tables are in a simulated engine, and a mapping "m" of the table "T" to the function "F".
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/invoke/codec.h"
#include "runtime/invoke/mapping_position.h"
#include "streams/shards/shard_checkpoints.h"
#include "tables/owned/split_tables.h"
#include "tests/runtime/invoke/mapping_world.h"
#include "tests/streams/shards/fake_engine.h"

namespace freshet {

class ShardedTables final : public SplitTables, public HasEngineStreams {
 public:
  ShardedTables(Tables& tables, EngineStreams& engine) : SplitTables(tables, tables), engine_(engine) {}
  EngineStreams* engine_streams() override { return &engine_; }
  Async<Result<WriteOutput>> put_item(PutItemInput input) override {
    if (refuses_events && input.item.string_or("kind") == kEventKind) {
      return Result<WriteOutput>(fail(ErrorCode::kThroughputExceeded, "busy"));
    }
    return SplitTables::put_item(std::move(input));
  }

  bool refuses_events = false;  // Asynchronous ones.

 private:
  EngineStreams& engine_;
};

// A start of the daemon on these tables: what the one before had not stored is forgotten.
inline void start_on(RuntimeWorld& world, Tables& tables) {
  world.runtime.reset();
  RuntimePorts ports{tables,     world.sim.loop(), world.random,
                     world.http, world.spawner,    world.natives,
                     nullptr,    nullptr,          &world.tables->wall_guard()};
  world.runtime = std::make_unique<Runtime>(ports, world.options);
  world.must(world.runtime->start());
}

struct ShardedMappings {
  using Texts = std::vector<std::string>;
  using Batches = std::vector<Texts>;

  explicit ShardedMappings(uint64_t seed = 1, int items = 4)
      : engine(world.sim.loop(), seed, items), tables(*world.tables, engine) {
    world.options.log = EventLog(world.clock, log, LogLevel::kWarn);
    start();
    world.add_function("F");
    mapping = mapping_of("T", "F");
    mapping.starting_position = StartingPosition::kTrimHorizon;
    mapping.batching_window = seconds(5);
  }
  ~ShardedMappings() { world.runtime.reset(); }

  void start() { start_on(world, tables); }
  bool drain(nanoseconds limit = seconds(60)) { return world.wait(world.runtime->drain(world.clock.boot() + limit)); }
  void put_mapping() { world.must(world.runtime->put_mapping(mapping)); }
  void write(const std::vector<int>& items) {
    for (const int item : items) engine.write(item);
  }
  MappingState state() { return world.runtime->mappings().at(0); }

  // "ITEM@NUMBER" of every record in an event; the first change of the engine has the number 1.
  static Texts records_of(const std::string& payload) {
    Texts all;
    const Map event = json(payload);
    for (const Value& record : event.find("Records")->get_if<List>()->elements) {
      const Map& change = *record.get_if<Map>()->find("dynamodb")->get_if<Map>();
      const Map& keys = *change.find("Keys")->get_if<Map>();
      const std::string item(keys.find("id")->get_if<Map>()->string_or("S"));
      all.push_back(item + "@" + std::to_string(plain(change.string_or("SequenceNumber"))));
    }
    return all;
  }
  static uint64_t plain(std::string_view number) { return std::stoull(std::string(number)) - 100'000'000; }
  static uint64_t number_in(const std::string& record) { return std::stoull(record.substr(record.find('@') + 1)); }
  static std::string item_in(const std::string& record) { return record.substr(0, record.find('@')); }

  Batches batches() const {
    Batches all;
    for (const std::string& payload : world.payloads("F")) all.push_back(records_of(payload));
    return all;
  }
  Texts delivered() const {
    Texts all;
    for (const Texts& batch : batches()) all.insert(all.end(), batch.begin(), batch.end());
    return all;
  }
  // How far each shard is processed, as stored.
  std::map<std::string, uint64_t> marks() {
    std::map<std::string, uint64_t> all;
    const auto stored = world.must(load_checkpoints(*world.tables));
    const auto mine = stored.find("m");
    if (mine == stored.end()) return all;
    for (const auto& [shard, mark] : mine->second.all()) all[shard] = mark.after.empty() ? 0 : plain(mark.after);
    return all;
  }

  LogCapture log;
  RuntimeWorld world;
  FakeEngine engine;
  ShardedTables tables;
  MappingDefinition mapping;
};

}  // namespace freshet
