// Sockets in memory, in simulated time and with faults from a seed. Tests use them instead of wire/http/sockets.cc.
//
// Bytes take a drawn time to arrive, in order within a connection. A sender blocks when the receiver does not read. A
// connection can be cut (both ends see a reset) or frozen (nothing arrives any more, and nobody is told: a peer whose
// machine has lost its power or its cable). A client that connects to 127.0.0.2 reads slowly: with a small window, a
// few bytes at a time, and with pauses, a few of which are longer than a server waits. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "wire/http/sockets.h"

namespace freshet::sim {

class SimNetwork final : public Network {
 public:
  // The clock outlives it.
  SimNetwork(const Clock& clock, uint64_t seed);
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;
  ~SimNetwork() override;

  Result<std::unique_ptr<Acceptor>> bind(const std::string& address, uint16_t port) override;
  std::unique_ptr<Socket> connect(const SocketAddress& address) override;
  Result<std::unique_ptr<Poller>> make_poller(const Clock& clock) override;
  // For simulations of several machines: a poller that counts its own sockets that wait for a turn, a connection from
  // the machine of that number, and the freezing of all connections from one machine to a port. How many were hit.
  std::unique_ptr<Poller> make_poller(size_t& rung);
  std::unique_ptr<Socket> connect_from(uint64_t machine, const SocketAddress& address);
  size_t freeze_between(uint64_t machine, uint16_t port);
  // The process of that machine that listens on `port` is about to die: its connections end now, in their order. Its
  // destruction closes them in an order that depends on where objects lie, which nobody sees then.
  void vanish(uint64_t machine, uint16_t port);

  // The time of the next arrival; BootTime::max() for never.
  BootTime next_event() const { return events_.empty() ? BootTime::max() : events_.begin()->first.first; }
  // Lets everything arrive whose time has come.
  void run_due();

  // Faults. A delay holds for what is sent from now on.
  void set_delay(nanoseconds least, nanoseconds most);
  // Cuts or freezes each open connection with this probability per thousand. Returns the number of connections that
  // were hit.
  size_t cut_some(uint64_t per_thousand);
  size_t freeze_some(uint64_t per_thousand);
  // From now on, connections are refused with this probability per thousand.
  void refuse_connections(uint64_t per_thousand) { refused_per_thousand_ = per_thousand; }

  // The bytes that a client sends are lost on their way if this says so; null: none are.
  void lose(std::function<bool(std::string_view sent)> which) { lost_ = std::move(which); }

  uint64_t bytes_carried() const { return bytes_; }
  bool has_ready_sockets() const { return rung_ > 0; }
  size_t connections() const { return links_.size(); }
  // A line for each connection, for the words of a verdict.
  std::string describe_connections() const;

 private:
  friend class SimSocket;
  friend class SimAcceptor;
  friend class SimPoller;
  friend class SimWatchable;
  static constexpr size_t kWindow = 64u << 10;
  // The receiving end of one direction of a connection.
  struct End {
    std::string arrived;                // Received and not read.
    size_t in_flight = 0;               // Bytes on their way to it.
    BootTime last_arrival{};            // Later bytes arrive after this time.
    bool ended = false;                 // The sender sends no more, and all that it sent has arrived.
    bool reset = false;                 // The connection is broken, as this end knows.
    bool sender_blocked = false;        // The sender was told EAGAIN.
    class SimSocket* socket = nullptr;  // Null: closed here, or not accepted yet.
    bool closed = false;                // By its owner.
    bool vanished = false;              // The other end knows already that it is closed.
    size_t window = kWindow;            // Bytes that are held here before the sender blocks.
    size_t piece = kWindow;             // Bytes that arrive at a time.
    nanoseconds rest{0};                // Between two pieces, at most; of a slow reader.
  };
  struct Link {
    uint64_t id = 0;
    End ends[2];  // 0 belongs to the side that connected.
    bool established = false;
    bool frozen = false;
    uint64_t machine = 0;  // The side that connected is there.
    uint16_t port = 0;     // It connected to this one.
  };
  struct Watch {
    SocketHandler* handler = nullptr;
    bool readable = false;
    bool writable = false;
    bool hung_up = false;
    bool queued = false;
  };

  void at(BootTime when, std::function<void()> event) {
    events_.emplace(std::pair(when, ++last_event_), std::move(event));
  }
  nanoseconds delay();
  BootTime arrival(End& to);
  void make_slow(End& end);
  nanoseconds draw_rest(const End& end);
  void send(Link& link, int from, std::string bytes);
  void arrive(uint64_t link, int to, const std::string& bytes);
  void end_stream(Link& link, int from);
  void reset(Link& link, int from);
  void arrive_reset(Link& link, int at_end);
  void close_end(Link& link, int side);
  void refuse_waiting(Link& link);
  void forget(uint64_t link);
  Link* find(uint64_t id);
  void try_connect(uint64_t link, uint16_t port);
  size_t hit_some(uint64_t per_thousand, const std::function<void(Link&)>& what);

  const Clock& clock_;
  Random random_;
  Random slow_random_;  // Separate from `random_`, so that its draws leave those of a seed unchanged.
  nanoseconds least_{20'000};
  nanoseconds most_{200'000};
  uint64_t refused_per_thousand_ = 0;
  std::function<bool(std::string_view)> lost_;
  std::map<std::pair<BootTime, uint64_t>, std::function<void()>> events_;
  uint64_t last_event_ = 0;
  std::map<uint64_t, std::unique_ptr<Link>> links_;
  uint64_t last_link_ = 0;
  std::map<uint16_t, class SimAcceptor*> listening_;
  std::set<uint16_t> bound_;
  uint16_t next_port_ = 40'000;
  uint64_t bytes_ = 0;
  size_t rung_ = 0;  // Sockets that wait for a turn of their poller.
};

}  // namespace freshet::sim
