#include "wire/lambda/function_json.h"

#include <fmt/format.h>

#include "tables/value/json.h"

namespace freshet {

namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace

std::string function_configuration_json(const FunctionDefinition& function, const Account& account) {
  std::string variables;
  for (const auto& [name, value] : function.environment) {
    variables += (variables.empty() ? "" : ",") + quoted(name) + ":" + quoted(value);
  }
  const std::string& runtime = function.host == "process" ? function.runtime : function.host;
  return fmt::format(R"({{"FunctionName":{},"FunctionArn":{},"Runtime":{},"Handler":{},"Timeout":{},"MemorySize":{},)"
                     R"("Environment":{{"Variables":{{{}}}}},"Version":"$LATEST","PackageType":"Zip","State":"Active",)"
                     R"("LastUpdateStatus":"Successful"}})",
                     quoted(function.name), quoted(function_arn(account, function.name)), quoted(runtime),
                     quoted(function.handler), (function.timeout.count() + 999) / 1000, function.memory_mib, variables);
}

std::string function_json(const FunctionDefinition& function, const Account& account) {
  std::string json = R"({"Configuration":)" + function_configuration_json(function, account);
  json += R"(,"Code":{"RepositoryType":"folder","Location":)" + quoted("file://" + function.code) + "}";
  if (function.reserved_concurrency) {
    json += fmt::format(R"(,"Concurrency":{{"ReservedConcurrentExecutions":{}}})", *function.reserved_concurrency);
  }
  return json + "}";
}

}  // namespace freshet
