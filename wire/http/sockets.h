// The network seam: all calls of the I/O threads that concern sockets. The real one is system_network(). Tests use one
// in memory (tests/sim/machine/sim_network.h), with simulated time and faults from a seed. TLS (wire/http/tls.h) and
// the look-up of names (wire/http/resolver.h) are not part of it.
//
// All calls return at once, except Poller::wait(). Calls that fail set errno as the system call would; none fails with
// EINTR.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace freshet {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// An IPv4 or IPv6 literal with a port. False for anything else.
bool parse_socket_address(const std::string& literal, uint16_t port, SocketAddress& out);

// Receives the events of a socket. I/O thread.
class SocketHandler {
 public:
  virtual ~SocketHandler() = default;
  // Edge-triggered: called once when the socket becomes readable or writable, or hangs up, and not again until a read
  // or write would block. `hung_up`: the peer has closed its sending side, or all of it.
  virtual void on_ready(bool readable, bool writable, bool hung_up) = 0;
};

// A socket, of either kind. Destroying it closes it.
class Watchable {
 public:
  virtual ~Watchable() = default;
  virtual int descriptor() const = 0;  // -1 if there is none: in simulation.
};

// One end of a connection. Belongs to the I/O thread that watches it.
class Socket : public Watchable {
 public:
  virtual ssize_t receive(char* place, size_t room) = 0;       // As recv(2): 0 at the end of the stream.
  virtual ssize_t send(const iovec* parts, size_t count) = 0;  // As sendmsg(2), without SIGPIPE.
  virtual bool is_quiet() = 0;                                 // True if it is open, and no received byte is unread.
  virtual int fault() = 0;                                     // SO_ERROR: 0 for none.
  virtual void end_sending() = 0;                              // Ends sending: the peer reads the data that was sent,
                                                               // then the end.
  virtual bool is_own_user() = 0;  // True if the peer is certainly a process of the same user.
  // The peer's address and port, as in "127.0.0.1:4711" or "[::1]:4711". Empty: unknown.
  virtual std::string peer() { return {}; }
};

// A local address, before and while it accepts connections.
class Acceptor : public Watchable {
 public:
  virtual uint16_t port() const = 0;
  // Connections are refused until this is called. kIo with the address if it is not available. Call it once.
  virtual Result<void> listen() = 0;
  virtual std::unique_ptr<Socket> accept() = 0;  // Null with EAGAIN if no connection waits, with another errno for an
                                                 // error.
};

struct ReadySocket {
  SocketHandler* handler;
  bool readable;
  bool writable;
  bool hung_up;
};

class Poller {
 public:
  virtual ~Poller() = default;
  // The handler outlives the socket. kIo if there is no memory for it.
  virtual Result<void> watch(Watchable& socket, SocketHandler& handler) = 0;
  // Waits until a socket is ready, wake() was called, or `until`; may return earlier. Returns the number of entries of
  // `ready` that it filled.
  virtual size_t wait(BootTime until, std::span<ReadySocket> ready) = 0;
  virtual void wake() = 0;  // Any thread. Ends a wait, or the next one if there is none now.
};

// Any thread. Outlives all objects that it made.
class Network {
 public:
  virtual ~Network() = default;
  // An IPv4 or IPv6 literal; port 0 picks a free one. A bound address keeps others from listening there only once it
  // listens itself. kValidation if it is not a literal, kIo with the address if it is not available.
  virtual Result<std::unique_ptr<Acceptor>> bind(const std::string& address, uint16_t port) = 0;
  // Begins to connect; readiness and fault() give the result. Null with errno if it cannot begin.
  virtual std::unique_ptr<Socket> connect(const SocketAddress& address) = 0;
  virtual Result<std::unique_ptr<Poller>> make_poller(const Clock& clock) = 0;
};

Network& system_network();

}  // namespace freshet
