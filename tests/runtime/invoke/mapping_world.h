// A world with a table "Tasks" (keys only) and a function "F" for event source mappings.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/invoke/world.h"
#include "tests/sim/log_capture.h"

namespace freshet {

inline MappingDefinition mapping_of(std::string table, std::string function) {
  MappingDefinition mapping;
  mapping.id = "m";
  mapping.table = std::move(table);
  mapping.function = std::move(function);
  return mapping;
}

struct MappingTest : testing::Test {
  LogCapture log;
  RuntimeWorld world;

  MappingTest() {
    world.options.log = EventLog(world.clock, log, LogLevel::kWarn);
    world.start();
    world.add_table("Tasks");
    world.add_function("F");
  }
  void put(int from, int to) {
    for (int i = from; i < to; ++i) world.put("Tasks", Item{{"taskId", "t" + std::to_string(1000 + i)}});
  }
  // Task ids of every record that the function got, a list an invocation.
  std::vector<std::vector<std::string>> batches() {
    std::vector<std::vector<std::string>> all;
    for (const std::string& payload : world.payloads("F")) {
      all.emplace_back();
      auto event = parse_plain_json(payload);
      for (const Value& record : event->get_if<Map>()->find("Records")->get_if<List>()->elements) {
        const Map& keys = *record.get_if<Map>()->find("dynamodb")->get_if<Map>()->find("Keys")->get_if<Map>();
        all.back().emplace_back(keys.find("taskId")->get_if<Map>()->string_or("S"));
      }
    }
    return all;
  }
  std::vector<std::string> ids() {
    std::vector<std::string> all;
    for (auto& batch : batches()) all.insert(all.end(), batch.begin(), batch.end());
    return all;
  }
  MappingState state() { return world.runtime->mappings().at(0); }
  uint64_t position() { return state().position; }
  // Switches the table's stream off or on.
  void set_stream(bool on) {
    TableDefinition table = world.must(world.tables->describe_table("Tasks")).definition;
    table.stream = on ? std::optional(StreamView::kKeysOnly) : std::nullopt;
    world.must(world.tables->alter_table(std::move(table)));
  }
};

inline std::vector<std::string> names(int from, int to) {
  std::vector<std::string> all;
  for (int i = from; i < to; ++i) all.push_back("t" + std::to_string(1000 + i));
  return all;
}

}  // namespace freshet
