// Calls of a DynamoDB-compatible store over HTTP: signed, with timeouts, and repeated as the SDKs' standard mode does:
// at most four sendings, full jitter, a quota of repetitions (retry_quota.h). With several endpoints a call goes to the
// one that answered last, and to the next one once that fails.
//
// Loop thread. What it refers to outlives it; it outlives every Async that it returned.
#pragma once

#include <string>
#include <vector>

#include "base/async.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "runtime/ports.h"
#include "wire/store/access_keys.h"
#include "wire/store/retry_quota.h"

namespace freshet::remote {

struct CallerOptions {
  std::vector<std::string> endpoints;  // At least one: http[s]://HOST[:PORT], without a path.
  std::string region = "us-east-1";
  milliseconds timeout{3'000};  // For each sending of a request.
  int attempts = 4;             // Sendings of a request in all.
};

class Caller {
 public:
  // kWrite: if a call may have been carried out although it failed, or if the store refuses it after a sending whose
  // answer never came, the error is kUnknownOutcome.
  enum class Kind { kRead, kWrite };

  Caller(CallerOptions options, HttpClient& http, AccessKeySource& keys, Scheduler& scheduler, Random& random);
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // The body of the answer to such an operation ("PutItem"). Errors are the store's own, kUnavailable or kTimeout if it
  // does not answer a read or cannot be reached.
  Async<Result<std::string>> call(std::string operation, std::string body, Kind kind);

  // Waits before the next try, longer each time: full jitter. `tries`: those that failed, at least 1.
  Async<void> back_off(int tries);

  // True if a read may be sent a second time while the first sending is under way; takes that from the quota.
  bool may_hedge() { return quota_.take(RetryQuota::kRetryCosts); }

  Scheduler& scheduler() { return scheduler_; }

 private:
  struct Sent;
  Async<Sent> send(std::string operation, std::string body);
  const std::string& endpoint() const { return options_.endpoints[endpoint_]; }
  void leave(const std::string& endpoint);

  const CallerOptions options_;
  HttpClient& http_;
  AccessKeySource& keys_;
  Scheduler& scheduler_;
  Random& random_;
  RetryQuota quota_;
  size_t endpoint_ = 0;
};

}  // namespace freshet::remote
