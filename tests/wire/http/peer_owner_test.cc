// The owner of the other end of a socket, from the kernel and from /proc/net.
#include "wire/http/peer_owner.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "tests/wire/http/harness.h"
#include "wire/http/io_thread.h"

namespace freshet {
namespace {

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

sockaddr_in bound(int socket) {
  sockaddr_in address = loopback(0);
  EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return address;
}

struct Pair {
  Fd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  Fd client{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  Fd accepted;
  Pair() {
    const sockaddr_in address = bound(listener.get());
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    accepted.reset(::accept(listener.get(), nullptr, nullptr));
  }
};

TEST(PeerOwner, OfAConnection) {
  Pair pair;
  EXPECT_EQ(tcp_peer(pair.accepted.get()), PeerOwner::kOurs);
  ::shutdown(pair.client.get(), SHUT_WR);
  EXPECT_EQ(tcp_peer(pair.accepted.get()), PeerOwner::kOurs) << "it still reads";
  // The kernel shows a socket that nobody has any more as root's.
  pair.client.reset();
  EXPECT_EQ(tcp_peer(pair.accepted.get()), PeerOwner::kGone);
}

TEST(PeerOwner, OfAConnectionOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  const wire_test::AsUser nobody(65'534);
  EXPECT_EQ(tcp_peer(Pair().accepted.get()), PeerOwner::kOthers);
}

TEST(PeerOwner, OfADatagram) {
  const Fd receiver(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = bound(receiver.get());
  const auto send = [&](int socket) {
    EXPECT_EQ(::sendto(socket, "x", 1, 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 1);
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    char byte = 0;
    EXPECT_EQ(::recvfrom(receiver.get(), &byte, 1, 0, reinterpret_cast<sockaddr*>(&from), &size), 1);
    return from;
  };
  Fd sender(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_in from = send(sender.get());
  EXPECT_EQ(udp_peer(to, from), PeerOwner::kOurs);
  sender.reset();
  EXPECT_EQ(udp_peer(to, from), PeerOwner::kGone);
  if (geteuid() != 0) GTEST_SKIP() << "only root can send as somebody else";
  const wire_test::AsUser nobody(65'534);
  const Fd other(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(udp_peer(to, send(other.get())), PeerOwner::kOthers);
}

std::string line(const std::string& local, const std::string& remote, uid_t user, int inode) {
  return "   0: " + local + " " + remote + " 01 00000000:00000000 00:00000000 00000000 " + std::to_string(user) +
         "        0 " + std::to_string(inode) + " 1 0000000000000000 20 0 0 10 -1\n";
}

TEST(PeerOwner, FromTheFilesOfProc) {
  const std::string heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n";
  const std::string local = "0100007F";
  const std::string mapped = "0000000000000000FFFF0000" + local;
  const uid_t we = geteuid();
  const auto tcp = [&](const std::string& lines) {
    return tcp_peer_in((heading + lines).c_str(), loopback(0x1F90), loopback(0xD431));
  };
  EXPECT_EQ(tcp(line(local + ":D431", local + ":1F90", we, 7)), PeerOwner::kOurs);
  EXPECT_EQ(tcp(line(mapped + ":D431", mapped + ":1F90", we, 7)), PeerOwner::kOurs);
  EXPECT_EQ(tcp(line(local + ":D431", local + ":1F90", we + 1, 7)), PeerOwner::kOthers);
  EXPECT_EQ(tcp(line(local + ":D431", local + ":1F90", 0, 0)), PeerOwner::kGone);
  // Our own end of it, another port, another address.
  EXPECT_EQ(tcp(line(local + ":1F90", local + ":D431", we, 7)), PeerOwner::kGone);
  EXPECT_EQ(tcp(line(local + ":D432", local + ":1F90", we, 7)), PeerOwner::kGone);
  EXPECT_EQ(tcp(line("0200007F:D431", local + ":1F90", we, 7)), PeerOwner::kGone);
  EXPECT_EQ(tcp("nonsense\n"), PeerOwner::kGone);
  const auto udp = [&](const std::string& lines) { return udp_peer_in((heading + lines).c_str(), loopback(0xD431)); };
  EXPECT_EQ(udp(line("00000000:D431", "00000000:0000", we, 7)), PeerOwner::kOurs);
  EXPECT_EQ(udp(line(local + ":D431", local + ":07D0", we + 1, 7)), PeerOwner::kOthers);
  EXPECT_EQ(udp(line(std::string(32, '0') + ":D431", std::string(32, '0') + ":0000", we, 7)), PeerOwner::kOurs);
}

}  // namespace
}  // namespace freshet
