// Examines the abilities of a DynamoDB-compatible engine, with a table that it creates and then drops.
//
// Loop thread. Caller, store and clock outlive the work.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/async.h"
#include "streams/shards/engine_streams.h"
#include "tables/definition.h"
#include "wire/store/remote_tables.h"

namespace freshet::engines {

struct Finding {
  // kLacks: the engine does not have the ability, which is no fault. kBad: the engine cannot be used in this state.
  // kUnsure: it did not answer, or was too busy, even after retries; `said` gives the reason.
  enum class State { kOk, kLacks, kBad, kUnsure };
  State state = State::kOk;
  std::string what;  // "transactions"
  std::string said;  // A sentence or a figure; may be empty.
};

struct DoctorOptions {
  std::string table;                    // The name of the table that is created; nobody else may use it.
  std::vector<TableDefinition> wanted;  // Tables that a template needs; each is compared with what is there.
  EngineStreams* streams = nullptr;     // Null: no stream is read.
  std::set<std::string> read;           // Those of the wanted tables whose streams functions read.
  bool writes = true;                   // False: creates no table, and only examines existing ones.
  milliseconds measured_for{1'000};     // The length of each measurement of speed.
  // Reads the engine's clock from the Date header of an answer of `url`, to the second. Null: the clock is not read.
  HttpClient* http = nullptr;
  std::string url;
  std::function<bool()> is_stopped;  // Returns true to end the examination early; the table is dropped all the same.
  std::function<void(const std::string& what)> on_progress;  // Called as each examination begins.
};

// Returns the findings. Ends early if the endpoint cannot be reached, is no such engine, or refuses the key: the last
// finding says so.
Async<std::vector<Finding>> examine(remote::Caller& caller, remote::RemoteTables& tables, DoctorOptions options);

}  // namespace freshet::engines
