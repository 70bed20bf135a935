#include "app/fleet/member_calls.h"

#include <algorithm>
#include <utility>

#include "base/url.h"
#include "wire/auth/actor.h"
#include "wire/auth/sigv4.h"
#include "wire/http/target.h"
#include "wire/sns/sns_route.h"
#include "wire/tasks/requests.h"

namespace freshet {

namespace {

constexpr milliseconds kNudgeTimeout{1000};
constexpr const char* kNudgePath = "/fleet/nudge";
constexpr const char* kRunPath = "/fleet/run";

// Headers that mean something to the member that answers, and to the client.
void copy_header(const HttpHeaders& from, HttpHeaders& to, const char* name) {
  const std::string_view value = header(from, name);
  if (!value.empty()) to.emplace_back(name, value);
}

// A presigned request is signed anew.
std::string without_signature(const std::string& target) {
  const size_t query = target.find('?');
  if (query == std::string::npos) return target;
  std::string out = target.substr(0, query);
  char between = '?';
  for (size_t begin = query + 1; begin <= target.size();) {
    const size_t end = std::min(target.find('&', begin), target.size());
    const std::string member = target.substr(begin, end - begin);
    const auto name = form_decode(std::string_view(member).substr(0, member.find('=')));
    if (!member.empty() && !(name && is_signature_member(*name))) out += std::exchange(between, '&') + member;
    begin = end + 1;
  }
  return out;
}

}  // namespace

Async<Result<HttpResponse>> MemberCalls::pass_on(const HttpRequest& request, const std::string& url,
                                                 const std::string& me, milliseconds timeout) {
  HttpRequest sent;
  sent.method = request.method;
  sent.target = without_signature(request.target);
  sent.body = request.body;
  copy_header(request.headers, sent.headers, "Content-Type");
  copy_header(request.headers, sent.headers, "X-Request-Id");
  copy_header(request.headers, sent.headers, tasks::kNewTaskId);
  sent.headers.emplace_back(kForwardedBy, me);
  const AccessKey* key = all_ ? all_->find(actor_of(request, true).who) : nullptr;
  auto answer = co_await send(std::move(sent), url, key, timeout);
  if (!answer) co_return fail(std::move(answer.error()));
  HttpResponse out;
  out.status = answer->status;
  out.content_type = std::move(answer->content_type);
  out.body = std::move(answer->body);
  for (const char* name : {"Retry-After", "X-Freshet-Next", "x-amzn-RequestId"})
    copy_header(answer->headers, out.headers, name);
  co_return out;
}

Async<Result<HttpResponse>> MemberCalls::run(std::string body, const std::string& url, const std::string& me,
                                             milliseconds timeout) {
  HttpRequest request;
  request.method = "POST";
  request.target = kRunPath;
  request.body = std::move(body);
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back(kForwardedBy, me);
  return send(std::move(request), url, own_key(), timeout);
}

Async<Result<HttpResponse>> MemberCalls::publish(HttpRequest request, const std::string& url, const std::string& me,
                                                 milliseconds timeout) {
  request.headers.emplace_back(kForwardedBy, me);
  return send(std::move(request), url, own_key(), timeout);
}

Async<Result<HttpResponse>> MemberCalls::nudge(const std::string& url) {
  HttpRequest request;
  request.method = "POST";
  request.target = kNudgePath;
  return send(std::move(request), url, own_key(), kNudgeTimeout);
}

Async<Result<HttpResponse>> MemberCalls::send(HttpRequest request, const std::string& url, const AccessKey* key,
                                              milliseconds timeout) {
  const auto parsed = parse_url(url);
  if (!parsed) co_return fail(parsed.error());
  request.headers.emplace_back("Host", parsed->host_header);
  if (key) {
    const SignatureScope scope{region_, is_query_request(request) ? "sns" : "freshet"};
    sign_request(request, *key, scope, clock_.wall());
  }
  std::string whole = url + request.target;
  auto answer = http_.send(std::move(whole), std::move(request), timeout);
  co_return co_await answer;
}

}  // namespace freshet
