#include "wire/http/server_part.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <optional>

#include "base/points.h"
#include "wire/http/compression.h"
#include "wire/http/request_ids.h"

namespace freshet::http_server {

namespace {

// Prepared for a connection that is closed at once, before anything is read.
constexpr std::string_view kOtherUser =
    "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 102\r\nConnection: close\r\n\r\n"
    R"({"__type":"Forbidden","message":"this port serves only processes of the user that the server runs as"})";

// `lower` is lower-case letters and '-'.
bool is_header(std::string_view name, std::string_view lower) {
  return name.size() == lower.size() &&
         std::equal(name.begin(), name.end(), lower.begin(), [](char a, char b) { return (a | 0x20) == b; });
}

// "http://HOST/PATH" as the target ("https:" over TLS), the form of requests to proxies, which every server must
// accept: gives HOST and leaves "/PATH". Empty if the target has another form.
std::string split_absolute(std::string& target, bool tls) {
  const std::string_view scheme = tls ? "https://" : "http://";
  const bool absolute =
      target.size() > scheme.size() && std::equal(scheme.begin(), scheme.end(), target.begin(), [](char a, char b) {
        return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b | 0x20) : b);
      });
  if (!absolute) return {};
  const size_t path = std::min(target.find_first_of("/?#", scheme.size()), target.size());
  std::string host = target.substr(scheme.size(), path - scheme.size());
  if (host.empty()) return {};
  target.erase(0, path);
  if (!target.starts_with('/')) target.insert(0, "/");
  return host;
}

std::unique_ptr<HttpResponse> refuse(const HttpRequest& request, int status, std::string_view reason) {
  return std::make_unique<HttpResponse>(freshet::refusal(api_of(request.target), status, reason));
}

constexpr std::string_view kTooMuch = "too much is in work; try again";

// A larger request or response takes longer to read or to write than a turn of the loop should.
constexpr size_t kHeavy = 64u << 10;
constexpr milliseconds kLateSlice{2};  // The time for such requests or responses in a turn of the I/O thread, or for a
                                       // single one.
// The size of a batch, which keeps the loop busy for a while: the loop starts with it while the rest of the turn is
// read and parsed.
constexpr size_t kBatch = 2u << 10;

bool is_heavy(const HttpRequest& request) {
  return request.body.size() > kHeavy || !header(request.headers, "content-encoding").empty();
}

// The interval at which timeouts are checked.
nanoseconds tick_of(const HttpServerOptions& options) {
  const milliseconds shortest = std::min({options.idle_timeout, options.read_timeout, options.write_timeout});
  return std::clamp<nanoseconds>(shortest / 4, milliseconds(5), seconds(1));
}

}  // namespace

// The answer to a connection that is not read from.
std::string ServerPart::too_many_connections() {
  HttpResponse response = overloaded(ApiKind::kOwn, "too many connections are open");
  if (const auto page = shared_->cors.any_page(); !page.empty()) Cors::mark(response, page);
  const auto id = own_request_id(request_number_of(options().seed, next_connection_++ * 256 + index_, 0));
  std::string text = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n";
  text += "Server: Freshet\r\nx-request-id: " + std::string(id.data(), id.size()) + "\r\n";
  for (const auto& [name, value] : response.headers) text += name + ": " + value + "\r\n";
  refused({{id.data(), id.size()}, {}, 503, response.body});
  return text + "Content-Length: " + std::to_string(response.body.size()) + "\r\n\r\n" + response.body;
}

class ServerPart::Listener final : public IoThread::Handler {
 public:
  Listener(ServerPart& part, std::unique_ptr<Acceptor> socket, Accepted accepted)
      : part_(part), socket_(std::move(socket)), accepted_(std::move(accepted)) {}

  Acceptor& socket() { return *socket_; }
  void on_ready(bool, bool, bool) override {
    if (!accept_all()) part_.schedule_tick();
  }
  void close() { socket_.reset(); }

