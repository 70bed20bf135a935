// Calls a DynamoDB-compatible store over HTTP. Requests are signed, have a timeout, and are retried as in the standard
// mode of the SDKs: at most four attempts, full jitter, a retry quota (retry_quota.h). With several endpoints a call
// goes to the one that answered last, and to the next one once that fails.
//
// Loop thread. Everything that it refers to must outlive it, and it must outlive every Async that it returned.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "runtime/ports.h"
#include "wire/store/access_keys.h"
#include "wire/store/retry_quota.h"

namespace freshet::remote {

// The bounds of a store that a throttled request met, as docs/metrics.md has them: "partition" (one key range has too
// much), "provisioned" (of a table or an index), "on-demand" (the most of a table that is billed by request),
// "account", and "other" (the store does not say).
inline constexpr std::array<std::string_view, 5> kThrottlingReasons = {"partition", "provisioned", "on-demand",
                                                                       "account", "other"};

struct CallerOptions {
  std::vector<std::string> endpoints;  // At least one: http[s]://HOST[:PORT], without a path.
  std::string region = "us-east-1";
  milliseconds timeout{3'000};  // For each attempt.
  int attempts = 4;             // The most attempts of a call.
  bool reads_clock = false;     // See Caller::store_time().
  // Called for each throttled attempt with its reason (kThrottlingReasons).
  std::function<void(std::string_view reason)> on_throttled = [](std::string_view) {};
};

class Caller {
 public:
  // A kWrite fails with kUnknownOutcome if it may have been carried out all the same, also if the store refuses it
  // after an attempt that got no answer.
  enum class Kind { kRead, kWrite };

  Caller(CallerOptions options, HttpClient& http, AccessKeySource& keys, Scheduler& scheduler, Random& random);
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Returns the body of the answer to an operation ("PutItem"), or to one of another service, with that one's name
  // before it ("DynamoDBStreams_20120810.GetRecords"). Errors are those of the store; kUnavailable or kTimeout if it
  // cannot be reached, or does not answer a read.
  Async<Result<std::string>> call(std::string operation, std::string body, Kind kind);

  // Waits before the next attempt, longer each time, with full jitter. `tries`: the failed attempts, at least 1.
  Async<void> back_off(int tries);

  // Returns true if a read may be sent a second time while the first attempt is in flight, and takes its cost from a
  // quota of its own, which reads refill: hedges do not use up the retries of other calls.
  bool may_hedge() { return hedges_.take(RetryQuota::kRetryCosts); }

  // The time by the store's clock: it is that, or up to a second later. Empty: `reads_clock` is not set, or no answer
  // has said it.
  std::optional<WallTime> store_time() const;

  // Why the store cannot be used now: each attempt of kTrouble or longer has failed, the last one within a minute.
  // Empty: it can, as far as is known. The refusal of a request is no failure, that of the access key is one.
  std::string trouble() const;
  static constexpr milliseconds kTrouble{3'000};

  Scheduler& scheduler() { return scheduler_; }

 private:
  struct Sent;
  Async<Sent> send(std::string operation, std::string body);
  const std::string& endpoint() const { return options_.endpoints[endpoint_]; }
  void leave(const std::string& endpoint);
  void read_clock(const HttpResponse& answer);
  void note_health(const Sent& sent, const std::string& endpoint);
  void note_fault(std::string fault);

  const CallerOptions options_;
  HttpClient& http_;
  AccessKeySource& keys_;
  Scheduler& scheduler_;
  Random& random_;
  RetryQuota quota_;
  RetryQuota hedges_;
  size_t endpoint_ = 0;
  std::string fault_;       // That of the last attempt, with its endpoint; empty: it was answered.
  BootTime fault_since_{};  // When the first of these in a row ended, and the last one.
  BootTime fault_at_{};
  std::optional<WallTime> date_;  // As the newest answer with a date has it.
  BootTime date_at_{};            // When that answer came.
};

}  // namespace freshet::remote
