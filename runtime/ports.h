// The interfaces through which the runtime uses the outside world: wire/ and app/ implement them, tests fake them.
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
  uint64_t listener = 0;      // For a server with several listeners: the one that received the request.
  HttpHeaders trailers = {};  // Trailers behind a chunked body: never treat them as headers.
  // For a server's request: the address of the client with its port (null: unknown), and the number that makes the
  // request's id (wire/http/request_ids.h).
  std::shared_ptr<const std::string> peer = {};
  uint64_t number = 0;
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
  // True if the request changes something; requires matches(). A server refuses changes by web pages of other origins.
  // Override it for a GET with an effect, such as one that takes an event. A server passes a HEAD as the GET that it
  // becomes. A route that wraps another one forwards the call. Any thread.
  virtual bool changes(const HttpRequest& request) const { return request.method != "GET" && request.method != "HEAD"; }
  // True if accept() takes long even for a small request: then it does not run while the loop does the I/O itself.
  virtual bool is_slow() const { return false; }
};

// Detail of an HttpClient's error: no part of the request was sent (no address, no connection, too many requests in
// progress), so nobody can have acted on it.
struct NotSent final : ErrorDetail {};
bool was_never_sent(const Error& error);
tl::unexpected<Error> never_sent(ErrorCode code, std::string message);

// Sends requests to handlers and endpoints. Loop thread.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // `url` is absolute (http[s]://host:port/path). kTimeout after `timeout`, kUnavailable if no connection can be had or
  // it breaks; with the detail NotSent if it had not been sent. Any status is a success here. Destroying the Async
  // abandons the request and closes its connection.
  virtual Async<Result<HttpResponse>> send(std::string url, HttpRequest request, milliseconds timeout) = 0;
};

// Limits on the resources of a program and its descendants. 0: no limit.
struct ProcessLimits {
  // Bytes of their own memory, for all processes together. It is checked ten times a second; above it, they are ended.
  uint64_t memory = 0;
  uint64_t file_bytes = 0;  // The size of any file that they write.
  uint64_t open_files = 0;  // For each process.
  uint64_t threads = 0;     // For all processes together; each counts at least one. Checked as often as memory.
};

struct ProcessSpec {
  std::vector<std::string> argv;                   // argv[0] is looked up on PATH. No shell.
  std::map<std::string, std::string> environment;  // The complete environment.
  std::string directory;                           // Empty: the daemon's.
  std::string input;                               // Written to standard input, which is then closed.
  milliseconds timeout{0};                         // The process and its descendants are killed then; 0: never.
  // For run(): of stdout and of stderr. For start(): of each in any second. The rest is dropped and counted.
  size_t max_output = 1u << 20;
  ProcessLimits limits;
};

struct ProcessResult {
  std::optional<int> exit_status;  // Empty if killed by a signal.
  int signal = 0;
  bool timed_out = false;
  bool out_of_memory = false;  // True if it was ended for using too much memory.
  bool too_many_threads = false;
  std::string output;
  std::string error_output;
};

enum class OutputStream { kOutput, kErrorOutput };

// Receives the events of a program that stays. Loop thread; never called from inside a call to the spawner.
class ProgramWatcher {
 public:
  virtual ~ProgramWatcher() = default;
  // The next bytes that it wrote, wherever a line ends. `dropped`: the number of bytes before these that were too many.
  virtual void on_output(OutputStream stream, std::string bytes, uint64_t dropped) = 0;
  virtual void on_flushed() = 0;  // See Program::flush(). Called once for each.
  // It has ended with its descendants, or it could not be started (errors as of run()). The last call.
  virtual void on_end(Result<ProcessResult> result) = 0;
};

// A program that stays until it ends by itself or this is destroyed, which kills it with all descendants. Loop thread.
class Program {
 public:
  virtual ~Program() = default;  // No event is reported any more.
  // on_flushed() comes after all output that the program has written until now.
  virtual void flush() = 0;
};

// Runs programs as children of the spawner process, so that none outlives the daemon. Loop thread.
class Spawner {
 public:
  virtual ~Spawner() = default;
  // kUnavailable if no program can run now: the spawner is gone or full, or the machine is out of processes or memory.
  // kIo if this program cannot be started. Destroying the Async kills the process with all descendants.
  virtual Async<Result<ProcessResult>> run(ProcessSpec spec) = 0;
  // For programs that stay. The watcher outlives the program. Returns null if programs cannot stay: in simulations.
  virtual std::unique_ptr<Program> start(ProcessSpec spec, ProgramWatcher& watcher) {
    (void)spec, (void)watcher;
    return nullptr;
  }
};

}  // namespace freshet
