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
  std::string header(freshet::header(request.headers, "X-Amzn-Trace-Id"));
  if (!parse_trace(header).root.empty()) return header;
  // "00-" 32 hex "-" 16 hex "-" flags.
  const std::string_view parent = freshet::header(request.headers, "traceparent");
  constexpr size_t kLength = 55;
  if (parent.size() != kLength || !parent.starts_with("00-") || parent[35] != '-' || parent[52] != '-') return {};
  header = "Root=1-" + std::string(parent.substr(3, 8)) + "-" + std::string(parent.substr(11, 24)) +
           ";Parent=" + std::string(parent.substr(36, 16)) + ";Sampled=1";
  const TraceHeader said = parse_trace(header);
  return said.root.empty() || said.parent.empty() ? std::string() : header;
}

}  // namespace freshet
