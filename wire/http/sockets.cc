#include "wire/http/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "wire/http/fd.h"
#include "wire/http/peer_owner.h"

namespace freshet {

namespace {

// CLOCK_BOOTTIME continues while the machine is suspended, the clock of epoll's timeouts does not.
constexpr nanoseconds kLongestSleep = seconds(1);
constexpr size_t kMostReady = 256;

constexpr int kKeepAliveSeconds = 30;

void set_tcp_options(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // A task that runs on another daemon may need an hour: a peer that is gone without a word is noticed, and machines in
  // between see that the connection is in use.
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveSeconds, sizeof(kKeepAliveSeconds));
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepAliveSeconds, sizeof(kKeepAliveSeconds));
}

// Empty for an address of another family.
std::string text_of(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address.storage, sizeof(in));
    ::inet_ntop(AF_INET, &in.sin_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(ntohs(in.sin_port));
  }
  if (address.storage.ss_family != AF_INET6) return {};
  sockaddr_in6 in{};
  std::memcpy(&in, &address.storage, sizeof(in));
  ::inet_ntop(AF_INET6, &in.sin6_addr, text.data(), text.size());
  return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(in.sin6_port));
}

class SystemSocket final : public Socket {
 public:
  explicit SystemSocket(Fd fd) : fd_(std::move(fd)) {}
  int descriptor() const override { return fd_.get(); }

  ssize_t receive(char* place, size_t room) override {
    ssize_t n = 0;
    do {
      n = ::recv(fd_.get(), place, room, 0);
    } while (n < 0 && errno == EINTR);
    return n;
  }

  ssize_t send(const iovec* parts, size_t count) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = count;
    ssize_t n = 0;
    do {
      // One part is the usual case, and cheaper for the kernel than a list of one.
      n = count == 1 ? ::send(fd_.get(), parts->iov_base, parts->iov_len, MSG_NOSIGNAL)
                     : ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n;
  }

  bool is_quiet() override {
    char byte = 0;
    return ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }

  int fault() override {
    int error = 0;
    socklen_t size = sizeof(error);
    return ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 ? errno : error;
  }

  void end_sending() override { ::shutdown(fd_.get(), SHUT_WR); }
  bool is_own_user() override { return tcp_peer(fd_.get()) == PeerOwner::kOurs; }
  std::string peer() override {
    SocketAddress address;
    address.size = sizeof(address.storage);
    if (::getpeername(fd_.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) return {};
    return text_of(address);
  }

 private:
  const Fd fd_;
};

class SystemAcceptor final : public Acceptor {
 public:
  SystemAcceptor(Fd fd, std::string address, uint16_t port)
      : fd_(std::move(fd)), address_(std::move(address)), port_(port) {}
  int descriptor() const override { return fd_.get(); }
  uint16_t port() const override { return port_; }

  Result<void> listen() override {
    if (::listen(fd_.get(), 1024) == 0) return {};
    return fail(ErrorCode::kIo,
                "cannot listen on " + address_ + ":" + std::to_string(port_) + ": " + std::strerror(errno));
  }

  std::unique_ptr<Socket> accept() override {
    while (true) {
      Fd client(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (client) {
        set_tcp_options(client.get());
        return std::make_unique<SystemSocket>(std::move(client));
      }
      if (errno != EINTR && errno != ECONNABORTED) return nullptr;
    }
  }

 private:
  const Fd fd_;
  const std::string address_;
  const uint16_t port_;
};

class EpollPoller final : public Poller {
 public:
  EpollPoller(Fd epoll, Fd wake, const Clock& clock)
      : epoll_(std::move(epoll)), wake_(std::move(wake)), clock_(clock) {}

  Result<void> watch(Watchable& socket, SocketHandler& handler) override {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.ptr = &handler;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.descriptor(), &event) == 0) return {};
    return fail(ErrorCode::kIo, std::string("cannot watch a socket: ") + std::strerror(errno));
  }

