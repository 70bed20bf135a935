#include "wire/xray/traced_route.h"

#include <utility>

#include "runtime/invoke/trace.h"

namespace freshet {

namespace {

class TracedExchange final : public Exchange {
 public:
  TracedExchange(std::unique_ptr<Exchange> inner, TraceLinks& links, std::string trace)
      : inner_(std::move(inner)), links_(links), trace_(std::move(trace)) {}
  // Up to its first wait: writes and publishes are applied by then.
  Async<void> run() override {
    const TraceLinks::Scope scope(&links_, trace_);
    return inner_->run();
  }
  HttpResponse respond() override { return inner_->respond(); }

 private:
  const std::unique_ptr<Exchange> inner_;
  TraceLinks& links_;
  const std::string trace_;
};

class TracedRoute final : public Route {
 public:
  TracedRoute(std::unique_ptr<Route> inner, TraceLinks& links) : inner_(std::move(inner)), links_(links) {}
  bool matches(const HttpRequest& request) const override { return inner_->matches(request); }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    std::string trace = trace_header_of(request);
    auto exchange = inner_->accept(std::move(request));
    if (trace.empty()) return exchange;
    return std::make_unique<TracedExchange>(std::move(exchange), links_, std::move(trace));
  }
  bool changes(const HttpRequest& request) const override { return inner_->changes(request); }
  bool is_slow() const override { return inner_->is_slow(); }

 private:
  const std::unique_ptr<Route> inner_;
  TraceLinks& links_;
};

}  // namespace

std::unique_ptr<Route> make_traced_route(std::unique_ptr<Route> inner, TraceLinks& links) {
  return std::make_unique<TracedRoute>(std::move(inner), links);
}

std::string trace_header_of(const HttpRequest& request) {
  if (std::string own = plain_trace(header(request.headers, "X-Amzn-Trace-Id")); !own.empty()) return own;
  // "00-" 32 hex "-" 16 hex "-" 2 hex of flags, whose last bit says whether it is sampled. Zeros are no ids.
  const std::string_view parent = header(request.headers, "traceparent");
  constexpr size_t kLength = 55;
  if (parent.size() != kLength || !parent.starts_with("00-") || parent[35] != '-' || parent[52] != '-') return {};
  const size_t flags = std::string_view("0123456789abcdef").find(parent[54]);
  const auto is_zero = [](std::string_view id) { return id.find_first_not_of('0') == id.npos; };
  if (flags == std::string_view::npos || is_zero(parent.substr(3, 32)) || is_zero(parent.substr(36, 16))) return {};
  const std::string said = "Root=1-" + std::string(parent.substr(3, 8)) + "-" + std::string(parent.substr(11, 24)) +
                           ";Parent=" + std::string(parent.substr(36, 16)) + ";Sampled=" + (flags % 2 == 1 ? "1" : "0");
  const TraceHeader ids = parse_trace(said);
  return ids.root.empty() || ids.parent.empty() ? std::string() : said;
}

}  // namespace freshet
