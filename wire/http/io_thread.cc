#include "wire/http/io_thread.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <future>

namespace freshet {

Result<std::unique_ptr<IoThread>> IoThread::start(const Clock& clock, Network& network) {
  auto poller = network.make_poller(clock);
  if (!poller) return fail(std::move(poller.error()));
  std::unique_ptr<IoThread> io(new IoThread(clock, network, std::move(*poller)));
  // Only the main thread handles signals.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  io->thread_ = std::thread([raw = io.get()] { raw->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return io;
}

Result<std::unique_ptr<IoThread>> IoThread::without_thread(const Clock& clock, Network& network) {
  auto poller = network.make_poller(clock);
  if (!poller) return fail(std::move(poller.error()));
  std::unique_ptr<IoThread> io(new IoThread(clock, network, std::move(*poller)));
  io->borrower_.store(std::this_thread::get_id());
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

void IoThread::wake() {
  poller_->wake();
}

void IoThread::lend() {
  MutexLock lock(mutex_);
  lent_.store(true);
  wake();
  while (!asleep_) changed_.wait(lock);
  borrower_.store(std::this_thread::get_id());
}

void IoThread::take_back() {
  {
    const MutexLock lock(mutex_);
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
  MutexLock lock(mutex_);
  asleep_ = true;
  changed_.notify_all();
  while (!(!lent_.load())) changed_.wait(lock);
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

BootTime IoThread::next_due() const {
  if (has_posted()) return BootTime{};
  BootTime due = BootTime::max();
  for (const Service* service : services_) due = std::min(due, service->next_due());
  return due;
}

void IoThread::wait(BootTime until) {
  // A caller of post() that comes after the flag is set wakes this thread; an earlier one is seen by this load.
  sleeping_.store(true);
  if (posted_.load() != nullptr || stopping_.load() || (lent_.load() && !borrowed_here())) until = BootTime{};
  for (const Service* service : services_) until = std::min(until, service->next_due());
  std::array<ReadySocket, 256> sockets;
  const size_t ready = poller_->wait(until, sockets);
  sleeping_.store(false);
  now_ = clock_.boot();
  ready_sockets_.fetch_add(ready, std::memory_order_relaxed);
  for (size_t i = 0; i < ready; ++i) {
    const ReadySocket& socket = sockets[i];
    socket.handler->on_ready(socket.readable, socket.writable, socket.hung_up);
  }
}

}  // namespace freshet
