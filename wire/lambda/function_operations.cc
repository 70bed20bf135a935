// CreateFunction, UpdateFunctionCode, UpdateFunctionConfiguration, DeleteFunction and the calls on concurrency.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "runtime/invoke/process_command.h"
#include "streams/arn.h"
#include "streams/subscription.h"
#include "tables/value/text.h"
#include "wire/lambda/aws_members.h"
#include "wire/lambda/function_json.h"
#include "wire/lambda/operation.h"

namespace freshet::lambda {
namespace {

// A folder of this machine instead of a bucket: run in place, so that changes of its files take effect.
constexpr std::string_view kFolderBucket = "hot-reload";
constexpr int64_t kMaxTimeoutSeconds = 24 * 3600;
constexpr int64_t kMaxConcurrency = 100'000;
constexpr size_t kMaxHandler = 128;
constexpr size_t kMaxFunctionDescription = 256;

// The members of a function that a request has. All others stay unchanged.
struct ConfigurationChange {
  std::optional<std::string> runtime, handler, role, description, dead_letter;
  std::optional<int64_t> timeout, memory;
  std::optional<Environment> environment;
  std::string revision;

  void apply(FunctionDefinition& function) const {
    if (runtime) function.runtime = *runtime;
    if (handler) function.handler = *handler;
    if (role) function.role = *role;
    if (description) function.description = *description;
    if (dead_letter) function.dead_letter.target = *dead_letter;
    if (timeout) function.timeout = seconds(*timeout);
    if (memory) function.memory_mib = static_cast<int>(*memory);
    if (environment) function.environment = *environment;
  }
};

// The source of the code: an archive in the request, or a folder.
struct Code {
  std::string archive;
  std::string folder;
};

void read_into(AwsMembers& members, std::string_view name, std::optional<std::string>& into) {
  if (!members.find(name)) return;
  into.emplace();
  members.text(name, *into);
}

void read_into(AwsMembers& members, std::string_view name, int64_t min, int64_t max, std::optional<int64_t>& into) {
  if (!members.find(name)) return;
  into.emplace();
  members.integer(name, min, max, *into);
}

void read_into(AwsMembers& members, std::string_view name, size_t most, std::optional<std::string>& into) {
  read_into(members, name, into);
  if (into && into->size() > most) {
    members.refuse(*members.find(name), "must not be longer than " + std::to_string(most) + " bytes");
  }
}

void read_environment(AwsMembers& members, std::optional<Environment>& into) {
  const auto given = members.find("Environment");
  if (!given) return;
  AwsMembers environment(*given, {"Variables", "Error"});
  into.emplace();
  if (const auto variables = environment.map("Variables")) {
    for (const JsonView variable : *variables) {
      const std::string name(variable.name());
      auto value = variable.as_string();
      if (!value) return members.fail_with(std::move(value.error()));
      if (is_reserved_variable(name)) {
        return members.refuse(variable, "is set by the runtime; give yours another name");
      }
      (*into)[name] = *value;
    }
  }
  if (environment.error()) members.fail_with(*environment.error());
}

// A topic's ARN, because dead letters go to topics here; "" removes it.
void read_dead_letter(AwsMembers& members, std::optional<std::string>& into) {
  const auto given = members.find("DeadLetterConfig");
  if (!given) return;
  AwsMembers config(*given, {"TargetArn"});
  read_into(config, "TargetArn", into);
  if (config.error()) return members.fail_with(*config.error());
  if (!into || into->empty()) return;
  if (topic_name(*into).empty()) return members.refuse(*given, "must name a topic");
  if (into->ends_with(kFifoSuffix)) members.refuse(*given, "must not name a FIFO topic");
}

ConfigurationChange read_function_change(AwsMembers& members) {
  ConfigurationChange change;
  read_into(members, "Runtime", change.runtime);
  read_into(members, "Handler", kMaxHandler, change.handler);
  read_into(members, "Role", change.role);
  read_into(members, "Description", kMaxFunctionDescription, change.description);
  read_into(members, "Timeout", 1, kMaxTimeoutSeconds, change.timeout);
  read_into(members, "MemorySize", 128, 10'240, change.memory);
  read_environment(members, change.environment);
  read_dead_letter(members, change.dead_letter);
  members.text("RevisionId", change.revision);
  if (change.runtime) {
    auto kind = runtime_kind(*change.runtime);
    auto version = check_version(*change.runtime);
    if (!kind) {
      members.fail_with(std::move(kind.error()));
    } else if (!version) {
      members.fail_with(std::move(version.error()));
    }
  }
  return change;
}

// Accepted without effect: docs/compatibility.md lists them.
const std::initializer_list<std::string_view> kFunctionCreateMembers{
    "FunctionName", "Runtime", "Handler", "Role", "Description", "Timeout", "MemorySize", "Environment",
    "DeadLetterConfig", "Code", "Publish", "PackageType", "RevisionId",
    // Without effect.
    "VpcConfig", "KMSKeyArn", "TracingConfig", "Tags", "Layers", "FileSystemConfigs", "ImageConfig",
    "CodeSigningConfigArn", "Architectures", "EphemeralStorage", "SnapStart", "LoggingConfig"};
const std::initializer_list<std::string_view> kConfigurationMembers{
    "FunctionName", "Runtime", "Handler", "Role", "Description", "Timeout", "MemorySize", "Environment",
    "DeadLetterConfig", "RevisionId",
    // Without effect.
    "VpcConfig", "KMSKeyArn", "TracingConfig", "Layers", "FileSystemConfigs", "ImageConfig", "EphemeralStorage",
    "SnapStart", "LoggingConfig"};
const std::initializer_list<std::string_view> kCodeMembers{"FunctionName",    "ZipFile",      "S3Bucket", "S3Key",
                                                           "S3ObjectVersion", "ImageUri",     "Publish",  "DryRun",
                                                           "RevisionId",      "Architectures"};

Code read_code(AwsMembers& members) {
  Code code;
  if (const auto zip = members.find("ZipFile")) {
    std::string_view text;
    members.text("ZipFile", text);
    if (const std::string wrong = append_from_base64(code.archive, text); !wrong.empty()) members.refuse(*zip, wrong);
    if (code.archive.empty()) members.refuse(*zip, "must not be empty");
    return code;
  }
  std::string bucket;
  members.text("S3Bucket", bucket);
  members.text("S3Key", code.folder);
  if (bucket != kFolderBucket) {
    members.fail_with({ErrorCode::kValidation,
                       "Code: send a ZipFile, or name a folder of this machine: S3Bucket '" +
                           std::string(kFolderBucket) + "', S3Key its absolute path. There are no buckets and images",
                       nullptr});
    return code;
  }
  std::error_code error;
  if (!code.folder.starts_with('/') || !std::filesystem::is_directory(code.folder, error)) {
    members.fail_with(
        {ErrorCode::kValidation, "Code: '" + code.folder + "' is not the absolute path of a folder", nullptr});
  }
  while (code.folder.size() > 1 && code.folder.ends_with('/')) code.folder.pop_back();
  return code;
}

HttpResponse describe(int status, const FunctionDefinition& function, Runtime& runtime) {
  return answer_with(status, function_configuration_json(function, runtime.account()));
}

// Puts the code into its place, and keeps it in use.
Async<Result<std::shared_ptr<const void>>> settle_code(Code code, FunctionDefinition& function, Backend& backend) {
  function.code_sha256.clear();
  function.code_bytes = 0;
  function.code = code.folder;
  if (code.archive.empty()) co_return nullptr;
  std::string for_others;
  if (backend.fleet) for_others = code.archive;
  auto kept = co_await backend.code.keep(std::move(code.archive));
  if (!kept) co_return fail(std::move(kept.error()));
  if (backend.fleet) {
    auto giving = backend.fleet->give(*kept, std::move(for_others));
    auto given = co_await giving;
    if (!given) co_return fail(std::move(given.error()));
  }
  function.code = std::move(kept->folder);
  function.code_sha256 = std::move(kept->sha256);
  function.code_bytes = kept->bytes;
  co_return std::move(kept->hold);
}

Result<void> check_revision(const FunctionDefinition& function, const std::string& revision, const Account& account) {
  if (revision.empty() || revision == revision_id(function, account)) return {};
  return fail(ErrorCode::kConditionalCheckFailed, std::string(kRevisionMismatch));
}

// Publishes the function if the caller wants that; otherwise `as_it_is` is the answer. `qualified`: the answer's ARN
// names the version.
Async<Result<FunctionDefinition>> published(FunctionDefinition as_it_is, bool publish, bool qualified,
                                            Runtime& runtime) {
  if (!publish) co_return as_it_is;
  std::string name = as_it_is.name;
  FunctionRegistry::Check any = [](const FunctionDefinition&) { return Result<void>(); };
  auto version = co_await runtime.publish_version(std::move(name), std::nullopt, std::move(any));
  if (version && !qualified) version->name = as_it_is.name;
  co_return version;
}

class CreateFunction final : public Operation {
 public:
  CreateFunction(std::string name, bool publish, ConfigurationChange change, Code code)
      : name_(std::move(name)), publish_(publish), change_(std::move(change)), code_(std::move(code)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    if (backend.runtime.invoker().find(name_)) co_return taken();
    FunctionDefinition function;
    function.name = name_;
    function.host = "process";
    change_.apply(function);
    auto settled = co_await settle_code(std::move(code_), function, backend);
    if (!settled) co_return fail(std::move(settled.error()));
    std::string name = name_;
    FunctionUpdate make = [this, &function](const FunctionDefinition* now) -> Result<FunctionDefinition> {
      if (now) return taken();  // Another request was faster.
      return function;
    };
    auto made = co_await backend.runtime.update_function(std::move(name), std::move(make));
    if (!made) co_return fail(std::move(made.error()));
    made = co_await published(std::move(*made), publish_, false, backend.runtime);
    if (!made) co_return fail(std::move(made.error()));
    co_return describe(201, *made, backend.runtime);
  }

 private:
  tl::unexpected<Error> taken() const { return fail(ErrorCode::kConflict, "Function already exist: " + name_); }
  const std::string name_;
  const bool publish_;
  const ConfigurationChange change_;
  Code code_;
};

class UpdateCode final : public Operation {
 public:
  UpdateCode(std::string name, std::string revision, bool dry_run, bool publish, Code code)
      : name_(std::move(name)),
        revision_(std::move(revision)),
        dry_run_(dry_run),
        publish_(publish),
        code_(std::move(code)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    const Account& account = backend.runtime.account();
    auto function = function_named(backend.runtime, name_);
    if (!function) co_return fail(std::move(function.error()));
    if (auto good = check(*function, account); !good) co_return fail(std::move(good.error()));
    FunctionDefinition after;
    const auto settled = co_await settle_code(std::move(code_), after, backend);
    if (!settled) co_return fail(settled.error());
    FunctionChange change = [this, &after, &account](FunctionDefinition& now) -> Result<void> {
      if (auto good = check(now, account); !good) return good;  // The function may have changed meanwhile.
      now.code = after.code;
      now.code_sha256 = after.code_sha256;
      now.code_bytes = after.code_bytes;
      if (!dry_run_) now.modified_ms = FunctionDefinition::kModifiedNow;
      return {};
    };
    if (dry_run_) {
      if (auto good = change(*function); !good) co_return fail(std::move(good.error()));
      co_return describe(200, *function, backend.runtime);
    }
    std::string name = name_;
    auto done = co_await change_function(backend.runtime, std::move(name), std::move(change));
    if (!done) co_return fail(std::move(done.error()));
    done = co_await published(std::move(*done), publish_, true, backend.runtime);
    if (!done) co_return fail(std::move(done.error()));
    co_return describe(200, *done, backend.runtime);
  }

 private:
  Result<void> check(const FunctionDefinition& function, const Account& account) const {
    if (auto good = check_revision(function, revision_, account); !good) return good;
    if (function.host == "process") return {};
    return invalid("Function " + name_ + " is of host " + function.host + ", which has no code");
  }
  const std::string name_;
  const std::string revision_;
  const bool dry_run_;
  const bool publish_;
  Code code_;
};

class UpdateConfiguration final : public Operation {
 public:
  UpdateConfiguration(std::string name, ConfigurationChange change)
      : name_(std::move(name)), change_(std::move(change)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    FunctionChange change = [this, &backend](FunctionDefinition& now) -> Result<void> {
      if (auto good = check_revision(now, change_.revision, backend.runtime.account()); !good) return good;
      if (change_.runtime && now.host != "process") return invalid("Function " + name_ + " is of host " + now.host);
      change_.apply(now);
      now.modified_ms = FunctionDefinition::kModifiedNow;
      return {};
    };
    std::string name = name_;
    auto done = co_await change_function(backend.runtime, std::move(name), std::move(change));
    if (!done) co_return fail(std::move(done.error()));
    co_return describe(200, *done, backend.runtime);
  }

 private:
  const std::string name_;
  const ConfigurationChange change_;
};

// Deletes a version, or the function with all of them.
class DeleteFunction final : public Operation {
 public:
  DeleteFunction(std::string name, std::string version) : name_(std::move(name)), version_(std::move(version)) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    const bool whole = version_.empty();
    auto function = function_named(backend.runtime, whole ? name_ : name_ + ":" + version_);
    if (!function) co_return fail(std::move(function.error()));
    std::string name = name_;
    if (!whole) {
      if (function->version != version_) co_return invalid("Deletion of aliases is not currently supported.");
      std::string version = version_;
      auto removed = co_await backend.runtime.remove_version(std::move(name), std::move(version));
      if (!removed) co_return fail(std::move(removed.error()));
      co_return answer_with(204, "");
    }
    auto removed = co_await backend.runtime.remove_function(std::move(name));
    if (!removed) co_return fail(std::move(removed.error()));
    co_return answer_with(204, "");
  }

 private:
  const std::string name_;
  const std::string version_;
};

class Concurrency final : public Operation {
 public:
  enum class What { kGet, kPut, kDelete };
  Concurrency(std::string name, What what, int limit) : name_(std::move(name)), what_(what), limit_(limit) {}
  Async<Result<HttpResponse>> run(Backend& backend) override {
    if (what_ == What::kGet) {
      auto function = function_named(backend.runtime, name_);
      if (!function) co_return fail(std::move(function.error()));
      co_return describe_limit(*function);
    }
    FunctionChange change = [this](FunctionDefinition& now) -> Result<void> {
      now.reserved_concurrency = what_ == What::kPut ? std::optional(limit_) : std::nullopt;
      return {};
    };
    std::string name = name_;
    auto done = co_await change_function(backend.runtime, std::move(name), std::move(change));
    if (!done) co_return fail(std::move(done.error()));
    if (what_ == What::kDelete) co_return answer_with(204, "");
    co_return describe_limit(*done);
  }

