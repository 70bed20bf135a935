// Services of the outside that refuse everything, for simulations, benchmarks and tests that need none. Loop thread.
#pragma once

#include <string>

#include "runtime/ports.h"
#include "streams/topics.h"

namespace freshet {

class NoHttp final : public HttpClient {
 public:
  Async<Result<HttpResponse>> send(std::string, HttpRequest, milliseconds) override {
    return Result<HttpResponse>(fail(ErrorCode::kUnavailable, "there is no network here"));
  }
};

class NoSpawner final : public Spawner {
 public:
  Async<Result<ProcessResult>> run(ProcessSpec) override {
    return Result<ProcessResult>(fail(ErrorCode::kUnavailable, "no programs are started here"));
  }
};

// Accepts every message and drops it.
class NoTopics final : public Publisher {
 public:
  Async<Result<std::string>> publish(PublishInput) override { return Result<std::string>("id"); }
};

}  // namespace freshet
