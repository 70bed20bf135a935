// A loop with an I/O thread and an HTTP client, for commands that work on stores. It runs one job.
#pragma once

#include <memory>
#include <string>

#include "base/async.h"
#include "base/clock.h"
#include "base/random.h"
#include "runtime/loop/loop.h"
#include "wire/http/client.h"
#include "wire/http/io_waiter.h"

namespace freshet::engines {

class StoreLoop {
 public:
  // `ca_file`: certificates to trust besides the system's; may be empty. kValidation if it cannot be read, kIo if the
  // machine has no more threads.
  static Result<std::unique_ptr<StoreLoop>> make(const std::string& ca_file);
  StoreLoop(const StoreLoop&) = delete;
  StoreLoop& operator=(const StoreLoop&) = delete;

  Loop& loop() { return loop_; }
  HttpClient& http() { return *http_; }
  const Clock& clock() const { return clock_; }
  Random& random() { return random_; }

  // Runs the loop until the work is done. Call it once.
  void run(Async<void> work);

 private:
  StoreLoop() = default;
  Async<void> drive(Async<void> work);

  SystemClock clock_;
  IoWaiter waiter_{clock_};
  Loop loop_{clock_, waiter_};
  Random random_{random_seed()};
  std::unique_ptr<IoThread> io_;
  std::unique_ptr<HttpClient> http_;
  Scope scope_;
};

}  // namespace freshet::engines
