#include "runtime/invoke/process_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <utility>

#include "runtime/clients/clients.h"

namespace freshet {

namespace {

constexpr uint64_t kFileBytes = 512u << 20;  // The size of /tmp on the service.
constexpr uint64_t kOpenFiles = 1024;
constexpr uint64_t kMaxThreads = 1024;  // Includes processes, as on the service.
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

bool is_executable(const std::string& file) {
  return access(file.c_str(), X_OK) == 0;
}

// The subfolders of `folder`; none if it cannot be read.
std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    out.push_back(at->path().string());
  }
  return out;
}

// A version manager (pyenv, asdf, mise) has a file of each program in its folder `shims`, also of versions that it does
// not start here: for python3.9 the one below `versions` or `installs` is taken, the newest. "" if there is none.
std::string program_behind_shim(const std::string& shims, const std::string& name) {
  const std::string root = std::filesystem::path(shims).parent_path().string();
  std::vector<std::string> versions = folders_in(root + "/versions");
  for (const std::string& tool : folders_in(root + "/installs")) {
    for (std::string& version : folders_in(tool)) versions.push_back(std::move(version));
  }
  std::string newest;
  for (const std::string& version : versions) {
    std::string file = version + "/bin/" + name;
    // "3.9.18" is longer than "3.9.9".
    const bool newer = std::pair(file.size(), file) > std::pair(newest.size(), newest);
    if (newer && is_executable(file)) newest = std::move(file);
  }
  return newest;
}

bool names_a_version(const std::string& name) {
  return name.find_first_of("0123456789", name.find_first_of(".-")) != std::string::npos;
}

