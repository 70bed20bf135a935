#include "tests/sim/machine/handlers.h"

#include <utility>

#include "tests/sim/machine/limiter.h"
#include "tests/sim/machine/quick_json.h"

namespace freshet::sim {

namespace {

// The limiter before the runner, if the plan has one.
struct Gate {
  explicit Gate(uint64_t seed) : limiter(seed) {}
  SimLimiter limiter;
  // No call may come from then on until the other, as the last refusal said.
  BootTime quiet_from = BootTime::max();
  BootTime quiet_until{};
  BootTime refused_at{};
};

// A call that is on its way when the refusal is told may still come.
constexpr milliseconds kOnItsWay{3'000};

class TaskExchange final : public Exchange {
 public:
  TaskExchange(Stage& stage, Random& random, Gate& gate, std::string body)
      : stage_(stage), random_(random), gate_(gate), body_(std::move(body)) {}

  Async<void> run() override {
    const auto task = parse_json(body_);
    if (task.is_object() && task.contains("taskId")) {
      stage_.tasks.started_by_runner(task["taskId"].get<std::string>(), task.value("attempt", 0),
                                     stage_.caller.scheduler().clock().wall(),
                                     stage_.caller.scheduler().clock().boot());
    }
    ++stage_.operations;
    response_.body = "{}";
    if (stage_.plan.has("limiter") && !pass_limiter()) return rest(stage_, random_, milliseconds(0), milliseconds(2));
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
  bool pass_limiter() {
    const BootTime now = stage_.caller.scheduler().clock().boot();
    const bool steady =
        stage_.last_fault < gate_.refused_at && !stage_.plan.has("policy-changes") && !stage_.plan.has("deploys");
    stage_.verdict.expect(!steady || now < gate_.quiet_from || now >= gate_.quiet_until, "a Retry-After is not obeyed",
                          "a call comes before the downstream wants it");
    if (gate_.limiter.allows(now)) return true;
    response_.status = 429;
    stage_.caller.trace().saw("limiter refuses");
    if (!gate_.limiter.gives_wait()) return false;
    const auto wait = static_cast<int64_t>(1 + random_.below(random_.below(3) == 0 ? 9 : 2));
    response_.headers.emplace_back("Retry-After", std::to_string(wait));
    gate_.refused_at = now;
    gate_.quiet_from = now + kOnItsWay;
    gate_.quiet_until = now + seconds(wait);
    return false;
  }

  Stage& stage_;
  Random& random_;
  Gate& gate_;
  const std::string body_;
  HttpResponse response_;
};

class TaskRoute final : public Route {
 public:
  TaskRoute(Stage& stage, Random& random) : stage_(stage), random_(random), gate_(stage.plan.seed) {}
  bool matches(const HttpRequest&) const override { return true; }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    return std::make_unique<TaskExchange>(stage_, random_, gate_, std::move(request.body));
  }

 private:
  Stage& stage_;
  Random& random_;
  Gate gate_;
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
