// Shared by the APIs of queues by name: GET /ROOT lists them, everything else is a call on /ROOT/NAME. A call is parsed
// on an I/O thread, works on its queue on the loop, and is answered on the I/O thread again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async.h"
#include "base/there_are.h"
#include "runtime/ports.h"
#include "tables/value/json_reader.h"
#include "wire/api/calls.h"
#include "wire/http/own_error.h"
#include "wire/http/target.h"
#include "wire/tasks/answers.h"

namespace freshet {

// Describes one such API, for messages. Static storage.
struct QueueApi {
  std::string_view root;    // "/priority"
  std::string_view what;    // "priority queue"
  std::string_view option;  // The option that defines one.
  std::string_view docs;
};

// One request: finds its queue, lets the call work on it, and answers with the result.
template <class Queues>
class QueueExchange final : public Exchange {
 public:
  using Queue = std::remove_pointer_t<decltype(std::declval<Queues&>().find(""))>;
  using Call = std::function<Async<void>(Queue& queue, QueueExchange& self)>;
  // A parsed request: an error or a call.
  struct Asked {
    std::optional<Error> error;
    Call call;
  };

  QueueExchange(Queues& queues, const QueueApi& api, std::string queue, Call call)
      : queues_(queues), api_(api), name_(std::move(queue)), call_(std::move(call)) {}

  Async<void> run() override {
    Queue* queue = queues_.find(name_);
    if (queue != nullptr) return call_(*queue, *this);
    const auto all = queues_.names();
    const std::string there = all.empty() ? "define one with " + std::string(api_.option) + " FILE" : there_are(all);
    error =
        Error{ErrorCode::kNotFound, "there is no " + std::string(api_.what) + " '" + name_ + "'; " + there, nullptr};
    return {};
  }
  HttpResponse respond() override {
    if (error) return tasks::error_answer(*error);
    HttpResponse response = tasks::json_answer(write());
    response.status = status;
    if (status == 429 || status == 503) response.headers.emplace_back("Retry-After", "1");
    return response;
  }

  std::optional<Error> error;
  int status = 200;
  std::function<std::string()> write;  // I/O thread.

 private:
  Queues& queues_;
  const QueueApi api_;
  const std::string name_;
  const Call call_;
};

// Answers with the result of the work, as `json` writes it, or with its error. `self` outlives the work.
template <class T, class Exchange>
Async<void> answer_with(Async<Result<T>> work, Exchange& self, std::string (*json)(const T&)) {
  auto result = co_await work;
  if (!result) {
    self.error = std::move(result.error());
  } else {
    self.write = [value = std::move(*result), json] { return json(value); };
  }
}

// Gives an answer that does not depend on the queues' work: an error, or their names.
template <class Queues>
class QueueNames final : public Exchange {
 public:
  explicit QueueNames(Error error) : error_(std::move(error)) {}
  explicit QueueNames(Queues& queues) : queues_(&queues) {}
  Async<void> run() override {
    if (queues_ != nullptr) names_ = queues_->names();
    return {};
  }
  HttpResponse respond() override {
    return error_ ? tasks::error_answer(*error_) : tasks::json_answer(tasks::names_json(names_));
  }

 private:
  std::optional<Error> error_;
  Queues* queues_ = nullptr;
  std::vector<std::string> names_;
};

// The route of such an API. `look` parses a GET by its path and query, `change` a POST by its body. Each gets only the
// calls of wire/api/calls.h below the API's root, but not the one that lists the queues.
template <class Queues>
class QueueRoute final : public Route {
 public:
  using Asked = typename QueueExchange<Queues>::Asked;
  using Look = Asked (*)(ApiCall call, Target& target);
  using Change = Asked (*)(ApiCall call, const JsonView& body);

  QueueRoute(Queues& queues, const QueueApi& api, Look look, Change change)
      : queues_(queues), api_(api), look_(look), change_(change) {}

  bool matches(const HttpRequest& request) const override {
    const std::string_view target = request.target;
    const size_t root = api_.root.size();
    return target.substr(0, root) == api_.root && (target.size() == root || target[root] == '/' || target[root] == '?');
  }

  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    auto target = parse_target(request.target);
    if (!target) return refuse(target.error());
    const ApiLine* line = find_api_call(request.method, target->segments);
    if (line == nullptr) return not_there(request, *target);
    if (target->segments.size() == 1) return std::make_unique<QueueNames<Queues>>(queues_);
    if (request.method != "POST") return start(look_(line->call, *target), *target);
    // One document per I/O thread, which reuses its memory.
    thread_local JsonDocument document;
    const auto body = document.parse(request.body.empty() ? std::string_view("{}") : request.body);
    if (!body) return refuse(body.error());
    return start(change_(line->call, *body), *target);
  }

 private:
  std::unique_ptr<Exchange> start(Asked asked, Target& target) {
    if (asked.error) return refuse(std::move(*asked.error));
    return std::make_unique<QueueExchange<Queues>>(queues_, api_, std::move(target.segments[1]), std::move(asked.call));
  }
  std::unique_ptr<Exchange> not_there(const HttpRequest& request, const Target& target) const {
    const std::string allowed = api_methods(target.segments);
    if (!allowed.empty()) return answer_with_response(method_not_allowed(request, allowed));
    return refuse({ErrorCode::kNotFound,
                   request.method + " " + shown_path(request.target) + " is not part of the " + std::string(api_.what) +
                       " API (" + std::string(api_.docs) + ")",
                   nullptr});
  }
  static std::unique_ptr<Exchange> refuse(Error error) {
    return std::make_unique<QueueNames<Queues>>(std::move(error));
  }

  Queues& queues_;
  const QueueApi api_;
  const Look look_;
  const Change change_;
};

// The queues outlive the route.
template <class Queues>
std::unique_ptr<Route> make_queue_route(Queues& queues, const QueueApi& api, typename QueueRoute<Queues>::Look look,
                                        typename QueueRoute<Queues>::Change change) {
  return std::make_unique<QueueRoute<Queues>>(queues, api, look, change);
}

}  // namespace freshet
