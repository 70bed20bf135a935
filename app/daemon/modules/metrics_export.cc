#include <utility>

#include "app/cli/checks.h"
#include "app/daemon/modules.h"
#include "app/daemon/otlp_metrics.h"
#include "base/duration_text.h"
#include "base/url.h"

namespace freshet {
namespace {

constexpr milliseconds kTimeout{5000};
constexpr milliseconds kLastOnes{2000};  // The time that a stop gives to the last request.
constexpr milliseconds kShortest{100};
constexpr milliseconds kLongestInterval{24 * 3'600'000};

// Sends the daemon's metrics to an OTLP endpoint at an interval, one request at a time, and once more at the end.
// Values are totals, so a request that failed needs no second try: the next one has everything. Does nothing without an
// endpoint.
class MetricsExportModule final : public Module {
 public:
  Result<void> join(DaemonParts& parts) override {
    parts_ = &parts;
    return {};
  }
  void begin() override {
    if (parts_->options.metrics_endpoint.empty()) return;
    // The option has been checked.
    interval_ = *parse_duration(parts_->options.metrics_interval, kShortest, kLongestInterval);
    began_ = parts_->loop.clock().wall();
    work_.spawn(go_on());
  }
  Async<void> measure(Metrics& metrics, std::string&) override {
    if (interval_.count() == 0) return {};
    metrics.counter("freshet_metrics_exports_total", "Requests to --metrics-endpoint that it took, since the start")
        .set(sent_);
    metrics
        .counter("freshet_metrics_export_failures_total", "Requests to --metrics-endpoint that failed, since the start")
        .set(failed_);
    return {};
  }
  Async<void> finish() override {
    if (interval_.count() == 0) co_return;
    work_.clear();  // A request that is under way has older values.
    co_await send(kLastOnes);
  }
  void leave() override { work_.clear(); }

 private:
  Async<void> go_on() {
    while (true) {
      co_await sleep_for(parts_->loop, interval_);
      co_await send(kTimeout);
    }
  }

  Async<void> send(milliseconds timeout) {
    const std::string page = co_await parts_->metrics_page();
    HttpRequest request;
    request.method = "POST";
    request.headers = {{"Content-Type", "application/json"}};
    request.body = otlp_metrics_json(read_metrics_page(page), {began_, parts_->loop.clock().wall(), parts_->local_url});
    std::string url = parts_->options.metrics_endpoint;
    auto answer = co_await parts_->http->send(std::move(url), std::move(request), timeout);
    const bool good = answer && answer->status / 100 == 2;
    ++(good ? sent_ : failed_);
    if (good == is_good_) co_return;
    is_good_ = good;
    // Logged once for each spell: a missing endpoint would fill the log.
    if (good) {
      parts_->log.info("METRICS_EXPORT_BACK", {{"url", parts_->options.metrics_endpoint}});
    } else {
      parts_->log.warn("METRICS_EXPORT_FAILED",
                       {{"url", parts_->options.metrics_endpoint},
                        {"error", answer ? "status " + std::to_string(answer->status) : answer.error().message}});
    }
  }

  DaemonParts* parts_ = nullptr;
  milliseconds interval_{0};  // 0: nothing is sent.
  WallTime began_{};
  uint64_t sent_ = 0;
  uint64_t failed_ = 0;
  bool is_good_ = true;
  Scope work_;  // The last member, so that it is destroyed first.
};

void add_metrics_options(cli::Command command, DaemonOptions& options) {
  command
      .add_option("--metrics-endpoint", options.metrics_endpoint,
                  "Post the daemon's metrics as OTLP/JSON to this URL, like http://127.0.0.1:4318/v1/metrics")
      .envname("FRESHET_METRICS_ENDPOINT")
      .check({[](const std::string& text) {
        const auto url = parse_url(text);
        return url ? std::string() : url.error().message;
      }});
  command.add_option("--metrics-interval", options.metrics_interval, "Time between two of these requests, like 10s")
      .envname("FRESHET_METRICS_INTERVAL")
      .check(cli::duration(kShortest, kLongestInterval))
      .capture_default_str();
}

}  // namespace

ModuleKind metrics_export_module() {
  return {"metrics-export", make_module<MetricsExportModule>, add_metrics_options, OptionGroup::kTraces};
}

}  // namespace freshet
