// Writes requests to the spawner's socket. Short ones that find it free go out at once; the others on a thread of its
// own: the loop never waits while that socket is full, nor makes large ones ready.
#pragma once

#include <cstddef>
#include <deque>
#include <thread>

#include "app/spawner/protocol.h"
#include "base/mutex.h"

namespace freshet::spawner {

class RequestWriter {
 public:
  RequestWriter(int socket, size_t max_bytes);
  RequestWriter(const RequestWriter&) = delete;
  RequestWriter& operator=(const RequestWriter&) = delete;
  // The socket has been shut down: what is not yet written is dropped.
  ~RequestWriter();

  // Loop thread; never waits. False: `max_bytes` wait already, or the socket is broken; the request was not taken. An
  // empty queue takes any request, and a kill is always taken: it is what makes room.
  bool push(Request request);

 private:
  struct Waiting {
    Request request;
    size_t bytes;
    size_t sent;  // The bytes of its frame that are sent.
  };
  void write_all();
  // From `sent` on, which it counts up. False: not all of it, for want of room (`flags`: MSG_DONTWAIT) or of a reader.
  bool write(const Request& request, size_t& sent, int flags) const;

  const int socket_;
  const size_t max_bytes_;
  Mutex mutex_;
  Condition wake_;
  std::deque<Waiting> queue_ FRESHET_GUARDED_BY(mutex_);
  size_t bytes_ FRESHET_GUARDED_BY(mutex_) = 0;      // Counts the queue and the request that is being written.
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;  // The thread; the socket is its own then.
  bool closed_ FRESHET_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // Last: it uses what stands above.
};

}  // namespace freshet::spawner
