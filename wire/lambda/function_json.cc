#include "wire/lambda/function_json.h"

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/log.h"
#include "tables/value/json_quoted.h"

namespace freshet {

namespace {

// "2026-11-21T21:45:19.363+0000"
std::string time_text(int64_t wall_ms) {
  std::string text = iso8601(WallTime(milliseconds(wall_ms)));
  text.pop_back();
  return text + "+0000";
}

// The service shows variables in this form to a caller who may not decrypt them.
constexpr std::string_view kHidden =
    R"+("Environment":{"Error":{"ErrorCode":"AccessDeniedException","Message":"The variables are shown only to )+"
    R"+(clients that may change functions (--read-only-functions)"}})+";

std::string environment_member(const FunctionDefinition& function, EnvironmentShown shown) {
  if (shown == EnvironmentShown::kNo && !function.environment.empty()) return std::string(kHidden);
  std::string variables;
  for (const auto& [name, value] : function.environment) {
    variables += (variables.empty() ? "" : ",") + json_quoted(name) + ":" + json_quoted(value);
  }
  return R"("Environment":{"Variables":{)" + variables + "}}";
}

std::string members_of(const FunctionDefinition& function, const Account& account, EnvironmentShown shown) {
  const std::string& runtime = function.host == "process" ? function.runtime : function.host;
  std::string members = fmt::format(
      R"("FunctionName":{},"FunctionArn":{},"Runtime":{},"Role":{},"Handler":{},"CodeSize":{},"CodeSha256":{},)"
      R"("Description":{},"Timeout":{},"MemorySize":{},{})",
      json_quoted(plain_name(function.name)), json_quoted(function_arn(account, function.name)), json_quoted(runtime),
      json_quoted(function.role), json_quoted(function.handler), function.code_bytes, json_quoted(function.code_sha256),
      json_quoted(function.description), (function.timeout.count() + 999) / 1000, function.memory_mib,
      environment_member(function, shown));
  if (function.modified_ms != 0) members += R"(,"LastModified":)" + json_quoted(time_text(function.modified_ms));
  if (const std::string& target = function.dead_letter.target; !target.empty()) {
    members += R"(,"DeadLetterConfig":{"TargetArn":)" + json_quoted(target) + "}";
  }
  return members;
}

}  // namespace

// Made only from visible values: otherwise a caller who sees no variables could try values until one gives this id.
std::string revision_id(const FunctionDefinition& function, const Account& account, EnvironmentShown environment) {
  return uuid_of(members_of(function, account, environment));
}

std::string function_configuration_json(const FunctionDefinition& function, const Account& account,
                                        EnvironmentShown shown) {
  return fmt::format(R"({{{},"RevisionId":"{}","Version":"{}","PackageType":"Zip","State":"Active",)"
                     R"("LastUpdateStatus":"Successful","EphemeralStorage":{{"Size":512}},)"
                     R"("TracingConfig":{{"Mode":"PassThrough"}}}})",
                     members_of(function, account, shown), revision_id(function, account, shown),
                     function.version.empty() ? kLatestVersion : std::string_view(function.version));
}

std::string function_json(const FunctionDefinition& function, const Account& account, EnvironmentShown shown) {
  std::string json = R"({"Configuration":)" + function_configuration_json(function, account, shown);
  json += R"(,"Code":{"RepositoryType":"folder","Location":)" + json_quoted("file://" + function.code) + "}";
  if (function.reserved_concurrency) {
    json += fmt::format(R"(,"Concurrency":{{"ReservedConcurrentExecutions":{}}})", *function.reserved_concurrency);
  }
  return json + "}";
}

}  // namespace freshet
