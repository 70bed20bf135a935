#include "wire/s3/object_client.h"

#include <algorithm>
#include <utility>

#include "base/crypto.h"
#include "base/url.h"
#include "wire/auth/sigv4.h"

namespace freshet {
namespace {

constexpr size_t kHashStep = 1u << 20;  // In one turn of the loop.
constexpr size_t kShown = 300;          // The most bytes of an error's text.

// The text in <NAME>...</NAME> of an error document; empty if there is none.
std::string_view element(std::string_view xml, std::string_view name) {
  const std::string open = "<" + std::string(name) + ">";
  const size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = xml.substr(begin + open.size());
  const size_t end = rest.find("</");
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, std::min(end, kShown));
}

class ObjectClient final : public ObjectStore {
 public:
  ObjectClient(HttpClient& http, Scheduler& scheduler) : http_(http), scheduler_(scheduler) {}

  Async<Result<void>> put(ObjectTarget target, std::string key, std::string body) override {
    const auto url = parse_url(target.endpoint);
    if (!url) co_return fail(url.error());
    Sha256 hash;
    for (size_t at = 0; at < body.size(); at += kHashStep) {
      hash.add(std::string_view(body).substr(at, kHashStep));
      co_await sleep_for(scheduler_, nanoseconds(0));
    }
    const std::string body_hash = hash.hex();
    HttpRequest request;
    request.method = "PUT";
    request.target = "/" + target.bucket + "/" + key;
    request.headers = {
        {"Host", url->host_header}, {"Content-Type", "application/x-ndjson"}, {"X-Amz-Content-Sha256", body_hash}};
    request.body = std::move(body);
    const AccessKey access{target.access_key_id, target.secret_access_key, ""};
    sign_request(request, access, {target.region, "s3"}, scheduler_.clock().wall(), body_hash);
    std::string address = target.endpoint + request.target;
    const milliseconds timeout = target.timeout;
    auto answer = co_await http_.send(std::move(address), std::move(request), timeout);
    if (!answer) co_return fail(answer.error());
    if (answer->status / 100 == 2) co_return Result<void>();
    std::string message =
        "PUT of " + key + " into bucket " + target.bucket + " was answered with " + std::to_string(answer->status);
    const std::string_view code = element(answer->body, "Code");
    if (!code.empty()) message.append(": ").append(code).append(": ").append(element(answer->body, "Message"));
    co_return fail(ErrorCode::kUnavailable, std::move(message));
  }

 private:
  HttpClient& http_;
  Scheduler& scheduler_;
};

}  // namespace

std::unique_ptr<ObjectStore> make_object_client(HttpClient& http, Scheduler& scheduler) {
  return std::make_unique<ObjectClient>(http, scheduler);
}

}  // namespace freshet
