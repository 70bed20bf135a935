// A bound local address that does not listen yet: it refuses connections, and others may still listen there. Move it to
// its server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/http/sockets.h"

namespace freshet {

class HttpListener {
 public:
  HttpListener() = default;

  // Errors as Network::bind(). The network outlives it.
  static Result<HttpListener> bind(const std::string& address, uint16_t port, Network& network = system_network());

  const std::string& address() const { return address_; }
  uint16_t port() const { return socket_->port(); }

  // Accepts connections from now on; the socket is the caller's. kIo with the address if it is not available. Call it
  // once.
  Result<std::unique_ptr<Acceptor>> listen();

 private:
  std::string address_;
  std::unique_ptr<Acceptor> socket_;
};

}  // namespace freshet
