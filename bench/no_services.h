// Stand-ins for what a queue in a benchmark does not use.
#pragma once

#include "runtime/invoke/function.h"

namespace freshet {

struct NoHttp final : HttpClient {
  Async<Result<HttpResponse>> send(std::string, HttpRequest, milliseconds) override {
    return Result<HttpResponse>(fail(ErrorCode::kUnavailable, "none"));
  }
};
struct NoSpawner final : Spawner {
  Async<Result<ProcessResult>> run(ProcessSpec) override {
    return Result<ProcessResult>(fail(ErrorCode::kUnavailable, "none"));
  }
};
struct NoTopics final : Publisher {
  Async<Result<std::string>> publish(PublishInput) override { return Result<std::string>("id"); }
};

}  // namespace freshet
