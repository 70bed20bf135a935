#include "wire/lambda/runtime_api.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "runtime/invoke/native_host.h"
#include "runtime/invoke/outcome.h"
#include "runtime/ports.h"
#include "tables/value/json.h"
#include "tables/value/text.h"
#include "wire/http/server.h"
#include "wire/http/target.h"

namespace freshet {
namespace {

constexpr std::string_view kVersion = "2018-06-01";
// Longer than any function may take: a handler at work leaves its connection idle, one that streams takes its time
// with a request. The process host ends those that are too slow.
constexpr milliseconds kPatience = std::chrono::hours(25);

// The session of each listener. Loop thread.
using Sessions = std::map<uint64_t, RuntimeSession*>;

HttpResponse answer_of(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

HttpResponse error_of(int status, std::string_view type, std::string_view message) {
  std::string body = R"({"errorMessage":)";
  append_json_string(body, message);
  body += R"(,"errorType":)";
  append_json_string(body, type);
  return answer_of(status, body + "}");
}

HttpResponse accepted() {
  return answer_of(202, R"({"status":"OK"})");
}

class RuntimeRefusal final : public Exchange {
 public:
  explicit RuntimeRefusal(HttpResponse response) : response_(std::move(response)) {}
  Async<void> run() override { return {}; }
  HttpResponse respond() override { return std::move(response_); }

 private:
  HttpResponse response_;
};

class Call : public Exchange {
 public:
  Call(const Sessions& sessions, uint64_t listener) : sessions_(sessions), listener_(listener) {}

  Async<void> run() final {
    const auto found = sessions_.find(listener_);
    if (found != sessions_.end()) return work(*found->second);
    error_ = Error{ErrorCode::kValidation, "this process is to end", nullptr};
    return {};
  }
  HttpResponse respond() final { return error_ ? error_of(status_, error_type_, error_->message) : success(); }

 protected:
  virtual Async<void> work(RuntimeSession& session) = 0;
  virtual HttpResponse success() = 0;

  void keep(const Result<void>& done) {
    if (!done) error_ = done.error();
  }

  void errors_are_of_state() {
    status_ = 403;
    error_type_ = "InvalidStateTransition";
  }

  std::optional<Error> error_;

 private:
  const Sessions& sessions_;
  const uint64_t listener_;
  int status_ = 400;
  std::string_view error_type_ = "InvalidRequestID";
};

class Next final : public Call {
 public:
  using Call::Call;

 private:
  Async<void> work(RuntimeSession& session) override {
    errors_are_of_state();
    return take(session);
  }
  Async<void> take(RuntimeSession& session) {
    auto event = co_await session.next();
    if (event) {
      event_ = std::move(*event);
    } else {
      error_ = std::move(event.error());
    }
  }
  HttpResponse success() override {
    HttpResponse response = answer_of(200, std::move(event_.payload));
    response.headers = {{"Lambda-Runtime-Aws-Request-Id", event_.request_id},
                        {"Lambda-Runtime-Deadline-Ms", std::to_string(event_.deadline_ms)},
                        {"Lambda-Runtime-Invoked-Function-Arn", event_.function_arn}};
    if (!event_.trace_id.empty()) response.headers.emplace_back("Lambda-Runtime-Trace-Id", event_.trace_id);
    if (!event_.client_context.empty()) {
      response.headers.emplace_back("Lambda-Runtime-Client-Context", event_.client_context);
    }
    return response;
  }

  RuntimeEvent event_;
};

class Answer final : public Call {
 public:
  Answer(const Sessions& sessions, uint64_t listener, std::string request_id, InvokeOutcome outcome)
      : Call(sessions, listener), request_id_(std::move(request_id)), outcome_(std::move(outcome)) {}

 private:
  Async<void> work(RuntimeSession& session) override {
    too_large_ = outcome_.error && outcome_.error->type == kTooLarge;
    keep(session.answer(request_id_, std::move(outcome_)));
    return {};
  }
  HttpResponse success() override {
    return too_large_ ? error_of(413, "RequestEntityTooLarge", "the response is too large") : accepted();
  }

 public:
  static constexpr std::string_view kTooLarge = "Function.ResponseSizeTooLarge";

 private:
  const std::string request_id_;
  InvokeOutcome outcome_;
  bool too_large_ = false;
};

class InitError final : public Call {
 public:
  InitError(const Sessions& sessions, uint64_t listener, InvokeOutcome outcome)
      : Call(sessions, listener), outcome_(std::move(outcome)) {}

 private:
  Async<void> work(RuntimeSession& session) override {
    errors_are_of_state();
    keep(session.fail_init(std::move(outcome_)));
    return {};
  }
  HttpResponse success() override { return accepted(); }

  InvokeOutcome outcome_;
};

InvokeOutcome too_large(size_t bytes) {
  return failed_outcome(std::string(Answer::kTooLarge),
                        fmt::format("Response payload size ({} bytes) exceeded maximum allowed payload size ({} bytes)",
                                    bytes, limits::kMaxInvokePayloadBytes));
}

InvokeOutcome failure_of(HttpRequest& request) {
  if (request.body.size() > limits::kMaxInvokePayloadBytes) return too_large(request.body.size());
  return reported_failure(header(request.headers, "Lambda-Runtime-Function-Error-Type"), std::move(request.body));
}

// A streaming function may fail after its status was sent: trailers then report it.
InvokeOutcome failure_in_trailers(const HttpRequest& request, std::string_view type) {
  std::string document;
  const std::string what = append_from_base64(document, header(request.trailers, "Lambda-Runtime-Function-Error-Body"));
  if (!what.empty()) document.clear();
  return reported_failure(type, std::move(document));
}

InvokeOutcome response_of(HttpRequest& request) {
  const auto failure = header(request.trailers, "Lambda-Runtime-Function-Error-Type");
  if (!failure.empty()) return failure_in_trailers(request, failure);
  if (request.body.size() <= limits::kMaxInvokePayloadBytes) return {as_json(std::move(request.body)), std::nullopt};
  return too_large(request.body.size());
}

class RuntimeRoute final : public Route {
 public:
  explicit RuntimeRoute(const Sessions& sessions) : sessions_(sessions) {}
  bool matches(const HttpRequest&) const override { return true; }
  // GET .../next takes an event.
  bool changes(const HttpRequest&) const override { return true; }

  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    const uint64_t listener = request.listener;
    auto target = parse_target(request.target);
    if (target && target->segments.size() >= 4 && target->segments[0] == kVersion && target->segments[1] == "runtime") {
      auto& path = target->segments;
      const bool invocation = path[2] == "invocation";
      if (request.method == "GET" && path.size() == 4 && invocation && path[3] == "next") {
        return std::make_unique<Next>(sessions_, listener);
      }
      if (request.method == "POST" && path.size() == 4 && path[2] == "init" && path[3] == "error") {
        return std::make_unique<InitError>(sessions_, listener, failure_of(request));
      }
      if (request.method == "POST" && path.size() == 5 && invocation && path[4] == "response") {
        return std::make_unique<Answer>(sessions_, listener, std::move(path[3]), response_of(request));
      }
      if (request.method == "POST" && path.size() == 5 && invocation && path[4] == "error") {
        return std::make_unique<Answer>(sessions_, listener, std::move(path[3]), failure_of(request));
      }
    }
    return std::make_unique<RuntimeRefusal>(error_of(
        404, "NotFound", request.method + " " + shown_path(request.target) + " is not part of the Runtime API"));
  }

 private:
  const Sessions& sessions_;
};

class HttpRuntimeApi final : public RuntimeApi {
 public:
  HttpRuntimeApi(std::vector<IoThread*> threads, const Clock& clock, Scheduler& scheduler, Mailbox& mailbox)
      : threads_(std::move(threads)), clock_(clock), scheduler_(scheduler), mailbox_(mailbox) {}

