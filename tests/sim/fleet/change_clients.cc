#include "tests/sim/fleet/change_clients.h"

#include <utility>

namespace freshet::fleet_sim {

namespace {

using Json = nlohmann::json;

constexpr milliseconds kWritePatience{3'000};
constexpr uint64_t kChangedItems = 6;

Json write_of(const std::string& item, int64_t version) {
  const Json number = {{"N", std::to_string(version)}};
  Json input = {{"TableName", kChangedTable}, {"Item", {{"id", {{"S", item}}}, {"version", number}}}};
  input["Item"]["state"] = {{"S", state_of_version(version)}};
  // A write that arrives late changes nothing.
  input["ConditionExpression"] = "attribute_not_exists(version) OR version < :version";
  input["ExpressionAttributeValues"] = {{":version", number}};
  return input;
}

}  // namespace

std::string state_of_version(int64_t version) {
  return "s" + std::to_string(version % 7 / 2);
}

Async<void> change_item(FleetStage& stage, Random& random, std::string item) {
  const int64_t version = ++stage.versions[item];
  stage.changes.sent(item, version);
  for (int tries = 0; tries < 200 && !stage.verdict.is_broken(); ++tries) {
    Json input = write_of(item, version);
    const Reply reply = co_await stage.caller.store(stage.engine, "PutItem", std::move(input), kWritePatience);
    const bool is_there = text_in(reply.body, "__type").ends_with("ConditionalCheckFailedException");
    if (reply.ok() || is_there) {
      stage.changes.written(item, version);
      ++stage.operations;
      co_return;
    }
    co_await pause_for(stage, random, milliseconds(20), milliseconds(400));
  }
}

Async<void> change_items(FleetStage& stage, Random random) {
  ++stage.creators;
  while (!stage.calm && !stage.verdict.is_broken()) {
    std::string item = "item-" + std::to_string(random.below(kChangedItems));
    co_await change_item(stage, random, std::move(item));
    const bool rests = random.below(20) == 0;
    co_await pause_for(stage, random, milliseconds(1), milliseconds(rests ? 4'000 : 200));
  }
  --stage.creators;
}

Async<void> send_event(FleetStage& stage, std::string id, uint16_t port) {
  stage.events.sent(id);
  const Json event = {{"event", id}};
  const Reply reply = co_await stage.caller.invoke(port, kChangedFunction, event, kWritePatience);
  if (!reply.ok()) co_return;  // It may run all the same.
  stage.events.accepted(id);
  ++stage.operations;
}

Async<void> send_events(FleetStage& stage, Random random) {
  ++stage.creators;
  for (int number = 0; !stage.calm && !stage.verdict.is_broken(); ++number) {
    const uint16_t port = stage.ports[random.below(stage.ports.size())];
    co_await send_event(stage, "event-" + std::to_string(number), port);
    co_await pause_for(stage, random, milliseconds(1), milliseconds(random.below(10) == 0 ? 4'000 : 300));
  }
  --stage.creators;
}

Async<void> watch_positions(FleetStage& stage, Random random) {
  while (!stage.verdict.is_broken()) {
    Json input = {{"TableName", "freshet-positions"}, {"ConsistentRead", true}};
    const Reply reply = co_await stage.caller.store(stage.engine, "Scan", std::move(input), kWritePatience);
    for (const Json& item : reply.ok() ? reply.body["Items"] : Json::array()) {
      if (item.value("/kind/S"_json_pointer, "") != "shard-mark") continue;
      ShardMark mark{item.value("/after/S"_json_pointer, ""), item.contains("over")};
      const std::string id = item.value("/id/S"_json_pointer, "");
      if (mark.over) stage.shards.over(id);
      stage.changes.position(id, std::move(mark));
    }
    co_await pause_for(stage, random, milliseconds(20), milliseconds(stage.calm ? 2'000 : 100));
  }
}

}  // namespace freshet::fleet_sim
