#include "bench/rivals/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace freshet::rivals {

Socket::Socket(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    close(fd_);
    throw std::runtime_error("cannot connect to 127.0.0.1:" + std::to_string(port));
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Socket::~Socket() {
  close(fd_);
}

void Socket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) throw std::runtime_error("the connection broke while sending");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

std::string Socket::read_line() {
  for (;;) {
    const auto end = buffer_.find("\r\n", position_);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(position_, end - position_);
      position_ = end + 2;
      return line;
    }
    fill();
  }
}

std::string Socket::read_bytes(size_t n) {
  while (buffer_.size() - position_ < n) fill();
  std::string bytes = buffer_.substr(position_, n);
  position_ += n;
  return bytes;
}

void Socket::fill() {
  if (position_ == buffer_.size()) {
    buffer_.clear();
    position_ = 0;
  }
  char chunk[65536];
  const ssize_t n = recv(fd_, chunk, sizeof chunk, 0);
  if (n <= 0) throw std::runtime_error("the connection broke while reading");
  buffer_.append(chunk, static_cast<size_t>(n));
}

}  // namespace freshet::rivals
