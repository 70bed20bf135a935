#include "tests/sim/machine/caller.h"

#include <algorithm>
#include <utility>

#include "tests/sim/machine/quick_json.h"

namespace freshet::sim {

namespace {

constexpr const char* kHost = "http://127.0.0.1:7070";
constexpr const char* kSlowHost = "http://127.0.0.2:7070";
constexpr size_t kShown = 200;

// The beginning of a body, for the trace.
std::string shown(const std::string& body) {
  return body.substr(0, kShown);
}

std::string element(const std::string& body, const std::string& name) {
  const size_t from = body.find("<" + name + ">");
  const size_t end = body.find("</" + name + ">");
  if (from == std::string::npos || end == std::string::npos) return {};
  return body.substr(from + name.size() + 2, end - from - name.size() - 2);
}

// {"error": {"code", "message"}}, {"__type", "message"}, the XML of SNS, or the header of Lambda beside {"Message"}.
void read_error(Reply& reply, const HttpResponse& answer) {
  if (!reply.body.is_object()) {
    reply.error = element(answer.body, "Code");
    reply.message = element(answer.body, "Message");
    return;
  }
  if (const auto error = reply.body.find("error"); error != reply.body.end() && error->is_object()) {
    reply.error = text_of(*error, "code");
    reply.message = text_of(*error, "message");
    return;
  }
  reply.error = text_of(reply.body, "__type");
  for (const auto& [name, value] : answer.headers) {
    if (name == "x-amzn-ErrorType") reply.error = value;
  }
  reply.error.erase(0, reply.error.find('#') + 1);
  // The service writes it large in some errors.
  reply.message = text_of(reply.body, reply.body.contains("Message") ? "Message" : "message");
}

Reply::Kind kind_of(const Result<HttpResponse>& answer) {
  if (!answer) return was_never_sent(answer.error()) ? Reply::Kind::kRefused : Reply::Kind::kUnknown;
  if (answer->status < 300) return Reply::Kind::kDone;
  return answer->status == 500 ? Reply::Kind::kUnknown : Reply::Kind::kRefused;
}

HttpRequest protocol_request(const std::string& prefix, const std::string& operation, const nlohmann::json& input) {
  HttpRequest request;
  request.method = "POST";
  request.headers = {{"X-Amz-Target", prefix + operation}, {"Content-Type", "application/x-amz-json-1.0"}};
  request.body = text_of_json(input);
  return request;
}

}  // namespace

std::string text_of(const nlohmann::json& from, const char* name) {
  const auto found = from.find(name);
  return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Caller::Caller(HttpClient& http, Scheduler& scheduler, Trace& trace, Verdict& verdict)
    : http_(http), scheduler_(scheduler), trace_(trace), verdict_(verdict), host_(kHost) {}

Caller Caller::over_a_slow_line() const {
  Caller other(http_, scheduler_, trace_, verdict_);
  other.host_ = kSlowHost;
  other.line_ = "slow ";
  return other;
}

// Every refusal has a name and a sentence, and says when to come again if that helps (docs/errors.md).
void Caller::check_refusal(const std::string& what, const Reply& reply, const HttpResponse& answer) {
  verdict_.expect(!reply.error.empty() && !reply.message.empty(), "a refusal has no name or no message",
                  what + ": " + answer.body);
  const bool helps = reply.status == 503 || (reply.status == 429 && reply.error != "LimitExceededException");
  if (!helps || !what.starts_with("queue ")) return;
  const auto& headers = answer.headers;
  const bool says_when =
      std::any_of(headers.begin(), headers.end(), [](const auto& header) { return header.first == "Retry-After"; });
  verdict_.expect(says_when, "a refusal does not say when to come again", what + ": " + reply.error);
}

void Caller::repeat_some(Random random, Scope& copies) {
  repeats_ = random;
  copies_ = &copies;
}

Async<void> Caller::repeat(std::string what, HttpRequest request, milliseconds after) {
  co_await sleep_for(scheduler_, after);
  if (verdict_.is_broken()) co_return;
  trace_.note("> again " + what + " " + shown(request.body));
  std::string url = host_ + request.target;
  const Result<HttpResponse> answer = co_await http_.send(std::move(url), std::move(request), kPatience);
  trace_.saw("again " + what + (answer ? " " + std::to_string(answer->status) : " unknown"));
}

Async<Reply> Caller::call(std::string what, HttpRequest request, milliseconds timeout, bool repeatable) {
  ++calls_;
  const uint64_t number = calls_;
  Reply reply;
  const Clock& clock = scheduler_.clock();
  reply.span.sent = clock.boot();
  reply.span.wall_sent = clock.wall();
  trace_.note("> " + line_ + std::to_string(number) + " " + what + " " + shown(request.body));
  if (repeatable && repeats_ && repeats_->below(8) == 0) {
    reply.repeated = true;
    copies_->spawn(repeat(what, request, milliseconds(repeats_->below(repeats_->below(2) == 0 ? 5 : 8'000))));
  }
  std::string url = host_ + request.target;
  Result<HttpResponse> answer = co_await http_.send(std::move(url), std::move(request), timeout);
  reply.span.answered = clock.boot();
  reply.span.wall_answered = clock.wall();
  reply.kind = kind_of(answer);
  if (answer) {
    reply.status = answer->status;
    reply.body = parse_json(answer->body);
    if (!reply.body.is_object()) reply.text = answer->body;
    if (answer->status >= 300) {
      read_error(reply, *answer);
      check_refusal(what, reply, *answer);
    }
    trace_.saw(line_ + what + " " + std::to_string(reply.status) + (reply.error.empty() ? "" : " " + reply.error));
    trace_.note("< " + line_ + std::to_string(number) + " " + std::to_string(reply.status) + " " +
                answer->body.substr(0, kShown));
  } else {
    reply.error = error_name(answer.error().code);
    trace_.saw(line_ + what + (reply.kind == Reply::Kind::kUnknown ? " unknown" : " not sent"));
    trace_.note("< " + line_ + std::to_string(number) + " " + answer.error().message);
  }
  // The other one may have been carried out, or may be yet: and what it did may be why this one was refused.
  if (reply.repeated && reply.kind == Reply::Kind::kRefused) {
    reply.kind = Reply::Kind::kUnknown;
    reply.error.clear();
  }
  co_return reply;
}

Async<Reply> Caller::store(std::string operation, nlohmann::json input, milliseconds timeout, bool repeatable) {
  HttpRequest request = protocol_request("DynamoDB_20120810.", operation, input);
  return call(std::move(operation), std::move(request), timeout, repeatable);
}

Async<Reply> Caller::stream(std::string operation, nlohmann::json input, milliseconds timeout) {
  HttpRequest request = protocol_request("DynamoDBStreams_20120810.", operation, input);
  return call(std::move(operation), std::move(request), timeout, false);
}

Async<Reply> Caller::queue(std::string path, nlohmann::json input, milliseconds timeout, bool repeatable) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/queues/QueueTable/" + path;
  request.body = text_of_json(input);
  return call("queue " + path, std::move(request), timeout, repeatable);
}

Async<Reply> Caller::post(std::string path, nlohmann::json input, milliseconds timeout, bool repeatable) {
  HttpRequest request;
  request.method = "POST";
  request.target = path;
  request.body = text_of_json(input);
  return call("POST " + path, std::move(request), timeout, repeatable);
}

Async<Reply> Caller::invoke(std::string function, bool asynchronous, nlohmann::json event, milliseconds timeout) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/2015-03-31/functions/" + function + "/invocations";
  if (asynchronous) request.headers = {{"X-Amz-Invocation-Type", "Event"}};
  request.body = text_of_json(event);
  return call(asynchronous ? "Invoke Event" : "Invoke", std::move(request), timeout, false);
}

Async<Reply> Caller::publish(std::string topic, std::string message, milliseconds timeout) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/";
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = "Action=Publish&Version=2010-03-31&TopicArn=" + topic + "&Message=" + message;
  return call("Publish", std::move(request), timeout, false);
}

Async<Reply> Caller::get(std::string path, milliseconds timeout) {
  HttpRequest request;
  request.method = "GET";
  request.target = path;
  std::string what = "GET " + path.substr(0, path.find('?'));
  // Paths that hold an id are one kind.
  for (const std::string_view kind : {"/tasks/", "/records/", "/requests/", "/members/"}) {
    if (const size_t at = what.find(kind); at != std::string::npos) what.resize(at + kind.size());
  }
  return call(std::move(what), std::move(request), timeout, false);
}

}  // namespace freshet::sim
