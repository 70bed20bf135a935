// Writes requests to the spawner's socket. Short ones are sent at once if the socket is free; the others on a thread of
// its own: the loop neither waits for a full socket nor encodes large requests.
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
  // The socket has been shut down: unsent requests are dropped.
  ~RequestWriter();

  // Loop thread; never waits. Returns false if `max_bytes` wait already, or the socket is broken; the request was then
  // not taken. An empty queue takes any request, and a kill is always taken, because it makes room.
  bool push(Request request);

 private:
  struct Waiting {
    Request request;
    size_t bytes;
    size_t sent;  // The bytes of its frame that have been sent.
  };
  void write_all();
  // Writes from `sent` on, and updates it. Returns false if not all was written: there is no room (`flags`:
  // MSG_DONTWAIT) or no reader.
  bool write(const Request& request, size_t& sent, int flags) const;

  const int socket_;
  const size_t max_bytes_;
  Mutex mutex_;
  Condition wake_;
  std::deque<Waiting> queue_ FRESHET_GUARDED_BY(mutex_);
  size_t bytes_ FRESHET_GUARDED_BY(mutex_) = 0;      // Counts the queue and the request that is being written.
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;  // True while the thread writes; the socket is then its own.
  bool closed_ FRESHET_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // The last member: it uses the others.
};

}  // namespace freshet::spawner
