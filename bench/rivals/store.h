// The interface of a task store for the whole-life benchmark, ours or a rival's: create durably, finish, take the
// newest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace freshet::rivals {

struct Task {
  uint64_t number = 0;  // First word of the payload: every task is checked to be seen exactly once.
  std::string handle;   // The store's handle for finishing the task.
  std::string payload;
};

// One connection; used by one thread. Throws std::runtime_error when the store misbehaves: a benchmark has no other way
// on.
class Store {
 public:
  virtual ~Store() = default;
  // All of them acknowledged as stored when this returns.
  virtual void create(const std::vector<Task>& tasks) = 0;
  // Finishes `done`, then takes up to `max` of the newest; waits up to `wait_ms` for the first. All acknowledged at
  // return.
  virtual std::vector<Task> turn(const std::vector<Task>& done, int max, int wait_ms) = 0;
};

// A connection to 127.0.0.1:port. Kinds: "freshet" (pull API over keep-alive HTTP), "redis" (lists, LPUSH/LPOP and a
// marker for what is done), "beanstalkd" (priorities that fall with every task).
std::unique_ptr<Store> connect(const std::string& kind, int port);

std::unique_ptr<Store> connect_freshet(int port);
std::unique_ptr<Store> connect_redis(int port);
std::unique_ptr<Store> connect_beanstalkd(int port);

}  // namespace freshet::rivals
