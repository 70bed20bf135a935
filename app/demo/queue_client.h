// The demo's requests to its daemon. Loop thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/demo/figures.h"
#include "base/async.h"
#include "base/result.h"
#include "runtime/ports.h"

namespace freshet::demo {

inline constexpr const char* kQueueName = "Demo";
inline constexpr size_t kMaxBatch = 1000;  // The most tasks of one creation.

// The body of the creation of the tasks [first, end), whose times count from `origin`.
std::string creation(const std::vector<StoryTask>& tasks, size_t first, size_t end, WallTime origin);

struct CreationAnswer {
  uint64_t accepted = 0;                    // Includes tasks that already existed.
  std::map<std::string, uint64_t> refused;  // By code.
};
// Empty if `body` is not the response to a creation.
std::optional<CreationAnswer> creation_answer(const std::string& body);

class QueueClient {
 public:
  // `http` outlives it. `base` is http://HOST:PORT.
  QueueClient(HttpClient& http, std::string base) : http_(http), base_(std::move(base)) {}

  // An error if no response came, or none that says what became of the tasks.
  Async<Result<CreationAnswer>> create(std::string body);
  // Reads states and sheds of the queue, and the life of a task that was shed, into `run`.
  Async<Result<void>> read_books(Run& run);

 private:
  Async<Result<HttpResponse>> send(std::string method, std::string path, std::string body);

  HttpClient& http_;
  const std::string base_;
};

}  // namespace freshet::demo
