// A blocking TCP connection with a read buffer, for the line protocols of the rivals and for HTTP.
#pragma once

#include <string>
#include <string_view>

namespace freshet::rivals {

class Socket {
 public:
  explicit Socket(int port);  // 127.0.0.1, TCP_NODELAY.
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void send(std::string_view bytes);
  std::string read_line();  // Up to "\r\n", which is taken off.
  std::string read_bytes(size_t n);

 private:
  void fill();
  int fd_;
  std::string buffer_;
  size_t position_ = 0;
};

}  // namespace freshet::rivals
