#include "tests/sim/machine/sim_network.h"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace freshet::sim {

namespace {
constexpr seconds kAbsence{45};  // Longer than a server waits for a reader.
constexpr uint32_t kSlowAddress = 0x7f000002;
}  // namespace

class SimPoller final : public Poller {
 public:
  explicit SimPoller(size_t& rung) : rung_(rung) {}
  ~SimPoller() override;
  Result<void> watch(Watchable& socket, SocketHandler& handler) override;
  size_t wait(BootTime, std::span<ReadySocket> ready) override {
    size_t filled = 0;
    while (filled < ready.size() && !queue_.empty()) {
      SimNetwork::Watch* watch = queue_.front();
      queue_.pop_front();
      --rung_;
      ready[filled++] = {watch->handler, watch->readable, watch->writable, watch->hung_up};
      watch->queued = watch->readable = watch->writable = watch->hung_up = false;
    }
    return filled;
  }
  void wake() override {}
  void ring(SimNetwork::Watch& watch, bool readable, bool writable, bool hung_up) {
    watch.readable = watch.readable || readable || hung_up;
    watch.writable = watch.writable || writable;
    watch.hung_up = watch.hung_up || hung_up;
    if (std::exchange(watch.queued, true)) return;
    queue_.push_back(&watch);
    ++rung_;
  }
  void forget(SimNetwork::Watch& watch) {
    if (!watch.queued) return;
    std::erase(queue_, &watch);
    --rung_;
  }
  void joined(class SimWatchable& socket) { sockets_.insert(&socket); }
  void left(class SimWatchable& socket) { sockets_.erase(&socket); }

 private:
  size_t& rung_;
  std::set<class SimWatchable*> sockets_;  // Those that it watches.
  std::deque<SimNetwork::Watch*> queue_;
};

// The base of both kinds of socket: their place in a poller.
class SimWatchable {
 public:
  virtual ~SimWatchable() {
    if (!poller_) return;
    poller_->forget(watch_);
    poller_->left(*this);
  }
  void poller_is_gone() { poller_ = nullptr; }
  void join(SimPoller& poller, SocketHandler& handler) {
    poller_ = &poller;
    poller.joined(*this);
    watch_.handler = &handler;
    ring_first();
  }
  void ring(bool readable, bool writable, bool hung_up) {
    if (poller_) poller_->ring(watch_, readable, writable, hung_up);
  }

 protected:
  virtual void ring_first() = 0;  // Rings for all that holds already when it joins.

 private:
  SimPoller* poller_ = nullptr;
  SimNetwork::Watch watch_;
};

// A socket that nobody has closed outlives it.
SimPoller::~SimPoller() {
  rung_ -= queue_.size();
  for (SimWatchable* socket : sockets_) socket->poller_is_gone();
}

class SimSocket final : public Socket, public SimWatchable {
 public:
  SimSocket(SimNetwork& network, uint64_t link, int side) : network_(network), link_(link), side_(side) {
    end().socket = this;
  }
  ~SimSocket() override {
    SimNetwork::Link* link = network_.find(link_);
    if (link != nullptr) network_.close_end(*link, side_);
  }
  int descriptor() const override { return -1; }

  ssize_t receive(char* place, size_t room) override {
    SimNetwork::End& in = end();
    if (in.reset) return fail_with(ECONNRESET);
    if (in.arrived.empty()) return in.ended ? 0 : fail_with(EAGAIN);
    const size_t size = std::min(room, in.arrived.size());
    std::memcpy(place, in.arrived.data(), size);
    in.arrived.erase(0, size);
    if (in.sender_blocked && in.arrived.size() + in.in_flight < in.window / 2) {
      in.sender_blocked = false;
      if (SimSocket* sender = other().socket) sender->ring(false, true, false);
    }
    return static_cast<ssize_t>(size);
  }

