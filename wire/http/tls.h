// TLS below a connection of the server or the client, with OpenSSL. Both calls behave as recv() and send() of a socket
// that does not block, so that a connection is written once for both kinds.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"

namespace freshet {

class TlsStream;

// The server's certificate and key. Immutable; any thread.
class TlsContext {
 public:
  // PEM files: the certificate with its chain, and its private key. kValidation if they cannot be read, or do not
  // belong together. TLS 1.2 and later, with ECDHE and AEAD ciphers only.
  static Result<std::shared_ptr<const TlsContext>> make(const std::string& certificate, const std::string& key);
  virtual ~TlsContext() = default;
  // The server's end of an accepted connection. The socket stays the caller's, and must stay open longer.
  virtual std::unique_ptr<TlsStream> accept(int socket) const = 0;
};

// The certificates that the client trusts. Immutable; any thread.
class TlsTrust {
 public:
  // The system's CA store and, unless it is empty, the certificates of that PEM file, which are trusted like the
  // system's. kValidation if the file cannot be read. TLS 1.2 and later, with ECDHE and AEAD ciphers only.
  static Result<std::shared_ptr<const TlsTrust>> make(const std::string& ca_file);
  virtual ~TlsTrust() = default;
  // The client's end of a socket that is connected to `host` (a name, or an address without brackets), whose
  // certificate must be valid, trusted and issued for it. The socket stays the caller's, and must stay open longer.
  virtual std::unique_ptr<TlsStream> connect(int socket, const std::string& host) const = 0;
};

// I/O thread of its connection only.
class TlsStream {
 public:
  virtual ~TlsStream() = default;
  // Returns the number of bytes; 0 at the end; -1 with EAGAIN in errno if there are none now, with another error if the
  // connection is broken. There may be more even if fewer than `room` came. Does the handshake first.
  virtual ssize_t receive(char* place, size_t room) = 0;
  // Returns the number of bytes taken, -1 as above. A server may call it only after something was received; a client's
  // does the handshake first, for which the socket may have to become readable. Pass bytes that were not taken again,
  // at the same position of the stream, perhaps with more behind them.
  virtual ssize_t send(const iovec* parts, size_t count) = 0;
  // True if reading can continue only when the socket is writable.
  virtual bool read_waits_for_write() const = 0;
  virtual bool handshaking() const = 0;   // True until the peer has proven that it speaks TLS.
  virtual void end() = 0;                 // Tells the peer that no more data follows, as far as that is possible at
                                          // once.
  virtual std::string fault() const = 0;  // The reason, for people, if TLS itself broke the connection; else "".
};

}  // namespace freshet
