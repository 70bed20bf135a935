#include "runtime/invoke/process_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "runtime/clients/clients.h"

namespace freshet {

namespace {

constexpr uint64_t kFileBytes = 512u << 20;  // As much as the service gives in /tmp.
constexpr uint64_t kOpenFiles = 1024;
constexpr uint64_t kMaxThreads = 1024;  // With the processes, as there.
constexpr size_t kOutputASecond = 1u << 20;

constexpr std::array<std::string_view, 20> kReserved = {
    "_HANDLER",
    "_X_AMZN_TRACE_ID",
    "AWS_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_DEFAULT_REGION",
    "AWS_EXECUTION_ENV",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
    "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_LAMBDA_FUNCTION_VERSION",
    "AWS_LAMBDA_INITIALIZATION_TYPE",
    "AWS_LAMBDA_LOG_GROUP_NAME",
    "AWS_LAMBDA_LOG_STREAM_NAME",
    "AWS_LAMBDA_RUNTIME_API",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SECRET_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_XRAY_DAEMON_ADDRESS",
    "LAMBDA_RUNTIME_DIR",
    "LAMBDA_TASK_ROOT",
};

// The first of `names` that is an executable on `path`; the last if none is.
std::string program_on(std::string_view path, std::initializer_list<std::string> names) {
  for (const std::string& name : names) {
    for (std::string_view rest = path; !rest.empty();) {
      const size_t end = std::min(rest.find(':'), rest.size());
      const std::string file = fmt::format("{}/{}", rest.substr(0, end), name);
      if (end > 0 && access(file.c_str(), X_OK) == 0) return file;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return *(names.end() - 1);
}

Environment environment_of(const FunctionDefinition& function, const ProgramSettings& settings,
                           const std::string& api_address) {
  Environment all{
      {"AWS_ENDPOINT_URL", settings.endpoint},
      {"AWS_ENDPOINT_URL_DYNAMODB", settings.endpoint},
      {"AWS_ENDPOINT_URL_DYNAMODB_STREAMS", settings.endpoint},
      {"AWS_ENDPOINT_URL_LAMBDA", settings.endpoint},
      {"AWS_ENDPOINT_URL_SNS", settings.endpoint},
      // What the account that the daemon runs in keeps for other tools is none of the function's.
      {"AWS_CONFIG_FILE", "/dev/null"},
      {"AWS_SHARED_CREDENTIALS_FILE", "/dev/null"},
      {"AWS_EC2_METADATA_DISABLED", "true"},
      {"AWS_XRAY_CONTEXT_MISSING", "LOG_ERROR"},
      {"LANG", "en_US.UTF-8"},
      {"LD_LIBRARY_PATH", function.code + ":" + function.code + "/lib"},
      {"PATH", settings.path},
      {"TZ", ":UTC"},
  };
  // Python takes what it has compiled for a file's text when size and second of the file are the same.
  if (settings.code_changes) all["PYTHONDONTWRITEBYTECODE"] = "1";
  for (const auto& [name, value] : function.environment) all[name] = value;
  const Environment own{
      {"_HANDLER", function.handler},
      {"AWS_ACCESS_KEY_ID", settings.access_key_id},
      {"AWS_DEFAULT_REGION", settings.account.region},
      {"AWS_EXECUTION_ENV", "AWS_Lambda_" + function.runtime},
      {"AWS_LAMBDA_FUNCTION_MEMORY_SIZE", std::to_string(function.memory_mib)},
      {"AWS_LAMBDA_FUNCTION_NAME", function.name},
      {"AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"},
      {"AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand"},
      {"AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/" + function.name},
      {"AWS_LAMBDA_LOG_STREAM_NAME", "[$LATEST]" + api_address},
      {"AWS_LAMBDA_RUNTIME_API", api_address},
      {"AWS_REGION", settings.account.region},
      {"AWS_SECRET_ACCESS_KEY", settings.secret_access_key},
      {"AWS_XRAY_DAEMON_ADDRESS", settings.xray_address},
      {"LAMBDA_RUNTIME_DIR", function.code},
      {"LAMBDA_TASK_ROOT", function.code},
  };
  for (const auto& [name, value] : own) all[name] = value;
  if (!settings.session_token.empty()) all["AWS_SESSION_TOKEN"] = settings.session_token;
  return all;
}

}  // namespace

Result<RuntimeKind> runtime_kind(std::string_view runtime) {
  const bool plain = runtime.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.") == std::string_view::npos;
  if (plain && runtime.starts_with("python3")) return RuntimeKind::kPython;
  if (plain && runtime.starts_with("nodejs")) return RuntimeKind::kNode;
  if (plain && (runtime == "provided" || runtime.starts_with("provided."))) return RuntimeKind::kProvided;
  return invalid(fmt::format("Runtime {}: there are native, http, nodejs*, python3* and provided*", runtime));
}

bool is_reserved_variable(std::string_view name) {
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

bool is_client_choice(std::string_view value) {
  return value == "auto" || value == "official" || value == "own";
}

ProcessSpec process_spec(const FunctionDefinition& function, const ProgramSettings& settings,
                         const std::string& api_address) {
  ProcessSpec spec;
  spec.directory = function.code;
  spec.environment = environment_of(function, settings, api_address);
  spec.max_output = kOutputASecond;
  spec.limits.memory = static_cast<uint64_t>(function.memory_mib) << 20;
  spec.limits.threads = kMaxThreads;
  spec.limits.file_bytes = kFileBytes;
  spec.limits.open_files = kOpenFiles;
  const std::string& path = spec.environment["PATH"];
  const auto kind = runtime_kind(function.runtime);
  if (kind && *kind == RuntimeKind::kPython) {
    // The client's own text comes on standard input, so that the one binary works from anywhere. Not as `python3 -`:
    // that would make a "<stdin>" of the main module, which multiprocessing tries to open again.
    spec.argv = {
        program_on(path, {function.runtime, "python3"}), "-c",
        "import sys; exec(compile(sys.stdin.read(), 'freshet/python_client.py', 'exec'), {'__name__': 'freshet'})"};
    spec.input = clients::python();
  } else if (kind && *kind == RuntimeKind::kNode) {
    // Not as `node -`: that leaves require, fs and the like as globals for the handler to see. Standard input is a
    // pipe, whose real path is no file.
    spec.argv = {program_on(path, {"node"}), "--preserve-symlinks-main", "/dev/stdin"};
    spec.input = clients::node();
  } else {
    spec.argv = {function.code + "/bootstrap"};
  }
  return spec;
}

}  // namespace freshet
