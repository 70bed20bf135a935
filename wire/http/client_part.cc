#include "wire/http/client_part.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace freshet::http_client {

namespace {
constexpr milliseconds kRedeliver{1};

std::string place_of(const Url& url) {
  return (url.tls ? "https://" : "http://") + url.host_header;
}
}  // namespace

// One connection: connecting, carrying a call, or idle.
class ClientPart::Connection final : public IoThread::Handler {
 public:
  Connection(ClientPart& owner, uint64_t id, Key key) : owner_(owner), id_(id), key_(std::move(key)) {}

  uint64_t id() const { return id_; }
  const Key& key() const { return key_; }
  uint64_t call() const { return call_ == nullptr ? 0 : call_->id; }
  // True if bytes of the call's request have been sent.
  bool is_sending() const { return sent_ > 0; }
  BootTime idle_since{};

  // Tries the addresses in order. `call` outlives its time here.
  void connect(const Call& call, std::vector<SocketAddress> addresses) {
    call_ = &call;
    addresses_ = std::move(addresses);
    parser_.emplace(owner_.options_.limits, call.is_head);
    connect_next(ETIMEDOUT);
  }

  // Carries another call. Returns false if the peer has closed meanwhile.
  bool reuse(const Call& call) {
    if (!is_quiet()) return false;
    call_ = &call;
    reused_ = true;
    sent_ = 0;
    received_ = false;
    can_write_ = true;
    parser_.emplace(owner_.options_.limits, call.is_head);
    write();
    return true;
  }

  void on_ready(bool readable, bool writable, bool) override {
    if (!socket_) return;
    if (connecting_) {
      if (!writable && !readable) return;
      const int error = socket_->fault();
      if (error != 0) return connect_next(error);
      if (!writable) return;
      connecting_ = false;
      if (call_->url.tls && !begin_tls()) return;
    }
    if (call_ == nullptr) {
      if (readable && !is_quiet()) owner_.drop(*this);
      return;
    }
    if (tls_) return go_on_with_tls();
    can_write_ = can_write_ || writable;
    write();
    if (readable && carries()) read();
  }

  void close() {
    if (tls_) tls_->end();
    tls_.reset();
    socket_.reset();
  }

 private:
  bool carries() const { return socket_ && call_ != nullptr; }

  // True if the peer has neither closed nor sent unrequested bytes. Records of TLS itself are read on the way.
  bool is_quiet() {
    if (!tls_) return socket_->is_quiet();
    char byte = 0;
    return tls_->receive(&byte, 1) < 0 && errno == EAGAIN;
  }

  bool begin_tls() {
    owner_.io_.want_back();  // The handshake takes long.
    tls_ = owner_.options_.trust->connect(socket_->descriptor(), call_->url.host);
    if (!tls_) owner_.broken(*this, "cannot begin TLS with a host of that name", false);
    return tls_ != nullptr;
  }

  // Reading and writing may each have waited for bytes that the other one has taken from the socket.
  void go_on_with_tls() {
    for (int i = 0; i < 2 && carries(); ++i) {
      can_write_ = true;
      write();
      if (i == 0 && carries()) read();
    }
  }

  std::string fault_of(const char* what, int error) const {
    const std::string fault = tls_ ? tls_->fault() : std::string();
    return fault.empty() ? std::string(what) + std::strerror(error) : fault;
  }

  void connect_next(int error) {
    connecting_ = true;
    while (next_address_ < addresses_.size()) {
      const SocketAddress& address = addresses_[next_address_++];
      socket_ = owner_.io_.network().connect(address);
      if (!socket_) {
        error = errno;
        continue;
      }
      if (auto watched = owner_.io_.watch(*socket_, *this); !watched) {
        owner_.broken(*this, watched.error().message, false);
      }
      return;  // The first readiness event gives the result, even if the socket is connected already.
    }
    owner_.broken(*this, std::string("cannot connect: ") + std::strerror(error), false);
  }

  bool may_retry() const { return reused_ && !received_ && sent_ < call_->bytes.size(); }

  void write() {
    while (can_write_ && sent_ < call_->bytes.size()) {
      const ssize_t n = send_some();
      if (n >= 0) {
        sent_ += static_cast<size_t>(n);
      } else if (errno == EAGAIN) {
        can_write_ = false;
      } else {
        // A response may have arrived nevertheless: a server that refuses a body closes before it has read everything.
        const int error = errno;
        const std::string why = fault_of("cannot send: ", error);
        read();
        if (carries()) owner_.broken(*this, why, may_retry());
        return;
      }
    }
  }

