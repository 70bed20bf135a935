// The messages between the two halves of the server. Not for use outside wire/http.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/ports.h"
#include "wire/http/own_error.h"

namespace freshet::http_server {

// Any thread may read them.
struct Counters {
  std::atomic<size_t> in_flight{0};
  std::atomic<size_t> connections{0};
  std::atomic<size_t> body_bytes{0};    // Bodies of requests that arrive or are in work.
  std::atomic<size_t> answer_bytes{0};  // Bodies of responses that clients have not read yet.
};

// Counts one exchange and the bytes of its request as in flight during its lifetime.
class InFlight {
 public:
  InFlight(std::shared_ptr<Counters> counters, size_t body_bytes)
      : counters_(std::move(counters)), body_bytes_(body_bytes) {
    ++counters_->in_flight;
    counters_->body_bytes += body_bytes_;
  }
  InFlight(InFlight&&) noexcept = default;
  InFlight& operator=(InFlight&&) = delete;
  ~InFlight() {
    if (!counters_) return;
    --counters_->in_flight;
    counters_->body_bytes -= body_bytes_;
  }

 private:
  std::shared_ptr<Counters> counters_;
  size_t body_bytes_;
};

// One exchange on its way from an I/O thread to the loop and back. `connection` is unique over all threads and time;
// `request` counts the requests of the connection.
struct Job {
  size_t thread;
  uint64_t connection;
  uint64_t request;
  std::unique_ptr<Exchange> exchange;
  InFlight in_flight;
  ApiKind api;
};

// The delivery of a turn of an I/O thread to the loop, or the part of it up to a batch: first run the jobs, then end
// those of closed connections.
struct Inbound {
  std::vector<Job> jobs;
  std::vector<uint64_t> hung_up;
  bool drained = false;  // The thread's last connection is closed and it accepts no more.
  bool empty() const { return jobs.empty() && hung_up.empty() && !drained; }
};

// The loop's half, for the I/O threads. Loop thread.
class LoopSide {
 public:
  virtual ~LoopSide() = default;
  virtual void receive(Inbound inbound) = 0;
};

}  // namespace freshet::http_server
