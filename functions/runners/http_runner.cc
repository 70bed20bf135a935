#include "functions/runners/http_runner.h"

#include <algorithm>

#include "base/number_text.h"
#include "functions/runners/function_answer.h"
#include "functions/runners/limit_headers.h"
#include "runtime/api/task_cost.h"
#include "tables/value/json.h"
#include "tables/value/text.h"

namespace freshet {

namespace {

constexpr size_t kMaxHttpResultBytes = 64u << 10;
constexpr size_t kMaxHttpErrorBytes = 1024;

std::string target_of(const std::string& url) {
  auto host = url.find("//") + 2;
  auto path = url.find('/', host);
  return path == std::string::npos ? "/" : url.substr(path);
}

}  // namespace

std::string clean_text(std::string_view text, size_t max_bytes) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    auto length = utf8_sequence(text.substr(at));
    std::string_view next = length > 0 ? text.substr(at, length) : "\xEF\xBF\xBD";
    if (out.size() + next.size() > max_bytes) break;
    out += next;
    at += std::max<size_t>(length, 1);
  }
  return out;
}

Value kept_result(std::string_view text, size_t max_bytes) {
  if (text.empty()) return Value();
  if (text.size() <= max_bytes) {
    auto value = parse_plain_json(text);
    if (value && normalize(*value, "result")) return std::move(*value);
  }
  return Value(clean_text(text, max_bytes));
}

// `Freshet-Cost` of an answer.
void read_cost(const HttpHeaders& headers, RunResult& out) {
  const auto text = header(headers, "Freshet-Cost");
  if (text.empty()) return;
  double cost = 0;
  if (read_number_in(text, cost) && is_cost(cost)) {
    out.cost = cost;
  } else {
    out.bad_cost = clean_text(text, 64);
  }
}

HttpRunner::HttpRunner(const RunnerSettings& settings, Services& services)
    : settings_(settings), services_(services), target_(target_of(settings.url)) {}

Async<RunResult> HttpRunner::run(ItemRef task, std::string lease) {
  HttpRequest request;
  request.method = "POST";
  request.target = target_;
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = task_json(task, lease);
  auto answer = co_await services_.http.send(settings_.url, std::move(request), settings_.timeout);
  RunResult out;
  if (!answer) {
    out.kind = was_never_sent(answer.error()) ? RunResult::Kind::kBounced : RunResult::Kind::kFailure;
    if (out.kind == RunResult::Kind::kBounced) out.delay = settings_.retry_after;
    out.error = std::move(answer.error().message);
    out.answered = false;
    co_return out;
  }
  read_cost(answer->headers, out);
  out.hints = limit_hints(answer->headers, services_.scheduler.clock().wall());
  if (const auto kind = header(answer->headers, "X-Amz-Function-Error"); !kind.empty()) {
    out.kind = RunResult::Kind::kFailure;
    out.error = answer->body.empty() ? "the function failed: " + std::string(kind) : error_text(answer->body);
    co_return out;
  }
  if (answer->status >= 200 && answer->status < 300) {
    out.result = kept_result(answer->body, kMaxHttpResultBytes);
    co_return out;
  }
  if (answer->status == 429 || answer->status == 503) {
    out.kind = RunResult::Kind::kBounced;
    out.reason = "the handler answered " + std::to_string(answer->status);
    out.refusal = answer->status == 429 ? DownstreamRefusal::kTooManyRequests : DownstreamRefusal::kUnavailable;
    out.delay = out.hints.retry_after;
    out.leave_alone = out.delay;
    if (!out.delay) out.delay = settings_.retry_after;
    co_return out;
  }
  out.kind = RunResult::Kind::kFailure;
  out.error = "the handler answered " + std::to_string(answer->status);
  if (const auto location = header(answer->headers, "Location"); answer->status < 400 && !location.empty()) {
    out.error += " and sends on to " + clean_text(location, kMaxHttpErrorBytes) +
                 ": name that address, as redirects are not followed";
    co_return out;
  }
  const std::string_view body = std::string_view(answer->body).substr(0, answer->body.find_last_not_of(" \r\n") + 1);
  if (!body.empty()) out.error += ": " + clean_text(body, kMaxHttpErrorBytes);
  co_return out;
}

}  // namespace freshet
