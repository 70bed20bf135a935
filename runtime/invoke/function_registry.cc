#include "runtime/invoke/function_registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/url.h"
#include "runtime/invoke/codec.h"
#include "runtime/invoke/process_command.h"
#include "streams/arn.h"
#include "streams/system_table.h"

namespace freshet {

namespace {

constexpr milliseconds kLongestTimeout = std::chrono::hours(24);
constexpr seconds kLongestEventAge{6 * 3600};
constexpr int kMostRetries = 100;
constexpr size_t kMaxEnvironmentBytes =
    4096;  // As on the service; Linux starts no program with 128 KiB in one variable.

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 140 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
             std::string_view::npos;
}

// Returns the fault of `environment` as the environment of a program; "" if it has none.
std::string fault_of(const Environment& environment) {
  size_t bytes = 0;
  for (const auto& [name, value] : environment) {
    const bool good =
        !name.empty() && (name[0] < '0' || name[0] > '9') &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
    if (!good)
      return fmt::format("environment variable \"{}\": letters, digits and '_' are allowed", name.substr(0, 100));
    if (value.find('\0') != std::string::npos) return fmt::format("environment variable {}: its value holds NUL", name);
    bytes += name.size() + value.size();
  }
  if (bytes <= kMaxEnvironmentBytes) return "";
  return fmt::format("its environment has {} bytes; the limit is 4 KB", bytes);
}

std::string names_of(const NativeRegistry& natives) {
  std::string names;
  for (const std::string& name : natives.names()) names += names.empty() ? name : ", " + name;
  return names.empty() ? "none" : names;
}

}  // namespace

Result<void> FunctionRegistry::check_handler(const FunctionDefinition& f) const {
  if (f.host != "native" || natives_.find(f.handler)) return {};
  return invalid(fmt::format("Function {}: there is no native handler \"{}\"; there are: {}", f.name, f.handler,
                             names_of(natives_)));
}

