// Clients of ordered writes: they stamp what they write, late or early, and leave the order to the store.
#include <utility>

#include "tests/sim/machine/clients.h"

namespace freshet::sim {

namespace {

using Json = nlohmann::json;

constexpr const char* kClientsOrderedTable = "/ordered/Ratings/";

Json clients_ordered_key_of(const std::string& key) {
  return {{"PK", key}, {"SK", "r"}};
}

std::optional<int64_t> time_of(const Json& item) {
  if (!item.is_object() || !item.contains("Timestamp")) return {};
  return item["Timestamp"].get<int64_t>();
}

void judge_write(Stage& stage, const std::string& key, int64_t at, const Reply& reply) {
  const std::string outcome = reply.body.is_object() ? reply.body.value("outcome", "") : "";
  if (!outcome.empty()) stage.caller.trace().saw("ordered " + outcome);
  if (outcome == "APPLIED") {
    stage.ordered.applied(key, at);
  } else if (outcome == "OLDER") {
    stage.ordered.older(key, at, reply.body.contains("found") ? time_of(reply.body["found"]) : std::nullopt);
  } else if (reply.kind == Reply::Kind::kRefused) {
    stage.ordered.refused(key, at);
  }
  if (reply.kind == Reply::Kind::kDone) ++stage.operations;
}

// A write without a time has that of its arrival: it is never too far ahead, whatever the clock did before.
Async<void> write_now(Stage& stage, std::string name, uint64_t number) {
  Json body = {{"item", {{"PK", name + "-now"}, {"SK", "r"}, {"value", number}}}};
  const Reply reply = co_await stage.caller.post(std::string(kClientsOrderedTable) + "put", std::move(body), kPatience);
  const std::string outcome = reply.body.is_object() ? reply.body.value("outcome", "") : "";
  stage.verdict.expect(outcome != "TOO_FAR_AHEAD" && outcome != "TOO_OLD",
                       "a write at the moment of its call is refused", outcome);
}

}  // namespace

Async<void> write_in_order(Stage& stage, Random random, std::string name) {
  uint64_t number = 0;
  while (!stage.calm && !stage.verdict.is_broken()) {
    if (random.below(12) == 0) co_await write_now(stage, name, ++number);
    // Two writers share the keys.
    const std::string key = "User#" + std::to_string(random.below(6));
    const int64_t now = epoch_ms(stage.caller.scheduler().clock().wall());
    const int64_t off = random.below(6) == 0 ? 1'000'000'000 : 4'000;
    const int64_t at =
        stage.ordered.free_time(key, now - static_cast<int64_t>(random.below(static_cast<uint64_t>(off))));
    const bool deletes = random.below(4) == 0;
    const std::string value = deletes ? "" : name + "." + std::to_string(++number);
    Json body = {{"timestamp", at}};
    if (deletes) {
      body["key"] = clients_ordered_key_of(key);
    } else {
      body["item"] = clients_ordered_key_of(key);
      body["item"]["value"] = value;
    }
    stage.ordered.begin(key, at, value);
    const milliseconds patience(100 + static_cast<int64_t>(random.below(4'000)));
    const Reply reply = co_await stage.caller.post(std::string(kClientsOrderedTable) + (deletes ? "delete" : "put"),
                                                   std::move(body), patience, Caller::kRepeatable);
    judge_write(stage, key, at, reply);
    if (random.below(3) == 0) {
      const bool read = co_await read_in_order(stage, key);
      (void)read;
    }
    co_await rest(stage, random, milliseconds(0), milliseconds(random.below(4) == 0 ? 600 : 30));
  }
}

Async<bool> read_in_order(Stage& stage, std::string key) {
  const int64_t known = stage.ordered.known(key);
  Json body = {{"key", clients_ordered_key_of(key)}};
  const Reply reply = co_await stage.caller.post(std::string(kClientsOrderedTable) + "get", std::move(body), kPatience);
  if (reply.kind != Reply::Kind::kDone) co_return false;
  const Json& item = reply.body["item"];
  stage.ordered.observed(key, time_of(item), item.is_object() ? item.value("value", "") : "", known);
  ++stage.operations;
  co_return true;
}

Async<bool> judge_ordered_rest(Stage& stage) {
  for (const std::string& key : std::set<std::string>(stage.ordered.keys())) {
    const bool read = co_await read_in_order(stage, key);
    if (!read) co_return false;
  }
  co_return true;
}

}  // namespace freshet::sim
