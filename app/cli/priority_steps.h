// The steps of the priority-queue sample's console, without its words. The console itself and the commands of the same
// names use them.
#pragma once

#include <string>

#include "app/cli/remote.h"

namespace freshet::cli {

// The return code of a result; empty for null, which a session returns if no answer came.
std::string code_of(const Json& result);
bool is_success(const Json& result);
// The result of a call: the first one of a peek.
const Json& result_of(const Json& answer);
// The exit status for a result.
int priority_status(const Json& result);
// Prints an answer on standard output, and its error for people on standard error. Returns the exit status.
int print_priority_answer(const Remote& remote, const Json& answer);

class PrioritySteps {
 public:
  explicit PrioritySteps(Session& session) : session_(session) {}

  // Results as the daemon gives them; null if none came, and the session has printed the reason.
  Json find(const std::string& id);
  Json call(const char* what, const Json& body) { return session_.call("POST", std::string("/") + what, body); }
  // The page of the first ten records.
  Json first_ten();
  // The test record of that id, as the sample makes it.
  Json put_test(const std::string& id);
  // The same record with a new system info; `item` is its item, or null.
  Json put_again(const std::string& id, const Json& item, const std::string& status);

 private:
  Session& session_;
};

// The ids of the test records.
inline constexpr const char* kTestIds[] = {"A-101", "A-202", "A-303", "A-404"};

}  // namespace freshet::cli
