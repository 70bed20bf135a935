#include "wire/http/client.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "wire/http/client_part.h"

namespace freshet {

namespace http_client {

namespace {

bool is_token(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

// True for headers that describe the framing of the message or the life of the connection: the client sets them itself.
bool is_framing(std::string_view name) {
  constexpr std::string_view kOwn[] = {"host",       "content-length", "transfer-encoding",
                                       "connection", "expect",         "upgrade"};
  return std::any_of(std::begin(kOwn), std::end(kOwn), [&](std::string_view own) {
    return name.size() == own.size() &&
           std::equal(name.begin(), name.end(), own.begin(), [](char a, char b) { return (a | 0x20) == b; });
  });
}

Result<std::string> serialise(const Url& url, const HttpRequest& request, const std::string& method) {
  if (!is_token(method)) return invalid("not an HTTP method: '" + method.substr(0, 40) + "'");
  std::string out = method + " " + url.target + " HTTP/1.1\r\nHost: ";
  const std::string_view host = header(request.headers, "Host");
  if (!is_header_value(host)) return invalid("the header Host holds control characters");
  out += host.empty() ? std::string_view(url.host_header) : host;
  out += "\r\n";
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name)) return invalid("not a header name: '" + name.substr(0, 40) + "'");
    if (!is_header_value(value)) return invalid("the header " + name + " holds control characters");
    if (is_framing(name)) continue;
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
  if (!request.body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  out += "\r\n";
  out += request.body;
  return out;
}

// Promises by call. Kept alive by work in the mailbox.
class Calls final : public LoopSide {
 public:
  explicit Calls(Scheduler& scheduler) : scheduler_(scheduler) {}
  Promise<Outcome> add(uint64_t id) { return calls_.emplace(id, Promise<Outcome>(scheduler_)).first->second; }
  void finished(uint64_t id, Outcome outcome) override {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    const Promise<Outcome> promise = found->second;
    calls_.erase(found);
    promise.set(std::move(outcome));
  }
  // Returns true if the call was still running.
  bool remove(uint64_t id) { return calls_.erase(id) > 0; }
  size_t size() const { return calls_.size(); }
  void clear() { calls_.clear(); }

 private:
  Scheduler& scheduler_;
  absl::flat_hash_map<uint64_t, Promise<Outcome>> calls_;
};

class Client final : public HttpClient {
 public:
  Client(HttpClientOptions options, std::vector<IoThread*> threads, const Clock& clock, Scheduler& scheduler,
         Mailbox& mailbox)
      : options_(options), clock_(clock), calls_(std::make_shared<Calls>(scheduler)) {
    for (IoThread* io : threads) {
      auto part = std::make_shared<ClientPart>(options, *io, mailbox, calls_);
      io->post([part] { part->begin(); });
      parts_.emplace_back(io, std::move(part));
    }
  }
  ~Client() override {
    calls_->clear();
    for (auto& [io, part] : parts_) io->run_and_wait([keep = part] { keep->end(); });
  }

  Async<Result<HttpResponse>> send(std::string url, HttpRequest request, milliseconds timeout) override {
    Result<Url> parsed = parse_url(url);
    if (!parsed) return Outcome(fail(parsed.error()));
    const std::string method = request.method.empty() ? "GET" : request.method;
    Result<std::string> bytes = serialise(*parsed, request, method);
    if (!bytes) return Outcome(fail(bytes.error()));
    if (calls_->size() >= options_.max_calls) {
      return Outcome(never_sent(ErrorCode::kUnavailable,
                                "more than " + std::to_string(options_.max_calls) + " HTTP requests are under way"));
    }
    auto call = std::make_unique<Call>();
    call->id = ++last_id_;
    call->url = std::move(*parsed);
    call->bytes = std::move(*bytes);
    call->is_head = method == "HEAD";
    call->deadline = clock_.boot() + timeout;
    if (call->url.tls && !options_.trust) {
      return Outcome(never_sent(ErrorCode::kUnavailable, "there are no certificates to trust for https://"));
    }
    return carry(std::move(call));
  }

 private:
  // Tells the I/O thread when no caller waits for the call any more.
  struct Abandon {
    Calls& calls;
    IoThread& io;
    std::shared_ptr<ClientPart> part;
    uint64_t id;
    ~Abandon() {
      if (calls.remove(id)) io.post([keep = part, call = id] { keep->abandon(call); });
    }
  };

  Async<Result<HttpResponse>> carry(std::unique_ptr<Call> call) {
    const auto& [io, part] = parts_[call->id % parts_.size()];
    const uint64_t id = call->id;
    const Promise<Outcome> promise = calls_->add(id);
    const Abandon abandon{*calls_, *io, part, id};
    io->post([keep = part, moved = std::move(call)]() mutable { keep->start(std::move(moved)); });
    Outcome outcome = co_await promise.future();
    co_return outcome;
  }

  const HttpClientOptions options_;
  const Clock& clock_;
  const std::shared_ptr<Calls> calls_;
  std::vector<std::pair<IoThread*, std::shared_ptr<ClientPart>>> parts_;
  uint64_t last_id_ = 0;
};

}  // namespace
}  // namespace http_client

std::unique_ptr<HttpClient> make_http_client(HttpClientOptions options, std::vector<IoThread*> threads,
                                             const Clock& clock, Scheduler& scheduler, Mailbox& mailbox) {
  FRESHET_CHECK(!threads.empty(), "a client needs an I/O thread");
  return std::make_unique<http_client::Client>(options, std::move(threads), clock, scheduler, mailbox);
}

}  // namespace freshet
