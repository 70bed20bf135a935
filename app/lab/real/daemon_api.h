// The lab's requests to the daemon under test, besides creating tasks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/async.h"
#include "base/result.h"
#include "runtime/ports.h"

namespace freshet::lab {

// The books of a queue, as GET /queues/NAME/stats gives them.
struct QueueStats {
  std::map<std::string, uint64_t> depth;  // By state.
  std::map<std::string, uint64_t> flow;   // By transition.
  std::map<std::string, uint64_t> shed;   // By reason.
  std::string text;                       // The answer itself.
};

// When a task was shed, by the wall clock.
struct ShedTask {
  std::string id;
  WallTime at;
};

// Loop thread. Errors as of HttpClient; kInternal with the daemon's response if that is not valid.
class DaemonApi {
 public:
  // `http` outlives it. `base` is http://HOST:PORT.
  DaemonApi(HttpClient& http, std::string base) : http_(http), base_(std::move(base)) {}

  Async<Result<QueueStats>> stats();
  Async<Result<std::vector<ShedTask>>> sheds();  // The shed tasks that the table still has.
  // Any status; `body` as JSON.
  Async<Result<HttpResponse>> create(std::string body);

  // Appends the changes of the queue's table since the last call, as lines of a fixture; waits at most `wait` for a
  // change. The first call gives the table's current content.
  Async<Result<void>> record(std::string& lines, milliseconds wait);

 private:
  Async<Result<HttpResponse>> get(std::string target);

  HttpClient& http_;
  const std::string base_;
  std::string next_;  // The position at which record() continues.
};

}  // namespace freshet::lab
