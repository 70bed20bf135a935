// An address of ours, before and while connections are accepted on it. Bound and not listening yet, it refuses
// connections and keeps others from listening there only in so far as it finds them listening.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "wire/http/io_thread.h"

namespace freshet {

class HttpListener {
 public:
  HttpListener() = default;

  // An IPv4 or IPv6 literal; port 0 picks a free one. kValidation if it is no literal, kIo with the address if it is
  // not to be had.
  static Result<HttpListener> bind(const std::string& address, uint16_t port);

  const std::string& address() const { return address_; }
  uint16_t port() const { return port_; }

  // Accepts connections from now on; the socket is the caller's. kIo as above. Once.
  Result<Fd> listen();

 private:
  tl::unexpected<Error> refused() const;  // With the reason in errno.

  std::string address_;
  uint16_t port_ = 0;
  Fd socket_;
};

}  // namespace freshet
