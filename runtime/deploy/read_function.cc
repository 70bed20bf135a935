// Reads AWS::Serverless::Function, AWS::Lambda::Function and AWS::Lambda::EventInvokeConfig.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/url.h"
#include "runtime/deploy/builder.h"
#include "runtime/invoke/process_command.h"
#include "streams/arn.h"

namespace freshet {
namespace {

constexpr int64_t kMaxTimeoutSeconds = 24 * 3600;
constexpr int64_t kMaxConcurrency = 100'000;

// A function has at most one, as in the service.
std::string invoke_config_of(const std::string& function) {
  return "event invoke config of function " + function;
}

// Where the code of CloudFormation's own deployments is.
constexpr std::string_view kNoBucket = "code in S3 or an image cannot be had here: name a folder beside the template";

// The service's rule for names of aliases: letters, digits, '-' and '_', not digits alone.
bool is_alias_name(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  const bool known = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || c == '-' || c == '_';
  });
  return known && !name.empty() && name.size() <= 128 && name.find_first_not_of(kDigits) != std::string_view::npos;
}

// An event's outcome has no group to go to.
void refuse_fifo(Properties& properties, std::string_view property, const std::string& target) {
  if (topic_name(target).ends_with(kFifoSuffix)) properties.error(property, "a FIFO topic cannot be a destination");
}

void note_no_effects(Properties& properties) {
  properties.ignore({"Description"});
  properties.no_effect({"Role", "Policies", "PermissionsBoundary", "RolePath", "AssumeRolePolicyDocument"},
                       "access is not checked by role or policy");
  properties.no_effect({"EphemeralStorage"}, "a process may write files of up to 512 MB wherever the daemon may");
  properties.no_effect({"Architectures"}, "functions run on this machine");
  properties.no_effect({"KmsKeyArn", "SourceKMSKeyArn", "CodeSigningConfigArn"}, "nothing is encrypted or signed");
  properties.no_effect({"ImageUri", "ImageConfig", "PackageType"}, "functions do not come as images");
  properties.no_effect({"Layers"}, "what a layer holds has to be in the code's folder");
  properties.no_effect({"VpcConfig", "FileSystemConfigs", "Ipv6AllowedForDualStack"}, "there is no such network");
  properties.no_effect({"DeploymentPreference"}, "the alias points to the new version at once");
  properties.no_effect({"AutoPublishAliasAllProperties", "AutoPublishCodeSha256"},
                       "AutoPublishAlias publishes whenever the code or the configuration has changed");
  properties.no_effect({"VersionDeletionPolicy"}, "versions stay until the Lambda API deletes them");
  properties.no_effect({"PublishToLatestPublished"}, "AutoPublishAlias names the alias");
  properties.no_effect(
      {"ProvisionedConcurrencyConfig", "SnapStart", "RuntimeManagementConfig", "CapacityProviderConfig"},
      "there are no cold starts");
  properties.no_effect({"LoggingConfig"}, "logs go to the daemon's own");
  properties.no_effect({"RecursiveLoop"}, "loops are not detected");
  properties.no_effect({"FunctionUrlConfig"}, "functions have no URLs; use the Invoke API");
  properties.no_effect({"Tags", "PropagateTags"}, kNoTags);
}

// The name of the file that a handler ("src/app.handler") is in, for that runtime.
std::string file_of(const std::string& handler, const std::string& runtime) {
  const std::string module = handler.substr(0, handler.rfind('.'));
  return module + (runtime.starts_with("python") ? ".py" : ".js");
}

}  // namespace

void DeploymentBuilder::warn_of_traces(Properties& properties, std::string_view property, bool on) {
  if (!on || input_.traces_kept) return;
  properties.warn(property,
                  "traces are kept only by a daemon that is told where: start it with --trace-file FILE, "
                  "--chrome-trace FILE or --trace-endpoint URL (docs/traces.md)");
}

void DeploymentBuilder::read_tracing(Properties& properties) {
  warn_of_traces(properties, "Tracing", properties.text("Tracing") == "Active");
  bool active = false;
  properties.in("TracingConfig", [&](Properties& config) { active = config.text("Mode") == "Active"; });
  warn_of_traces(properties, "TracingConfig", active);
}

