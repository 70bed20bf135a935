// The functions that exist, by name, with their published versions and aliases; kept in the system table. Loop thread
// only.
//
// A version is a function of its own, by the name "F:7". Its code and configuration stay as they were published; its
// reserved concurrency is always that of "F", with which it shares places (places.h). An alias is found as "F:live": a
// definition made of the version that it points to and of the alias's own event invoke config. target_of() chooses the
// version that runs when that name is invoked.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/scheduler.h"
#include "runtime/invoke/function.h"
#include "runtime/invoke/function_qualifiers.h"
#include "runtime/invoke/native_registry.h"
#include "streams/definition_writer.h"
#include "tables/tables.h"

namespace freshet {

using FunctionPtr = std::shared_ptr<const FunctionDefinition>;

class FunctionRegistry {
 public:
  FunctionRegistry(Tables& tables, Scheduler& scheduler, const NativeRegistry& natives)
      : tables_(tables), scheduler_(scheduler), natives_(natives) {}
  FunctionRegistry(const FunctionRegistry&) = delete;
  FunctionRegistry& operator=(const FunctionRegistry&) = delete;

  // Loads the functions of the system table. Call it once, first.
  Async<Result<void>> load();
  // kValidation for a bad definition: name, host, handler, numbers out of range. Does not check that a native handler
  // exists.
  static Result<void> check(const FunctionDefinition& function);
  // kValidation for a bad definition, or for a native handler that does not exist.
  Async<Result<void>> put(FunctionDefinition function);
  // Returns the new definition, made from the current one (null: it does not exist). Updates of one function, including
  // put() and remove(), run one after the other.
  using Update = std::function<Result<FunctionDefinition>(const FunctionDefinition* now)>;
  Async<Result<FunctionPtr>> update(std::string name, Update update);
  // Removes the function with its versions, aliases and policies, and returns them as they were: the function,
  // versions, aliases. kNotFound.
  Async<Result<std::vector<FunctionPtr>>> remove(std::string name);

  // Publishes the current function as a version, after `check` has accepted it; errors of `check` too. If nothing was
  // published or changed since the last version, returns that version. `description` replaces the function's.
  // kResourceNotFound.
  using Check = std::function<Result<void>(const FunctionDefinition& latest)>;
  Async<Result<FunctionPtr>> publish(std::string name, std::optional<std::string> description, Check check);
  // True if publishing `latest` would only return that version.
  static bool is_same_version(const FunctionDefinition& version, const FunctionDefinition& latest);
  // kResourceNotFound if there is no such version; kConflict while an alias points to it.
  Async<Result<void>> remove_version(std::string name, std::string version);
  // Changes aliases and policies in place; errors of `change` too. Changes of one function run one after the other,
  // together with update(), publish() and the like. kResourceNotFound if the function is not there.
  using Change = std::function<Result<void>(FunctionQualifiers& now)>;
  Async<Result<FunctionQualifiers>> change_qualifiers(std::string name, Change change);
  FunctionQualifiers qualifiers(const std::string& name) const;
  std::vector<FunctionDefinition> versions(const std::string& name) const;  // The published versions, by number.
  // All names under which versions and aliases of `name` are found.
  std::vector<std::string> qualified_names(const std::string& name) const;

  // By name or ARN, with or without a qualifier. Null if there is none.
  FunctionPtr find(const std::string& name_or_arn) const;
  // The version that runs when a function from find() is invoked: for an alias the version that it points to, or by
  // random weight one of the two that it shares its invocations between.
  FunctionPtr target_of(const FunctionPtr& found, Random& random) const;
  std::vector<FunctionDefinition> list() const;      // Sorted by name, without endpoints and versions.
  std::vector<FunctionDefinition> list_all() const;  // With versions.

  // From now on, changes are written by `definitions`, which must outlive this.
  void share(DefinitionWriter& definitions) { shared_ = &definitions; }
  // Others have made, changed or removed it, and the system table has that already. Each returns what was there before;
  // null: nothing. `name` with a version, if it is that of one.
  FunctionPtr accept(FunctionDefinition function);
  FunctionPtr forget(const std::string& name);
  void accept(FunctionQualifiers qualifiers);
  void forget_qualifiers(const std::string& name);

  // Adds a topic's HTTP subscription as a function: found like one, but neither stored nor listed.
  void put_endpoint(FunctionDefinition endpoint);
  void remove_endpoint(const std::string& name) { endpoints_.erase(name); }

 private:
  class Turn;  // The exclusive right to change one function.
  // An alias: its definition, and the versions that run.
  struct AliasTargets {
    FunctionPtr found;
    FunctionPtr main;
    std::vector<std::pair<double, FunctionPtr>> others;  // With their weights.
  };
  Result<void> check_handler(const FunctionDefinition& function) const;
  void stamp(FunctionDefinition& function, const FunctionDefinition* now) const;
  void refresh(const std::string& name);
  // `name`: the plain name of the function.
  Async<Result<void>> write(const std::string& name, std::vector<WriteInput> writes);

  Tables& tables_;
  Scheduler& scheduler_;
  const NativeRegistry& natives_;
  DefinitionWriter* shared_ = nullptr;            // Null: the system table alone has them.
  std::map<std::string, FunctionPtr> functions_;  // Includes versions.
  std::map<std::string, FunctionQualifiers> qualifiers_;
  std::map<std::string, AliasTargets> aliases_;  // By name, such as "F:live".
  std::map<std::string, FunctionPtr> endpoints_;
  std::set<std::string> at_work_;      // Functions that are being written.
  std::deque<Promise<bool>> waiting_;  // Waiters for the turn of a function.
};

// The exclusive right to change one function with its versions and aliases.
class FunctionRegistry::Turn {
 public:
  Turn(FunctionRegistry& registry, std::string name) : registry_(registry), name_(std::move(name)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (!held_) return;
    registry_.at_work_.erase(name_);
    for (const auto& waiter : std::exchange(registry_.waiting_, {})) waiter.set(true);
  }
  bool try_begin() { return held_ = registry_.at_work_.insert(name_).second; }
  // Resolves when another turn ends.
  Promise<bool> wait() {
    Promise<bool> over(registry_.scheduler_);
    registry_.waiting_.push_back(over);
    return over;
  }

 private:
  FunctionRegistry& registry_;
  const std::string name_;
  bool held_ = false;
};

}  // namespace freshet
