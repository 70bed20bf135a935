#include "wire/xray/segment_receiver.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/trace/xray_segment.h"
#include "wire/http/peer_owner.h"

namespace freshet {

namespace {
constexpr size_t kLargestDatagram = 64u << 10;

Error no_port(uint16_t port) {
  return Error{ErrorCode::kIo, fmt::format("Cannot receive at UDP port {} of 127.0.0.1: {}", port, strerror(errno)),
               nullptr};
}
}  // namespace

Result<std::unique_ptr<SegmentReceiver>> SegmentReceiver::start(uint16_t port, Mailbox& mailbox, Take take) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return fail(no_port(port));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket, raw, size) != 0 || getsockname(socket, raw, &size) != 0) {
    Error error = no_port(port);
    close(socket);
    return fail(std::move(error));
  }
  const int wake = eventfd(0, EFD_CLOEXEC);
  if (wake < 0) {
    Error error = no_port(port);
    close(socket);
    return fail(std::move(error));
  }
  return std::unique_ptr<SegmentReceiver>(
      new SegmentReceiver(socket, wake, ntohs(address.sin_port), mailbox, std::move(take)));
}

SegmentReceiver::SegmentReceiver(int socket, int wake, uint16_t port, Mailbox& mailbox, Take take)
    : socket_(socket),
      wake_(wake),
      port_(port),
      mailbox_(mailbox),
      take_(std::make_shared<const Take>(std::move(take))),
      thread_([this] { run(); }) {}

SegmentReceiver::~SegmentReceiver() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto n = write(wake_, &one, sizeof one);
  thread_.join();
  close(socket_);
  close(wake_);
}

void SegmentReceiver::run() {
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_port = htons(port_);
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<char> buffer(kLargestDatagram);
  std::array<pollfd, 2> waits{pollfd{socket_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
  for (;;) {
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    if (waits[1].revents != 0) return;
    sockaddr_in sender{};
    socklen_t sender_size = sizeof sender;
    const ssize_t size = recvfrom(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT,
                                  reinterpret_cast<sockaddr*>(&sender), &sender_size);
    if (size <= 0) continue;
    // Ask now: the sender may close its socket in a moment.
    const bool ours = udp_peer(own, sender) == PeerOwner::kOurs;
    auto spans = spans_of_datagram({buffer.data(), static_cast<size_t>(size)});
    if (spans && spans->empty()) continue;
    const bool taken = spans && mailbox_.deliver([weak = std::weak_ptr(take_), refused = refused_, ours,
                                                  list = std::move(*spans)]() mutable {
      const auto take = weak.lock();
      if (take) refused->fetch_add((*take)(std::move(list), ours), std::memory_order_relaxed);
    });
    if (!taken) refused_->fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace freshet
