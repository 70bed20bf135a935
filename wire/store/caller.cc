#include "wire/store/caller.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/http_date.h"
#include "base/points.h"
#include "base/url.h"
#include "wire/auth/sigv4.h"
#include "wire/store/answers.h"

namespace freshet::remote {

namespace {

// The base delay for DynamoDB in the SDKs' standard mode, whose longest delay is 20 seconds.
constexpr milliseconds kFirstWait{25};
constexpr milliseconds kLongestWait{20'000};

constexpr seconds kKnown{60};  // Then nothing is known any more of a store that nobody calls.

bool is_object(std::string_view body) {
  const size_t first = body.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && body[first] == '{';
}

}  // namespace

// The outcome of one attempt.
struct Caller::Sent {
  std::string body;
  AccessKey key;
  std::optional<ServiceError> error;  // Empty: it has succeeded.
  bool timed_out = false;
};

Caller::Caller(CallerOptions options, HttpClient& http, AccessKeySource& keys, Scheduler& scheduler, Random& random)
    : options_(std::move(options)), http_(http), keys_(keys), scheduler_(scheduler), random_(random) {
  FRESHET_CHECK(!options_.endpoints.empty(), "a store has an endpoint");
}

Async<Result<std::string>> Caller::call(std::string operation, std::string body, Kind kind) {
  bool in_doubt = false;
  bool asked_for_another_key = false;
  int cost = 0;
  Error last;
  for (int tries = 1;; ++tries) {
    Sent sent = co_await send(operation, body);
    if (!sent.error) {
      quota_.succeeded(cost);
      if (kind == Kind::kRead) hedges_.succeeded(0);
      co_return std::move(sent.body);
    }
    last = std::move(sent.error->error);
    const Failure failure = sent.error->failure;
    if (failure == Failure::kRefused) break;
    if (failure == Failure::kUnsure) in_doubt = true;
    if (failure == Failure::kCredentials) {
      if (std::exchange(asked_for_another_key, true)) break;
      keys_.refused(sent.key);
    }
    cost = sent.timed_out ? RetryQuota::kTimeoutCosts : RetryQuota::kRetryCosts;
    if (tries >= options_.attempts || !quota_.take(cost)) break;
    FRESHET_REACHED("a call of the engine is repeated");
    co_await back_off(tries);
  }
  if (kind == Kind::kWrite && in_doubt && !FRESHET_PLANTED("fleet-doubt-forgotten")) {
    FRESHET_REACHED("a write at the engine is in doubt");
    co_return fail(ErrorCode::kUnknownOutcome, operation + " may have been carried out: " + last.message);
  }
  co_return fail(std::move(last));
}

void Caller::read_clock(const HttpResponse& answer) {
  const auto date = parse_http_date(std::string(header(answer.headers, "Date")));
  if (!date) return;
  date_ = date;
  date_at_ = scheduler_.clock().boot();
}

std::optional<WallTime> Caller::store_time() const {
  if (!date_) return std::nullopt;
  return *date_ + std::chrono::duration_cast<milliseconds>(scheduler_.clock().boot() - date_at_);
}

Async<Caller::Sent> Caller::send(std::string operation, std::string body) {
  Sent sent;
  auto key = co_await keys_.current();
  if (!key) {
    note_fault("there is no access key: " + key.error().message);
    sent.error = ServiceError{std::move(key.error()), Failure::kRefused};
    co_return sent;
  }
  sent.key = std::move(*key);
  const std::string to = endpoint();
  const auto url = parse_url(to);
  FRESHET_CHECK(url.has_value(), "an endpoint is a URL");
  HttpRequest request;
  request.method = "POST";
  request.target = "/";
  request.headers.emplace_back("Host", url->host_header);
  request.headers.emplace_back("Content-Type", "application/x-amz-json-1.0");
  const bool names_service = operation.find('.') != std::string::npos;
  request.headers.emplace_back("X-Amz-Target", names_service ? operation : "DynamoDB_20120810." + operation);
  request.body = std::move(body);
  const SignatureScope scope{options_.region, "dynamodb"};
  sign_request(request, sent.key, scope, scheduler_.clock().wall());
  auto answer = co_await http_.send(to + "/", std::move(request), options_.timeout);
  if (answer && options_.reads_clock) read_clock(*answer);
  if (!answer) {
    sent.timed_out = answer.error().code == ErrorCode::kTimeout;
    const auto failure = was_never_sent(answer.error()) ? Failure::kBusy : Failure::kUnsure;
    sent.error = ServiceError{std::move(answer.error()), failure};
    leave(to);
  } else if (answer->status == 200 && is_object(answer->body)) {
    sent.body = std::move(answer->body);
  } else if (answer->status == 200) {
    const char* what = "the endpoint answered 200 without a JSON object: is it a store of the DynamoDB protocol?";
    sent.error = ServiceError{Error{ErrorCode::kInternal, what, nullptr}, Failure::kUnsure};
    leave(to);
  } else {
    sent.error = error_of(*answer);
    if (!sent.error->throttled.empty()) options_.on_throttled(sent.error->throttled);
    if (sent.error->failure == Failure::kUnsure) leave(to);
  }
  note_health(sent, to);
  co_return sent;
}

void Caller::note_health(const Sent& sent, const std::string& endpoint) {
  const bool is_away = sent.error && sent.error->throttled.empty() && sent.error->failure != Failure::kRefused &&
                       sent.error->error.code != ErrorCode::kTransactionConflict;
  if (is_away) {
    const std::string& message = sent.error->error.message;
    return note_fault(message.starts_with(endpoint) ? message : endpoint + ": " + message);
  }
  fault_.clear();
}

void Caller::note_fault(std::string fault) {
  const BootTime now = scheduler_.clock().boot();
  if (fault_.empty() || now >= fault_at_ + kKnown) fault_since_ = now;
  fault_at_ = now;
  fault_ = std::move(fault);
}

std::string Caller::trouble() const {
  const bool lasts = !fault_.empty() && fault_at_ >= fault_since_ + kTrouble;
  const bool is_known = scheduler_.clock().boot() < fault_at_ + kKnown;
  return lasts && is_known ? "the engine cannot be used: " + fault_ : std::string();
}

// Another call may have left it already.
void Caller::leave(const std::string& from) {
  if (endpoint() == from) endpoint_ = (endpoint_ + 1) % options_.endpoints.size();
}

Async<void> Caller::back_off(int tries) {
  const int doublings = std::min(tries - 1, 10);
  const auto most = std::min<milliseconds>(kFirstWait * (1 << doublings), kLongestWait);
  const auto wait = nanoseconds(static_cast<int64_t>(random_.unit() * static_cast<double>(nanoseconds(most).count())));
  co_await sleep_for(scheduler_, wait);
}

}  // namespace freshet::remote