  ssize_t send(const iovec* parts, size_t count) override {
    SimNetwork::Link& link = this->link();
    if (end().reset || fault_ != 0) return fail_with(EPIPE);
    if (!link.established) return fail_with(EAGAIN);
    SimNetwork::End& out = other();
    size_t room = out.window - std::min(out.window, out.arrived.size() + out.in_flight);
    std::string bytes;
    for (size_t i = 0; i < count && room > 0; ++i) {
      const size_t size = std::min(room, parts[i].iov_len);
      bytes.append(static_cast<const char*>(parts[i].iov_base), size);
      room -= size;
    }
    if (bytes.empty()) {
      out.sender_blocked = true;
      return fail_with(EAGAIN);
    }
    const auto size = static_cast<ssize_t>(bytes.size());
    network_.send(link, side_, std::move(bytes));
    return size;
  }

  bool is_quiet() override { return !end().reset && !end().ended && end().arrived.empty() && fault_ == 0; }
  int fault() override {
    if (fault_ != 0) return fault_;
    return end().reset ? ECONNRESET : 0;
  }
  void end_sending() override { network_.end_stream(link(), side_); }
  bool is_own_user() override { return true; }

  void refused(int fault) {
    fault_ = fault;
    ring(true, true, true);
  }

 private:
  static ssize_t fail_with(int error) {
    errno = error;
    return -1;
  }
  void ring_first() override {
    const SimNetwork::End& in = end();
    const bool over = in.reset || in.ended || fault_ != 0;
    if (!in.arrived.empty() || over || link().established) ring(!in.arrived.empty(), link().established, over);
  }
  SimNetwork::Link& link() { return *network_.find(link_); }
  SimNetwork::End& end() { return link().ends[side_]; }
  SimNetwork::End& other() { return link().ends[1 - side_]; }

  SimNetwork& network_;
  const uint64_t link_;
  const int side_;
  int fault_ = 0;
};

class SimAcceptor final : public Acceptor, public SimWatchable {
 public:
  SimAcceptor(SimNetwork& network, uint16_t port) : network_(network), port_(port) { network_.bound_.insert(port); }
  ~SimAcceptor() override {
    const auto found = network_.listening_.find(port_);
    if (found != network_.listening_.end() && found->second == this) network_.listening_.erase(found);
    network_.bound_.erase(port_);
    for (const uint64_t waiting : waiting_) {
      if (SimNetwork::Link* link = network_.find(waiting)) network_.refuse_waiting(*link);
    }
  }
  int descriptor() const override { return -1; }
  uint16_t port() const override { return port_; }
  Result<void> listen() override {
    if (!network_.listening_.emplace(port_, this).second) {
      return fail(ErrorCode::kIo, "cannot listen on port " + std::to_string(port_) + ": Address already in use");
    }
    return {};
  }
  std::unique_ptr<Socket> accept() override {
    while (!waiting_.empty()) {
      const uint64_t id = waiting_.front();
      waiting_.pop_front();
      if (network_.find(id) != nullptr) return std::make_unique<SimSocket>(network_, id, 1);
    }
    errno = EAGAIN;
    return nullptr;
  }
  void offer(uint64_t link) {
    waiting_.push_back(link);
    ring(true, false, false);
  }

 private:
  void ring_first() override {
    if (!waiting_.empty()) ring(true, false, false);
  }

  SimNetwork& network_;
  const uint16_t port_;
  std::deque<uint64_t> waiting_;
};

Result<void> SimPoller::watch(Watchable& socket, SocketHandler& handler) {
  dynamic_cast<SimWatchable&>(socket).join(*this, handler);
  return {};
}

SimNetwork::SimNetwork(const Clock& clock, uint64_t seed)
    : clock_(clock), random_(seed), slow_random_(seed ^ 0xa0761d6478bd642full) {}
SimNetwork::~SimNetwork() = default;

