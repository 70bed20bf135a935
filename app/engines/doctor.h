// Finds out what a DynamoDB-compatible engine can do, with a table of its own that it makes and then drops.
//
// Loop thread. Caller, store and clock outlive the work.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/async.h"
#include "tables/definition.h"
#include "wire/store/remote_tables.h"

namespace freshet::engines {

struct Finding {
  // kLacks: the engine does not have it, which is no fault. kBad: the engine cannot be used like that. kUnsure: it did
  // not answer, or was too busy, also when asked again; `said` is why.
  enum class State { kOk, kLacks, kBad, kUnsure };
  State state = State::kOk;
  std::string what;  // "transactions"
  std::string said;  // A sentence or a figure; may be empty.
};

struct DoctorOptions {
  std::string table;                    // The name of the table that is made; nobody else has it.
  std::vector<TableDefinition> wanted;  // Tables that a template needs; each is compared with what is there.
  bool writes = true;                   // False: makes no table, and looks only at what is there.
  milliseconds measured_for{1'000};     // The length of each measurement of speed.
  // Asks `url` for its clock, which the Date of its answer shows, to the second. Null: it is not asked.
  HttpClient* http = nullptr;
  std::string url;
  std::function<bool()> is_stopped;  // True ends the examination early; the table is dropped all the same.
  std::function<void(const std::string& what)> on_progress;  // Called as each examination begins.
};

// Ends early if the endpoint cannot be reached, is no such engine, or refuses the key: the last finding says so.
Async<std::vector<Finding>> examine(remote::Caller& caller, remote::RemoteTables& tables, DoctorOptions options);

}  // namespace freshet::engines
