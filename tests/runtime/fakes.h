// Fakes of the runtime's ports (runtime/ports.h), for the tests of all folders. Loop thread.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async.h"
#include "base/scheduler.h"
#include "runtime/no_services.h"
#include "runtime/ports.h"

namespace freshet {

// Keeps every request, and answers with the next of `answers`, or with `answer` if there is none.
class FakeHttp final : public HttpClient {
 public:
  // Answers at once.
  FakeHttp() = default;
  // Answers after `duration` of simulated time, or fails with kTimeout if that is longer than the request's timeout.
  // The scheduler outlives it.
  explicit FakeHttp(Scheduler& scheduler, std::optional<nanoseconds> time = std::nullopt)
      : duration(time), scheduler_(&scheduler) {}

  Async<Result<HttpResponse>> send(std::string url, HttpRequest request, milliseconds timeout) override {
    urls.push_back(std::move(url));
    requests.push_back(request);
    timeouts.push_back(timeout);
    std::optional<Result<HttpResponse>> next;
    if (!answers.empty()) {
      next = std::move(answers.front());
      answers.pop_front();
    }
    const InWork counted(*this);
    const auto takes = duration;
    if (takes) co_await sleep_for(*scheduler_, std::min<nanoseconds>(*takes, timeout));
    if (takes && *takes > timeout) co_return fail(ErrorCode::kTimeout, "no answer");
    co_return next ? std::move(*next) : answer(request);
  }

  std::vector<std::string> urls;
  std::vector<HttpRequest> requests;
  std::vector<milliseconds> timeouts;
  std::deque<Result<HttpResponse>> answers;
  std::function<Result<HttpResponse>(const HttpRequest&)> answer = [](const HttpRequest&) { return HttpResponse{}; };
  std::optional<nanoseconds> duration;  // Empty: within the call.
  int in_work = 0;
  int most_in_work = 0;

 private:
  struct InWork {
    explicit InWork(FakeHttp& of) : http(of) { of.most_in_work = std::max(of.most_in_work, ++of.in_work); }
    ~InWork() { --http.in_work; }
    FakeHttp& http;
  };

  Scheduler* scheduler_ = nullptr;
};

}  // namespace freshet
