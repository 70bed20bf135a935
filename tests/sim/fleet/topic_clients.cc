#include "tests/sim/fleet/topic_clients.h"

#include <utility>

namespace freshet::fleet_sim {

namespace {

constexpr const char* kTopicArn = "arn:aws:sns:us-east-1:000000000000:Orders.fifo";
constexpr milliseconds kPublishPatience{3'000};
constexpr milliseconds kLongPublishPatience{15'000};

std::string text_of_element(const std::string& xml, const std::string& name) {
  const size_t from = xml.find("<" + name + ">");
  const size_t end = xml.find("</" + name + ">");
  if (from == std::string::npos || end == std::string::npos) return {};
  return xml.substr(from + name.size() + 2, end - from - name.size() - 2);
}

}  // namespace

Async<bool> publish_message(FleetStage& stage, std::string id, std::string group, uint16_t port) {
  stage.topic.sent(id, group, stage.caller.now());
  std::string topic = kTopicArn;
  std::string copy = id;
  const auto patience = stage.calls++ % 3 == 0 ? kLongPublishPatience : kPublishPatience;
  const Reply reply =
      co_await stage.caller.publish(port, std::move(topic), std::move(copy), std::move(group), patience);
  const bool may_fail = reply.status == 0 || reply.status == 429 || reply.status >= 500;
  stage.verdict.expect(reply.ok() || may_fail, "a publish is refused", id + ": " + std::to_string(reply.status));
  if (!reply.ok()) co_return false;
  ++stage.operations;
  stage.topic.accepted(id, text_of_element(reply.text, "SequenceNumber"), reply.answered);
  co_return true;
}

Async<void> publish_messages(FleetStage& stage, Random random, std::string name) {
  ++stage.creators;
  for (uint64_t number = 1; !stage.calm && !stage.verdict.is_broken(); ++number) {
    const std::string group = name + "-" + std::to_string(random.below(3));
    const std::string id = group + "-" + std::to_string(number);
    bool was_accepted = false;
    for (uint64_t tries = 1 + random.below(8); tries > 0 && !stage.verdict.is_broken(); --tries) {
      const uint16_t port = stage.ports[random.below(stage.ports.size())];
      const bool accepted = co_await publish_message(stage, id, group, port);
      if (accepted && was_accepted) stage.caller.trace().saw("a message is sent again");
      was_accepted = was_accepted || accepted;
      if (accepted && random.below(4) > 0) break;  // Some do not see the answer.
      co_await pause_for(stage, random, milliseconds(1), milliseconds(random.below(8) == 0 ? 5'000 : 500));
    }
    co_await pause_for(stage, random, milliseconds(1), milliseconds(random.below(8) == 0 ? 3'000 : 300));
  }
  --stage.creators;
}

}  // namespace freshet::fleet_sim
