#include "wire/http/server.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <sys/resource.h>

#include <algorithm>
#include <deque>
#include <variant>

#include "base/points.h"
#include "wire/http/server_part.h"

namespace freshet {

namespace http_server {

namespace {

// The answer of every exchange once the store has failed for good.
class FailedExchange final : public Exchange {
 public:
  FailedExchange(ApiKind api, std::string why) : api_(api), why_(std::move(why)) {}
  Async<void> run() override { return {}; }
  HttpResponse respond() override { return refusal(api_, 500, why_); }

 private:
  const ApiKind api_;
  const std::string why_;
};

}  // namespace

// Runs exchanges. Work in the mailbox keeps it alive; after close() it has no effect any more.
class Runner final : public LoopSide, public std::enable_shared_from_this<Runner> {
 public:
  Runner(Scheduler& scheduler, DurableFunction durable, nanoseconds slice)
      : scheduler_(scheduler), durable_(std::move(durable)), slice_(slice) {}

  void set_parts(std::vector<std::pair<IoThread*, std::shared_ptr<ServerPart>>> parts) { parts_ = std::move(parts); }

  void receive(Inbound inbound) override {
    if (closed_) return;
    drop(inbound.hung_up);
    const bool busy = !arrivals_.empty();  // If so, the rest has its turn already.
    for (Job& job : inbound.jobs) arrivals_.emplace_back(std::move(job));
    for (const uint64_t connection : inbound.hung_up) arrivals_.emplace_back(HungUp{connection});
    if (inbound.drained) arrivals_.emplace_back(Drained{});
    if (!busy) run_arrivals();
  }

  // Loop thread. Resolves when every part has closed its last connection, or at `until` with false.
  Async<bool> drained(BootTime until) {
    if (drained_ == parts_.size()) co_return true;
    all_drained_.emplace(scheduler_);
    const Promise<bool> promise = *all_drained_;
    const TimerId timer = scheduler_.call_at(until, [promise] { promise.set(false); });
    const bool clean = co_await promise.future();
    scheduler_.cancel(timer);
    co_return clean;
  }

  void close() {
    closed_ = true;
    arrivals_.clear();
    running_.clear();
    releases_.clear();
    finished_.clear();
    parts_.clear();
  }

 private:
  // A connection's exchange that waits for something, and the requests that came after it.
  struct Running {
    explicit Running(Job j) : job(std::move(j)) {}
    Job job;
    std::deque<Job> next;
    Scope scope;  // The last member, so that it is destroyed before the exchange that it works on.
  };

  struct HungUp {
    uint64_t connection;
  };
  struct Drained {};

  // Large requests may arrive in dozens: after a while the rest waits for the next turn, so that the first ones get
  // their sync and their responses meanwhile.
  void run_arrivals() {
    const BootTime until = scheduler_.clock().boot() + slice_;
    while (!arrivals_.empty()) {
      auto next = std::move(arrivals_.front());
      arrivals_.pop_front();
      std::visit([this](auto& arrival) { arrived(std::move(arrival)); }, next);
      const bool used_up = scheduler_.clock().boot() >= until || FRESHET_OFTEN("the slice of requests is used up");
      if (arrivals_.empty() || !used_up) continue;
      scheduler_.call_at(std::min(until, scheduler_.clock().boot()),
                         [self = shared_from_this()] { self->run_arrivals(); });
      break;
    }
    release();
  }
  // Drops requests of disconnected clients that have not begun.
  void drop(const std::vector<uint64_t>& hung_up) {
    if (hung_up.empty() || arrivals_.empty()) return;
    const absl::flat_hash_set<uint64_t> gone(hung_up.begin(), hung_up.end());
    auto before = std::exchange(arrivals_, {});
    for (auto& arrival : before) {
      const Job* job = std::get_if<Job>(&arrival);
      if (!job || !gone.contains(job->connection)) arrivals_.push_back(std::move(arrival));
    }
  }
  void arrived(Job job) { begin(std::move(job)); }
  void arrived(HungUp who) {
    const auto found = running_.find(who.connection);
    if (found == running_.end()) return;
    if (FRESHET_PLANTED("request-of-nobody-kept")) static_cast<void>(found->second.release());
    running_.erase(found);
  }
  void arrived(Drained) {
    if (++drained_ == parts_.size() && all_drained_) all_drained_->set(true);
  }