void DeploymentBuilder::read_handler(const Resource& resource, Properties& properties, FunctionDefinition& function) {
  static constexpr std::string_view kNativePrefix = "native:";
  std::string handler = properties.required_text("Handler");
  std::string runtime = properties.text("Runtime").value_or("");
  if (handler.empty() || runtime.empty()) properties.ignore({"Code", "CodeUri", "InlineCode", "MemorySize"});
  if (handler.empty()) return;
  if (handler.starts_with(kNativePrefix)) {
    if (!runtime.empty() && runtime != "native") properties.no_effect({"Runtime"}, "the handler is native");
    handler.erase(0, kNativePrefix.size());
    runtime = "native";
  }
  function.handler = handler;
  function.host = runtime;
  if (runtime == "native") {
    if (input_.native_handlers.empty() || input_.native_handlers.contains(handler)) return;
    std::string known;
    for (const std::string& name : input_.native_handlers) known += (known.empty() ? "" : ", ") + name;
    return properties.error("Handler", "there is no native handler '" + handler + "'; there are " + known);
  }
  if (runtime == "http") {
    const auto url = parse_url(handler);
    if (url) return;
    return properties.error(
        "Handler", "Runtime http needs the URL of an endpoint, http[s]://HOST:PORT/PATH: " + url.error().message);
  }
  if (!runtime.empty()) return read_program(resource, properties, function);
  properties.missing("Runtime",
                     "function " + resource.name +
                         ": Runtime is missing; there are native (with the name of a built-in handler), http "
                         "(with the URL of an endpoint), nodejs*, python3* and provided*");
}

void DeploymentBuilder::name_a_folder(Properties& properties, std::string_view property,
                                      const FunctionDefinition& function) {
  const bool serverless = property == "InlineCode";
  const std::string folder = "./" + function.name;
  properties.error(property, "code in the template is not supported: put it into " + folder + "/" +
                                 file_of(function.handler, function.runtime) + " beside the template and write " +
                                 (serverless ? "CodeUri: " : "Code: ") + folder);
}

// The folder of the code: CodeUri of a serverless function, Code of a plain one, relative to the template.
std::string DeploymentBuilder::read_code(Properties& properties, const FunctionDefinition& function) {
  const Node* code = properties.take("Code");
  const std::string_view name = code != nullptr ? "Code" : "CodeUri";
  const bool inlined = properties.take("InlineCode") != nullptr;
  if (inlined && code == nullptr && properties.take("CodeUri") == nullptr) {
    name_a_folder(properties, "InlineCode", function);
    return "";
  }
  properties.no_effect({"InlineCode"}, "the code is that of the folder");
  if (code != nullptr && code->is(Node::Kind::kMap)) {
    if (code->find("ZipFile") != nullptr) {
      name_a_folder(properties, name, function);
    } else {
      properties.error(name, std::string(kNoBucket));
    }
    return "";
  }
  const std::string text = properties.required_text(name);
  if (text.empty()) return "";
  if (text.starts_with("s3://")) {
    properties.error(name, std::string(kNoBucket));
    return "";
  }
  const auto beside = std::filesystem::path(input_.source.file).parent_path() / text;
  std::string folder = std::filesystem::absolute(beside).lexically_normal().string();
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return folder;
  properties.error(name, "'" + text + "' is not a folder: " + folder);
  return "";
}

