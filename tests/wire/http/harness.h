// A real loop on its own thread, an I/O thread, and byte clients on 127.0.0.1. Tests wait on events (an answer, an end
// of stream, an exchange that starts or is destroyed); the only timeouts are the safety net of a hanging test.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/waiter.h"
#include "wire/http/io_thread.h"
#include "wire/http/io_waiter.h"
#include "wire/http/server.h"

namespace freshet::wire_test {

// The runner of the sockets' turns: the loop if it chooses to, or always a thread of their own.
enum class Driver { kLoop, kThread };

// The loop and its thread.
class LoopThread {
 public:
  explicit LoopThread(LoopOptions options = {}, Driver driver = Driver::kThread)
      : io_(*IoThread::start(clock_)), waiter_(clock_), loop_(clock_, waiter_, options) {
    if (driver == Driver::kLoop) waiter_.attach(*io_, loop_);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~LoopThread() { end(); }
  // Runs on the loop and waits for it.
  void run(std::function<void()> work);
  void end();
  Loop& loop() { return loop_; }
  IoThread& io() { return *io_; }
  const Clock& clock() const { return clock_; }

 private:
  SystemClock clock_;
  std::unique_ptr<IoThread> io_;
  IoWaiter waiter_;
  Loop loop_;
  std::thread thread_;
};

// Counts that a test can wait on.
class Tally {
 public:
  void add();
  void wait_for(int count);  // Fails the test after 20 s.
  int count();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// A client that writes and reads raw bytes.
class RawClient {
 public:
  explicit RawClient(uint16_t port);
  RawClient(const RawClient&) = delete;
  ~RawClient() { close(); }
  void send(std::string_view bytes);
  void half_close();
  void close();
  // Reads one whole answer (its head up to the empty line, and the body that Content-Length promises).
  std::string answer();
  // Everything up to the end of the stream.
  std::string rest();

 private:
  bool fill();
  int fd_;
  std::string buffer_;
};

// While it lives, the sockets that this thread makes are those of another user. For root only.
class AsUser {
 public:
  explicit AsUser(unsigned user);
  AsUser(const AsUser&) = delete;
  ~AsUser();
};

std::string get(std::string_view path, std::string_view more_headers = "");
std::string post(std::string_view body, std::string_view more_headers = "");  // To "/".
int status_of(const std::string& answer);
std::string body_of(const std::string& answer);

}  // namespace freshet::wire_test
