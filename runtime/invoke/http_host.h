// Runs functions behind a URL: posts the event; the body of the response is the result.
#pragma once

#include <string_view>

#include "runtime/invoke/function.h"

namespace freshet {

// Error types for an endpoint that did not accept the event: asynchronous events wait and try again, and it does not
// count as a retry.
inline constexpr std::string_view kHostBusy = "Host.Busy";                // 429, 503.
inline constexpr std::string_view kHostUnavailable = "Host.Unavailable";  // No connection.
bool is_busy(const InvokeOutcome& outcome);

// POST of the event to `function.handler`. 2xx: the body is the result (null if it is empty; a JSON string if it is not
// JSON). Anything else, or a header x-amz-function-error, is a function error. Everything that the function can see is
// durable first.
class HttpHost final : public Host {
 public:
  HttpHost(Tables& tables, HttpClient& http, const Clock& clock) : tables_(tables), http_(http), clock_(clock) {}
  Async<InvokeOutcome> invoke(const FunctionDefinition& function, Invocation invocation) override;

 private:
  Tables& tables_;
  HttpClient& http_;
  const Clock& clock_;
};

// A topic's HTTP subscription as a function: its name is the subscription's ARN, its handler the URL. 4xx but 429 is an
// error; every other failure is "busy", so that the message is tried again until it is too old.
class EndpointHost final : public Host {
 public:
  EndpointHost(Tables& tables, HttpClient& http) : tables_(tables), http_(http) {}
  Async<InvokeOutcome> invoke(const FunctionDefinition& function, Invocation invocation) override;

 private:
  Tables& tables_;
  HttpClient& http_;
};

}  // namespace freshet
