// The functions that exist, by name, kept in the system table. Loop thread only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/scheduler.h"
#include "runtime/invoke/function.h"
#include "runtime/invoke/native_registry.h"
#include "tables/tables.h"

namespace freshet {

using FunctionPtr = std::shared_ptr<const FunctionDefinition>;

class FunctionRegistry {
 public:
  FunctionRegistry(Tables& tables, Scheduler& scheduler, const NativeRegistry& natives)
      : tables_(tables), scheduler_(scheduler), natives_(natives) {}
  FunctionRegistry(const FunctionRegistry&) = delete;
  FunctionRegistry& operator=(const FunctionRegistry&) = delete;

  // Reads what the system table holds. Once, first.
  Async<Result<void>> load();
  // kValidation for a bad definition: name, host, handler, numbers out of range. Does not look for native handlers.
  static Result<void> check(const FunctionDefinition& function);
  // kValidation for a bad definition, or for a native handler that does not exist.
  Async<Result<void>> put(FunctionDefinition function);
  // What is to be there, made of what is there by then (null: nothing). Updates of one function, put() and remove()
  // included, come one after the other.
  using Update = std::function<Result<FunctionDefinition>(const FunctionDefinition* now)>;
  Async<Result<FunctionPtr>> update(std::string name, Update update);
  Async<Result<void>> remove(std::string name);  // kNotFound.

  // By name or ARN. Null if there is none.
  FunctionPtr find(const std::string& name_or_arn) const;
  std::vector<FunctionDefinition> list() const;  // Sorted by name, without endpoints.

  // A topic's HTTP subscription as a function: found like one, but neither stored nor listed.
  void put_endpoint(FunctionDefinition endpoint);
  void remove_endpoint(const std::string& name) { endpoints_.erase(name); }

 private:
  class Turn;  // At one function.
  Result<void> check_handler(const FunctionDefinition& function) const;

  Tables& tables_;
  Scheduler& scheduler_;
  const NativeRegistry& natives_;
  std::map<std::string, FunctionPtr> functions_;
  std::map<std::string, FunctionPtr> endpoints_;
  std::set<std::string> at_work_;      // Functions that are being written.
  std::deque<Promise<bool>> waiting_;  // For one of them.
};

}  // namespace freshet
