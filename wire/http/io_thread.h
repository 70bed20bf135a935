// The threads that own sockets: an epoll loop each. Raw epoll rather than Asio, because a turn of it is what batching
// needs: all sockets that are ready are read first, then everything goes to the loop in one delivery (but for batches,
// whose work takes long: at once), and all answers of a turn come back in one wake-up.
//
// A turn: sockets that are ready, posted work, services whose time has come, end_of_turn() of every service.
//
// Another thread may borrow the turns (wire/http/io_waiter.h does, for the loop); "I/O thread" below is the one that
// runs them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/scheduler.h"

struct epoll_event;

namespace freshet {

// Owner of a file descriptor. Closes it when destroyed.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

class IoThread {
 public:
  // What happens on a file descriptor. I/O thread.
  class Handler {
   public:
    virtual ~Handler() = default;
    // Edge-triggered: called once when the descriptor becomes readable, writable, or is hung up, not again until it
    // has been read or written until it would block. `hung_up`: the peer has closed its sending side, or all of it.
    virtual void on_ready(bool readable, bool writable, bool hung_up) = 0;
  };

  // A part of the thread's work with its own timing. I/O thread. Added and removed by posted work only.
  class Service {
   public:
    virtual ~Service() = default;
    virtual void end_of_turn() = 0;          // Pass on what the turn has brought.
    virtual BootTime next_due() const = 0;   // BootTime::max() for never. Asked after every turn: keep it cheap.
    virtual void run_due(BootTime now) = 0;  // Called at or soon after next_due().
  };

  static Result<std::unique_ptr<IoThread>> start(const Clock& clock);
  ~IoThread();  // Ends the thread; work that is still posted is dropped. Handlers and services must be gone.
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // Any thread. Work runs in order per sender.
  void post(Work work);
  // Any thread, but not from within a turn: posts and waits until it has run.
  void run_and_wait(Work work);

  // From here to take_back() the caller runs the turns, and the thread sleeps. Waits for the end of the thread's turn.
  void lend();
  void take_back();  // Borrower.
  bool borrowed_here() const { return borrower_.load() == std::this_thread::get_id(); }
  // Borrower, not from within a turn. Waits for something to do until `until` at most.
  void turn(BootTime until);
  // I/O thread: what comes takes long, and is better done beside the borrower, if there is one.
  void want_back() { wanted_back_ = wanted_back_ || lent(); }
  // Borrower, not from within a turn: whether that was said since the last call.
  bool turns_wanted_back() { return std::exchange(wanted_back_, false); }
  bool lent() const { return lent_.load(); }  // Any thread.
  // Ends a wait, the one to come if there is none. Any thread.
  void wake();
  // How often a socket has been found ready, so far. Any thread.
  uint64_t ready_sockets() const { return ready_sockets_.load(std::memory_order_relaxed); }
  bool has_posted() const { return posted_.load() != nullptr; }

  // I/O thread only from here on.
  Result<void> watch(int fd, Handler& handler);
  // Destroys the handler at the end of the turn, so that events of the same turn cannot reach a dead one.
  void retire(std::unique_ptr<Handler> handler) { retired_.push_back(std::move(handler)); }
  void add(Service& service) { services_.push_back(&service); }
  void remove(Service& service) { std::erase(services_, &service); }
  BootTime now() const { return now_; }  // Read once a turn.
  // Room for one read, shared by all connections of the thread.
  static constexpr size_t kScratchBytes = 128u << 10;
  char* scratch() { return scratch_.get(); }

 private:
  struct Node {
    Work work;
    Node* next = nullptr;
  };

  explicit IoThread(const Clock& clock) : clock_(clock), scratch_(std::make_unique<char[]>(kScratchBytes)) {}
  void run();
  void sleep_while_lent();
  void run_posted();
  void wait(BootTime until);
  int wait_for_sockets(BootTime until, epoll_event* events, int room) const;

  const Clock& clock_;
  Fd epoll_;
  Fd wake_;
  // Written by any thread.
  std::atomic<Node*> posted_{nullptr};  // Newest first.
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> ready_sockets_{0};
  std::atomic<bool> lent_{false};
  std::atomic<std::thread::id> borrower_{};
  std::mutex mutex_;
  std::condition_variable changed_;  // lent_ or asleep_ has.
  bool asleep_ = false;              // Under mutex_: the thread has let go of the turns.
  // I/O thread only.
  BootTime now_{};
  bool wanted_back_ = false;
  std::unique_ptr<char[]> scratch_;
  std::vector<Service*> services_;
  std::vector<std::unique_ptr<Handler>> retired_;
  std::thread thread_;
};

}  // namespace freshet
