// Finds the owner of the process at the other end of a loopback connection, or of a datagram's sender. The kernel
// provides it (sock_diag(7), or else /proc/net); the sender cannot forge it. Any thread; a few microseconds.
#pragma once

#include <netinet/in.h>

namespace freshet {

enum class PeerOwner {
  kOurs,     // A process of the user that this one runs as.
  kOthers,   // A process of another user.
  kGone,     // The socket no longer exists: it was closed, perhaps a moment ago.
  kUnknown,  // The kernel does not know, or the peer is not on this machine's IPv4.
};

// `socket`: a connected TCP socket.
PeerOwner tcp_peer(int socket);
// `receiver`: the address that the datagram went to; `sender`: the one it came from.
PeerOwner udp_peer(const sockaddr_in& receiver, const sockaddr_in& sender);

// The same from the text of /proc/net/tcp, tcp6, udp or udp6, for tests. `text` is the content of one of the files.
PeerOwner tcp_peer_in(const char* text, const sockaddr_in& own, const sockaddr_in& peer);
PeerOwner udp_peer_in(const char* text, const sockaddr_in& sender);

}  // namespace freshet
