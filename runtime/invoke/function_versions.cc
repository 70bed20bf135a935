// The part of the registry for versions and aliases.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime/invoke/codec.h"
#include "runtime/invoke/function_registry.h"
#include "streams/arn.h"
#include "streams/system_table.h"

namespace freshet {
namespace {

uint64_t number_of(const FunctionDefinition& version) {
  uint64_t number = 0;
  std::from_chars(version.version.data(), version.version.data() + version.version.size(), number);
  return number;
}

std::string qualified(const std::string& name, std::string_view qualifier) {
  return fmt::format("{}:{}", name, qualifier);
}

tl::unexpected<Error> no_such_function(const std::string& name) {
  return fail(ErrorCode::kResourceNotFound, "Function not found: " + name);
}

// The names of a function's versions and aliases are between these.
struct Range {
  std::string first, end;
};
Range range_of(const std::string& name) {
  return {name + ":", name + static_cast<char>(':' + 1)};
}

// The version to publish: settings that each qualifier has for itself start from their defaults.
FunctionDefinition version_of(const FunctionDefinition& latest, uint64_t number) {
  FunctionDefinition version = latest;
  version.version = std::to_string(number);
  version.name = qualified(latest.name, version.version);
  version.async = AsyncConfig{};
  version.async_modified_ms = 0;
  return version;
}

bool points_to(const FunctionAlias& alias, const std::string& version) {
  return alias.version == version || alias.weights.contains(version);
}

}  // namespace

// Compares the time as well as the rest: programs in a folder change in place, and then all functions and versions of
// that folder get the same time.
bool FunctionRegistry::is_same_version(const FunctionDefinition& version, const FunctionDefinition& latest) {
  FunctionDefinition again = latest;
  again.name = version.name;
  again.version = version.version;
  again.description = version.description;  // It may have been given for the version alone.
  again.reserved_concurrency = version.reserved_concurrency;
  again.async = version.async;
  again.async_modified_ms = version.async_modified_ms;
  return again == version;
}

FunctionQualifiers FunctionRegistry::qualifiers(const std::string& name) const {
  const auto found = qualifiers_.find(name);
  if (found != qualifiers_.end()) return found->second;
  FunctionQualifiers none;
  none.function = name;
  return none;
}

std::vector<FunctionDefinition> FunctionRegistry::versions(const std::string& name) const {
  std::vector<FunctionDefinition> all;
  const Range range = range_of(name);
  for (auto at = functions_.lower_bound(range.first); at != functions_.end() && at->first < range.end; ++at) {
    all.push_back(*at->second);
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return number_of(a) < number_of(b); });
  return all;
}

std::vector<std::string> FunctionRegistry::qualified_names(const std::string& name) const {
  std::vector<std::string> names;
  const Range range = range_of(name);
  const auto add = [&](const auto& from) {
    for (auto at = from.lower_bound(range.first); at != from.end() && at->first < range.end; ++at) {
      names.push_back(at->first);
    }
  };
  add(functions_);
  add(aliases_);
  return names;
}

// Call it after any change: versions have the function's concurrency, and aliases the definitions of their current
// versions.
void FunctionRegistry::refresh(const std::string& name) {
  const Range range = range_of(name);
  aliases_.erase(aliases_.lower_bound(range.first), aliases_.lower_bound(range.end));
  const auto latest = functions_.find(name);
  if (latest == functions_.end()) return;
  for (auto at = functions_.lower_bound(range.first); at != functions_.end() && at->first < range.end; ++at) {
    if (at->second->reserved_concurrency == latest->second->reserved_concurrency) continue;
    FunctionDefinition version = *at->second;
    version.reserved_concurrency = latest->second->reserved_concurrency;
    at->second = std::make_shared<const FunctionDefinition>(std::move(version));
  }
  const auto known = qualifiers_.find(name);
  if (known == qualifiers_.end()) return;
  const auto version_named = [&](const std::string& version) -> FunctionPtr {
    const auto found = functions_.find(version == kLatestVersion ? name : qualified(name, version));
    return found == functions_.end() ? nullptr : found->second;
  };
  for (const auto& [alias_name, alias] : known->second.aliases) {
    AliasTargets targets;
    targets.main = version_named(alias.version);
    if (!targets.main) continue;
    for (const auto& [version, weight] : alias.weights) {
      if (FunctionPtr other = version_named(version)) targets.others.emplace_back(weight, std::move(other));
    }
    FunctionDefinition found = *targets.main;
    found.name = qualified(name, alias_name);
    found.async = alias.async;
    found.async_modified_ms = alias.async_modified_ms;
    targets.found = std::make_shared<const FunctionDefinition>(std::move(found));
    aliases_.insert_or_assign(targets.found->name, std::move(targets));
  }
}