Result<void> FunctionRegistry::check(const FunctionDefinition& f) {
  if (!is_name(plain_name(f.name)) || qualifier_of(f.name) != f.version) {
    return invalid(fmt::format("Function name \"{}\": 1 to 140 letters, digits, '-' and '_' are allowed", f.name));
  }
  const auto bad = [&](std::string what) { return invalid(fmt::format("Function {}: {}", f.name, what)); };
  if (f.host == "http") {
    if (auto url = parse_url(f.handler); !url) return bad(url.error().message);
  } else if (f.host == "process") {
    if (auto kind = runtime_kind(f.runtime); !kind) return bad(kind.error().message);
    if (!f.code.starts_with('/')) return bad("the folder of its code must be an absolute path");
    if (f.memory_mib < 128 || f.memory_mib > 10'240) return bad("the memory must be 128 to 10240 MB");
    const auto client = f.environment.find(std::string(kClientVariable));
    if (client != f.environment.end() && !is_client_choice(client->second)) {
      return bad(fmt::format("{} must be auto, official or own", kClientVariable));
    }
  } else if (f.host != "native") {
    return bad(fmt::format("host \"{}\" is not supported; native, http and process are", f.host));
  }
  if (const std::string fault = fault_of(f.environment); !fault.empty()) return bad(fault);
  if (f.timeout < milliseconds(1) || f.timeout > kLongestTimeout) return bad("the timeout must be 1 ms to 24 hours");
  if (f.reserved_concurrency && *f.reserved_concurrency < 0) return bad("reserved concurrency must not be negative");
  if (f.async.max_event_age < seconds(1) || f.async.max_event_age > kLongestEventAge) {
    return bad("the maximum event age must be 1 to 21600 s");
  }
  if (f.async.max_retries < 0 || f.async.max_retries > kMostRetries) {
    return bad(fmt::format("the number of retries must be 0 to {}", kMostRetries));
  }
  return {};
}

Async<Result<void>> FunctionRegistry::load() {
  auto items = co_await load_system_items(tables_, std::string(kFunctionKind));
  if (!items) co_return fail(std::move(items.error()));
  for (const ItemRef& item : *items) {
    FunctionDefinition function = function_of(item.decode());
    const std::string name = function.name;
    functions_[name] = std::make_shared<const FunctionDefinition>(std::move(function));
  }
  auto beside = co_await load_system_items(tables_, std::string(kQualifiersKind));
  if (!beside) co_return fail(std::move(beside.error()));
  for (const ItemRef& item : *beside) {
    FunctionQualifiers qualifiers = qualifiers_of(item.decode());
    const std::string name = qualifiers.function;
    qualifiers_[name] = std::move(qualifiers);
    refresh(name);
  }
  co_return Result<void>();
}

// Only changes of code and configuration count; concurrency and event invoke configs do not belong to a version.
void FunctionRegistry::stamp(FunctionDefinition& function, const FunctionDefinition* now) const {
  const int64_t wall = epoch_ms(scheduler_.clock().wall());
  if (!now) {
    if (function.modified_ms <= 0) function.modified_ms = wall;
    return;
  }
  FunctionDefinition same = *now;
  same.reserved_concurrency = function.reserved_concurrency;
  same.async = function.async;
  same.async_modified_ms = function.async_modified_ms;
  same.modified_ms = function.modified_ms;
  const bool changed = function.modified_ms == FunctionDefinition::kModifiedNow || !(same == function);
  // Always later than before: the time shows if a version still equals the function.
  function.modified_ms = changed ? std::max(wall, now->modified_ms + 1) : now->modified_ms;
}

Async<Result<void>> FunctionRegistry::put(FunctionDefinition function) {
  const std::string name = function.name;
  Update as_it_is = [function = std::move(function)](const FunctionDefinition*) { return function; };
  std::string of = name;
  auto put = co_await update(std::move(of), std::move(as_it_is));
  if (!put) co_return fail(std::move(put.error()));
  co_return Result<void>();
}

Async<Result<FunctionPtr>> FunctionRegistry::update(std::string name, Update update) {
  Turn turn(*this, std::string(plain_name(name)));
  while (!turn.try_begin()) {
    const Promise<bool> over = turn.wait();
    co_await over.future();
  }
  const auto known = functions_.find(name);
  const FunctionPtr now = known == functions_.end() ? nullptr : known->second;
  auto function = update(now.get());
  if (!function) co_return fail(std::move(function.error()));
  if (auto good = check(*function); !good) co_return fail(std::move(good.error()));
  if (auto good = check_handler(*function); !good) co_return fail(std::move(good.error()));
  stamp(*function, now.get());
  if (now && *now == *function) co_return now;
  std::vector<WriteInput> writes{put_system_item(to_item(*function))};
  auto writing = write(std::string(plain_name(name)), std::move(writes));
  auto written = co_await writing;
  if (!written) co_return fail(std::move(written.error()));
  FunctionPtr stored = std::make_shared<const FunctionDefinition>(std::move(*function));
  functions_[name] = stored;
  refresh(std::string(plain_name(name)));
  co_return stored;
}

Async<Result<std::vector<FunctionPtr>>> FunctionRegistry::remove(std::string name) {
  Turn turn(*this, name);
  while (!turn.try_begin()) {
    const Promise<bool> over = turn.wait();
    co_await over.future();
  }
  const auto known = functions_.find(name);
  if (known == functions_.end()) {
    co_return fail(ErrorCode::kNotFound, fmt::format("There is no function \"{}\"", name));
  }
  const FunctionPtr latest = known->second;  // Changes of others may be followed meanwhile.
  // With several transactions, a crash may leave only the first ones. So the number of the last version stays while
  // there are versions, and the function itself is deleted last: it can be removed again.
  std::vector<WriteInput> writes;
  for (const FunctionDefinition& version : versions(name)) {
    writes.emplace_back(delete_system_item(kFunctionKind, version.name));
  }
  writes.emplace_back(delete_system_item(kQualifiersKind, name));
  writes.emplace_back(delete_system_item(kFunctionKind, name));
  auto writing = write(name, std::move(writes));
  auto written = co_await writing;
  if (!written) co_return fail(std::move(written.error()));
  std::vector<FunctionPtr> gone{latest};
  for (const std::string& each : qualified_names(name)) {
    gone.push_back(find(each));
    functions_.erase(each);
  }
  functions_.erase(name);
  qualifiers_.erase(name);
  refresh(name);
  co_return gone;
}

FunctionPtr FunctionRegistry::find(const std::string& name_or_arn) const {
  if (const auto found = functions_.find(name_or_arn); found != functions_.end()) return found->second;
  if (const auto found = endpoints_.find(name_or_arn); found != endpoints_.end()) return found->second;
  if (const auto found = aliases_.find(name_or_arn); found != aliases_.end()) return found->second.found;
  const std::string name = function_name(name_or_arn);
  if (name.empty() || name == name_or_arn) return nullptr;
  return find(name);
}

std::vector<FunctionDefinition> FunctionRegistry::list() const {
  std::vector<FunctionDefinition> all;
  for (const auto& [name, function] : functions_) {
    if (function->version.empty()) all.push_back(*function);
  }
  return all;
}

std::vector<FunctionDefinition> FunctionRegistry::list_all() const {
  std::vector<FunctionDefinition> all;
  for (const auto& [name, function] : functions_) all.push_back(*function);
  return all;
}

Async<Result<void>> FunctionRegistry::write(const std::string& name, std::vector<WriteInput> writes) {
  if (shared_) return shared_->write(function_by_name(name), std::move(writes));
  return write_alone(tables_, std::move(writes));
}

FunctionPtr FunctionRegistry::accept(FunctionDefinition function) {
  const std::string name = function.name;
  const auto latest = functions_.find(std::string(plain_name(name)));  // A version has the concurrency of its function.
  if (!function.version.empty() && latest != functions_.end()) {
    function.reserved_concurrency = latest->second->reserved_concurrency;
  }
  FunctionPtr& known = functions_[name];
  FunctionPtr before = known;
  if (before && *before == function) return before;
  known = std::make_shared<const FunctionDefinition>(std::move(function));
  refresh(std::string(plain_name(name)));
  return before;
}

FunctionPtr FunctionRegistry::forget(const std::string& name) {
  const auto known = functions_.find(name);
  if (known == functions_.end()) return nullptr;
  FunctionPtr before = known->second;
  functions_.erase(known);
  refresh(std::string(plain_name(name)));
  return before;
}

void FunctionRegistry::put_endpoint(FunctionDefinition endpoint) {
  const std::string name = endpoint.name;
  endpoints_[name] = std::make_shared<const FunctionDefinition>(std::move(endpoint));
}

}  // namespace freshet
