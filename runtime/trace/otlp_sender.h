// Sends spans to an OTLP/JSON endpoint: one request at a time; a failed batch is sent once more, then dropped and
// counted. At most kMostWaiting spans wait for a slow endpoint. Loop thread.
#pragma once

#include <string>
#include <vector>

#include "base/async.h"
#include "base/log.h"
#include "runtime/ports.h"
#include "runtime/trace/span.h"

namespace freshet {

class OtlpSender final : public SpanSink {
 public:
  static constexpr size_t kMostWaiting = 10'000;

  // `url`: with its path, like http://127.0.0.1:4318/v1/traces. All must outlive it.
  OtlpSender(HttpClient& http, Scheduler& scheduler, EventLog log, std::string url)
      : http_(http), scheduler_(scheduler), log_(std::move(log)), url_(std::move(url)) {}

  void take(const std::vector<Span>& spans) override;
  void close() override {}
  bool idle() const override { return !sending_; }
  uint64_t dropped() const { return dropped_; }

 private:
  Async<void> send();
  Async<bool> post(std::string body);

  HttpClient& http_;
  Scheduler& scheduler_;
  const EventLog log_;
  const std::string url_;
  std::vector<Span> waiting_;
  bool sending_ = false;
  bool failing_ = false;
  uint64_t dropped_ = 0;
  Scope work_;  // The last member, so that it is destroyed first.
};

}  // namespace freshet