FunctionPtr FunctionRegistry::target_of(const FunctionPtr& found, Random& random) const {
  if (aliases_.empty()) return found;
  const auto alias = aliases_.find(found->name);
  if (alias == aliases_.end()) return found;
  constexpr uint64_t kParts = 1'000'000;
  double drawn = alias->second.others.empty() ? 1 : static_cast<double>(random.below(kParts)) / kParts;
  for (const auto& [weight, other] : alias->second.others) {
    if (drawn < weight) return other;
    drawn -= weight;
  }
  return alias->second.main;
}

Async<Result<FunctionPtr>> FunctionRegistry::publish(std::string name, std::optional<std::string> description,
                                                     Check check) {
  Turn turn(*this, name);
  while (!turn.try_begin()) {
    const Promise<bool> over = turn.wait();
    co_await over.future();
  }
  const auto known = functions_.find(name);
  if (known == functions_.end()) co_return no_such_function(name);
  const FunctionPtr latest = known->second;
  if (auto good = check(*latest); !good) co_return fail(std::move(good.error()));
  FunctionQualifiers beside = qualifiers(name);
  const auto last = functions_.find(qualified(name, std::to_string(beside.last_version)));
  if (last != functions_.end() && is_same_version(*last->second, *latest)) co_return last->second;
  FunctionDefinition version = version_of(*latest, ++beside.last_version);
  if (description) version.description = *description;
  std::vector<WriteInput> writes{put_system_item(to_item(version)), put_system_item(to_item(beside))};
  auto writing = write(name, std::move(writes));
  auto written = co_await writing;
  if (!written) co_return fail(std::move(written.error()));
  FunctionPtr stored = std::make_shared<const FunctionDefinition>(std::move(version));
  functions_[stored->name] = stored;
  qualifiers_[name] = std::move(beside);
  co_return stored;
}

Async<Result<void>> FunctionRegistry::remove_version(std::string name, std::string version) {
  Turn turn(*this, name);
  while (!turn.try_begin()) {
    const Promise<bool> over = turn.wait();
    co_await over.future();
  }
  const std::string id = qualified(name, version);
  const auto known = functions_.find(id);
  if (known == functions_.end() || known->second->version != version) co_return no_such_function(id);
  FunctionQualifiers beside = qualifiers(name);
  std::string aliases;
  for (const auto& [alias_name, alias] : beside.aliases) {
    if (points_to(alias, version)) aliases += (aliases.empty() ? "" : ", ") + alias_name;
  }
  if (!aliases.empty()) {
    co_return fail(ErrorCode::kConflict,
                   fmt::format("Version {} of function {} cannot be deleted while an alias points to it: {}", version,
                               name, aliases));
  }
  beside.policies.erase(version);
  std::vector<WriteInput> writes{delete_system_item(kFunctionKind, id), put_system_item(to_item(beside))};
  auto writing = write(name, std::move(writes));
  auto written = co_await writing;
  if (!written) co_return fail(std::move(written.error()));
  functions_.erase(id);
  qualifiers_[name] = std::move(beside);
  co_return Result<void>();
}

void FunctionRegistry::accept(FunctionQualifiers qualifiers) {
  const std::string name = qualifiers.function;
  qualifiers_[name] = std::move(qualifiers);
  refresh(name);
}

void FunctionRegistry::forget_qualifiers(const std::string& name) {
  qualifiers_.erase(name);
  refresh(name);
}

Async<Result<FunctionQualifiers>> FunctionRegistry::change_qualifiers(std::string name, Change change) {
  Turn turn(*this, name);
  while (!turn.try_begin()) {
    const Promise<bool> over = turn.wait();
    co_await over.future();
  }
  if (!functions_.contains(name)) co_return no_such_function(name);
  FunctionQualifiers changed = qualifiers(name);
  if (auto good = change(changed); !good) co_return fail(std::move(good.error()));
  std::vector<WriteInput> writes{put_system_item(to_item(changed))};
  auto writing = write(name, std::move(writes));
  auto written = co_await writing;
  if (!written) co_return fail(std::move(written.error()));
  qualifiers_[name] = changed;
  refresh(name);
  co_return changed;
}

}  // namespace freshet