  void begin(Job job) {
    if (const auto found = running_.find(job.connection); found != running_.end()) {
      found->second->next.push_back(std::move(job));
      return;
    }
    Async<void> work = job.exchange->run();
    if (work.is_ready()) {
      finished_.push_back(std::move(job));
      return;
    }
    auto running = std::make_unique<Running>(std::move(job));
    Running& entry = *running;
    running_.emplace(entry.job.connection, std::move(running));
    entry.scope.spawn(finish(entry.job.connection, std::move(work)));
  }

  Async<void> finish(uint64_t connection, Async<void> work) {
    co_await work;
    // The entry owns this coroutine, so other work has to destroy it.
    scheduler_.post([self = shared_from_this(), connection] {
      const bool busy = !self->arrivals_.empty();
      self->finished(connection);
      busy ? self->release() : self->run_arrivals();
    });
  }

  void finished(uint64_t connection) {
    const auto found = running_.find(connection);
    if (found == running_.end()) return;  // Hung up meanwhile.
    const std::unique_ptr<Running> entry = std::move(found->second);
    running_.erase(found);
    finished_.push_back(std::move(entry->job));
    // Requests that waited for it came before all that wait for their turn.
    for (; !entry->next.empty(); entry->next.pop_back()) arrivals_.emplace_front(std::move(entry->next.back()));
  }

  // Everything that has run is answered as soon as its observations are durable: one wait for all requests of a turn.
  void release() {
    if (finished_.empty()) return;
    std::vector<Job> jobs = std::exchange(finished_, {});
    Async<Result<void>> durable =
        FRESHET_PLANTED("answer-before-durable") ? Async<Result<void>>(Result<void>()) : durable_();
    if (durable.is_ready()) {
      hand_over(std::move(jobs), durable.take());
    } else {
      releases_.spawn(release_later(std::move(jobs), std::move(durable)));
    }
  }

  Async<void> release_later(std::vector<Job> jobs, Async<Result<void>> durable) {
    const Result<void> outcome = co_await durable;
    hand_over(std::move(jobs), outcome);
  }

  void hand_over(std::vector<Job> jobs, const Result<void>& durable) {
    if (!durable) {
      for (Job& job : jobs) job.exchange = std::make_unique<FailedExchange>(job.api, durable.error().message);
    }
    if (parts_.size() == 1) return post(0, std::move(jobs));
    std::vector<std::vector<Job>> by_thread(parts_.size());
    for (Job& job : jobs) by_thread[job.thread].push_back(std::move(job));
    for (size_t i = 0; i < by_thread.size(); ++i) {
      if (!by_thread[i].empty()) post(i, std::move(by_thread[i]));
    }
  }

  void post(size_t thread, std::vector<Job> jobs) {
    const auto& [io, part] = parts_[thread];
    io->post([keep = part, batch = std::move(jobs)]() mutable { keep->answer(std::move(batch)); });
  }

  Scheduler& scheduler_;
  const DurableFunction durable_;
  const nanoseconds slice_;
  std::vector<std::pair<IoThread*, std::shared_ptr<ServerPart>>> parts_;
  std::deque<std::variant<Job, HungUp, Drained>> arrivals_;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Running>> running_;  // By connection.
  std::vector<Job> finished_;
  Scope releases_;
  size_t drained_ = 0;
  std::optional<Promise<bool>> all_drained_;
  bool closed_ = false;
};

namespace {

// The most connections that the process may have, beside the files that it needs otherwise.
size_t connections_within_limits(size_t wanted) {
  constexpr size_t kOthers = 256;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return wanted;
  if (files.rlim_cur < wanted + kOthers) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, wanted + kOthers);
    ::setrlimit(RLIMIT_NOFILE, &files);
    ::getrlimit(RLIMIT_NOFILE, &files);
  }
  const size_t spare = files.rlim_cur > 2 * kOthers ? files.rlim_cur - kOthers : files.rlim_cur / 2;
  return std::min(wanted, spare);
}

class Server final : public HttpServer {
 public:
  Server(std::shared_ptr<const ServerShared> shared, std::vector<IoThread*> threads, Scheduler& scheduler,
         DurableFunction durable, uint16_t port)
      : shared_(std::move(shared)),
        scheduler_(scheduler),
        runner_(std::make_shared<Runner>(scheduler, std::move(durable), shared_->options.turn_slice)),
        port_(port) {
    for (IoThread* io : threads) {
      parts_.emplace_back(io, std::make_shared<ServerPart>(parts_.size(), *io, shared_, runner_));
    }
    runner_->set_parts(parts_);
  }

