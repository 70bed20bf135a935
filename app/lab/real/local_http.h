// An HTTP server for a handler on a free port of 127.0.0.1, and an HTTP client, for runs in real time in which the
// queue is another process. They share an I/O thread of their own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/async.h"
#include "base/clock.h"
#include "base/result.h"
#include "runtime/ports.h"

namespace freshet {

class HttpServer;
class IoThread;
class IoWaiter;
class Loop;

namespace lab {

// Loop thread. All outlive it.
class LocalHttp {
 public:
  LocalHttp(const Clock& clock, IoWaiter& waiter, Loop& loop);
  LocalHttp(const LocalHttp&) = delete;
  LocalHttp& operator=(const LocalHttp&) = delete;
  ~LocalHttp();

  // Starts both. `answer` is called for each POST /; everything that it uses must outlive this. The client has at most
  // `most_calls` under way.
  Result<void> open(std::function<Async<HttpResponse>(const HttpRequest&)> answer, size_t most_calls);
  std::string url() const;  // The server's.
  HttpClient& client() { return *client_; }

 private:
  const Clock& clock_;
  IoWaiter& waiter_;
  Loop& loop_;
  std::unique_ptr<IoThread> io_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace lab
}  // namespace freshet
