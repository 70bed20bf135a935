// A priority queue's clients: they put and enqueue records, peek, and remove, restore or forget them.
#include <algorithm>
#include <utility>
#include <vector>

#include "tests/sim/machine/clients.h"

namespace freshet::sim {

namespace {

using Json = nlohmann::json;

constexpr const char* kQueue = "/priority/Express/";

Async<Reply> ask(Stage& stage, const char* call, Json input) {
  return stage.caller.post(std::string(kQueue) + call, std::move(input), kPatience);
}

Async<void> enqueue(Stage& stage, Random& random, std::string id) {
  stage.priority.may_be_enqueued(id);
  for (int i = 0; i < 4 && !stage.verdict.is_broken(); ++i) {
    Json input = {{"id", id}};
    if (random.below(2) == 0) input["priority"] = static_cast<int64_t>(random.below(20)) - 10;
    if (random.below(6) == 0) input["delayMs"] = random.below(5'000);
    const Reply reply = co_await ask(stage, "enqueue", std::move(input));
    if (reply.kind == Reply::Kind::kDone) {
      stage.priority.enqueued(id);
      ++stage.operations;
      co_return;
    }
    if (reply.kind == Reply::Kind::kUnknown) stage.priority.enqueue_unknown(id);
    if (reply.status == 409) co_return;  // An earlier try was done, and somebody has it.
    co_await rest(stage, random, milliseconds(20), milliseconds(400));
  }
}

Async<void> settle(Stage& stage, Random& random, std::string id, std::string receipt, milliseconds visibility) {
  const uint64_t fate = stage.calm ? 99 : random.below(100);
  if (fate < 10) co_return;  // This consumer forgets it.
  const auto longest = stage.calm ? milliseconds(20) : fate < 20 ? visibility * 2 : visibility / 4;
  co_await rest(stage, random, milliseconds(0), longest);
  stage.priority.begin_settle(id);
  const bool restores = fate >= 20 && fate < 45;
  Json input = {{"id", id}, {"receipt", receipt}};
  if (restores && random.below(2) == 0) input["delayMs"] = random.below(3'000);
  const Reply reply = co_await ask(stage, restores ? "restore" : "remove", std::move(input));
  if (reply.kind != Reply::Kind::kDone) co_return;
  if (!restores) stage.priority.removed(id, receipt, reply.span);
  ++stage.operations;
}

}  // namespace

Async<void> fill_priority_queue(Stage& stage, Random random, std::string name) {
  uint64_t number = 0;
  while (!stage.calm && !stage.verdict.is_broken()) {
    const std::string id = name + "-" + std::to_string(++number);
    Json record = {{"id", id}, {"data", {{"n", number}}}, {"status", "READY_TO_SHIP"}};
    const Reply put = co_await ask(stage, "put", std::move(record));
    if (put.kind == Reply::Kind::kDone) {
      stage.priority.put(id);
      ++stage.operations;
      co_await enqueue(stage, random, id);
    }
    co_await rest(stage, random, milliseconds(5), milliseconds(random.below(20) == 0 ? 4'000 : 300));
  }
}

Async<void> work_on_priority_queue(Stage& stage, Random random, std::string) {
  while (!stage.verdict.is_broken()) {
    const milliseconds visibility(stage.calm ? 60'000 : 1'000 + static_cast<int64_t>(random.below(12'000)));
    Json input = {{"max", 1 + random.below(4)}, {"visibilityMs", visibility.count()}};
    const Reply reply = co_await ask(stage, "peek", std::move(input));
    if (reply.kind != Reply::Kind::kDone) {
      co_await rest(stage, random, milliseconds(50), milliseconds(1'000));
      continue;
    }
    ++stage.operations;
    std::vector<std::pair<std::string, std::string>> given;
    for (const Json& record : reply.body["records"]) {
      if (text_of(record, "receipt").empty()) continue;
      given.emplace_back(text_of(record, "id"), text_of(record, "receipt"));
      stage.priority.peeked(given.back().first, given.back().second, visibility, reply.span);
    }
    for (auto& [id, receipt] : given) {
      std::string one = id;
      std::string its = receipt;
      co_await settle(stage, random, std::move(one), std::move(its), visibility);
    }
    if (given.empty()) co_await rest(stage, random, milliseconds(50), milliseconds(1'500));
  }
}

Async<bool> judge_priority_rest(Stage& stage) {
  const Reply stats = co_await stage.caller.get(std::string(kQueue) + "stats", kPatience);
  if (stats.kind != Reply::Kind::kDone) co_return false;
  for (const char* place : {"ready", "in_flight", "delayed"}) {
    if (stats.body.value(place, 0) > 0) co_return false;
  }
  for (const auto& [id, there] : stage.priority.acknowledged()) {
    std::string path = std::string(kQueue) + "records/" + id;
    const Reply reply = co_await stage.caller.get(std::move(path), kPatience);
    if (reply.kind == Reply::Kind::kUnknown) co_return false;
    stage.verdict.expect(reply.status == 200, "a record of a priority queue is lost", id);
    if (reply.status == 200) stage.priority.at_rest(id, text_of(reply.body, "place"));
  }
  co_return true;
}

}  // namespace freshet::sim
