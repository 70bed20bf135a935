// The functions that exist, by name, kept in the system table. Loop thread only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/invoke/function.h"
#include "runtime/invoke/native_registry.h"
#include "tables/tables.h"

namespace freshet {

using FunctionPtr = std::shared_ptr<const FunctionDefinition>;

class FunctionRegistry {
 public:
  FunctionRegistry(Tables& tables, const NativeRegistry& natives) : tables_(tables), natives_(natives) {}
  FunctionRegistry(const FunctionRegistry&) = delete;
  FunctionRegistry& operator=(const FunctionRegistry&) = delete;

  // Reads what the system table holds. Once, first.
  Async<Result<void>> load();
  // kValidation for a bad definition: name, host, handler, numbers out of range.
  Async<Result<void>> put(FunctionDefinition function);
  Async<Result<void>> remove(std::string name);  // kNotFound.

  // By name or ARN. Null if there is none.
  FunctionPtr find(const std::string& name_or_arn) const;
  std::vector<FunctionDefinition> list() const;  // Sorted by name, without endpoints.

  // A topic's HTTP subscription as a function: found like one, but neither stored nor listed.
  void put_endpoint(FunctionDefinition endpoint);
  void remove_endpoint(const std::string& name) { endpoints_.erase(name); }

 private:
  Result<void> check(const FunctionDefinition& function) const;

  Tables& tables_;
  const NativeRegistry& natives_;
  std::map<std::string, FunctionPtr> functions_;
  std::map<std::string, FunctionPtr> endpoints_;
};

}  // namespace freshet
