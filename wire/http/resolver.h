// Resolves host names to socket addresses without blocking an I/O thread: addresses and "localhost" at once, other
// names on a helper thread. One look-up per name at a time; the result is kept for a short while.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/functional/any_invocable.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "wire/http/io_thread.h"

namespace freshet {

// I/O thread only, except the constructor. The destructor drops waiting look-ups.
class Resolver {
 public:
  using Done = absl::AnyInvocable<void(Result<std::vector<SocketAddress>>)>;
  explicit Resolver(IoThread& io);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  // `done` runs inside the call if the answer is known, else later on this thread. kUnavailable if there is none.
  void resolve(const std::string& host, uint16_t port, Done done);

 private:
  using Addresses = Result<std::vector<SocketAddress>>;
  struct Shared;  // Shared with the helper threads.
  struct Waiting {
    uint16_t port;
    Done done;
  };
  struct Known {
    Addresses addresses;
    BootTime until;
  };
  void finish(const std::string& host, Addresses addresses);

  IoThread& io_;
  std::shared_ptr<Shared> shared_;
  absl::flat_hash_map<std::string, std::vector<Waiting>> waiting_;
  absl::flat_hash_map<std::string, Known> known_;
};

}  // namespace freshet
