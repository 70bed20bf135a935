// The threads that own sockets: an epoll loop each. Raw epoll rather than Asio, because batching needs its turns: all
// ready sockets are read first, then everything goes to the loop in one delivery (except batches, whose work takes
// long: they go at once), and all responses of a turn come back in one wake-up.
//
// A turn: sockets that are ready, posted work, services whose time has come, end_of_turn() of every service.
//
// Another thread may borrow the turns (wire/http/io_waiter.h does, for the loop); "I/O thread" below is the one that
// runs them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/scheduler.h"
#include "wire/http/fd.h"
#include "wire/http/sockets.h"

namespace freshet {

class IoThread {
 public:
  using Handler = SocketHandler;

  // A part of the thread's work with its own timing. I/O thread. Added and removed by posted work only.
  class Service {
   public:
    virtual ~Service() = default;
    virtual void end_of_turn() = 0;          // Passes on the results of the turn.
    virtual BootTime next_due() const = 0;   // BootTime::max() for never. Asked after every turn: keep it cheap.
    virtual void run_due(BootTime now) = 0;  // Called at or soon after next_due().
  };

  // Clock and network outlive it.
  static Result<std::unique_ptr<IoThread>> start(const Clock& clock, Network& network = system_network());
  // Has no thread of its own: the caller runs its turns, by turn(). For simulation.
  static Result<std::unique_ptr<IoThread>> without_thread(const Clock& clock, Network& network);
  ~IoThread();  // Ends the thread; posted work that has not run is dropped. Handlers and services must be gone.
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
  // For the borrower, not within a turn. Waits until `until` at most for something to do.
  void turn(BootTime until);
  // I/O thread: the next work takes long, and should not run on the borrower's thread, if there is a borrower.
  void want_back() { wanted_back_ = wanted_back_ || lent(); }
  // For the borrower, not within a turn: true if want_back() was called since the last call.
  bool turns_wanted_back() { return std::exchange(wanted_back_, false); }
  bool lent() const { return lent_.load(); }  // Any thread.
  // Ends a wait, or the next one if there is none now. Any thread.
  void wake();
  // How often a socket has been ready so far. Any thread.
  uint64_t ready_sockets() const { return ready_sockets_.load(std::memory_order_relaxed); }
  bool has_posted() const { return posted_.load() != nullptr; }
  // The time at which a turn next has work that no socket announces; the past if posted work waits.
  BootTime next_due() const;

  // I/O thread only from here on.
  Result<void> watch(Watchable& socket, Handler& handler) { return poller_->watch(socket, handler); }
  Network& network() { return network_; }
  // Destroys the handler at the end of the turn, because events of the same turn may still reach it.
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

  IoThread(const Clock& clock, Network& network, std::unique_ptr<Poller> poller)
      : clock_(clock),
        network_(network),
        poller_(std::move(poller)),
        now_(clock.boot()),
        scratch_(std::make_unique<char[]>(kScratchBytes)) {}
  void run();
  void sleep_while_lent();
  void run_posted();
  void wait(BootTime until);

  const Clock& clock_;
  Network& network_;
  const std::unique_ptr<Poller> poller_;
  // Any thread may write it.
  std::atomic<Node*> posted_{nullptr};  // Newest first.
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> ready_sockets_{0};
  std::atomic<bool> lent_{false};
  std::atomic<std::thread::id> borrower_{};
  Mutex mutex_;
  Condition changed_;                               // Signals a change of lent_ or asleep_.
  bool asleep_ FRESHET_GUARDED_BY(mutex_) = false;  // The thread has given up the turns.
  // I/O thread only.
  BootTime now_{};
  bool wanted_back_ = false;
  std::unique_ptr<char[]> scratch_;
  std::vector<Service*> services_;
  std::vector<std::unique_ptr<Handler>> retired_;
  std::thread thread_;
};

}  // namespace freshet
