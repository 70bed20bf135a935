// The key schemas of a remote store's tables, each as it was at most a minute ago: somebody else may drop a table and
// make it again with other keys. Calls that need the same one at the same time share one question.
//
// Loop thread. The caller outlives it; it outlives every Async that it returned.
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

  // Asks the store if it is not known. Errors are those of DescribeTable.
  Async<Result<KeySchema>> of(std::string table);
  // The store has just described the table like that.
  void know(const TableDefinition& definition);
  void forget(const std::string& table) { known_.erase(table); }

 private:
  struct Known {
    KeySchema keys;
    BootTime at{};  // When the table was described.
  };
  using Answer = std::optional<Result<KeySchema>>;  // Empty: the call that asked was ended early.
  class Question;

  Async<Result<KeySchema>> ask(std::string table);

  Caller& caller_;
  std::map<std::string, Known> known_;                         // By table.
  std::map<std::string, std::vector<Promise<Answer>>> asked_;  // By table: the calls that wait for another's question.
};

}  // namespace freshet::remote
