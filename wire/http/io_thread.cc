#include "wire/http/io_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <future>

namespace freshet {

void Fd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<std::unique_ptr<IoThread>> IoThread::start(const Clock& clock) {
  std::unique_ptr<IoThread> io(new IoThread(clock));
  io->epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  io->wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;  // Every write to it rings, so that it need not be read.
  event.data.ptr = nullptr;
  if (!io->epoll_ || !io->wake_ || ::epoll_ctl(io->epoll_.get(), EPOLL_CTL_ADD, io->wake_.get(), &event) != 0) {
    return fail(ErrorCode::kIo, std::string("cannot make an I/O thread: ") + std::strerror(errno));
  }
  // Signals are the main thread's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  io->thread_ = std::thread([raw = io.get()] { raw->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return io;
}

IoThread::~IoThread() {
  if (thread_.joinable()) {
    stopping_.store(true);
    wake();
    thread_.join();
  }
  for (Node* node = posted_.exchange(nullptr); node != nullptr;) delete std::exchange(node, node->next);
}

void IoThread::post(Work work) {
  Node* node = new Node{std::move(work), posted_.load(std::memory_order_relaxed)};
  while (!posted_.compare_exchange_weak(node->next, node)) {
  }
  if (sleeping_.exchange(false)) wake();
}

void IoThread::run_and_wait(Work work) {
  std::promise<void> done;
  post([&work, &done] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

Result<void> IoThread::watch(int fd, Handler& handler) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &handler;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return fail(ErrorCode::kIo, std::string("cannot watch a socket: ") + std::strerror(errno));
}

void IoThread::wake() {
  const uint64_t one = 1;
  // Cannot fail but by overflow, and then the thread is awake anyhow.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

void IoThread::run() {
  now_ = clock_.boot();
  while (!stopping_.load(std::memory_order_relaxed)) {
    wait();
    run_posted();
    for (Service* service : services_) {
      if (service->next_due() <= now_) service->run_due(now_);
    }
    for (Service* service : services_) service->end_of_turn();
    retired_.clear();
  }
}

void IoThread::run_posted() {
  Node* node = posted_.exchange(nullptr);
  Node* oldest_first = nullptr;
  while (node != nullptr) {
    Node* next = std::exchange(node->next, oldest_first);
    oldest_first = std::exchange(node, next);
  }
  while (oldest_first != nullptr) {
    std::unique_ptr<Node> current(std::exchange(oldest_first, oldest_first->next));
    current->work();
  }
}

int IoThread::wait_milliseconds() const {
  BootTime due = BootTime::max();
  for (const Service* service : services_) due = std::min(due, service->next_due());
  if (due == BootTime::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(due - now_).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

void IoThread::wait() {
  int timeout = wait_milliseconds();
  // A poster that comes after the flag is up wakes us; one that came before is seen by the load.
  sleeping_.store(true);
  if (posted_.load() != nullptr || stopping_.load()) timeout = 0;
  std::array<epoll_event, 256> events;
  const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
  sleeping_.store(false);
  now_ = clock_.boot();
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.ptr == nullptr) continue;  // Woken for what was posted.
    const bool hung_up = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    static_cast<Handler*>(event.data.ptr)
        ->on_ready((event.events & EPOLLIN) != 0 || hung_up, (event.events & EPOLLOUT) != 0, hung_up);
  }
}

}  // namespace freshet
