#include "functions/workers.h"

#include <algorithm>
#include <set>

#include "functions/register.h"
#include "functions/settings.h"
#include "runtime/invoke/http_host.h"
#include "runtime/invoke/process_host.h"

namespace freshet {
namespace {

// The remedy for an error that a runtime client reports when it loads a handler.
std::string remedy(const FunctionDefinition& function, const FunctionError& error) {
  const std::string& type = error.type;
  const std::string handler = "its handler is " + function.handler + " (FILE.NAME), in " + function.code;
  const auto says = [&](std::string_view text) { return error.message.find(text) != std::string::npos; };
  if (says("Unexpected token 'export'") || says("Cannot use import statement outside a module")) {
    return "Name an ES module FILE.mjs: " + handler;
  }
  if (type == "Runtime.UserCodeSyntaxError") return "Mend the file: " + handler;
  if (type == "Runtime.ImportModuleError") {
    return "Install what is missing for its interpreter, or put it into the function's folder: " + handler;
  }
  if (type == "Runtime.HandlerNotFound" || type == "Runtime.MalformedHandlerName") {
    return "Define it there, or name another one: " + handler;
  }
  if (type == "Sandbox.Timedout") return "Do less while the file is loaded, or give it more time: " + handler;
  if (type == "Runtime.InvalidEntrypoint") return {};  // The message itself says what to do.
  return "See what it has logged: " + handler;
}

// Messages of the service begin with the request that they answer. There is none here.
std::string without_request(const std::string& message) {
  constexpr std::string_view kError = " Error: ";
  const size_t at = message.find(kError);
  return message.starts_with("RequestId: ") && at != std::string::npos ? message.substr(at + kError.size()) : message;
}

}  // namespace

std::vector<std::string> worker_functions(const std::vector<FunctionDefinition>& functions) {
  std::set<std::string> names;
  for (const FunctionDefinition& function : functions) {
    if (function.host != "native" || !is_processor(function.handler)) continue;
    const auto settings = process_settings(function.environment);
    if (settings && settings->runner.kind == RunnerKind::kFunction) names.insert(settings->runner.function);
  }
  return {names.begin(), names.end()};
}

std::string start_trouble(const FunctionDefinition& function, const FunctionError& error) {
  if (error.type == kHostUnavailable || error.type == kHostBusy) return {};
  const std::string what_to_do = remedy(function, error);
  std::string message = without_request(error.message);
  if (message.ends_with('.')) message.pop_back();
  return "it cannot start, so that every attempt at a task fails: " + message +
         (what_to_do.empty() ? "" : ". " + what_to_do) + ". Its next start reads the files anew";
}

}  // namespace freshet
