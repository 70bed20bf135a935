// How clients read what the item store shows of their registers.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/sim/machine/clients.h"

namespace freshet::sim {

inline constexpr const char* kItemsTable = "Items";

struct SeenItem {
  uint64_t version = 0;  // 0: it is no register, or not there.
  std::string value;
};
SeenItem seen_in(const nlohmann::json& item);

// A reader's place in the stream: it goes on behind the last record that it has seen.
struct StreamPlace {
  std::string stream;
  std::string shard;
  std::string last;
  std::string iterator;
  bool begins_late = false;
};
// False without an answer, or if there is no stream yet.
Async<bool> find_shard(Stage& stage, StreamPlace& place);

}  // namespace freshet::sim
