#include "wire/http/listener.h"

#include <utility>

namespace freshet {

Result<HttpListener> HttpListener::bind(const std::string& address, uint16_t port, Network& network) {
  auto socket = network.bind(address, port);
  if (!socket) return fail(std::move(socket.error()));
  HttpListener out;
  out.address_ = address;
  out.socket_ = std::move(*socket);
  return out;
}

Result<std::unique_ptr<Acceptor>> HttpListener::listen() {
  if (auto listening = socket_->listen(); !listening) return fail(std::move(listening.error()));
  return std::move(socket_);
}

}  // namespace freshet
