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

namespace {
// The clock of deadlines goes on while the machine is suspended, the one of timeouts does not.
constexpr nanoseconds kLongestSleep = seconds(1);
}  // namespace

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
  io->now_ = clock.boot();
  io->thread_ = std::thread([raw = io.get()] { raw->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return io;
}

IoThread::~IoThread() {
  if (thread_.joinable()) {
    stopping_.store(true);
    take_back();
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
  if (borrowed_here()) {
    post(std::move(work));
    turn(BootTime{});
    return;
  }
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

void IoThread::lend() {
  std::unique_lock lock(mutex_);
  lent_.store(true);
  wake();
  changed_.wait(lock, [this] { return asleep_; });
  borrower_.store(std::this_thread::get_id());
}

void IoThread::take_back() {
  {
    const std::lock_guard lock(mutex_);
    borrower_.store({});
    lent_.store(false);
  }
  changed_.notify_all();
}

void IoThread::run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (lent_.load()) {
      sleep_while_lent();
    } else {
      turn(BootTime::max());
    }
  }
}

void IoThread::sleep_while_lent() {
  std::unique_lock lock(mutex_);
  asleep_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !lent_.load(); });
  asleep_ = false;
}

void IoThread::turn(BootTime until) {
  wait(until);
  run_posted();
  for (Service* service : services_) {
    if (service->next_due() <= now_) service->run_due(now_);
  }
  for (Service* service : services_) service->end_of_turn();
  retired_.clear();
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

// As epoll_wait(), but to the nanosecond: the loop's deadlines are.
int IoThread::wait_for_sockets(BootTime until, epoll_event* events, int room) const {
  for (const Service* service : services_) until = std::min(until, service->next_due());
  if (until == BootTime::max()) return ::epoll_wait(epoll_.get(), events, room, -1);
  const nanoseconds left = std::min<nanoseconds>(until - clock_.boot(), kLongestSleep);
  if (left <= nanoseconds(0)) return ::epoll_wait(epoll_.get(), events, room, 0);
  const timespec timeout{.tv_sec = left / seconds(1), .tv_nsec = (left % seconds(1)).count()};
  const int ready = ::epoll_pwait2(epoll_.get(), events, room, &timeout, nullptr);
  if (ready >= 0 || errno != ENOSYS) return ready;
  // Linux before 5.11.
  return ::epoll_wait(epoll_.get(), events, room, static_cast<int>(std::chrono::ceil<milliseconds>(left).count()));
}

void IoThread::wait(BootTime until) {
  // A poster that comes after the flag is up wakes us; one that came before is seen by the load.
  sleeping_.store(true);
  if (posted_.load() != nullptr || stopping_.load() || (lent_.load() && !borrowed_here())) until = BootTime{};
  std::array<epoll_event, 256> events;
  const int ready = wait_for_sockets(until, events.data(), static_cast<int>(events.size()));
  sleeping_.store(false);
  now_ = clock_.boot();
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.ptr == nullptr) continue;  // Woken for what was posted.
    ready_sockets_.fetch_add(1, std::memory_order_relaxed);
    const bool hung_up = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    static_cast<Handler*>(event.data.ptr)
        ->on_ready((event.events & EPOLLIN) != 0 || hung_up, (event.events & EPOLLOUT) != 0, hung_up);
  }
}

}  // namespace freshet