  // Returns false if there were no free file descriptors: the backlog sends no further event for connections that it
  // holds already.
  bool accept_all() {
    while (socket_) {
      std::unique_ptr<Socket> client = socket_->accept();
      if (!client) return errno == EAGAIN;
      if (part_.options().own_user_only && !client->is_own_user()) {
        send_all(*client, kOtherUser);
        continue;
      }
      std::atomic<size_t>& connections = part_.shared_->counters->connections;
      if (connections.load() >= part_.options().max_connections) {
        if (!part_.options().tls) send_all(*client, part_.too_many_connections());
        continue;
      }
      ++connections;
      accepted_(std::move(client));
    }
    return true;
  }

 private:
  ServerPart& part_;
  // Sends without waiting; text that does not fit is lost, and the connection is closed behind it.
  static void send_all(Socket& socket, std::string_view text) {
    const iovec part{const_cast<char*>(text.data()), text.size()};
    if (!text.empty()) socket.send(&part, 1);
  }

  std::unique_ptr<Acceptor> socket_;
  Accepted accepted_;
};

ServerPart::ServerPart(size_t index, IoThread& io, std::shared_ptr<const ServerShared> shared,
                       std::shared_ptr<LoopSide> loop)
    : index_(index),
      io_(io),
      shared_(std::move(shared)),
      loop_(std::move(loop)),
      tick_(tick_of(shared_->options)),
      refusals_(shared_->options.log, shared_->clock) {}

ServerPart::~ServerPart() = default;

void ServerPart::begin() {
  io_.add(*this);
}

void ServerPart::listen(uint64_t listener, std::unique_ptr<Acceptor> socket, Accepted accepted) {
  if (stopping_) return;
  auto& place = listeners_[listener];
  place = std::make_unique<Listener>(*this, std::move(socket), std::move(accepted));
  // The listening socket is new, so watching it can fail only for lack of memory.
  if (!io_.watch(place->socket(), *place)) place->close();
}

void ServerPart::close_listener(uint64_t listener) {
  const auto found = listeners_.find(listener);
  if (found == listeners_.end()) return;
  found->second->close();
  io_.retire(std::move(found->second));
  listeners_.erase(found);
}

void ServerPart::adopt(std::unique_ptr<Socket> socket, uint64_t listener) {
  const uint64_t id = next_connection_++ * 256 + index_;
  Socket& end = *socket;
  const TlsContext* context = options().tls.get();
  std::unique_ptr<TlsStream> tls = context ? context->accept(end.descriptor()) : nullptr;
  const bool failed = context && !tls;  // For lack of memory.
  auto connection = std::make_unique<Connection>(*this, std::move(socket), std::move(tls), id, listener);
  if (stopping_ || failed || !io_.watch(end, *connection)) {
    --shared_->counters->connections;
    return;
  }
  Connection& fresh = *connections_.emplace(id, std::move(connection)).first->second;
  schedule_tick();
  fresh.on_ready(true, true, false);  // The first request often has arrived already.
}

std::unique_ptr<HttpResponse> ServerPart::refuse_head(HttpRequest head) const {
  auto refused = refusal(head);
  if (!refused && shared_->options.gate) refused = shared_->options.gate->head_refusal(head);
  return refused;
}

std::unique_ptr<HttpResponse> ServerPart::refusal(HttpRequest& request) const {
  size_t hosts = 0;
  std::string_view host;
  bool of_a_page = false;  // SDKs send neither header.
  for (const auto& [name, value] : request.headers) {
    if (is_header(name, "host")) {
      ++hosts;
      host = value;
    } else if (is_header(name, "origin") || is_header(name, "sec-fetch-site")) {
      of_a_page = true;
    }
  }
  if (hosts != 1 || host.empty()) return refuse(request, 400, "exactly one Host header is needed");
  const std::string target_host = split_absolute(request.target, shared_->options.tls != nullptr);
  for (const std::string_view name : {host, std::string_view(target_host)}) {
    if (name.empty() || shared_->hosts.allows(name)) continue;
    return refuse(request, 421,
                  "this server does not answer to the host '" + std::string(name) +
                      "'; add it to the allowed host names (--allowed-host)");
  }
  if (!request.target.starts_with('/')) {
    return refuse(request, 400, "the request target must be a path, or http://HOST/PATH");
  }
  return of_a_page ? page_refusal(request, host) : nullptr;
}

