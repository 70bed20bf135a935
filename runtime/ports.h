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
  uint64_t listener = 0;      // Of a server with several: which one it came in by.
  HttpHeaders trailers = {};  // What came behind a chunked body: never to be taken for headers.
  // Of a server's: the address of the client with its port (null: not known), and the number that the request's id is
  // made of (wire/http/request_ids.h).
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
  // Whether accept() takes long also for a small request: then it does not run while the loop does the I/O itself.
  virtual bool is_slow() const { return false; }
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
  // `url` is absolute (http[s]://host:port/path). kTimeout after `timeout`, kUnavailable if no connection can be had or
  // it breaks; with the detail NotSent if it had not been sent. Any status is a success here. Destroying the Async
  // abandons the request and closes its connection.
  virtual Async<Result<HttpResponse>> send(std::string url, HttpRequest request, milliseconds timeout) = 0;
};

// What the system lets a program and its descendants have. 0: no limit.
struct ProcessLimits {
  uint64_t memory = 0;      // Bytes of memory of their own, all together: looked at ten times a second, ended above it.
  uint64_t file_bytes = 0;  // Of any file that they write.
  uint64_t open_files = 0;  // Of each process.
  uint64_t threads = 0;     // Of all processes together, each with one at least: as memory.
};

struct ProcessSpec {
  std::vector<std::string> argv;                   // argv[0] is looked up on PATH. No shell.
  std::map<std::string, std::string> environment;  // The whole of it.
  std::string directory;                           // Empty for the daemon's.
  std::string input;                               // On standard input, then closed.
  milliseconds timeout{0};                         // The process and its descendants are killed then; 0 for none.
  // Of run(): each of stdout and stderr. Of start(): each of them in any second. The rest is dropped and counted.
  size_t max_output = 1u << 20;
  ProcessLimits limits;
};

struct ProcessResult {
  std::optional<int> exit_status;  // Empty if killed by a signal.
  int signal = 0;
  bool timed_out = false;
  bool out_of_memory = false;  // Ended for that.
  bool too_many_threads = false;
  std::string output;
  std::string error_output;
};

enum class OutputStream { kOutput, kErrorOutput };

// What the owner of a program that stays is told. Loop thread; never from inside a call to the spawner.
class ProgramWatcher {
 public:
  virtual ~ProgramWatcher() = default;
  // The next bytes it wrote, wherever a line ends. `dropped`: before these so many bytes were too much.
  virtual void on_output(OutputStream stream, std::string bytes, uint64_t dropped) = 0;
  virtual void on_flushed() = 0;  // See Program::flush(). Once for each.
  // It has ended and so have its descendants, or it could not be started (errors as of run()). The last call.
  virtual void on_end(Result<ProcessResult> result) = 0;
};

// A program that stays until it ends by itself or this is destroyed, which kills it with all descendants. Loop thread.
class Program {
 public:
  virtual ~Program() = default;  // Nothing is told any more.
  // on_flushed() comes after all output that the program has written until now.
  virtual void flush() = 0;
};

// Runs programs as children of the spawner process, so that none outlives the daemon. Loop thread.
class Spawner {
 public:
  virtual ~Spawner() = default;
  // kUnavailable if no program can be run now: the spawner is away or full, the machine is out of processes or memory.
  // kIo if this program cannot be started. Destroying the Async kills the process with all descendants.
  virtual Async<Result<ProcessResult>> run(ProcessSpec spec) = 0;
  // For programs that stay. The watcher outlives the program. Null where no program can stay: in simulations.
  virtual std::unique_ptr<Program> start(ProcessSpec spec, ProgramWatcher& watcher) {
    (void)spec, (void)watcher;
    return nullptr;
  }
};

}  // namespace freshet
