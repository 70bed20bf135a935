#include "wire/http/resolver.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <system_error>

#include "base/mutex.h"

namespace freshet {

namespace {

constexpr seconds kKept{10};
constexpr size_t kMaxLookups = 32;
constexpr size_t kMaxKnown = 1024;

void set_port(SocketAddress& address, uint16_t port) {
  if (address.storage.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = htons(port);
  }
}

// Blocks; call it on a helper thread.
Result<std::vector<SocketAddress>> look_up(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) {
    return fail(ErrorCode::kUnavailable, "cannot find the host '" + host + "': " + ::gai_strerror(error));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
  }
  ::freeaddrinfo(list);
  return addresses;
}

}  // namespace

// A look-up may outlive the resolver, because the system's resolver cannot be interrupted.
struct Resolver::Shared {
  Resolver* now() {
    const MutexLock lock(mutex);
    return resolver;
  }
  Mutex mutex;
  Resolver* resolver FRESHET_GUARDED_BY(mutex) = nullptr;  // Null once the resolver is gone.
};

Resolver::Resolver(IoThread& io) : io_(io), shared_(std::make_shared<Shared>()) {
  const MutexLock lock(shared_->mutex);
  shared_->resolver = this;
}

Resolver::~Resolver() {
  const MutexLock lock(shared_->mutex);
  shared_->resolver = nullptr;
}

void Resolver::resolve(const std::string& host, uint16_t port, Done done) {
  if (SocketAddress address; parse_socket_address(host, port, address)) return done(std::vector{address});
  if (host == "localhost") {
    std::vector<SocketAddress> both(2);
    parse_socket_address("127.0.0.1", port, both[0]);
    parse_socket_address("::1", port, both[1]);
    return done(std::move(both));
  }
  if (const auto known = known_.find(host); known != known_.end() && known->second.until > io_.now()) {
    Addresses addresses = known->second.addresses;
    for (SocketAddress& address : *addresses) set_port(address, port);
    return done(std::move(addresses));
  }
  if (const auto same = waiting_.find(host); same != waiting_.end()) {
    same->second.push_back({port, std::move(done)});
    return;
  }
  if (waiting_.size() >= kMaxLookups) {
    return done(fail(ErrorCode::kUnavailable, "cannot find the host '" + host + "': too many look-ups are under way"));
  }
  waiting_[host].push_back({port, std::move(done)});
  try {
    std::thread([host, shared = shared_] {
      Addresses addresses = look_up(host);
      const MutexLock lock(shared->mutex);
      if (shared->resolver == nullptr) return;
      shared->resolver->io_.post([host, shared, found = std::move(addresses)]() mutable {
        // The resolver is destroyed on this thread, so it cannot be destroyed meanwhile.
        if (Resolver* alive = shared->now()) alive->finish(host, std::move(found));
      });
    }).detach();
  } catch (const std::system_error& error) {
    finish(host, fail(ErrorCode::kUnavailable, "cannot find the host '" + host + "': " + error.what()));
  }
}

void Resolver::finish(const std::string& host, Addresses addresses) {
  const auto entry = waiting_.find(host);
  if (entry == waiting_.end()) return;
  std::vector<Waiting> waiting = std::move(entry->second);
  waiting_.erase(entry);
  if (known_.size() >= kMaxKnown) known_.clear();
  if (addresses) known_.insert_or_assign(host, Known{addresses, io_.now() + kKept});
  for (Waiting& one : waiting) {
    Addresses own = addresses;
    if (own) {
      for (SocketAddress& address : *own) set_port(address, one.port);
    }
    one.done(std::move(own));
  }
}

}  // namespace freshet
