#include "wire/http/own_error.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/deploy/diagnostics.h"
#include "tables/value/json.h"

namespace freshet {
namespace {

// The name of a status in an error. `name`: in "__type", from earlier releases.
struct StatusName {
  int status;
  std::string_view name;
  std::string_view code;
};

constexpr StatusName kNames[] = {
    {400, "BadRequest", "BadRequestException"},
    {403, "Forbidden", "AccessDeniedException"},
    {404, "NotFound", "NotFoundException"},
    {405, "MethodNotAllowed", "MethodNotAllowedException"},
    {408, "RequestTimeout", "RequestTimeoutException"},
    {413, "RequestTooLarge", "RequestTooLargeException"},
    {415, "UnsupportedMediaType", "UnsupportedMediaTypeException"},
    {421, "MisdirectedRequest", "MisdirectedRequestException"},
    {431, "RequestHeadersTooLarge", "RequestHeadersTooLargeException"},
    {500, "InternalServerError", "InternalServerError"},
    {501, "NotImplemented", "NotImplementedException"},
    {503, "ServiceUnavailable", "ServiceUnavailableException"},
    {505, "HttpVersionNotSupported", "HttpVersionNotSupportedException"},
};

const StatusName& name_of(int status) {
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const StatusName& one) { return one.status == status; });
  return found == std::end(kNames) ? kNames[0] : *found;
}

HttpResponse refusal_as(ApiKind api, int status, const StatusName& as, std::string_view message) {
  HttpResponse response;
  response.status = status;
  std::string& body = response.body;
  body = "{";
  if (api == ApiKind::kOwn) {
    body += "\"error\":";
    append_error_object(body, as.code, message);
    body += ',';
  }
  body += "\"__type\":";
  append_json_string(body, as.name);
  body += ",\"message\":";
  append_json_string(body, message);
  body += api == ApiKind::kOwn ? "}\n" : "}";
  return response;
}

class FixedResponse final : public Exchange {
 public:
  explicit FixedResponse(HttpResponse response) : response_(std::move(response)) {}
  Async<void> run() override { return {}; }
  HttpResponse respond() override { return std::move(response_); }

 private:
  HttpResponse response_;
};

}  // namespace

ApiKind api_of(std::string_view target) {
  if (target.empty()) return ApiKind::kOwn;
  if (!target.starts_with('/')) {  // "http://HOST/PATH"
    const size_t host = target.find("://");
    const size_t path = host == std::string_view::npos ? host : target.find('/', host + 3);
    target = path == std::string_view::npos ? std::string_view("/") : target.substr(path);
  }
  const bool root = target.size() == 1 || target[1] == '?';
  return root || target.starts_with("/20") ? ApiKind::kAws : ApiKind::kOwn;
}

void append_error_object(std::string& out, std::string_view code, std::string_view message) {
  out += R"({"code":)";
  append_json_string(out, code);
  out += R"(,"message":)";
  append_json_string(out, message);
  out += '}';
}

HttpResponse refusal(ApiKind api, int status, std::string_view message) {
  return refusal_as(api, status, name_of(status), message);
}

HttpResponse refusal(ApiKind api, int status, std::string_view code, std::string_view message) {
  return refusal_as(api, status, {status, code, code.substr(code.find('#') + 1)}, message);
}

HttpResponse overloaded(ApiKind api, std::string_view message) {
  HttpResponse response = refusal(api, 503, message);
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

HttpResponse own_error(int status, std::string_view code, std::string_view message) {
  HttpResponse response;
  response.status = status;
  response.body = R"({"error":)";
  append_error_object(response.body, code, message);
  response.body += "}\n";
  return response;
}

std::string nothing_served(std::string_view method, std::string_view path) {
  static const std::vector<std::string> kRoots = {"queues", "priority", "filtered", "ordered", "metrics", "healthz",
                                                  "readyz", "logs",     "audit",    "deploy",  "record"};
  std::string out = "nothing is served at " + std::string(method) + " " + std::string(path);
  const std::string_view below = path.substr(std::min<size_t>(1, path.size()));
  const std::string_view root = below.substr(0, below.find('/'));
  const std::string_view rest = below.substr(root.size());
  for (const std::string& one : kRoots) {
    if (root != one && !did_you_mean(root, {one}).empty()) {
      return out + "; did you mean /" + one + std::string(rest) + "?";
    }
  }
  return out +
         "; a queue's tasks are at /queues/NAME/tasks, GET /queues lists the queues, and docs/task-api.md has the "
         "other paths";
}

HttpResponse method_not_allowed(const HttpRequest& request, std::string_view allow) {
  const std::string_view path = std::string_view(request.target).substr(0, request.target.find('?')).substr(0, 200);
  HttpResponse response =
      own_error(405, name_of(405).code,
                request.method + " is not served at " + std::string(path) + "; use " + std::string(allow));
  response.headers.emplace_back("Allow", allow);
  return response;
}

std::string_view allowed_methods(bool get, bool post) {
  if (get && post) return "GET, HEAD, POST";
  return get ? "GET, HEAD" : post ? "POST" : "";
}

std::unique_ptr<Exchange> answer_with_response(HttpResponse response) {
  return std::make_unique<FixedResponse>(std::move(response));
}

}  // namespace freshet