void DeploymentBuilder::read_program(const Resource& resource, Properties& properties, FunctionDefinition& function) {
  function.host = "process";
  function.runtime = properties.text("Runtime").value_or("");
  const auto kind = runtime_kind(function.runtime);
  if (!kind) {
    properties.ignore({"Code", "CodeUri", "InlineCode", "MemorySize"});
    return properties.error("Runtime", "function " + resource.name + ": " + kind.error().message +
                                           " (any other language: provided.al2023, with a program 'bootstrap' in the "
                                           "folder of the code)");
  }
  if (const auto version = check_version(function.runtime); !version) {
    properties.error("Runtime", "function " + resource.name + ": " + version.error().message);
  }
  function.code = read_code(properties, function);
  if (auto memory = properties.integer("MemorySize", 128, 10'240)) function.memory_mib = static_cast<int>(*memory);
  if (function.code.empty() || *kind != RuntimeKind::kProvided) return;
  if (access((function.code + "/bootstrap").c_str(), X_OK) == 0) return;
  properties.error("Runtime", "function " + resource.name + ": there is no program 'bootstrap' in " + function.code);
}

FunctionDefinition DeploymentBuilder::read_function(const Resource& resource, Properties& properties) {
  FunctionDefinition function;
  function.name = resource.name;
  properties.ignore({"FunctionName"});
  read_handler(resource, properties, function);
  if (auto timeout = properties.integer("Timeout", 1, kMaxTimeoutSeconds)) function.timeout = seconds(*timeout);
  if (auto limit = properties.integer("ReservedConcurrentExecutions", 0, kMaxConcurrency)) {
    function.reserved_concurrency = static_cast<int>(*limit);
  }
  properties.in("Environment",
                [&](Properties& environment) { function.environment = environment.text_map("Variables"); });
  if (function.host == "process") {
    for (const auto& [name, value] : function.environment) {
      if (is_reserved_variable(name)) {
        properties.error("Environment", "the variable " + name + " is set by the runtime; give yours another name");
      }
    }
  } else {
    properties.no_effect({"MemorySize"}, "memory is limited for processes only");
    properties.no_effect({"Code", "CodeUri", "InlineCode"}, "no code is loaded for the native and http hosts");
  }
  read_tracing(properties);
  note_no_effects(properties);
  names_.push_back({"function " + function.name, resource.id, resource.line});
  function_names_[resource.id] = function.name;
  return function;
}

Destination DeploymentBuilder::read_destination(Properties& properties, std::string_view name) {
  Destination out;
  properties.in(name, [&](Properties& destination) {
    auto type = destination.text("Type");
    if (type && *type != "SNS" && *type != "Lambda") {
      destination.error("Type", "destinations of type " + *type + " are not supported; use SNS or Lambda");
      destination.ignore({"Destination"});
      return;
    }
    out.target = reference(Kind::kTarget, destination, "Destination");
    refuse_fifo(destination, "Destination", out.target);
  });
  return out;
}

void DeploymentBuilder::read_async(Properties& properties, AsyncConfig& async) {
  if (auto age = properties.integer("MaximumEventAgeInSeconds", 1, 6 * 3600)) async.max_event_age = seconds(*age);
  if (auto retries = properties.integer("MaximumRetryAttempts", 0, 2)) async.max_retries = static_cast<int>(*retries);
  properties.in("DestinationConfig", [&](Properties& destinations) {
    if (destinations.take("OnSuccess")) async.on_success = read_destination(destinations, "OnSuccess");
    if (destinations.take("OnFailure")) async.on_failure = read_destination(destinations, "OnFailure");
  });
}

void DeploymentBuilder::read_dead_letter(Properties& properties, std::string_view property,
                                         FunctionDefinition& function) {
  properties.in(property, [&](Properties& queue) {
    auto type = queue.text("Type");
    if (type && *type != "SNS") {
      queue.ignore({"TargetArn"});
      return queue.error("Type", "dead letters go to a topic (Type: SNS); " + *type + " is not supported");
    }
    function.dead_letter.target = reference(Kind::kTopic, queue, "TargetArn");
    refuse_fifo(queue, "TargetArn", function.dead_letter.target);
  });
}

std::string DeploymentBuilder::read_alias(Properties& properties, const FunctionDefinition& function) {
  if (function.host == "native") {
    properties.no_effect({"AutoPublishAlias", "VersionDescription"}, "a built-in function has no code that changes");
    return function.name;
  }
  const std::string description = properties.text("VersionDescription").value_or("");
  const auto name = properties.text("AutoPublishAlias");
  if (!name) return function.name;
  if (!is_alias_name(*name)) {
    properties.error("AutoPublishAlias", "'" + *name +
                                             "' is no name of an alias: 1 to 128 letters, digits, '-' and '_', "
                                             "not digits alone");
    return function.name;
  }
  out_.aliases.push_back({function.name, *name, description, function.async});
  return function.name + ":" + *name;
}

void DeploymentBuilder::add_sam_function(const Resource& resource, Properties& properties) {
  FunctionDefinition function = read_function(resource, properties);
  properties.in("EventInvokeConfig", [&](Properties& config) {
    read_async(config, function.async);
    names_.push_back({invoke_config_of(function.name), resource.id, config.line()});
  });
  read_dead_letter(properties, "DeadLetterQueue", function);
  const std::string target = read_alias(properties, function);
  out_.functions.push_back(std::move(function));
  properties.in("Events", [&](Properties& events) {
    events.for_all([&](const Member& event) { add_event(resource, target, event, events); });
  });
}

void DeploymentBuilder::add_lambda_function(const Resource& resource, Properties& properties) {
  FunctionDefinition function = read_function(resource, properties);
  properties.no_effect({"AutoPublishAlias", "VersionDescription"}, "it belongs to AWS::Serverless::Function");
  read_dead_letter(properties, "DeadLetterConfig", function);
  out_.functions.push_back(std::move(function));
}

void DeploymentBuilder::add_invoke_config(const Resource& resource, Properties& properties) {
  InvokeConfig config;
  config.function = function_name(reference(Kind::kFunction, properties, "FunctionName"));
  if (properties.text("Qualifier") != "$LATEST")
    properties.no_effect({"Qualifier"}, "a template deploys $LATEST; the Lambda API makes versions and aliases");
  read_async(properties, config.async);
  names_.push_back({invoke_config_of(config.function), resource.id, resource.line});
  invoke_configs_.push_back(std::move(config));
}

}  // namespace freshet
