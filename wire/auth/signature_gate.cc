#include "wire/auth/signature_gate.h"

#include "wire/auth/canonical.h"
#include "wire/auth/session_cookie.h"
#include "wire/auth/sigv4.h"
#include "wire/http/own_error.h"
#include "wire/http/request_ids.h"
#include "wire/sns/sns_route.h"
#include "wire/sns/xml.h"

namespace freshet {

namespace {

class SignatureGate final : public RequestGate {
 public:
  SignatureGate(SignatureGateOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock), sessions_(options_.sessions), ids_(options_.seed) {}

  std::unique_ptr<HttpResponse> head_refusal(const HttpRequest& head) const override {
    if (SessionCheck::is_sign_in(head)) return SessionCheck::sign_in_head_refusal(head);
    std::optional<Session> session;
    if (sessions_.applies_to(head)) return answer_to(head, sessions_.check(head, session, SessionCheck::Part::kHead));
    // No open request has a body that needs to be received first.
    return answer_to(head, check_signature_head(head, options_.credentials, scope_of(head), clock_.wall()));
  }

  std::unique_ptr<HttpResponse> admit(HttpRequest& request) const override {
    if (is_open(request)) return nullptr;
    if (SessionCheck::is_sign_in(request)) return sessions_.sign_in_refusal(request);
    if (sessions_.applies_to(request)) return admit_session(request);
    const AccessKey* signer = nullptr;
    auto fault = check_signature(request, options_.credentials, scope_of(request), clock_.wall(), signer);
    if (!fault) fault = role_fault(request, signer->id, signer->role);
    if (!fault) set_sender(request, signature_authorization(signer->id));
    return answer_to(request, fault);
  }

 private:
  // Replaces the client's own header, which may name another key than the one that was checked.
  static void set_sender(HttpRequest& request, std::string authorization) {
    std::erase_if(request.headers, [](const auto& one) { return sigv4::lower(one.first) == "authorization"; });
    request.headers.emplace_back("Authorization", std::move(authorization));
  }
  std::unique_ptr<HttpResponse> admit_session(HttpRequest& request) const {
    std::optional<Session> session;
    const auto fault = sessions_.check(request, session, SessionCheck::Part::kWhole);
    if (session) set_sender(request, session_authorization(session->key));
    return answer_to(request, fault);
  }
  static bool is_protocol(const HttpRequest& request) {
    return sigv4::path_of(request.target) == "/" && request.method == "POST";
  }
  SignatureScope scope_of(const HttpRequest& request) const {
    if (is_query_request(request)) return {options_.region, "sns"};
    const bool dynamodb = header(request.headers, "X-Amz-Target").starts_with("DynamoDB");
    return is_protocol(request) && dynamodb ? SignatureScope{options_.region, "dynamodb"} : SignatureScope{};
  }
  std::unique_ptr<HttpResponse> answer_to(const HttpRequest& request,
                                          const std::optional<SignatureFault>& fault) const {
    if (!fault) return nullptr;
    if (is_query_request(request)) return query_refusal(*fault);
    const std::string type = "com.amazon.coral.service#" + std::string(fault->name);
    const bool protocol = is_protocol(request);
    const ApiKind api = api_of(request.target);
    std::string message = fault->message;
    if (api == ApiKind::kOwn && fault->name == "MissingAuthenticationTokenException") {
      message +=
          ": this daemon asks for signed requests. Commands of freshet sign with --credentials FILE, curl with "
          "--aws-sigv4 aws:amz:" +
          options_.region + ":freshet --user ID:SECRET";
    }
    auto response = std::make_unique<HttpResponse>(freshet::refusal(api, protocol ? 400 : 403, type, message));
    if (protocol) response->content_type = "application/x-amz-json-1.0";
    if (api == ApiKind::kAws) seal_answer(*response, ids_);
    return response;
  }
  // The query protocol's names of the same faults, in XML.
  std::unique_ptr<HttpResponse> query_refusal(const SignatureFault& fault) const {
    std::string_view code = "IncompleteSignature";
    if (fault.name == "InvalidSignatureException") code = "SignatureDoesNotMatch";
    if (fault.name == "UnrecognizedClientException") code = "InvalidClientTokenId";
    if (fault.name == "AccessDeniedException") code = "AuthorizationError";
    if (fault.name == "MissingAuthenticationTokenException") code = "MissingAuthenticationToken";
    auto response = std::make_unique<HttpResponse>();
    response->status = code == "IncompleteSignature" ? 400 : 403;
    response->content_type = "text/xml";
    const std::string id = ids_.next();
    response->headers.emplace_back("x-amzn-RequestId", id);
    response->body = sns::error_document(response->status, code, fault.message, id);
    return response;
  }
  // /queues/NAME/backlog, which answers numbers alone.
  static bool is_backlog(std::string_view path) {
    constexpr std::string_view kBefore = "/queues/";
    constexpr std::string_view kAfter = "/backlog";
    if (!path.starts_with(kBefore) || !path.ends_with(kAfter)) return false;
    if (path.size() <= kBefore.size() + kAfter.size()) return false;
    const auto name = path.substr(kBefore.size(), path.size() - kBefore.size() - kAfter.size());
    return name.find('/') == std::string_view::npos;
  }
  // The dashboard's own files, which are the same in every daemon of this release. What they show is not open.
  static bool is_page(std::string_view path) { return path == "/ui" || path.starts_with("/ui/"); }
  // Requests that only ask if the server is there, and the confirmation of a subscription, whose token is the proof.
  bool is_open(const HttpRequest& request) const {
    if (request.method != "GET" && request.method != "HEAD") return false;
    const std::string_view path = sigv4::path_of(request.target);
    if (path == "/" || path == "/healthz" || path == "/readyz" || is_page(path)) return true;
    return options_.open_metrics && (path == "/metrics" || is_backlog(path));
  }

  const SignatureGateOptions options_;
  const Clock& clock_;
  const SessionCheck sessions_;
  mutable RequestIds ids_;  // Any thread.
};

}  // namespace

std::unique_ptr<RequestGate> make_signature_gate(SignatureGateOptions options, const Clock& clock) {
  return std::make_unique<SignatureGate>(std::move(options), clock);
}

}  // namespace freshet
