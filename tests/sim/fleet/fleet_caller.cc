#include "tests/sim/fleet/fleet_caller.h"

#include <utility>

#include "tests/sim/machine/quick_json.h"

namespace freshet::fleet_sim {

namespace {
constexpr size_t kShown = 160;
}  // namespace

std::string text_in(const nlohmann::json& from, const char* name) {
  if (!from.is_object()) return {};
  const auto found = from.find(name);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Async<Reply> FleetCaller::call(uint16_t port, HttpRequest request, std::string what, milliseconds patience) {
  const std::string number = std::to_string(++calls_);
  Reply reply;
  reply.sent = now();
  trace_.note("> " + number + " :" + std::to_string(port) + " " + what + " " + request.body.substr(0, kShown));
  std::string url = "http://127.0.0.1:" + std::to_string(port) + request.target;
  const Result<HttpResponse> answer = co_await http_.send(std::move(url), std::move(request), patience);
  reply.answered = now();
  if (!answer) {
    reply.never_sent = was_never_sent(answer.error());
    trace_.saw(what + (reply.never_sent ? " not sent" : " unknown"));
    trace_.note("< " + number + " " + answer.error().message);
    co_return reply;
  }
  reply.status = answer->status;
  reply.body = sim::parse_json(answer->body);
  reply.text = answer->body;
  trace_.saw(what + " " + std::to_string(reply.status));
  trace_.note("< " + number + " " + std::to_string(reply.status) + " " + answer->body.substr(0, kShown));
  co_return reply;
}

Async<Reply> FleetCaller::post(uint16_t port, std::string path, nlohmann::json body, milliseconds patience) {
  HttpRequest request;
  request.method = "POST";
  request.body = sim::text_of_json(body);
  std::string what = "POST " + path.substr(path.rfind('/'));
  request.target = std::move(path);
  return call(port, std::move(request), std::move(what), patience);
}

Async<Reply> FleetCaller::get(uint16_t port, std::string path, milliseconds patience) {
  HttpRequest request;
  request.method = "GET";
  std::string what = "GET " + path.substr(path.rfind('/'));
  request.target = std::move(path);
  return call(port, std::move(request), std::move(what), patience);
}

Async<Reply> FleetCaller::invoke(uint16_t port, std::string function, nlohmann::json event, milliseconds patience) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/2015-03-31/functions/" + function + "/invocations";
  request.headers = {{"X-Amz-Invocation-Type", "Event"}};
  request.body = sim::text_of_json(event);
  return call(port, std::move(request), "Invoke", patience);
}

Async<Reply> FleetCaller::publish(uint16_t port, std::string topic, std::string id, std::string group,
                                  milliseconds patience) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/";
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = "Action=Publish&Version=2010-03-31&TopicArn=" + topic + "&Message=" + id + "&MessageGroupId=" + group +
                 "&MessageDeduplicationId=" + id;
  return call(port, std::move(request), "Publish", patience);
}

Async<Reply> FleetCaller::store(uint16_t port, std::string operation, nlohmann::json input, milliseconds patience) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/";
  request.headers = {{"X-Amz-Target", "DynamoDB_20120810." + operation},
                     {"Content-Type", "application/x-amz-json-1.0"}};
  request.body = sim::text_of_json(input);
  return call(port, std::move(request), std::move(operation), patience);
}

}  // namespace freshet::fleet_sim