 private:
  static HttpResponse describe_limit(const FunctionDefinition& function) {
    if (!function.reserved_concurrency) return answer_with(200, "{}");
    return answer_with(200, fmt::format(R"({{"ReservedConcurrentExecutions":{}}})", *function.reserved_concurrency));
  }
  const std::string name_;
  const What what_;
  const int limit_;
};

template <class Made, class... Arguments>
Parsed made(Arguments&&... arguments) {
  return std::make_unique<Made>(std::forward<Arguments>(arguments)...);
}

}  // namespace

Parsed parse_create_function(const Request& request) {
  AwsMembers members(*request.body, kFunctionCreateMembers);
  std::string name;
  members.text("FunctionName", name);
  ConfigurationChange change = read_function_change(members);
  bool publish = false;
  members.boolean("Publish", publish);
  std::string package = "Zip";
  members.text("PackageType", package);
  Code code;
  if (const auto given = members.find("Code")) {
    AwsMembers inside(*given, kCodeMembers);
    code = read_code(inside);
    if (inside.error()) members.fail_with(*inside.error());
  }
  if (members.error()) return fail(*members.error());
  if (package != "Zip") return invalid("PackageType " + package + ": functions do not come as images");
  for (const auto& [what, there] : {std::pair{"FunctionName", !name.empty()},
                                    {"Runtime", change.runtime.has_value()},
                                    {"Handler", change.handler && !change.handler->empty()},
                                    {"Code", members.find("Code").has_value()}}) {
    if (!there) return invalid(std::string(what) + " is missing or empty");
  }
  if (const auto named = parse_function(name); named && !named->qualifier.empty()) {
    return invalid("FunctionName '" + name.substr(0, 200) + "': a function is made without a version");
  }
  auto plain = function_in(name, {}, request.account);
  if (!plain) return fail(std::move(plain.error()));
  name = std::move(*plain);
  return made<CreateFunction>(std::move(name), publish, std::move(change), std::move(code));
}

Parsed parse_update_code(const Request& request) {
  AwsMembers members(*request.body, kCodeMembers);
  std::string revision;
  bool dry_run = false;
  members.text("RevisionId", revision);
  members.boolean("DryRun", dry_run);
  bool publish = false;
  members.boolean("Publish", publish);
  Code code = read_code(members);
  if (members.error()) return fail(*members.error());
  return made<UpdateCode>(request.name, std::move(revision), dry_run, publish, std::move(code));
}

Parsed parse_update_configuration(const Request& request) {
  AwsMembers members(*request.body, kConfigurationMembers);
  ConfigurationChange change = read_function_change(members);
  if (members.error()) return fail(*members.error());
  return made<UpdateConfiguration>(request.name, std::move(change));
}

Parsed parse_delete_function(const Request& request) {
  if (value_in(request.query, "Qualifier") == kLatestVersion) {
    return invalid("$LATEST version cannot be deleted without deleting the function.");
  }
  return made<DeleteFunction>(request.name, request.qualifier);
}

Parsed parse_put_concurrency(const Request& request) {
  AwsMembers members(*request.body, {"FunctionName", "ReservedConcurrentExecutions"});
  std::optional<int64_t> limit;
  read_into(members, "ReservedConcurrentExecutions", 0, kMaxConcurrency, limit);
  if (members.error()) return fail(*members.error());
  if (!limit) return invalid("ReservedConcurrentExecutions is missing");
  return made<Concurrency>(request.name, Concurrency::What::kPut, static_cast<int>(*limit));
}

Parsed parse_get_concurrency(const Request& request) {
  return made<Concurrency>(request.name, Concurrency::What::kGet, 0);
}

Parsed parse_delete_concurrency(const Request& request) {
  return made<Concurrency>(request.name, Concurrency::What::kDelete, 0);
}

}  // namespace freshet::lambda
