#include "wire/http/peer_owner.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "base/text_file.h"
#include "wire/http/io_thread.h"

namespace freshet {

namespace {

// A closed socket whose connection goes on belongs to nobody: the kernel shows it with root's number and without an
// inode.
PeerOwner owner(uid_t user, uint64_t inode) {
  if (inode == 0) return PeerOwner::kGone;
  return user == geteuid() ? PeerOwner::kOurs : PeerOwner::kOthers;
}

struct Question {
  nlmsghdr header;
  inet_diag_req_v2 request;
};

Question question(uint8_t protocol, const sockaddr_in& from, const sockaddr_in& to) {
  Question out{};
  out.header.nlmsg_len = sizeof(out);
  out.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  out.header.nlmsg_flags = NLM_F_REQUEST;
  out.request.sdiag_family = AF_INET;
  out.request.sdiag_protocol = protocol;
  out.request.idiag_states = ~0U;
  out.request.id.idiag_sport = from.sin_port;
  out.request.id.idiag_dport = to.sin_port;
  out.request.id.idiag_src[0] = from.sin_addr.s_addr;
  out.request.id.idiag_dst[0] = to.sin_addr.s_addr;
  out.request.id.idiag_cookie[0] = out.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return out;
}

PeerOwner ask_kernel(const Question& question) {
  const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!socket) return PeerOwner::kUnknown;
  if (::send(socket.get(), &question, sizeof(question), 0) != sizeof(question)) return PeerOwner::kUnknown;
  alignas(nlmsghdr) std::array<char, 2048> answer{};
  // The kernel answers within send().
  const ssize_t size = ::recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  nlmsghdr header{};
  if (size < static_cast<ssize_t>(sizeof(header))) return PeerOwner::kUnknown;
  std::memcpy(&header, answer.data(), sizeof(header));
  if (header.nlmsg_type == NLMSG_ERROR && size >= static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) {
    nlmsgerr error{};
    std::memcpy(&error, answer.data() + NLMSG_HDRLEN, sizeof(error));
    return error.error == -ENOENT ? PeerOwner::kGone : PeerOwner::kUnknown;
  }
  inet_diag_msg found{};
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(found)))) {
    return PeerOwner::kUnknown;
  }
  std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof(found));
  return owner(found.idiag_uid, found.idiag_inode);
}

// A kernel that does not support this for the protocol also answers "not found". It would not find our own end either.
PeerOwner peer_by_kernel(uint8_t protocol, const sockaddr_in& peer, const sockaddr_in& own) {
  const PeerOwner found = ask_kernel(question(protocol, peer, own));
  if (found != PeerOwner::kGone) return found;
  const PeerOwner ourselves = ask_kernel(question(protocol, own, peer));
  return ourselves == PeerOwner::kOurs || ourselves == PeerOwner::kOthers ? PeerOwner::kGone : PeerOwner::kUnknown;
}

// An address as /proc/net spells it: words of eight hex digits in the machine's order, and the port.
struct SocketEnd {
  std::string_view address;  // 8 or 32 digits.
  unsigned port = 0;
};

bool is_at(const SocketEnd& place, const sockaddr_in& address, bool or_any) {
  if (place.port != ntohs(address.sin_port)) return false;
  std::array<char, 9> digits{};
  std::snprintf(digits.data(), digits.size(), "%08X", address.sin_addr.s_addr);
  std::string_view own = place.address;
  if (or_any && own.find_first_not_of('0') == std::string_view::npos) return true;
  // A socket for both kinds of addresses shows IPv4 addresses as ::ffff:a.b.c.d.
  constexpr std::string_view kMapped = "0000000000000000FFFF0000";
  if (own.starts_with(kMapped)) own.remove_prefix(kMapped.size());
  return own == digits.data();
}

// One line behind the heading: "sl: local remote state queues timer retries user timeout inode ...".
struct Line {
  std::array<char, 33> local{};
  std::array<char, 33> remote{};
  SocketEnd local_place;
  SocketEnd remote_place;
  unsigned user = 0;
  unsigned long long inode = 0;

  bool read(const std::string& text) {
    unsigned local_port = 0;
    unsigned remote_port = 0;
    if (std::sscanf(text.c_str(), " %*u: %32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%x %*x %*x:%*x %*x:%*x %*x %u %*u %llu",
                    local.data(), &local_port, remote.data(), &remote_port, &user, &inode) != 6) {
      return false;
    }
    local_place = {local.data(), local_port};
    remote_place = {remote.data(), remote_port};
    return true;
  }
};

template <class Wanted>
PeerOwner find_line(std::string_view text, const Wanted& wanted) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    Line line;
    if (line.read(std::string(text.substr(0, end))) && wanted(line)) return owner(line.user, line.inode);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return PeerOwner::kGone;
}

// Uses the first file that lists the socket. Without any of the files, the owner is unknown.
template <class Look>
PeerOwner in_files(const char* first, const char* second, const Look& look) {
  PeerOwner found = PeerOwner::kUnknown;
  for (const char* file : {first, second}) {
    const auto text = read_text_file(file);
    if (!text) continue;
    found = look(text->c_str());
    if (found != PeerOwner::kGone) break;
  }
  return found;
}

}  // namespace

PeerOwner tcp_peer_in(const char* text, const sockaddr_in& own, const sockaddr_in& peer) {
  return find_line(text, [&](const Line& line) {
    return is_at(line.local_place, peer, false) && is_at(line.remote_place, own, false);
  });
}

PeerOwner udp_peer_in(const char* text, const sockaddr_in& sender) {
  return find_line(text, [&](const Line& line) { return is_at(line.local_place, sender, true); });
}

PeerOwner tcp_peer(int socket) {
  sockaddr_in own{};
  sockaddr_in peer{};
  socklen_t size = sizeof(own);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0 || own.sin_family != AF_INET) {
    return PeerOwner::kUnknown;
  }
  size = sizeof(peer);
  // The peer has gone already.
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return PeerOwner::kGone;
  const PeerOwner found = peer_by_kernel(IPPROTO_TCP, peer, own);
  if (found != PeerOwner::kUnknown) return found;
  return in_files("/proc/net/tcp", "/proc/net/tcp6", [&](const char* text) { return tcp_peer_in(text, own, peer); });
}

PeerOwner udp_peer(const sockaddr_in& receiver, const sockaddr_in& sender) {
  // For UDP the kernel expects the two ends in the opposite order.
  const PeerOwner found = peer_by_kernel(IPPROTO_UDP, receiver, sender);
  if (found != PeerOwner::kUnknown) return found;
  return in_files("/proc/net/udp", "/proc/net/udp6", [&](const char* text) { return udp_peer_in(text, sender); });
}

}  // namespace freshet