Route* ServerPart::route_of(const HttpRequest& request) const {
  const auto& routes = shared_->routes;
  const auto found = std::find_if(routes.begin(), routes.end(), [&](const auto& r) { return r->matches(request); });
  return found == routes.end() ? nullptr : found->get();
}

bool ServerPart::only_reads(HttpRequest request) const {
  if (request.method == "HEAD") request.method = "GET";  // The route that answers sees no HEAD, either.
  if (request.method != "GET") return false;
  Route* route = route_of(request);
  return route == nullptr || !route->changes(request);
}

// Browsers let every page post a form or plain text anywhere, and only withhold the response.
std::unique_ptr<HttpResponse> ServerPart::page_refusal(const HttpRequest& request, std::string_view host) const {
  const bool reads = only_reads({request.method, request.target, request.headers, {}});
  bool has_origin = false;
  std::string_view site;
  for (const auto& [name, value] : request.headers) {
    if (is_header(name, "origin")) {
      has_origin = true;
      const bool good = reads ? shared_->hosts.allows_origin(value)
                              : shared_->hosts.is_own_origin(value, host, shared_->options.tls != nullptr);
      if (good || shared_->cors.allows(value)) continue;
      return refuse(request, 403,
                    "requests from web pages of '" + value +
                        "' are refused; name that origin with --cors-origin if its pages may use this server" +
                        HostCheck::proxy_advice(value, host, shared_->options.tls != nullptr));
    }
    if (is_header(name, "sec-fetch-site") && value != "same-origin" && value != "none") site = value;
  }
  // A browser that sends no origin still shows that the page is not ours. Only a server that is open to every page
  // accepts that.
  if (reads || has_origin || site.empty() || shared_->cors.allows("")) return nullptr;
  return refuse(request, 403,
                "requests from web pages of other origins (Sec-Fetch-Site: " + std::string(site) +
                    ") are refused; name their origin with --cors-origin if they may use this server");
}

std::unique_ptr<HttpResponse> ServerPart::decompress(HttpRequest& request) const {
  size_t codings = 0;
  std::optional<Coding> coding = Coding::kIdentity;
  for (const auto& [name, value] : request.headers) {
    if (!is_header(name, "content-encoding")) continue;
    ++codings;
    coding = parse_coding(value);
    if (!coding || codings > 1) {
      return refuse(request, 415,
                    "Content-Encoding '" + value.substr(0, 100) + "' is not understood: one of gzip and deflate is");
    }
  }
  if (*coding == Coding::kIdentity || request.body.empty()) return nullptr;
  Result<std::string> body = inflate_body(request.body, *coding, shared_->options.limits.body_bytes);
  if (!body) {
    const auto& [code, message, detail] = body.error();
    if (code == ErrorCode::kRequestTooLarge) return refuse(request, 413, message);
    if (code == ErrorCode::kUnavailable)
      return std::make_unique<HttpResponse>(overloaded(api_of(request.target), message));
    return std::make_unique<HttpResponse>(freshet::refusal(api_of(request.target), 400, error_name(code), message));
  }
  request.body = std::move(*body);
  return nullptr;
}

std::unique_ptr<HttpResponse> ServerPart::overload(const HttpRequest& request) const {
  const Counters& counters = *shared_->counters;
  if (counters.in_flight.load() < shared_->options.max_in_flight &&
      counters.body_bytes.load() + request.body.size() <= shared_->options.max_body_bytes) {
    return nullptr;
  }
  return std::make_unique<HttpResponse>(overloaded(api_of(request.target), kTooMuch));
}

void ServerPart::submit(uint64_t connection, uint64_t request_number, HttpRequest request) {
  // Later requests of a client must not overtake its heavy one.
  const bool behind = late_of_.contains(connection);
  if (behind || is_heavy(request)) return submit_late(connection, request_number, std::move(request));
  submit_now(connection, request_number, std::move(request));
}

