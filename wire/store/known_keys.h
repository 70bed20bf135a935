// Caches the key schemas of a remote store's tables for a minute: somebody else may drop a table and create it again
// with other keys. Calls that need the same schema at the same time share one request.
//
// Loop thread. `caller` must outlive it, and it must outlive every Async that it returned.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/async.h"
#include "tables/definition.h"
#include "wire/store/caller.h"

namespace freshet::remote {

class KnownKeys {
 public:
  explicit KnownKeys(Caller& caller) : caller_(caller) {}
  KnownKeys(const KnownKeys&) = delete;
  KnownKeys& operator=(const KnownKeys&) = delete;

  // Returns the schema, from the store if it is not cached. Errors are those of DescribeTable.
  Async<Result<KeySchema>> of(std::string table);
  // Caches the keys of a definition that the store has just returned.
  void know(const TableDefinition& definition);
  void forget(const std::string& table) { known_.erase(table); }

 private:
  struct Known {
    KeySchema keys;
    BootTime at{};  // When the table was described.
  };
  using Answer = std::optional<Result<KeySchema>>;  // Empty: the call that sent the request was ended early.
  class Question;

  Async<Result<KeySchema>> ask(std::string table);

  Caller& caller_;
  std::map<std::string, Known> known_;                         // By table.
  std::map<std::string, std::vector<Promise<Answer>>> asked_;  // By table: calls that wait for another one's request.
};

}  // namespace freshet::remote
