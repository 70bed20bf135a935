// The part that commands for a running daemon share: its address, its queue, calls and their errors.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "wire/http/blocking_client.h"

namespace freshet::cli {

using Json = nlohmann::ordered_json;

struct Remote {
  std::string url = "http://127.0.0.1:7070";
  std::string queue = "QueueTable";        // Its default stands for the daemon's only queue; see Session::queue().
  std::optional<Option> chosen_by;         // The option that chooses the queue. Absent: it must be named.
  std::string option = "--queue";          // The option that names the queue, for hints.
  std::string variable = "FRESHET_QUEUE";  // The environment variable of that option.
  std::string root = "/queues/";           // The path before the queue's name.
  std::string credentials;                 // File of the access key that requests are signed with; empty: they are not.
  std::string ca;                          // File of certificates to trust besides the system's.
  bool json = false;

  // Adds --url, --queue, --credentials, --ca and --json (with their FRESHET_ variables) to a command.
  void add_options(Command command);
  void add_connection_options(Command command);  // Adds these except --queue and --json.
};

// Calls one daemon. Prints errors to standard error and keeps the exit status for them.
class Session {
 public:
  explicit Session(const Remote& remote) : remote_(remote) {}
  // The answer's document, or null (then exit_status() says why). `path` is below /queues/NAME. A priority queue's
  // result is returned even if the call was refused.
  Json call(const std::string& method, const std::string& path, const Json& body = nullptr);
  // The same for a path of the whole API.
  Json call_at(const std::string& method, const std::string& target, const Json& body = nullptr);
  // `explain` rewrites the errors of further calls before they are printed.
  void explain_errors(std::function<std::string(const std::string&)> explain) { explain_ = std::move(explain); }
  // The queue that call() uses: the named one, else the daemon's only one, else the default one. find_queue(), or a
  // call, decides between the last two.
  const std::string& queue() const { return found_.empty() ? remote_.queue : found_; }
  // Asks the daemon, unless the queue was named. Leaves errors to the call that follows.
  void find_queue();
  int exit_status() const { return exit_status_; }
  void failed(int status) { exit_status_ = status; }

 private:
  // The answer to a call on the queue's `path`, or on the `whole` target.
  Json answer_of(const std::string& method, const std::string& path, const std::string& whole, const Json& body);
  // The names of the queues of that kind.
  std::vector<std::string> names_of(const std::string& root, const std::string& member);
  // Returns the message that replaces the refusal if no queue was named and there are several; else empty.
  std::string which_queue();
  // Completes a refusal because of an unknown queue: adds the option that its name comes from, or the kind of queue
  // that has that name.
  std::string about_name(const std::string& said);
  // The answer, whatever its status, if it is a JSON document; `status` is its HTTP status. Null if none came.
  Json ask(const std::string& method, const std::string& target, const Json& body, int& status);

  const Remote& remote_;
  std::unique_ptr<BlockingClient> client_;
  std::function<std::string(const std::string&)> explain_;
  int exit_status_ = 0;
  std::string found_;    // Empty: find_queue() has not run, or the named or default queue is right.
  bool looked_ = false;  // True once the daemon was asked for its queues.
};

// A client for the daemon at `url` that signs with the first key of the file of credentials, if one is named.
Result<std::unique_ptr<BlockingClient>> connect_to(const std::string& url, const std::string& credentials,
                                                   const std::string& ca);

// Prints on standard error that the daemon cannot be reached, and why. Returns the exit status for that. `option` is
// the one that gave its address.
int unreachable(const Error& error, std::string_view option = "--url (or FRESHET_URL)");
// Prints to standard error that the server at the address is not Freshet. Returns the exit status for that.
int strange_answer(const std::string& url);
// The exit status for the task API's error code.
int exit_status_of(const std::string& error_code);
// Percent-encodes a task id for a path.
std::string path_segment(const std::string& text);

}  // namespace freshet::cli
