#include "wire/auth/signature_gate.h"

#include "tables/value/json.h"
#include "wire/auth/canonical.h"
#include "wire/auth/sigv4.h"
#include "wire/http/request_ids.h"

namespace freshet {

namespace {

class SignatureGate final : public RequestGate {
 public:
  SignatureGate(SignatureGateOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock), ids_(options_.seed) {}

  std::unique_ptr<HttpResponse> refusal(const HttpRequest& request) const override {
    const std::string_view path = sigv4::path_of(request.target);
    if (is_open(request, path)) return nullptr;
    const bool protocol = path == "/" && request.method == "POST";
    SignatureScope scope;
    if (protocol && header(request.headers, "X-Amz-Target").starts_with("DynamoDB")) {
      scope = {options_.region, "dynamodb"};
    }
    const auto fault = check_signature(request, options_.credentials, scope, clock_.wall());
    if (!fault) return nullptr;
    auto response = std::make_unique<HttpResponse>();
    response->status = protocol ? 400 : 403;
    if (protocol) response->content_type = "application/x-amz-json-1.0";
    response->body = "{\"__type\":\"com.amazon.coral.service#" + std::string(fault->name) + "\",\"message\":";
    append_json_string(response->body, fault->message);
    response->body += '}';
    seal_answer(*response, ids_);
    return response;
  }

 private:
  // What tells nothing but that the server is there.
  bool is_open(const HttpRequest& request, std::string_view path) const {
    if (request.method != "GET" && request.method != "HEAD") return false;
    return path == "/" || path == "/healthz" || path == "/readyz" || (options_.open_metrics && path == "/metrics");
  }

  const SignatureGateOptions options_;
  const Clock& clock_;
  mutable RequestIds ids_;  // Any thread.
};

}  // namespace

std::unique_ptr<RequestGate> make_signature_gate(SignatureGateOptions options, const Clock& clock) {
  return std::make_unique<SignatureGate>(std::move(options), clock);
}

}  // namespace freshet
