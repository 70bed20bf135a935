#include "app/spawner/request_writer.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace freshet::spawner {
namespace {

// The memory that a request holds while it waits; 0 for a kill.
size_t bytes_of(const Request& request) {
  const auto* start = std::get_if<StartRequest>(&request);
  if (start == nullptr) return 0;
  size_t bytes = sizeof *start + start->spec.input.size() + start->spec.directory.size();
  for (const auto& argument : start->spec.argv) bytes += sizeof argument + argument.size();
  for (const auto& [name, value] : start->spec.environment) bytes += 2 * sizeof name + name.size() + value.size();
  return bytes;
}

}  // namespace

RequestWriter::RequestWriter(int socket, size_t max_bytes)
    : socket_(socket), max_bytes_(max_bytes), thread_([this] { write_all(); }) {}

RequestWriter::~RequestWriter() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

bool RequestWriter::push(Request request) {
  const size_t bytes = bytes_of(request);
  {
    const MutexLock lock(mutex_);
    if (closed_) return false;
    if (bytes > 0 && bytes_ > 0 && bytes_ + bytes > max_bytes_) return false;
    size_t sent = 0;
    const bool at_once = bytes == 0 && queue_.empty() && !writing_;
    if (at_once && write(request, sent, MSG_DONTWAIT)) return true;
    bytes_ += bytes;
    queue_.push_back({std::move(request), bytes, sent});
  }
  wake_.notify_one();
  return true;
}

void RequestWriter::write_all() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!(closed_ || !queue_.empty())) wake_.wait(lock);
    if (closed_) return;
    Waiting next = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    lock.unlock();
    const bool written = write(next.request, next.sent, 0);
    lock.lock();
    writing_ = false;
    bytes_ -= next.bytes;
    if (!written) closed_ = true;
  }
}

bool RequestWriter::write(const Request& request, size_t& sent, int flags) const {
  const std::string frame = encode(request);
  while (sent < frame.size()) {
    const ssize_t n = ::send(socket_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL | flags);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace freshet::spawner
