#include "wire/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace freshet {

tl::unexpected<Error> HttpListener::refused() const {
  return fail(ErrorCode::kIo,
              "cannot listen on " + address_ + ":" + std::to_string(port_) + ": " + std::strerror(errno));
}

Result<HttpListener> HttpListener::bind(const std::string& address, uint16_t port) {
  HttpListener out;
  out.address_ = address;
  out.port_ = port;
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (auto* v4 = reinterpret_cast<sockaddr_in*>(&storage); ::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    size = sizeof(*v4);
  } else if (auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
             ::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    size = sizeof(*v6);
  } else {
    return fail(ErrorCode::kValidation, "cannot listen on '" + address + "': it is not an IPv4 or IPv6 address");
  }
  out.socket_ = Fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (out.socket_) ::setsockopt(out.socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (!out.socket_ || ::bind(out.socket_.get(), reinterpret_cast<sockaddr*>(&storage), size) != 0) {
    return out.refused();
  }
  size = sizeof(storage);
  if (::getsockname(out.socket_.get(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) return out.refused();
  out.port_ = ntohs(storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&storage)->sin_port
                                                 : reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port);
  return out;
}

Result<Fd> HttpListener::listen() {
  if (::listen(socket_.get(), 1024) != 0) return refused();
  return std::move(socket_);
}

}  // namespace freshet
