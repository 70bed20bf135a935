// Decides how a function's process is started: program, environment, limits. Pure except for looking up interpreters on
// PATH.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/invoke/function.h"
#include "runtime/ports.h"
#include "streams/arn.h"

namespace freshet {

// The facts about this daemon that every process gets.
struct ProgramSettings {
  std::string endpoint;  // "http://127.0.0.1:7070": where the program's SDK finds tables and topics.
  Account account;
  std::string access_key_id = "freshet";
  std::string secret_access_key = "freshet";
  std::string session_token;
  std::string xray_address = "127.0.0.1:2000";        // The address to which an SDK sends its segments.
  bool code_changes = false;                          // True if code files may change while they are in use.
  std::string path = "/usr/local/bin:/usr/bin:/bin";  // Also where interpreters are looked up.
};

enum class RuntimeKind { kPython, kNode, kProvided };
// The kind of "python3.12", "nodejs20.x", "provided.al2023". For others kValidation with the known ones.
Result<RuntimeKind> runtime_kind(std::string_view runtime);
// kValidation, with the known versions, for an unknown version of a known kind, like "python3.99". Only for new
// definitions: a stored function may have any version, as a later daemon may have deployed it.
Result<void> check_version(std::string_view runtime);
// True for variables that the runtime sets itself; a function cannot define them.
bool is_reserved_variable(std::string_view name);

// The variable with which a function chooses its runtime client: "auto" (or unset: the official one if it is
// installed), "official" or "own".
inline constexpr std::string_view kClientVariable = "FRESHET_RUNTIME_CLIENT";
bool is_client_choice(std::string_view value);

// If its interpreter (or "bootstrap") is missing: why the program cannot start and what to do; else
// "".
std::string start_advice(const FunctionDefinition& function, const ProgramSettings& settings);
// The program that serves the Runtime API at `api_address` for the function. The interpreter is the first of these on
// PATH: that of the runtime's own version (python3.9; node-20, node20), the machine's usual one (python3; node,
// nodejs), another python3.N. Freshet's client warns in the function's log if the version differs.
ProcessSpec process_spec(const FunctionDefinition& function, const ProgramSettings& settings,
                         const std::string& api_address);

}  // namespace freshet