  ssize_t send_some() {
    const char* bytes = call_->bytes.data() + sent_;
    const size_t left = call_->bytes.size() - sent_;
    const iovec part{const_cast<char*>(bytes), left};
    return tls_ ? tls_->send(&part, 1) : socket_->send(&part, 1);
  }

  void read() {
    char* const place = owner_.io_.scratch();
    while (true) {
      const ssize_t n =
          tls_ ? tls_->receive(place, IoThread::kScratchBytes) : socket_->receive(place, IoThread::kScratchBytes);
      if (n < 0 && errno == EAGAIN) return;
      if (n < 0) return owner_.broken(*this, fault_of("cannot receive: ", errno), may_retry());
      if (n == 0) {
        parser_->end_of_stream();
        if (parser_->state() == ParseState::kComplete) return answered(false);
        return owner_.broken(*this, parser_->failure().reason, may_retry());
      }
      received_ = true;
      if (!take_in({place, static_cast<size_t>(n)})) return;
    }
  }

  // Returns false when the call is over.
  bool take_in(std::string_view in) {
    const bool buffered = !unread_.empty();
    if (buffered) unread_.append(in);
    const std::string_view all = buffered ? std::string_view(unread_) : in;
    const size_t taken = parser_->feed(all);
    if (parser_->state() == ParseState::kFailed) {
      owner_.broken(*this, "not a usable answer: " + parser_->failure().reason, false);
      return false;
    }
    if (parser_->state() == ParseState::kComplete) {
      const bool clean = taken == all.size() && sent_ == call_->bytes.size() && parser_->keep_alive();
      answered(clean);
      return false;
    }
    std::string rest(all.substr(taken));
    unread_ = std::move(rest);
    return true;
  }

  void answered(bool reusable) {
    const uint64_t call = std::exchange(call_, nullptr)->id;
    unread_.clear();
    owner_.answered(*this, call, parser_->take(), reusable);
  }

  ClientPart& owner_;
  const uint64_t id_;
  const Key key_;
  std::unique_ptr<Socket> socket_;
  std::unique_ptr<TlsStream> tls_;  // The socket's, once it is connected; null without TLS.
  std::vector<SocketAddress> addresses_;
  size_t next_address_ = 0;
  const Call* call_ = nullptr;  // Owned by the part's running_.
  std::optional<ResponseParser> parser_;
  std::string unread_;
  size_t sent_ = 0;
  bool connecting_ = false;
  bool can_write_ = true;
  bool received_ = false;
  bool reused_ = false;
};

ClientPart::ClientPart(HttpClientOptions options, IoThread& io, Mailbox& mailbox, std::shared_ptr<LoopSide> loop)
    : options_(options), io_(io), mailbox_(mailbox), loop_(std::move(loop)) {}
ClientPart::~ClientPart() = default;

void ClientPart::begin() {
  resolver_.emplace(io_);
  io_.add(*this);
}

void ClientPart::start(std::unique_ptr<Call> call) {
  const uint64_t id = call->id;
  deadlines_.emplace(call->deadline, id);
  running_.emplace(id, Running{std::move(call)});
  connect(id, false);
}

void ClientPart::connect(uint64_t id, bool fresh) {
  Running& running = running_.at(id);
  const Call& call = *running.call;
  while (!fresh) {
    Connection* idle = take_idle(key_of(call.url));
    if (idle == nullptr) break;
    running.connection = idle->id();
    if (idle->reuse(call)) return;
    drop(*idle);
    running.connection = 0;
  }
  resolver_->resolve(call.url.host, call.url.port, [this, id](Result<std::vector<SocketAddress>> addresses) {
    connect_to(id, std::move(addresses));
  });
}

void ClientPart::connect_to(uint64_t id, Result<std::vector<SocketAddress>> addresses) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;  // Timed out or abandoned meanwhile.
  if (!addresses) return finish(id, never_sent(addresses.error().code, addresses.error().message));
  const Call& call = *found->second.call;
  const uint64_t connection_id = ++last_connection_;
  auto connection = std::make_unique<Connection>(*this, connection_id, key_of(call.url));
  Connection& fresh = *connections_.emplace(connection_id, std::move(connection)).first->second;
  found->second.connection = connection_id;
  fresh.connect(call, std::move(*addresses));
}