  ~Server() override {
    runner_->close();
    for (auto& [io, part] : parts_) io->run_and_wait([keep = part] { keep->end(); });
  }

  void begin(std::unique_ptr<Acceptor> listener) {
    for (auto& [io, part] : parts_) io->post([keep = part] { keep->begin(); });
    accept_from(0, std::move(listener));
  }

  Result<uint64_t> listen(HttpListener listener) override {
    auto socket = listener.listen();
    if (!socket) return fail(socket.error());
    const uint64_t number = ++last_listener_;
    accept_from(number, std::move(*socket));
    return number;
  }

  void close(uint64_t listener) override {
    parts_[0].first->post([part = parts_[0].second, listener] { part->close_listener(listener); });
  }

  uint16_t port() const override { return port_; }
  size_t in_flight() const override { return shared_->counters->in_flight.load(); }
  size_t connections() const override { return shared_->counters->connections.load(); }

  Async<bool> stop(milliseconds patience) override {
    for (auto& [io, part] : parts_) io->post([keep = part] { keep->begin_stop(); });
    return runner_->drained(scheduler_.clock().boot() + patience);
  }

 private:
  void accept_from(uint64_t listener, std::unique_ptr<Acceptor> accepting) {
    auto hand_out = [parts = parts_, next = size_t{0}, listener](std::unique_ptr<Socket> socket) mutable {
      const auto& [io, part] = parts[next++ % parts.size()];
      if (part == parts[0].second) return part->adopt(std::move(socket), listener);
      io->post([keep = part, end = std::move(socket), listener]() mutable { keep->adopt(std::move(end), listener); });
    };
    parts_[0].first->post([part = parts_[0].second, socket = std::move(accepting), hand_out = std::move(hand_out),
                           listener]() mutable { part->listen(listener, std::move(socket), std::move(hand_out)); });
  }

  std::shared_ptr<const ServerShared> shared_;
  Scheduler& scheduler_;
  std::shared_ptr<Runner> runner_;
  std::vector<std::pair<IoThread*, std::shared_ptr<ServerPart>>> parts_;
  const uint16_t port_;
  uint64_t last_listener_ = 0;  // Loop thread.
};

}  // namespace
}  // namespace http_server

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, HttpListener listener,
                                                      std::vector<std::unique_ptr<Route>> routes,
                                                      std::vector<IoThread*> threads, const Clock& clock,
                                                      Scheduler& scheduler, Mailbox& mailbox, DurableFunction durable) {
  FRESHET_CHECK(!threads.empty() && threads.size() <= 256, "a server needs 1 to 256 I/O threads");
  const uint16_t port = listener.port();
  auto socket = listener.listen();
  if (!socket) return fail(socket.error());
  options.max_connections = http_server::connections_within_limits(options.max_connections);
  std::vector<std::string> names = options.host_names;
  names.push_back(listener.address());
  Cors cors(options.cors_origins);
  auto shared = std::make_shared<http_server::ServerShared>(http_server::ServerShared{
      std::move(options), HostCheck(std::move(names)), std::move(cors), std::move(routes), clock, mailbox, {}});
  shared->counters = std::make_shared<http_server::Counters>();
  auto server =
      std::make_unique<http_server::Server>(std::move(shared), std::move(threads), scheduler, std::move(durable), port);
  server->begin(std::move(*socket));
  return server;
}

}  // namespace freshet
