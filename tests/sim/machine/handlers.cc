#include "tests/sim/machine/handlers.h"

#include <utility>

namespace freshet::sim {

namespace {

class TaskExchange final : public Exchange {
 public:
  TaskExchange(Stage& stage, Random& random, std::string body)
      : stage_(stage), random_(random), body_(std::move(body)) {}

  Async<void> run() override {
    const auto task = nlohmann::json::parse(body_, nullptr, false);
    if (task.is_object() && task.contains("taskId")) {
      stage_.tasks.started_by_runner(task["taskId"].get<std::string>(), task.value("attempt", 0),
                                     stage_.caller.scheduler().clock().wall(),
                                     stage_.caller.scheduler().clock().boot());
    }
    ++stage_.operations;
    response_.body = "{}";
    const uint64_t fate = stage_.calm ? 99 : random_.below(100);
    stage_.caller.trace().saw("runner " + std::to_string(fate / 10));
    if (fate < 5) response_.status = 429;
    if (fate >= 5 && fate < 15) response_.status = 500;
    if (fate >= 15 && fate < 20) response_.status = 503;
    if (fate >= 20 && fate < 25) response_.body = "garbage";
    if (fate < 3) response_.headers.emplace_back("Retry-After", "1");
    const milliseconds longest(fate >= 25 && fate < 30 ? 20'000 : 200);
    return rest(stage_, random_, milliseconds(0), longest);
  }
  HttpResponse respond() override { return std::move(response_); }

 private:
  Stage& stage_;
  Random& random_;
  const std::string body_;
  HttpResponse response_;
};

class TaskRoute final : public Route {
 public:
  TaskRoute(Stage& stage, Random& random) : stage_(stage), random_(random) {}
  bool matches(const HttpRequest&) const override { return true; }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    return std::make_unique<TaskExchange>(stage_, random_, std::move(request.body));
  }

 private:
  Stage& stage_;
  Random& random_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> serve_handlers(Stage& stage, Random& random, Network& network, IoThread& io,
                                                   Scheduler& scheduler, Mailbox& mailbox) {
  auto bound = HttpListener::bind("127.0.0.1", kHandlerPort, network);
  if (!bound) return fail(std::move(bound.error()));
  std::vector<std::unique_ptr<Route>> routes;
  routes.push_back(std::make_unique<TaskRoute>(stage, random));
  return HttpServer::start({}, std::move(*bound), std::move(routes), {&io}, scheduler.clock(), scheduler, mailbox,
                           [] { return Async<Result<void>>(Result<void>()); });
}

}  // namespace freshet::sim
