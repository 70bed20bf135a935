// An HTTP client whose requests are answered by a route in the same process, in simulated time: late, and with the
// faults of a network and of a busy store. Seeded: the same seed and calls give the same faults.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/async.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "runtime/ports.h"

namespace freshet {

// How likely each is, for one sending of a request for one of `operations`.
struct WireFaults {
  double never_sent = 0;    // No connection can be had.
  double lost_before = 0;   // The request never arrives: no answer within the timeout.
  double lost_after = 0;    // It is carried out; the connection breaks before its answer.
  double late = 0;          // It is carried out after its sender has given up.
  double throttled = 0;     // Refused for want of capacity.
  double failed = 0;        // Answered with 500 before it was carried out.
  double failed_after = 0;  // Answered with 500 after it was carried out.

  static WireFaults some() {
    WireFaults faults;
    faults.never_sent = faults.lost_before = faults.lost_after = faults.late = faults.throttled = faults.failed =
        faults.failed_after = 0.02;
    return faults;
  }
  bool any_unknown() const { return lost_before + lost_after + late + failed_after > 0; }
};

class LoopedBack final : public HttpClient {
 public:
  LoopedBack(Route& route, Scheduler& scheduler, uint64_t seed, WireFaults faults = {})
      : route_(route), scheduler_(scheduler), random_(seed), faults_(faults) {}

  Async<Result<HttpResponse>> send(std::string, HttpRequest request, milliseconds timeout) override {
    ++sendings;
    const std::string operation = operation_of(request);
    ++sent[operation];
    if (auto refusal = refuses ? refuses(operation) : std::nullopt) co_return *std::move(refusal);
    const Fault fault = loses && loses(operation) ? Fault::kLostAfter : draw(request);
    if (fault == Fault::kNeverSent) co_return never_sent(ErrorCode::kUnavailable, "connection refused");
    if (fault == Fault::kThrottled) co_return error(400, "ProvisionedThroughputExceededException");
    if (fault == Fault::kFailed) co_return error(500, "InternalServerError");
    if (fault == Fault::kLate) scope_.spawn(carry_out_late(request, timeout * 2));
    if (fault == Fault::kLostBefore || fault == Fault::kLate) {
      co_await sleep_for(scheduler_, timeout);
      co_return fail(ErrorCode::kTimeout, "no answer within " + std::to_string(timeout.count()) + " ms");
    }
    co_await sleep_for(scheduler_, way());
    auto answer = co_await carry_out(std::move(request));
    co_await sleep_for(scheduler_, way());
    if (fault == Fault::kLostAfter) co_return fail(ErrorCode::kUnavailable, "the connection broke");
    if (fault == Fault::kFailedAfter) co_return error(500, "InternalServerError");
    co_return answer;
  }

  // The answer of a store that refuses a request.
  static HttpResponse error(int status, const std::string& name, const std::string& message = "try again") {
    HttpResponse response;
    response.status = status;
    response.body = R"({"__type":"com.amazonaws.dynamodb.v20120810#)" + name + R"(","message":")" + message + R"("})";
    return response;
  }

  int sendings = 0;
  std::map<std::string, int> sent;  // By operation.
  // Faults of the test's own, beside those that are drawn; null: none.
  std::function<std::optional<HttpResponse>(const std::string& operation)> refuses;  // Answers in the store's place.
  std::function<bool(const std::string& operation)> loses;  // True: it is carried out, and its answer is lost.

 private:
  enum class Fault { kNone, kNeverSent, kLostBefore, kLostAfter, kLate, kThrottled, kFailed, kFailedAfter };

  // Only writes whose callers resolve an unknown outcome meet faults.
  Fault draw(const HttpRequest& request) {
    const std::string operation = operation_of(request);
    if (operation != "PutItem" && operation != "UpdateItem") return Fault::kNone;
    double left = random_.unit();
    const std::pair<double, Fault> all[] = {
        {faults_.never_sent, Fault::kNeverSent},    {faults_.lost_before, Fault::kLostBefore},
        {faults_.lost_after, Fault::kLostAfter},    {faults_.late, Fault::kLate},
        {faults_.throttled, Fault::kThrottled},     {faults_.failed, Fault::kFailed},
        {faults_.failed_after, Fault::kFailedAfter}};
    for (const auto& [chance, fault] : all) {
      if (left < chance) return fault;
      left -= chance;
    }
    return Fault::kNone;
  }

  static std::string operation_of(const HttpRequest& request) {
    const auto target = header(request.headers, "X-Amz-Target");
    return std::string(target.substr(target.find('.') + 1));
  }

  nanoseconds way() { return milliseconds(static_cast<int64_t>(random_.below(10))); }

  Async<HttpResponse> carry_out(HttpRequest request) {
    auto exchange = route_.accept(std::move(request));
    co_await exchange->run();
    co_return exchange->respond();
  }

  Async<void> carry_out_late(HttpRequest request, nanoseconds later) {
    co_await sleep_for(scheduler_, later);
    co_await carry_out(std::move(request));
  }

  Route& route_;
  Scheduler& scheduler_;
  Random random_;
  const WireFaults faults_;
  Scope scope_;  // Last.
};

}  // namespace freshet