  size_t wait(BootTime until, std::span<ReadySocket> ready) override {
    std::array<epoll_event, kMostReady> events;
    const int found = wait_for(until, events.data(), static_cast<int>(std::min(events.size(), ready.size())));
    size_t filled = 0;
    for (int i = 0; i < found; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      if (event.data.ptr == nullptr) continue;  // wake()
      const bool hung_up = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
      ready[filled++] = {static_cast<SocketHandler*>(event.data.ptr), (event.events & EPOLLIN) != 0 || hung_up,
                         (event.events & EPOLLOUT) != 0, hung_up};
    }
    return filled;
  }

  void wake() override {
    const uint64_t one = 1;
    // Can fail only by overflow, and then the thread is awake anyway.
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  }

 private:
  // As epoll_wait(), but with nanoseconds, as the loop's deadlines have.
  int wait_for(BootTime until, epoll_event* events, int room) const {
    if (until == BootTime::max()) return ::epoll_wait(epoll_.get(), events, room, -1);
    const nanoseconds left = std::min<nanoseconds>(until - clock_.boot(), kLongestSleep);
    if (left <= nanoseconds(0)) return ::epoll_wait(epoll_.get(), events, room, 0);
    const timespec timeout{.tv_sec = left / seconds(1), .tv_nsec = (left % seconds(1)).count()};
    const int ready = ::epoll_pwait2(epoll_.get(), events, room, &timeout, nullptr);
    if (ready >= 0 || errno != ENOSYS) return ready;
    // Linux before 5.11.
    return ::epoll_wait(epoll_.get(), events, room, static_cast<int>(std::chrono::ceil<milliseconds>(left).count()));
  }

  const Fd epoll_;
  const Fd wake_;
  const Clock& clock_;
};

class SystemNetwork final : public Network {
 public:
  Result<std::unique_ptr<Acceptor>> bind(const std::string& address, uint16_t port) override {
    SocketAddress wanted;
    if (!parse_socket_address(address, port, wanted)) {
      return fail(ErrorCode::kValidation, "cannot listen on '" + address + "': it is not an IPv4 or IPv6 address");
    }
    const auto refused = [&] {
      return fail(ErrorCode::kIo,
                  "cannot listen on " + address + ":" + std::to_string(port) + ": " + std::strerror(errno));
    };
    Fd fd(::socket(wanted.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return refused();
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (::bind(fd.get(), wanted.get(), wanted.size) != 0) return refused();
    SocketAddress bound;
    bound.size = sizeof(bound.storage);
    auto* place = reinterpret_cast<sockaddr*>(&bound.storage);
    if (::getsockname(fd.get(), place, &bound.size) != 0) return refused();
    const uint16_t picked =
        ntohs(bound.storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&bound.storage)->sin_port
                                                 : reinterpret_cast<sockaddr_in6*>(&bound.storage)->sin6_port);
    return std::make_unique<SystemAcceptor>(std::move(fd), address, picked);
  }

  std::unique_ptr<Socket> connect(const SocketAddress& address) override {
    Fd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return nullptr;
    set_tcp_options(fd.get());
    if (::connect(fd.get(), address.get(), address.size) != 0 && errno != EINPROGRESS) return nullptr;
    return std::make_unique<SystemSocket>(std::move(fd));
  }

  Result<std::unique_ptr<Poller>> make_poller(const Clock& clock) override {
    Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;  // Every write to it causes an event, so it need not be read.
    event.data.ptr = nullptr;
    if (!epoll || !wake || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) {
      return fail(ErrorCode::kIo, std::string("cannot make an I/O thread: ") + std::strerror(errno));
    }
    return std::make_unique<EpollPoller>(std::move(epoll), std::move(wake), clock);
  }
};

}  // namespace

bool parse_socket_address(const std::string& literal, uint16_t port, SocketAddress& out) {
  out = {};
  if (auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
      ::inet_pton(AF_INET, literal.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    out.size = sizeof(*v4);
    return true;
  }
  if (auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
      ::inet_pton(AF_INET6, literal.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    out.size = sizeof(*v6);
    return true;
  }
  return false;
}

Network& system_network() {
  static SystemNetwork network;
  return network;
}

}  // namespace freshet
