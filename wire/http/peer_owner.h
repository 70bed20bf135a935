// Whose process is at the other end of a loopback connection, or sent a datagram. The kernel says so (sock_diag(7), or
// /proc/net where that cannot be had); it cannot be forged by the sender. Any thread; a few microseconds.
#pragma once

#include <netinet/in.h>

namespace freshet {

enum class PeerOwner {
  kOurs,     // A process of the user that this one runs as.
  kOthers,   // One of another user.
  kGone,     // There is no such socket any more: it was closed, perhaps a moment ago.
  kUnknown,  // The kernel does not say, or the peer is not on this machine's IPv4.
};

// `socket`: a connected TCP socket.
PeerOwner tcp_peer(int socket);
// `receiver`: the address that the datagram went to; `sender`: the one it came from.
PeerOwner udp_peer(const sockaddr_in& receiver, const sockaddr_in& sender);

// The same from the text of /proc/net/tcp, tcp6, udp and udp6: for the tests. `text` is that of one of the files.
PeerOwner tcp_peer_in(const char* text, const sockaddr_in& own, const sockaddr_in& peer);
PeerOwner udp_peer_in(const char* text, const sockaddr_in& sender);

}  // namespace freshet
