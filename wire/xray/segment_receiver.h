// Takes the segments that X-Ray's SDKs send over UDP to 127.0.0.1, as X-Ray's daemon would, and hands them to the loop
// as spans. One thread of its own waits and parses. Drops and counts datagrams that the loop has no room for, that are
// not segments, and that do not provably come from one of our functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/scheduler.h"
#include "runtime/trace/span.h"

namespace freshet {

class SegmentReceiver {
 public:
  // Takes the spans of a datagram, on the loop. Anybody on this machine may send one. `ours`: a process of the same
  // user certainly sent it; false also if the sender's socket is closed already. Returns the number of spans that it
  // refused.
  using Take = std::function<size_t(std::vector<Span> spans, bool ours)>;
  // Port 0 picks a free one. kIo if the port is taken. The mailbox outlives it.
  static Result<std::unique_ptr<SegmentReceiver>> start(uint16_t port, Mailbox& mailbox, Take take);
  ~SegmentReceiver();
  SegmentReceiver(const SegmentReceiver&) = delete;
  SegmentReceiver& operator=(const SegmentReceiver&) = delete;

  uint16_t port() const { return port_; }
  uint64_t refused() const {
    return refused_->load(std::memory_order_relaxed);
  }  // Refused datagrams and refused spans.

 private:
  SegmentReceiver(int socket, int wake, uint16_t port, Mailbox& mailbox, Take take);
  void run();

  const int socket_;
  const int wake_;  // An eventfd that ends the thread.
  const uint16_t port_;
  Mailbox& mailbox_;
  const std::shared_ptr<const Take> take_;  // Tells running work if this object still exists.
  const std::shared_ptr<std::atomic<uint64_t>> refused_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::thread thread_;
};

}  // namespace freshet
