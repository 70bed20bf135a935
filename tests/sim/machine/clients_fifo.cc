// A publisher of a FIFO topic: it sends a message until it knows that it was accepted, or gives it up.
#include <utility>

#include "tests/sim/machine/clients.h"

namespace freshet::sim {

namespace {

constexpr const char* kOrderTopic = "arn:aws:sns:us-east-1:000000000000:Orders.fifo";

// The text of an element of an answer in XML.
std::string element_of(const std::string& answer, const std::string& name) {
  const size_t from = answer.find("<" + name + ">");
  const size_t end = answer.find("</" + name + ">");
  if (from == std::string::npos || end == std::string::npos) return {};
  return answer.substr(from + name.size() + 2, end - from - name.size() - 2);
}

// True once it was accepted.
Async<bool> publish_in_order(Stage& stage, std::string id, std::string group) {
  const BootTime now = stage.caller.scheduler().clock().boot();
  stage.fifo.sent(id, group, now);
  std::string more = "&MessageGroupId=" + group + "&MessageDeduplicationId=" + id;
  more.insert(0, id);
  const Reply reply = co_await stage.caller.publish(kOrderTopic, std::move(more), kPatience);
  ++stage.operations;
  if (reply.kind == Reply::Kind::kDone) stage.fifo.accepted(id, element_of(reply.text, "SequenceNumber"), reply.span);
  if (reply.kind == Reply::Kind::kRefused) stage.fifo.refused(id);
  if (reply.kind == Reply::Kind::kUnknown) stage.fifo.unknown(id);
  co_return reply.kind == Reply::Kind::kDone;
}

}  // namespace

Async<void> publish_orders(Stage& stage, Random random, std::string name) {
  for (uint64_t number = 1; !stage.calm && !stage.verdict.is_broken(); ++number) {
    const std::string group = name + "-" + std::to_string(random.below(3));
    std::string id = group + "-" + std::to_string(number);
    bool again = false;
    for (uint64_t tries = 1 + random.below(6); tries > 0 && !stage.calm; --tries) {
      const bool done = co_await publish_in_order(stage, id, group);
      // Some do not see the answer, and send it again.
      if (done && again) stage.caller.trace().saw("a message of a FIFO topic is sent again");
      again = again || done;
      if (done && random.below(4) > 0) break;
      co_await rest(stage, random, milliseconds(0), milliseconds(random.below(8) == 0 ? 60'000 : 1'000));
    }
    co_await rest(stage, random, milliseconds(5), milliseconds(random.below(6) == 0 ? 4'000 : 400));
  }
}

Async<bool> judge_orders_rest(Stage& stage) {
  const bool idle = co_await is_idle(stage, "OrderFunction");
  if (idle) stage.fifo.at_rest(stage.caller.scheduler().clock().boot());
  co_return idle;
}

}  // namespace freshet::sim