  Result<std::unique_ptr<RuntimeDoor>> open(RuntimeSession& session) override {
    auto bound = HttpListener::bind("127.0.0.1", 0, threads_.front()->network());
    if (!bound) return fail(bound.error());
    const std::string address = "127.0.0.1:" + std::to_string(bound->port());
    auto number = listen(std::move(*bound));
    if (!number) return fail(number.error());
    sessions_[*number] = &session;
    return std::make_unique<Door>(*this, *number, address);
  }

 private:
  struct Door final : RuntimeDoor {
    Door(HttpRuntimeApi& o, uint64_t n, std::string a) : owner(o), number(n), where(std::move(a)) {}
    ~Door() override {
      owner.sessions_.erase(number);
      owner.server_->close(number);
    }
    const std::string& address() const override { return where; }
    HttpRuntimeApi& owner;
    const uint64_t number;
    const std::string where;
  };

  // The server starts with the first process: a daemon without processes has none.
  Result<uint64_t> listen(HttpListener listener) {
    if (server_) return server_->listen(std::move(listener));
    HttpServerOptions options;
    options.limits.body_bytes = limits::kMaxRequestBytes;
    options.limits.header_bytes = 32u << 10;  // Runtime clients put a whole error into a header.
    options.marks_answers = false;
    options.idle_timeout = options.read_timeout = kPatience;
    // Any caller gets the process's events and answers for it. A client cannot be given a secret for that, but the
    // kernel knows the owner of the other end.
    options.own_user_only = true;
    std::vector<std::unique_ptr<Route>> routes;
    routes.push_back(std::make_unique<RuntimeRoute>(sessions_));
    // The host makes an event durable before it hands it out; acknowledgements show nothing.
    auto server = HttpServer::start(std::move(options), std::move(listener), std::move(routes), threads_, clock_,
                                    scheduler_, mailbox_, [] { return Async<Result<void>>(Result<void>()); });
    if (!server) return fail(server.error());
    server_ = std::move(*server);
    return 0;
  }

  const std::vector<IoThread*> threads_;
  const Clock& clock_;
  Scheduler& scheduler_;
  Mailbox& mailbox_;
  Sessions sessions_;
  std::unique_ptr<HttpServer> server_;  // The last member: its exchanges use the sessions.
};

}  // namespace

std::unique_ptr<RuntimeApi> make_runtime_api(std::vector<IoThread*> threads, const Clock& clock, Scheduler& scheduler,
                                             Mailbox& mailbox) {
  return std::make_unique<HttpRuntimeApi>(std::move(threads), clock, scheduler, mailbox);
}

}  // namespace freshet