// The first of `names` that is an executable on `path`; "" if none is.
std::string program_on(std::string_view path, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (std::string_view rest = path; !rest.empty();) {
      const size_t end = std::min(rest.find(':'), rest.size());
      const std::string folder(rest.substr(0, end));
      std::string file = folder + "/" + name;
      if (end > 0 && is_executable(file)) {
        const bool is_shim = folder.ends_with("/shims") && names_a_version(name);
        if (is_shim) file = program_behind_shim(folder, name);
        if (!file.empty()) return file;
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return {};
}

// 9 for "python3.9", 20 for "nodejs20.x"; -1 if the name has no such number.
int number_in(std::string_view runtime, std::string_view prefix) {
  int number = -1;
  if (!runtime.starts_with(prefix)) return number;
  runtime.remove_prefix(prefix.size());
  std::from_chars(runtime.data(), runtime.data() + runtime.size(), number);
  return number;
}

// The version that was asked for; then what this machine calls python3; then later versions, which run what was written
// for that one, the next one first; then earlier ones.
std::vector<std::string> python_names(const std::string& runtime) {
  constexpr int kNewest = 40;
  std::vector<std::string> names{runtime, "python3"};
  const int minor = number_in(runtime, "python3.");
  for (int later = minor + 1; later <= kNewest; ++later) names.push_back(fmt::format("python3.{}", later));
  for (int earlier = minor - 1; earlier >= 0; --earlier) names.push_back(fmt::format("python3.{}", earlier));
  return names;
}

std::vector<std::string> node_names(const std::string& runtime) {
  const int major = number_in(runtime, "nodejs");
  std::vector<std::string> names{"node", "nodejs"};
  if (major >= 0) names.insert(names.begin(), {fmt::format("node-{}", major), fmt::format("node{}", major)});
  return names;
}

Environment environment_of(const FunctionDefinition& function, const ProgramSettings& settings,
                           const std::string& api_address) {
  Environment all{
      {"AWS_ENDPOINT_URL", settings.endpoint},
      {"AWS_ENDPOINT_URL_DYNAMODB", settings.endpoint},
      {"AWS_ENDPOINT_URL_DYNAMODB_STREAMS", settings.endpoint},
      {"AWS_ENDPOINT_URL_LAMBDA", settings.endpoint},
      {"AWS_ENDPOINT_URL_SNS", settings.endpoint},
      // The function does not get the settings of other tools in the daemon's account.
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
  const std::string name(plain_name(function.name));
  const std::string version(function.version.empty() ? kLatestVersion : std::string_view(function.version));
  const Environment own{
      {"_HANDLER", function.handler},
      {"AWS_ACCESS_KEY_ID", settings.access_key_id},
      {"AWS_DEFAULT_REGION", settings.account.region},
      {"AWS_EXECUTION_ENV", "AWS_Lambda_" + function.runtime},
      {"AWS_LAMBDA_FUNCTION_MEMORY_SIZE", std::to_string(function.memory_mib)},
      {"AWS_LAMBDA_FUNCTION_NAME", name},
      {"AWS_LAMBDA_FUNCTION_VERSION", version},
      {"AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand"},
      {"AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/" + name},
      {"AWS_LAMBDA_LOG_STREAM_NAME", "[" + version + "]" + api_address},
      {"AWS_LAMBDA_RUNTIME_API", api_address},
      {"AWS_REGION", settings.account.region},
      {"AWS_SECRET_ACCESS_KEY", settings.secret_access_key},
      {"AWS_XRAY_DAEMON_ADDRESS", settings.xray_address},
      {"LAMBDA_RUNTIME_DIR", function.code},
      {"LAMBDA_TASK_ROOT", function.code},
  };
  for (const auto& [variable, value] : own) all[variable] = value;
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

Result<void> check_version(std::string_view runtime) {
  struct Versions {
    std::string_view before, after;
    int least, most;  // The newest that is out, and some for the next years.
  };
  constexpr std::array<std::string_view, 5> kOthers = {"python3", "nodejs", "nodejs4.3", "nodejs6.10", "nodejs8.10"};
  if (std::find(kOthers.begin(), kOthers.end(), runtime) != kOthers.end() || runtime.starts_with("provided")) return {};
  constexpr Versions kPython{"python3.", "", 6, 16}, kNode{"nodejs", ".x", 4, 28};
  const Versions& known = runtime.starts_with("python") ? kPython : kNode;
  const int number = number_in(runtime, known.before);
  const std::string bare = fmt::format("{}{}", known.before, number);
  const bool is_written_so = runtime == bare || runtime == bare + std::string(known.after);
  if (is_written_so && number >= known.least && number <= known.most) return {};
  return invalid(fmt::format("Runtime {}: there is no such version; there are {}{}{} to {}{}{}", runtime, known.before,
                             known.least, known.after, known.before, known.most, known.after));
}

bool is_reserved_variable(std::string_view name) {
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

bool is_client_choice(std::string_view value) {
  return value == "auto" || value == "official" || value == "own";
}

std::string start_advice(const FunctionDefinition& function, const ProgramSettings& settings) {
  const auto own = function.environment.find("PATH");
  const std::string& path = own == function.environment.end() ? settings.path : own->second;
  const auto missing = [&](std::string_view what, std::string_view package) {
    return fmt::format(
        "Runtime {} needs {}, and PATH ({}) has none. Install it (Debian: apt-get install {}), or add its "
        "folder to PATH, in the function's environment or the daemon's",
        function.runtime, what, path, package);
  };
  const auto kind = runtime_kind(function.runtime);
  if (kind && *kind == RuntimeKind::kPython) {
    if (!program_on(path, python_names(function.runtime)).empty()) return {};
    const bool named = number_in(function.runtime, "python3.") >= 0;
    return missing(named ? function.runtime + " or another python3" : "python3", "python3");
  }
  if (kind && *kind == RuntimeKind::kNode) {
    if (!program_on(path, node_names(function.runtime)).empty()) return {};
    return missing("Node.js (node)", "nodejs");
  }
  const std::string program = function.code + "/bootstrap";
  if (access(program.c_str(), X_OK) == 0) return {};
  return fmt::format("Runtime {} runs the program {}: put it there, and make it executable (chmod +x)",
                     function.runtime, program);
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
    // The client's own source comes on standard input, so that the one binary works from anywhere. Not as `python3 -`:
    // then the main module would be "<stdin>", which multiprocessing tries to open.
    const std::string python = program_on(path, python_names(function.runtime));
    spec.argv = {
        python.empty() ? "python3" : python, "-c",
        "import sys; exec(compile(sys.stdin.read(), 'freshet/python_client.py', 'exec'), {'__name__': 'freshet'})"};
    spec.input = clients::python();
  } else if (kind && *kind == RuntimeKind::kNode) {
    // Not as `node -`: that leaves require, fs and others as globals that the handler can see. Standard input is a
    // pipe, whose real path is not a file.
    const std::string node = program_on(path, node_names(function.runtime));
    spec.argv = {node.empty() ? "node" : node, "--preserve-symlinks-main", "/dev/stdin"};
    spec.input = clients::node();
  } else {
    spec.argv = {function.code + "/bootstrap"};
  }
  return spec;
}

}  // namespace freshet
