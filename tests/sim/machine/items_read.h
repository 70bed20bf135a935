// Reads the clients' registers from the item store and its stream.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/sim/machine/clients.h"

namespace freshet::sim {

inline constexpr const char* kItemsTable = "Items";

struct SeenItem {
  uint64_t version = 0;  // 0: the item is no register, or does not exist.
  std::string value;
};
SeenItem seen_in(const nlohmann::json& item);

// A reader's position in the stream: it continues behind the last record that it has seen.
struct StreamPlace {
  std::string stream;
  std::string shard;
  std::string last;
  std::string iterator;
  bool begins_late = false;
};
// Returns false if there was no answer, or if there is no stream yet.
Async<bool> find_shard(Stage& stage, StreamPlace& place);

}  // namespace freshet::sim
