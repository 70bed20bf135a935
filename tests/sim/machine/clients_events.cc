// Clients of the Lambda and SNS protocols: asynchronous events, calls that wait, and messages of a topic.
#include <utility>

#include "tests/sim/machine/clients.h"

namespace freshet::sim {

namespace {

constexpr const char* kTopic = "arn:aws:sns:us-east-1:000000000000:EventTopic";

void judge(Stage& stage, const std::string& id, const Reply& reply) {
  ++stage.operations;
  if (reply.kind == Reply::Kind::kDone) stage.events.accepted(id);
  if (reply.kind == Reply::Kind::kRefused) stage.events.refused(id);
}

Async<void> send_event(Stage& stage, std::string id) {
  stage.events.sent(id);
  nlohmann::json event = {{"event", id}};
  const Reply reply = co_await stage.caller.invoke("EventFunction", Caller::kAsynchronous, std::move(event), kPatience);
  judge(stage, id, reply);
  stage.verdict.expect(reply.kind != Reply::Kind::kDone || reply.status == 202,
                       "an asynchronous event is not answered as accepted", std::to_string(reply.status));
}

// A call that waits is no event: it may have been started, or not, whatever its answer says; unless that is the
// program's own.
Async<void> call_function(Stage& stage, std::string id) {
  stage.events.sent(id);
  nlohmann::json event = {{"event", id}};
  const Reply reply =
      co_await stage.caller.invoke("EventFunction", !Caller::kAsynchronous, std::move(event), kPatience);
  ++stage.operations;
  if (reply.kind == Reply::Kind::kDone && reply.body.is_object() && reply.body.contains("done")) {
    stage.events.accepted(id);
  }
}

Async<void> publish(Stage& stage, std::string id) {
  stage.events.sent(id);
  const Reply reply = co_await stage.caller.publish(kTopic, id, kPatience);
  judge(stage, id, reply);
}

}  // namespace

Async<void> send_events(Stage& stage, Random random, std::string name) {
  for (uint64_t number = 1; !stage.calm && !stage.verdict.is_broken(); ++number) {
    std::string id = name + "-" + std::to_string(number);
    const uint64_t what = random.below(10);
    if (what < 5) {
      co_await send_event(stage, std::move(id));
    } else if (what < 8) {
      co_await publish(stage, std::move(id));
    } else {
      co_await call_function(stage, std::move(id));
    }
    co_await rest(stage, random, milliseconds(5), milliseconds(random.below(10) == 0 ? 4'000 : 400));
  }
}

Async<void> send_sources(Stage& stage, Random random, std::string name) {
  for (uint64_t number = 1; !stage.calm && !stage.verdict.is_broken(); ++number) {
    const std::string id = name + "-" + std::to_string(number);
    stage.destinations.sent(id, stage.caller.scheduler().clock().boot());
    nlohmann::json event = {{"origin", id}};
    const Reply reply =
        co_await stage.caller.invoke("SourceFunction", Caller::kAsynchronous, std::move(event), kPatience);
    ++stage.operations;
    if (reply.kind == Reply::Kind::kDone) stage.destinations.accepted(id);
    if (reply.kind == Reply::Kind::kRefused) stage.destinations.refused(id);
    co_await rest(stage, random, milliseconds(5), milliseconds(random.below(6) == 0 ? 4'000 : 600));
  }
}

Async<bool> is_idle(Stage& stage, std::string function) {
  const Reply reply = co_await stage.caller.get("/functions?function=" + function, kPatience);
  if (reply.kind != Reply::Kind::kDone) co_return false;
  for (const auto& one : reply.body["functions"]) {
    if (one["events"].value("waiting", 1) > 0 || one.value("running", 1) > 0) co_return false;
  }
  co_return true;
}

Async<bool> judge_events_rest(Stage& stage) {
  // A schedule goes on for ever: one event of it may run just now.
  const bool idle = co_await is_idle(stage, "EventFunction");
  if (idle) stage.events.at_rest();
  co_return idle;
}

Async<bool> judge_sources_rest(Stage& stage) {
  const bool ended = co_await is_idle(stage, "SourceFunction");
  if (!ended) co_return false;
  const bool told = co_await is_idle(stage, "EndFunction");
  if (told) stage.destinations.at_rest(stage.caller.scheduler().clock().boot());
  co_return told;
}

}  // namespace freshet::sim