void ServerPart::submit_now(uint64_t connection, uint64_t request_number, HttpRequest request, bool is_admitted) {
  auto refused = refusal(request);
  if (!refused && Cors::is_preflight(request) && !page_of(request.headers).empty()) {
    return answer_at_once(connection, request_number, Cors::answer_preflight(request));
  }
  if (!refused && !is_admitted && shared_->options.gate) refused = shared_->options.gate->admit(request);
  if (!refused) refused = overload(request);
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!refused && request.method == "HEAD") request.method = "GET";  // The connection omits the body.
  Route* route = refused ? nullptr : route_of(request);
  if (!refused && route == nullptr) {
    const std::string path = request.target.substr(0, std::min<size_t>(request.target.find('?'), 200));
    refused = refuse(request, 404, nothing_served(request.method, path));
  }
  // Before the body is decompressed: it comes here again.
  if (!refused && io_.lent() && route->is_slow()) {
    return submit_late(connection, request_number, std::move(request), true);
  }
  // The body of a GET is never used, and it may have come without a signature.
  if (!refused && !reads) refused = decompress(request);
  if (!refused && !reads) refused = overload(request);
  if (refused) return answer_at_once(connection, request_number, std::move(*refused));
  InFlight in_flight(shared_->counters, request.body.size());
  const bool is_batch = request.body.size() >= kBatch;
  const ApiKind api = api_of(request.target);
  auto exchange = route->accept(std::move(request));
  outbound_.jobs.push_back({index_, connection, request_number, std::move(exchange), std::move(in_flight), api});
  if (is_batch) deliver();
}

void ServerPart::submit_late(uint64_t connection, uint64_t request_number, HttpRequest request, bool is_admitted) {
  InFlight in_flight(shared_->counters, request.body.size());
  ++late_of_[connection];
  late_.push_back({connection, request_number, std::move(request), std::move(in_flight), is_admitted});
}

// Not on the loop, but only once the thread has its turns back; and not all in one turn, as there may be many.
void ServerPart::run_late() {
  if (late_.empty() && unanswered_.empty()) return;
  if (io_.lent()) return io_.want_back();
  BootTime until = shared_->clock.boot() + kLateSlice;
  while (!unanswered_.empty() && shared_->clock.boot() < until) {
    Job job = std::move(unanswered_.front());
    unanswered_.pop_front();
    respond(std::move(job));
  }
  if (late_.empty()) return;
  until = shared_->clock.boot() + kLateSlice;
  do {
    auto [connection, number, request, in_flight, is_admitted] = std::move(late_.front());
    late_.pop_front();
    { const InFlight counted_anew = std::move(in_flight); }
    if (const auto count = late_of_.find(connection); --count->second == 0) late_of_.erase(count);
    if (connections_.contains(connection)) submit_now(connection, number, std::move(request), is_admitted);
  } while (!late_.empty() && shared_->clock.boot() < until);
}

bool ServerPart::charge(size_t before, size_t now) {
  std::atomic<size_t>& all = shared_->counters->body_bytes;
  if (now > kHeavy) io_.want_back();
  all += now - before;  // Wraps around when it shrinks, with the right result.
  return all.load() <= shared_->options.max_body_bytes;
}

void ServerPart::hold(size_t before, size_t now) {
  if (now != before) shared_->counters->answer_bytes += now - before;  // Unsigned: adding a smaller value subtracts.
}

bool ServerPart::is_full() const {
  return shared_->counters->answer_bytes.load() > shared_->options.max_answer_bytes;
}

void ServerPart::answer_at_once(uint64_t connection, uint64_t request_number, HttpResponse response) {
  if (auto found = connections_.find(connection); found != connections_.end()) {
    found->second->answer(request_number, std::move(response));
  }
}

bool ServerPart::respond(Job job) {
  if (!connections_.contains(job.connection)) return false;
  HttpResponse response = job.exchange->respond();
  const bool large = response.body.size() > kHeavy;
  if (large) io_.want_back();  // More large ones may follow.
  answer_at_once(job.connection, job.request, std::move(response));
  if (FRESHET_PLANTED("answered-request-kept")) static_cast<void>(job.exchange.release());
  if (FRESHET_PLANTED("answered-request-in-flight")) new InFlight(std::move(job.in_flight));
  return large;
}

