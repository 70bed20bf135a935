#include "app/cli/checks.h"
#include "app/daemon/modules.h"
#include "app/daemon/trace_files.h"
#include "base/url.h"
#include "runtime/trace/otlp_sender.h"
#include "runtime/trace/recent_spans.h"
#include "runtime/trace/tracer.h"
#include "wire/xray/segment_receiver.h"
#include "wire/xray/traced_route.h"

namespace freshet {
namespace {

constexpr milliseconds kTracesEnd{2000};

// Does nothing unless somebody keeps the traces.
class TraceModule final : public Module {
 public:
  Result<void> open(DaemonParts& parts) override {
    const DaemonOptions& options = parts.options;
    parts.span_port = static_cast<uint16_t>(options.xray_port);
    if (options.trace_file.empty() && options.chrome_trace.empty() && options.trace_endpoint.empty()) return {};
    parts_ = &parts;
    tracer_ = std::make_unique<Tracer>(parts.loop, parts.random);
    parts.tracer = tracer_.get();
    auto recent = std::make_unique<RecentSpans>();
    parts.spans = recent.get();
    tracer_->add_sink(std::move(recent));
    parts.around_route = [this](std::unique_ptr<Route> route) {
      return make_traced_route(std::move(route), tracer_->links());
    };
    if (auto added = add_file(options.trace_file, TraceFormat::kOtlp); !added) return added;
    return add_file(options.chrome_trace, TraceFormat::kChrome);
  }

  Result<void> support(DaemonParts& parts) override {
    if (!tracer_) return {};
    if (!parts.options.trace_endpoint.empty()) {
      tracer_->add_sink(std::make_unique<OtlpSender>(*parts.http, parts.loop, parts.log, parts.options.trace_endpoint));
    }
    receive_segments();
    return {};
  }

  Async<void> measure(Metrics& metrics, std::string&) override {
    if (!tracer_) return {};
    metrics.counter("freshet_trace_spans_total", "Spans of traces since the start").set(tracer_->recorded());
    metrics.counter("freshet_trace_dropped_spans_total", "Spans for which there was no room, since the start")
        .set(tracer_->dropped());
    metrics.counter("freshet_xray_refused_total", "Datagrams that were no segments, or too many, since the start")
        .set(segments_ ? segments_->refused() : 0);
    return {};
  }

  // An endpoint gets the last of them too, if it takes them soon.
  Async<void> finish() override {
    if (!tracer_) co_return;
    const BootTime end = parts_->loop.clock().boot() + kTracesEnd;
    tracer_->flush();
    while (!tracer_->idle() && parts_->loop.clock().boot() < end) {
      co_await sleep_for(parts_->loop, milliseconds(10));
    }
  }

  void leave() override {
    segments_.reset();
    if (!tracer_) return;
    parts_->spans = nullptr;
    tracer_->end();  // Before the client that sends for it.
  }

 private:
  Result<void> add_file(const std::string& path, TraceFormat format) {
    if (path.empty()) return {};
    auto file = make_trace_file(path, format, parts_->options.trace_bytes, parts_->log);
    if (!file) return fail(file.error());
    tracer_->add_sink(std::move(*file));
    return {};
  }

  // Takes the segments of functions that trace themselves. If an X-Ray daemon has the port, it takes them instead.
  void receive_segments() {
    auto receiver = SegmentReceiver::start(
        static_cast<uint16_t>(parts_->options.xray_port), parts_->loop,
        [this](std::vector<Span> spans, bool ours) { return tracer_->finish_foreign(std::move(spans), ours); });
    if (receiver) {
      segments_ = std::move(*receiver);
      parts_->span_port = segments_->port();
      parts_->log.info("XRAY_PORT", {{"port", segments_->port()}});
    } else {
      parts_->log.warn("XRAY_PORT_TAKEN", {{"what", receiver.error().message}});
    }
  }

  DaemonParts* parts_ = nullptr;
  std::unique_ptr<Tracer> tracer_;
  std::unique_ptr<SegmentReceiver> segments_;
};

void add_trace_options(cli::Command command, DaemonOptions& options) {
  command
      .add_option("--trace-file", options.trace_file,
                  "Write traces of invocations to this file, a line of OTLP/JSON for each batch")
      .file()
      .envname("FRESHET_TRACE_FILE");
  command
      .add_option("--chrome-trace", options.chrome_trace,
                  "Write them to this file, for chrome://tracing and ui.perfetto.dev")
      .file()
      .envname("FRESHET_CHROME_TRACE");
  command
      .add_option("--trace-endpoint", options.trace_endpoint,
                  "Post them as OTLP/JSON to this URL, like http://127.0.0.1:4318/v1/traces")
      .envname("FRESHET_TRACE_ENDPOINT")
      .check({[](const std::string& text) {
        const auto url = parse_url(text);
        return url ? std::string() : url.error().message;
      }});
  command
      .add_option("--trace-bytes", options.trace_bytes,
                  "Rename a trace file of this size to FILE.1 and begin a new one")
      .envname("FRESHET_TRACE_BYTES")
      .size()
      .check(cli::whole(int64_t{1} << 16, int64_t{1} << 40));
  command
      .add_option(
          "--xray-port", options.xray_port,
          "UDP port of 127.0.0.1 that takes the segments of X-Ray's SDKs while traces are kept; 0 picks a free one")
      .envname("FRESHET_XRAY_PORT")
      .check(cli::whole(0, 65'535))
      .capture_default_str();
}

}  // namespace

ModuleKind trace_module() {
  return {"trace", make_module<TraceModule>, add_trace_options, OptionGroup::kTraces};
}

}  // namespace freshet
