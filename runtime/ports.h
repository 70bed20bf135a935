// What the runtime needs from the outside, as plain interfaces: wire/ and app/ fulfil them, tests fake them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async.h"
#include "base/clock.h"
#include "base/result.h"

namespace freshet {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;
// The first header of that name (case-insensitive), or "".
std::string_view header(const HttpHeaders& headers, std::string_view name);

struct HttpRequest {
  std::string method;
  std::string target;  // Path and query, as sent.
  HttpHeaders headers;
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  HttpHeaders headers;
  std::string body;
};

// One request in work. Made on an I/O thread by Route::accept (parsing), run on the loop, answered on an I/O thread
// (serialising). The server awaits the store's durability between run() and respond().
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual Async<void> run() = 0;       // Loop thread. Destroyed early if the client hangs up.
  virtual HttpResponse respond() = 0;  // I/O thread.
};

class Route {
 public:
  virtual ~Route() = default;
  // True if this route serves the request (path prefix, method, headers). Any thread.
  virtual bool matches(const HttpRequest& request) const = 0;
  // I/O thread. Never null: bad input becomes an exchange that answers with the error.
  virtual std::unique_ptr<Exchange> accept(HttpRequest request) = 0;
};

// Detail of an HttpClient's error: nothing of the request was sent (no address, no connection, too many under way), so
// nobody can have acted on it.
struct NotSent final : ErrorDetail {};
bool was_never_sent(const Error& error);
tl::unexpected<Error> never_sent(ErrorCode code, std::string message);

// Sends requests to handlers and endpoints. Loop thread.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // `url` is absolute (http://host:port/path). kTimeout after `timeout`, kUnavailable if no connection can be had or it
  // breaks; with the detail NotSent if it had not been sent. Any status is a success here. Destroying the Async
  // abandons the request and closes its connection.
  virtual Async<Result<HttpResponse>> send(std::string url, HttpRequest request, milliseconds timeout) = 0;
};

struct ProcessSpec {
  std::vector<std::string> argv;                   // argv[0] is looked up on PATH. No shell.
  std::map<std::string, std::string> environment;  // The whole of it.
  std::string directory;                           // Empty for the daemon's.
  std::string input;                               // On standard input, then closed.
  milliseconds timeout{0};                         // The process and its descendants are killed then; 0 for none.
  size_t max_output = 1u << 20;                    // Each of stdout and stderr; the rest is dropped and counted.
};

struct ProcessResult {
  std::optional<int> exit_status;  // Empty if killed by a signal.
  int signal = 0;
  bool timed_out = false;
  std::string output;
  std::string error_output;
};

// Runs programs as children of the spawner process, so that none outlives the daemon. Loop thread.
class Spawner {
 public:
  virtual ~Spawner() = default;
  // kUnavailable if no program can be run now: the spawner is away or full, the machine is out of processes or memory.
  // kIo if this program cannot be started. Destroying the Async kills the process with all descendants.
  virtual Async<Result<ProcessResult>> run(ProcessSpec spec) = 0;
};

}  // namespace freshet
