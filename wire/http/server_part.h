// One I/O thread's part of the server: its connections, and the batches to and from the loop. Not for use outside
// wire/http.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/functional/any_invocable.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "wire/http/connection.h"
#include "wire/http/cors.h"
#include "wire/http/host_check.h"
#include "wire/http/server_internal.h"

namespace freshet::http_server {

// Constant while the server lives; shared by its parts.
struct ServerShared {
  HttpServerOptions options;
  HostCheck hosts;
  Cors cors;
  std::vector<std::unique_ptr<Route>> routes;
  const Clock& clock;
  Mailbox& mailbox;
  std::shared_ptr<Counters> counters;
};

// I/O thread only, except the constructor.
class ServerPart final : public IoThread::Service,
                         public ConnectionOwner,
                         public std::enable_shared_from_this<ServerPart> {
 public:
  using Accepted = absl::AnyInvocable<void(std::unique_ptr<Socket>)>;

  ServerPart(size_t index, IoThread& io, std::shared_ptr<const ServerShared> shared, std::shared_ptr<LoopSide> loop);
  ~ServerPart() override;

  void begin();  // Adds it to the thread's services.
  // Accepts connections from it, until it is closed.
  void listen(uint64_t listener, std::unique_ptr<Acceptor> socket, Accepted accepted);
  void close_listener(uint64_t listener);
  void adopt(std::unique_ptr<Socket> socket, uint64_t listener);  // Serves a connection.
  void answer(std::vector<Job> jobs);                             // Serialises and writes responses.
  void begin_stop();
  void end();  // Closes everything; the thread no longer uses this part.

  // Service.
  void end_of_turn() override;
  BootTime next_due() const override { return late_.empty() && unanswered_.empty() ? next_tick_ : BootTime{}; }
  void run_due(BootTime now) override;

  // ConnectionOwner.
  const HttpServerOptions& options() const override { return shared_->options; }
  IoThread& io() override { return io_; }
  bool stopping() const override { return stopping_; }
  bool charge(size_t before, size_t now) override;
  void hold(size_t before, size_t now) override;
  bool is_full() const override;
  std::string_view date() override;
  void refused(const RefusedRequest& request) override { refusals_.log(request); }
  std::unique_ptr<HttpResponse> refuse_head(HttpRequest head) const override;
  std::string_view page_of(const HttpHeaders& headers) const override { return shared_->cors.page_of(headers); }
  void submit(uint64_t connection, uint64_t request_number, HttpRequest request) override;
  void hung_up(uint64_t connection) override { outbound_.hung_up.push_back(connection); }
  void has_output(uint64_t connection) override { dirty_.push_back(connection); }
  void look_again(BootTime when) override { next_tick_ = std::min(next_tick_, when); }
  void closed(uint64_t connection) override;

 private:
  class Listener;

  // A request that waits for its turn, and counts as in work meanwhile.
  struct Late {
    uint64_t connection;
    uint64_t number;
    HttpRequest request;
    InFlight in_flight;
    bool is_admitted;
  };

  // `is_admitted`: the gate has accepted it.
  void submit_now(uint64_t connection, uint64_t request_number, HttpRequest request, bool is_admitted = false);
  void submit_late(uint64_t connection, uint64_t request_number, HttpRequest request, bool is_admitted = false);
  void run_late();
  bool respond(Job job);  // Returns true if that was a large response.
  // Each returns the refusal of a request that cannot be served, or null.
  std::unique_ptr<HttpResponse> refusal(HttpRequest& request) const;  // An absolute target becomes its path.
  Route* route_of(const HttpRequest& request) const;                  // The first that matches; null if none does.
  bool only_reads(HttpRequest request) const;                         // A GET or HEAD that changes nothing.
  std::unique_ptr<HttpResponse> page_refusal(const HttpRequest& request, std::string_view host) const;
  std::unique_ptr<HttpResponse> decompress(HttpRequest& request) const;
  std::unique_ptr<HttpResponse> overload(const HttpRequest& request) const;
  void answer_at_once(uint64_t connection, uint64_t request_number, HttpResponse response);
  // The connections, in order of arrival. A copy, because handling one connection may end it.
  std::vector<Connection*> in_order() const;
  std::string too_many_connections();
  void flush_all();
  void deliver();
  void schedule_tick();

  const size_t index_;
  IoThread& io_;
  const std::shared_ptr<const ServerShared> shared_;
  const std::shared_ptr<LoopSide> loop_;
  const nanoseconds tick_;
  std::map<uint64_t, std::unique_ptr<Listener>> listeners_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<uint64_t> dirty_;
  Inbound outbound_;                               // Requests for the loop.
  std::deque<Job> unanswered_;                     // Responses that this turn had no time for, behind large ones.
  std::deque<Late> late_;                          // In order of arrival.
  absl::flat_hash_map<uint64_t, size_t> late_of_;  // The number of them, by connection.
  uint64_t next_connection_ = 0;
  BootTime next_tick_ = BootTime::max();
  bool turn_is_long_ = false;  // True if large responses have made the turn long.
  bool stopping_ = false;
  bool drain_reported_ = false;
  int64_t date_second_ = -1;
  std::string date_;
  RefusalLog refusals_;
};

}  // namespace freshet::http_server