void ClientPart::answered(Connection& connection, uint64_t id, HttpResponse response, bool reusable) {
  if (reusable) {
    keep_idle(connection);
  } else {
    drop(connection);
  }
  finish(id, std::move(response));
}

void ClientPart::broken(Connection& connection, std::string why, bool may_retry) {
  const uint64_t id = connection.call();
  const auto found = running_.find(id);
  const bool sent = connection.is_sending();
  drop(connection);
  if (found == running_.end()) return;
  Call& call = *found->second.call;
  found->second.connection = 0;
  if (may_retry && !call.retried) {
    call.retried = true;
    return connect(id, true);
  }
  std::string message = place_of(call.url) + ": " + why;
  finish(id, sent ? fail(ErrorCode::kUnavailable, std::move(message))
                  : never_sent(ErrorCode::kUnavailable, std::move(message)));
}

void ClientPart::finish(uint64_t id, Outcome outcome) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  deadlines_.erase({found->second.call->deadline, id});
  running_.erase(found);
  finished_.emplace_back(id, std::move(outcome));
}

void ClientPart::abandon(uint64_t id) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  if (const auto connection = connections_.find(found->second.connection); connection != connections_.end()) {
    drop(*connection->second);
  }
  deadlines_.erase({found->second.call->deadline, id});
  running_.erase(found);
}

bool ClientPart::is_sending(const Running& running) const {
  const auto connection = connections_.find(running.connection);
  return connection != connections_.end() && connection->second->is_sending();
}

ClientPart::Connection* ClientPart::take_idle(const Key& key) {
  const auto found = idle_.find(key);
  if (found == idle_.end()) return nullptr;
  Connection& connection = *connections_.at(found->second.back());
  forget_idle(connection);
  return &connection;
}

void ClientPart::keep_idle(Connection& connection) {
  connection.idle_since = io_.now();
  idle_[connection.key()].push_back(connection.id());
  idle_since_.emplace(connection.idle_since, connection.id());
  if (idle_since_.size() > options_.max_idle) drop(*connections_.at(idle_since_.begin()->second));
}

void ClientPart::forget_idle(Connection& connection) {
  if (idle_since_.erase({connection.idle_since, connection.id()}) == 0) return;
  const auto found = idle_.find(connection.key());
  std::erase(found->second, connection.id());
  if (found->second.empty()) idle_.erase(found);
}

void ClientPart::drop(Connection& connection) {
  forget_idle(connection);
  connection.close();
  const auto found = connections_.find(connection.id());
  if (found == connections_.end()) return;
  io_.retire(std::move(found->second));
  connections_.erase(found);
}

void ClientPart::end_of_turn() {
  if (finished_.empty() || deliver_again_ != BootTime::max()) return;
  auto batch = std::make_shared<std::vector<std::pair<uint64_t, Outcome>>>(std::exchange(finished_, {}));
  const bool taken = mailbox_.deliver([loop = loop_, batch] {
    for (auto& [id, outcome] : *batch) loop->finished(id, std::move(outcome));
  });
  if (taken) return;
  finished_ = std::move(*batch);
  deliver_again_ = io_.now() + kRedeliver;
}

BootTime ClientPart::next_due() const {
  BootTime due = deliver_again_;
  if (!deadlines_.empty()) due = std::min(due, deadlines_.begin()->first);
  if (!idle_since_.empty()) due = std::min(due, idle_since_.begin()->first + options_.idle_timeout);
  return due;
}

void ClientPart::run_due(BootTime now) {
  if (deliver_again_ <= now) deliver_again_ = BootTime::max();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const uint64_t id = deadlines_.begin()->second;
    const Running& running = running_.at(id);
    const std::string where = place_of(running.call->url);
    const bool sent = is_sending(running);
    abandon(id);
    finished_.emplace_back(id, sent ? fail(ErrorCode::kTimeout, where + ": no answer in time")
                                    : never_sent(ErrorCode::kTimeout, where + ": no connection in time"));
  }
  while (!idle_since_.empty() && idle_since_.begin()->first + options_.idle_timeout <= now) {
    drop(*connections_.at(idle_since_.begin()->second));
  }
}

void ClientPart::end() {
  while (!connections_.empty()) drop(*connections_.begin()->second);
  running_.clear();
  deadlines_.clear();
  finished_.clear();
  resolver_.reset();
  io_.remove(*this);
}

}  // namespace freshet::http_client
