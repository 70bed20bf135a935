#include "runtime/invoke/http_host.h"

#include <fmt/format.h>

#include "runtime/invoke/native_host.h"
#include "runtime/invoke/outcome.h"
#include "streams/topic_service.h"

namespace freshet {

namespace {

InvokeOutcome refused(std::string_view type, int status) {
  return failed_outcome(std::string(type), fmt::format("The endpoint answered {}", status));
}

InvokeOutcome no_answer(const Error& error, milliseconds timeout) {
  if (error.code == ErrorCode::kTimeout) return timed_out(timeout);
  return failed_outcome(std::string(kHostUnavailable), error.message);
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

HttpRequest post_of(const Invocation& invocation, std::string content_type) {
  HttpRequest request;
  request.method = "POST";
  request.headers = {{"Content-Type", std::move(content_type)}};
  request.body = invocation.payload.text();
  return request;
}

}  // namespace

bool is_busy(const InvokeOutcome& outcome) {
  return outcome.error && (outcome.error->type == kHostBusy || outcome.error->type == kHostUnavailable);
}

Async<InvokeOutcome> HttpHost::invoke(const FunctionDefinition& function, Invocation invocation) {
  auto durable = co_await tables_.durable();
  if (!durable) co_return failed_outcome(std::string(kHostUnavailable), std::move(durable.error().message));
  const auto deadline = clock_.wall() + function.timeout;
  HttpRequest request = post_of(invocation, "application/json");
  request.headers.emplace_back("Lambda-Runtime-Aws-Request-Id", invocation.request_id);
  request.headers.emplace_back("Lambda-Runtime-Deadline-Ms", std::to_string(epoch_ms(deadline)));
  if (!invocation.trace_id.empty()) request.headers.emplace_back("Lambda-Runtime-Trace-Id", invocation.trace_id);
  if (!invocation.client_context.empty()) {
    request.headers.emplace_back("Lambda-Runtime-Client-Context", invocation.client_context);
  }
  std::string url = function.handler;
  auto response = co_await http_.send(std::move(url), std::move(request), function.timeout);
  if (!response) co_return no_answer(response.error(), function.timeout);
  if (response->status == 429 || response->status == 503) co_return refused(kHostBusy, response->status);
  const std::string_view function_error = header(response->headers, "x-amz-function-error");
  if (!is_success(response->status) || !function_error.empty()) {
    InvokeOutcome outcome = refused(function_error.empty() ? "Host.Status" : function_error, response->status);
    outcome.error->handled = says_handled(function_error);
    if (!response->body.empty()) outcome.payload = as_json(std::move(response->body));
    co_return outcome;
  }
  co_return InvokeOutcome{as_json(std::move(response->body)), std::nullopt};
}

Async<InvokeOutcome> EndpointHost::invoke(const FunctionDefinition& function, Invocation invocation) {
  auto durable = co_await tables_.durable();
  if (!durable) co_return failed_outcome(std::string(kHostUnavailable), std::move(durable.error().message));
  HttpRequest request = post_of(invocation, "text/plain; charset=UTF-8");
  const bool confirmation = function.name.ends_with(kConfirmationSuffix);
  request.headers.emplace_back("x-amz-sns-message-type", confirmation ? "SubscriptionConfirmation" : "Notification");
  request.headers.emplace_back("x-amz-sns-message-id", invocation.request_id);
  request.headers.emplace_back("x-amz-sns-topic-arn", function.name.substr(0, function.name.rfind(':')));
  if (!confirmation) request.headers.emplace_back("x-amz-sns-subscription-arn", function.name);
  std::string url = function.handler;
  auto response = co_await http_.send(std::move(url), std::move(request), function.timeout);
  if (!response) {
    co_return failed_outcome(std::string(kHostUnavailable), std::move(response.error().message));
  }
  if (is_success(response->status)) co_return InvokeOutcome{"null", std::nullopt};
  const bool final = response->status >= 400 && response->status < 500 && response->status != 429;
  co_return refused(final ? "Host.Status" : kHostBusy, response->status);
}

}  // namespace freshet
