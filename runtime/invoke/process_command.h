// How a function's process is started: program, environment, limits. Pure but for looking up interpreters on PATH.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/invoke/function.h"
#include "runtime/ports.h"
#include "streams/arn.h"

namespace freshet {

// What every process is told of this daemon.
struct ProgramSettings {
  std::string endpoint;  // "http://127.0.0.1:7070": where the program's SDK finds tables and topics.
  Account account;
  std::string access_key_id = "freshet";
  std::string secret_access_key = "freshet";
  std::string session_token;
  std::string xray_address = "127.0.0.1:2000";        // Where an SDK sends its segments.
  bool code_changes = false;                          // Files of code are changed while they are used.
  std::string path = "/usr/local/bin:/usr/bin:/bin";  // PATH, also where interpreters are looked up.
};

enum class RuntimeKind { kPython, kNode, kProvided };
// Of "python3.12", "nodejs20.x", "provided.al2023". kValidation for others, with those that there are.
Result<RuntimeKind> runtime_kind(std::string_view runtime);
// Variables that the runtime sets itself; a function cannot have its own.
bool is_reserved_variable(std::string_view name);

// The variable by which a function chooses its runtime client: "auto" (or none: the official one where it is
// installed), "official" or "own".
inline constexpr std::string_view kClientVariable = "FRESHET_RUNTIME_CLIENT";
bool is_client_choice(std::string_view value);

// Why that program cannot be started and what to do about it, if its interpreter (or "bootstrap") is not there; else
// "".
std::string start_advice(const FunctionDefinition& function, const ProgramSettings& settings);
// The program that serves the Runtime API at `api_address` for the function. The interpreter is the first
// of these on PATH: that of the runtime's own version (python3.9; node-20, node20), the machine's usual one (python3;
// node, nodejs), another python3.N. Freshet's client warns in the function's log if the version is another one.
ProcessSpec process_spec(const FunctionDefinition& function, const ProgramSettings& settings,
                         const std::string& api_address);

}  // namespace freshet