void ServerPart::answer(std::vector<Job> jobs) {
  for (Job& job : jobs) {
    const auto found = connections_.find(job.connection);
    if (turn_is_long_ && found != connections_.end() && found->second->has_untaken()) {
      unanswered_.push_back(std::move(job));  // Clients that have received all their responses so far come first.
    } else if (respond(std::move(job))) {
      turn_is_long_ = shared_->clock.boot() >= io_.now() + kLateSlice;
    }
  }
}

void ServerPart::end_of_turn() {
  turn_is_long_ = false;
  flush_all();
  deliver();
  run_late();
  deliver();
  flush_all();  // Undelivered requests are answered with 503.
}

void ServerPart::flush_all() {
  // Writing may let a connection read on, which may produce output again.
  while (!dirty_.empty()) {
    for (const uint64_t id : std::exchange(dirty_, {})) {
      if (auto found = connections_.find(id); found != connections_.end()) found->second->flush();
    }
  }
}

void ServerPart::deliver() {
  if (stopping_ && connections_.empty() && !drain_reported_) outbound_.drained = true;
  if (outbound_.empty()) return;
  drain_reported_ = drain_reported_ || outbound_.drained;
  auto batch = std::make_shared<Inbound>(std::exchange(outbound_, {}));
  if (shared_->mailbox.deliver([loop = loop_, batch] { loop->receive(std::move(*batch)); })) return;
  for (const Job& job : batch->jobs) {
    const auto found = connections_.find(job.connection);
    if (found != connections_.end()) found->second->answer_overloaded(job.request, kTooMuch);
  }
  // Messages that must not be lost are sent again at the next tick.
  outbound_.hung_up = std::move(batch->hung_up);
  if (batch->drained) drain_reported_ = false;
  schedule_tick();
}

std::vector<Connection*> ServerPart::in_order() const {
  std::vector<std::pair<uint64_t, Connection*>> all;
  all.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) all.emplace_back(id, connection.get());
  std::sort(all.begin(), all.end());
  std::vector<Connection*> connections;
  connections.reserve(all.size());
  for (const auto& [id, connection] : all) connections.push_back(connection);
  return connections;
}

void ServerPart::schedule_tick() {
  if (next_tick_ == BootTime::max()) next_tick_ = io_.now() + tick_;
}

void ServerPart::run_due(BootTime now) {
  if (now < next_tick_) return;  // Only late requests need it, at the end of the turn.
  next_tick_ = BootTime::max();
  bool starved = false;
  for (const auto& [id, listener] : listeners_) starved = !listener->accept_all() || starved;
  for (Connection* connection : in_order()) connection->check_timeout(now);
  if (starved || !connections_.empty() || !outbound_.hung_up.empty() || (stopping_ && !drain_reported_)) {
    schedule_tick();
  }
}

void ServerPart::begin_stop() {
  stopping_ = true;
  while (!listeners_.empty()) close_listener(listeners_.begin()->first);
  for (Connection* connection : in_order()) connection->begin_stop();
}

void ServerPart::end() {
  begin_stop();
  for (Connection* connection : in_order()) connection->close();
  outbound_ = {};
  late_.clear();
  unanswered_.clear();
  io_.remove(*this);
}

void ServerPart::closed(uint64_t connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  if (FRESHET_PLANTED("closed-connection-kept")) static_cast<void>(found->second.release());
  io_.retire(std::move(found->second));
  connections_.erase(found);
  --shared_->counters->connections;
}

std::string_view ServerPart::date() {
  const int64_t second = epoch_s(shared_->clock.wall());
  if (second != date_second_) {
    date_second_ = second;
    const time_t time = second;
    tm parts{};
    ::gmtime_r(&time, &parts);
    std::array<char, 40> text;
    // The daemon never changes its locale, so that names are the English ones that HTTP wants.
    date_.assign(text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts));
  }
  return date_;
}

}  // namespace freshet::http_server
