// One I/O thread's part of the client. Not for use outside wire/http.
#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/url.h"
#include "runtime/ports.h"
#include "wire/http/client.h"
#include "wire/http/resolver.h"

namespace freshet::http_client {

using Outcome = Result<HttpResponse>;

// A call, for the I/O thread.
struct Call {
  uint64_t id = 0;
  Url url;
  std::string bytes;  // The complete request, serialised.
  bool is_head = false;
  bool retried = false;
  BootTime deadline{};
};

// The loop's half of the client, for the I/O threads. Loop thread.
class LoopSide {
 public:
  virtual ~LoopSide() = default;
  virtual void finished(uint64_t call, Outcome outcome) = 0;
};

// I/O thread only, except the constructor.
class ClientPart final : public IoThread::Service {
 public:
  ClientPart(HttpClientOptions options, IoThread& io, Mailbox& mailbox, std::shared_ptr<LoopSide> loop);
  ~ClientPart() override;

  void begin();
  void start(std::unique_ptr<Call> call);
  void abandon(uint64_t call);  // The caller has given up: closes the call's connection.
  void end();

  void end_of_turn() override;
  BootTime next_due() const override;
  void run_due(BootTime now) override;

 private:
  class Connection;
  // A running call: its host is being looked up (no connection), or it is on a connection.
  struct Running {
    std::unique_ptr<Call> call;
    uint64_t connection = 0;
  };
  using Key = std::tuple<std::string, uint16_t, bool>;  // Host, port, TLS.
  static Key key_of(const Url& url) { return {url.host, url.port, url.tls}; }

  void connect(uint64_t id, bool fresh);
  bool is_sending(const Running& running) const;
  void connect_to(uint64_t id, Result<std::vector<SocketAddress>> addresses);
  Connection* take_idle(const Key& key);
  void keep_idle(Connection& connection);
  void forget_idle(Connection& connection);
  // Called by connections.
  void answered(Connection& connection, uint64_t id, HttpResponse response, bool reusable);
  void broken(Connection& connection, std::string why, bool may_retry);
  void finish(uint64_t id, Outcome outcome);
  void drop(Connection& connection);

  const HttpClientOptions options_;
  IoThread& io_;
  Mailbox& mailbox_;
  const std::shared_ptr<LoopSide> loop_;
  std::optional<Resolver> resolver_;
  absl::flat_hash_map<uint64_t, Running> running_;
  absl::btree_set<std::pair<BootTime, uint64_t>> deadlines_;
  uint64_t last_connection_ = 0;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Connection>> connections_;
  absl::flat_hash_map<Key, std::vector<uint64_t>> idle_;       // Connections without a call, newest last.
  absl::btree_set<std::pair<BootTime, uint64_t>> idle_since_;  // The same connections, oldest first.
  std::vector<std::pair<uint64_t, Outcome>> finished_;         // Outcomes for the loop.
  BootTime deliver_again_ = BootTime::max();
};

}  // namespace freshet::http_client