Result<std::unique_ptr<Acceptor>> SimNetwork::bind(const std::string& address, uint16_t port) {
  if (SocketAddress ignored; !parse_socket_address(address, port, ignored)) {
    return fail(ErrorCode::kValidation, "cannot listen on '" + address + "': it is not an IPv4 or IPv6 address");
  }
  if (listening_.contains(port)) {
    return fail(ErrorCode::kIo,
                "cannot listen on " + address + ":" + std::to_string(port) + ": Address already in use");
  }
  while (port == 0) {
    if (!bound_.contains(++next_port_)) port = next_port_;
    if (next_port_ == 60'000) next_port_ = 40'000;
  }
  return std::make_unique<SimAcceptor>(*this, port);
}

namespace {
bool is_slow(const SocketAddress& address) {
  return address.storage.ss_family == AF_INET &&
         ntohl(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr.s_addr) == kSlowAddress;
}
}  // namespace

std::unique_ptr<Socket> SimNetwork::connect(const SocketAddress& address) {
  return connect_from(0, address);
}

std::unique_ptr<Socket> SimNetwork::connect_from(uint64_t machine, const SocketAddress& address) {
  const uint16_t port =
      ntohs(address.storage.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port
                                                 : reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
  const uint64_t id = ++last_link_;
  auto link = std::make_unique<Link>();
  link->id = id;
  link->machine = machine;
  link->port = port;
  if (is_slow(address)) make_slow(link->ends[0]);
  links_.emplace(id, std::move(link));
  auto socket = std::make_unique<SimSocket>(*this, id, 0);
  at(clock_.boot() + delay(), [this, id, port] { try_connect(id, port); });
  return socket;
}

void SimNetwork::try_connect(uint64_t id, uint16_t port) {
  Link* link = find(id);
  if (link == nullptr) return;
  SimSocket* socket = link->ends[0].socket;
  if (socket == nullptr) return forget(id);  // Closed meanwhile.
  const auto found = listening_.find(port);
  if (found == listening_.end() || random_.below(1000) < refused_per_thousand_) return socket->refused(ECONNREFUSED);
  link->established = true;
  found->second->offer(id);
  socket->ring(false, true, false);
}

Result<std::unique_ptr<Poller>> SimNetwork::make_poller(const Clock&) {
  return make_poller(rung_);
}

std::unique_ptr<Poller> SimNetwork::make_poller(size_t& rung) {
  return std::make_unique<SimPoller>(rung);
}

void SimNetwork::run_due() {
  while (!events_.empty() && events_.begin()->first.first <= clock_.boot()) {
    const auto event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    event();
  }
}

void SimNetwork::set_delay(nanoseconds least, nanoseconds most) {
  least_ = least;
  most_ = std::max(least, most);
}

nanoseconds SimNetwork::delay() {
  return least_ + nanoseconds(static_cast<int64_t>(random_.below(static_cast<uint64_t>((most_ - least_).count()) + 1)));
}

BootTime SimNetwork::arrival(End& to) {
  to.last_arrival = std::max(to.last_arrival, clock_.boot() + delay());
  return to.last_arrival;
}

void SimNetwork::make_slow(End& end) {
  end.window = 512u << slow_random_.below(6);
  end.piece = 1 + end.window / (1 + slow_random_.below(8));
  end.rest = milliseconds(1 + static_cast<int64_t>(slow_random_.below(60)));
}

nanoseconds SimNetwork::draw_rest(const End& end) {
  if (end.rest == nanoseconds(0)) return end.rest;
  if (slow_random_.below(1'500) == 0) return kAbsence;
  const nanoseconds most = slow_random_.below(200) == 0 ? nanoseconds(seconds(3)) : end.rest;
  return nanoseconds(static_cast<int64_t>(slow_random_.below(static_cast<uint64_t>(most.count()))));
}

void SimNetwork::send(Link& link, int from, std::string bytes) {
  if (lost_ && from == 0 && lost_(bytes)) return;
  const int to = 1 - from;
  End& end = link.ends[to];
  bytes_ += bytes.size();
  end.in_flight += bytes.size();
  for (size_t sent = 0; sent < bytes.size(); sent += end.piece) {
    end.last_arrival = arrival(end) + draw_rest(end);
    at(end.last_arrival, [this, id = link.id, to, piece = bytes.substr(sent, end.piece)] { arrive(id, to, piece); });
  }
}

void SimNetwork::arrive(uint64_t link, int to, const std::string& bytes) {
  Link* found = find(link);
  if (found == nullptr || found->frozen) return;
  End& end = found->ends[to];
  end.in_flight -= bytes.size();
  if (end.reset) return;
  if (end.closed) return reset(*found, to);  // Nobody is there: the sender learns it.
  end.arrived += bytes;
  if (end.socket) end.socket->ring(true, false, false);
}

void SimNetwork::end_stream(Link& link, int from) {
  const int to = 1 - from;
  at(arrival(link.ends[to]), [this, id = link.id, to] {
    Link* found = find(id);
    if (found == nullptr || found->frozen) return;
    found->ends[to].ended = true;
    if (found->ends[to].socket) found->ends[to].socket->ring(true, false, true);
  });
}

// `from` tells its peer that the connection is broken.
void SimNetwork::reset(Link& link, int from) {
  const int to = 1 - from;
  at(arrival(link.ends[to]), [this, id = link.id, to] {
    Link* found = find(id);
    if (found != nullptr && !found->frozen) arrive_reset(*found, to);
  });
}

void SimNetwork::arrive_reset(Link& link, int at_end) {
  End& end = link.ends[at_end];
  end.reset = true;
  end.arrived.clear();
  if (end.socket) end.socket->ring(true, true, true);
}

void SimNetwork::close_end(Link& link, int side) {
  End& own = link.ends[side];
  own.socket = nullptr;
  own.closed = true;
  if (own.vanished && !link.ends[1 - side].closed) return;
  if (link.ends[1 - side].closed || (!link.established && side == 0)) return forget(link.id);
  // As the kernel does it: what was not read is answered with a reset.
  if (!own.arrived.empty()) return reset(link, side);
  end_stream(link, side);
}

// As the kernel does it with what nobody has accepted.
void SimNetwork::refuse_waiting(Link& link) {
  reset(link, 1);
  link.ends[1].closed = true;
  if (link.ends[0].closed) forget(link.id);
}

void SimNetwork::forget(uint64_t link) {
  links_.erase(link);
}

SimNetwork::Link* SimNetwork::find(uint64_t id) {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second.get();
}

size_t SimNetwork::hit_some(uint64_t per_thousand, const std::function<void(Link&)>& what) {
  size_t hit = 0;
  for (auto& [id, link] : links_) {
    if (!link->established || random_.below(1000) >= per_thousand) continue;
    what(*link);
    ++hit;
  }
  return hit;
}

std::string SimNetwork::describe_connections() const {
  std::string text;
  for (const auto& [id, link] : links_) {
    text += "  connection " + std::to_string(id) + " to port " + std::to_string(link->port);
    if (!link->established) text += ", not established";
    if (link->frozen) text += ", frozen";
    for (const End& end : link->ends) {
      text += &end == link->ends ? "; its client" : "; its server";
      text += end.closed ? " has closed it" : end.socket ? " has it open" : " has not accepted it";
      if (end.ended) text += ", knows that the peer has closed it";
      if (end.reset) text += ", knows that it is broken";
      if (!end.arrived.empty()) text += ", has " + std::to_string(end.arrived.size()) + " bytes to read";
    }
    text += "\n";
  }
  return text;
}

size_t SimNetwork::cut_some(uint64_t per_thousand) {
  return hit_some(per_thousand, [this](Link& link) {
    arrive_reset(link, 0);
    arrive_reset(link, 1);
  });
}

size_t SimNetwork::freeze_some(uint64_t per_thousand) {
  return hit_some(per_thousand, [](Link& link) { link.frozen = true; });
}

size_t SimNetwork::freeze_between(uint64_t machine, uint16_t port) {
  size_t hit = 0;
  for (auto& [id, link] : links_) {
    if (link->machine != machine || link->port != port) continue;
    link->frozen = true;
    ++hit;
  }
  return hit;
}

void SimNetwork::vanish(uint64_t machine, uint16_t port) {
  for (auto& [id, link] : links_) {
    for (int side = 0; side < 2; ++side) {
      End& own = link->ends[side];
      const bool is_its = side == 0 ? link->machine == machine : link->port == port;
      if (!is_its || !own.socket || !link->established || std::exchange(own.vanished, true)) continue;
      if (own.arrived.empty()) {
        end_stream(*link, side);
      } else {
        reset(*link, side);
      }
    }
  }
}

}  // namespace freshet::sim
