// A priority queue's clients: they put and enqueue records, peek, and remove, restore or forget them.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tests/sim/machine/clients.h"

namespace freshet::sim {

namespace {

using Json = nlohmann::json;

Async<Reply> ask(Stage& stage, const PriorityPlace& place, const char* call, Json input) {
  return stage.caller.post(place.routes + call, std::move(input), kPatience);
}

Async<void> enqueue(Stage& stage, Random& random, const PriorityPlace& place, std::string id) {
  for (int i = 0; i < 4 && !stage.verdict.is_broken(); ++i) {
    Json input = {{"id", id}};
    if (random.below(2) == 0) input["priority"] = static_cast<int64_t>(random.below(20)) - 10;
    milliseconds delay{0};
    if (random.below(6) == 0) {
      delay = milliseconds(static_cast<int64_t>(random.below(5'000)));
      input["delayMs"] = delay.count();
    }
    place.judge.begin_enqueue(id);
    const Reply reply = co_await ask(stage, place, "enqueue", std::move(input));
    place.judge.end_enqueue(id);
    if (reply.kind == Reply::Kind::kDone) {
      place.judge.enqueued(id, delay, reply.span);
      ++stage.operations;
      co_return;
    }
    if (reply.kind == Reply::Kind::kUnknown) place.judge.enqueue_unknown(id);
    if (reply.status == 409) co_return;  // An earlier try was done, and somebody has it.
    co_await rest(stage, random, milliseconds(20), milliseconds(400));
  }
}

// The work is done, and its consumer forgets to remove the record.
Async<void> complete(Stage& stage, const PriorityPlace& place, std::string id) {
  place.judge.begin_settle(id, std::nullopt);
  Json input = {{"id", id}, {"status", "COMPLETED"}};
  const Reply reply = co_await ask(stage, place, "status", std::move(input));
  if (reply.kind != Reply::Kind::kDone) co_return;
  place.judge.completed(id, reply.span);
  ++stage.operations;
}

Async<void> settle(Stage& stage, Random& random, const PriorityPlace& place, std::string id, std::string receipt,
                   milliseconds visibility) {
  const uint64_t fate = stage.calm ? 99 : random.below(100);
  if (fate < 10) co_return;  // This consumer forgets it.
  const auto longest = stage.calm ? milliseconds(20) : fate < 20 ? visibility * 2 : visibility / 4;
  co_await rest(stage, random, milliseconds(0), longest);
  if (fate >= 45 && fate < 52) co_return co_await complete(stage, place, std::move(id));
  place.judge.begin_settle(id, receipt);
  const bool restores = fate >= 20 && fate < 45;
  if (restores) place.judge.begin_restore(id);
  Json input = {{"id", id}, {"receipt", receipt}};
  milliseconds delay{0};
  if (restores && random.below(2) == 0) {
    delay = milliseconds(static_cast<int64_t>(random.below(3'000)));
    input["delayMs"] = delay.count();
  }
  const Reply reply = co_await ask(stage, place, restores ? "restore" : "remove", std::move(input));
  if (reply.kind != Reply::Kind::kDone) co_return;
  if (restores) {
    place.judge.restored(id, receipt, delay, text_of(reply.body, "place") == "dead", reply.span);
  } else {
    place.judge.removed(id, receipt, reply.span);
  }
  ++stage.operations;
}

}  // namespace

Async<void> fill_priority_queue(Stage& stage, Random random, std::string name, PriorityPlace place) {
  uint64_t number = 0;
  while (!stage.calm && !stage.verdict.is_broken()) {
    const std::string id = name + "-" + std::to_string(++number);
    Json record = {{"id", id}, {"data", {{"n", number}}}, {"status", "READY_TO_SHIP"}};
    const Reply put = co_await ask(stage, place, "put", std::move(record));
    if (put.kind == Reply::Kind::kDone) {
      place.judge.put(id);
      ++stage.operations;
      co_await enqueue(stage, random, place, id);
    }
    co_await rest(stage, random, milliseconds(5), milliseconds(random.below(20) == 0 ? 4'000 : 300));
  }
}

Async<void> work_on_priority_queue(Stage& stage, Random random, PriorityPlace place) {
  while (!stage.verdict.is_broken()) {
    const milliseconds visibility(stage.calm ? 60'000 : 1'000 + static_cast<int64_t>(random.below(12'000)));
    Json input = {{"max", 1 + random.below(4)}, {"visibilityMs", visibility.count()}};
    const Reply reply = co_await ask(stage, place, "peek", std::move(input));
    if (reply.kind != Reply::Kind::kDone) {
      co_await rest(stage, random, milliseconds(50), milliseconds(1'000));
      continue;
    }
    ++stage.operations;
    std::vector<std::pair<std::string, std::string>> given;
    for (const Json& record : reply.body["records"]) {
      if (text_of(record, "receipt").empty()) continue;
      given.emplace_back(text_of(record, "id"), text_of(record, "receipt"));
      place.judge.peeked(given.back().first, given.back().second, visibility, reply.span);
    }
    for (auto& [id, receipt] : given) {
      std::string one = id;
      std::string its = receipt;
      co_await settle(stage, random, place, std::move(one), std::move(its), visibility);
    }
    if (given.empty()) co_await rest(stage, random, milliseconds(50), milliseconds(1'500));
  }
}

namespace {

// One that no queue wrote; in strict mode nothing else is in flight beside it.
Json unreadable(uint64_t number, const std::string& queued) {
  return {{"id", {{"S", "unreadable-" + std::to_string(number)}}},
          {"queued", {{"N", queued}}},
          {"last_updated_timestamp", {{"S", "2000-01-01T00:00:00.000000Z"}}},
          {"visible_at", {{"N", "1700000000000"}}},
          {"system_info", {{"M", {{"version", {{"S", "one"}}}}}}}};
}

}  // namespace

Async<void> leave_unreadable_records(Stage& stage, Random random) {
  for (uint64_t number = 1; number <= 4 && !stage.calm && !stage.verdict.is_broken();) {
    co_await rest(stage, random, milliseconds(200), milliseconds(6'000));
    Json input = {{"TableName", "StrictRecords"}, {"Item", unreadable(number, random.below(2) == 0 ? "1" : "2")}};
    const Reply reply = co_await stage.caller.store("PutItem", std::move(input), kPatience);
    if (reply.kind != Reply::Kind::kDone) continue;
    ++number;
    ++stage.operations;
  }
}

namespace {

Async<void> extend(Stage& stage, const PriorityPlace& place, std::string id, std::string receipt,
                   milliseconds visibility) {
  const auto before = place.judge.begin_extend(id, receipt);
  Json input = {{"id", id}, {"receipt", receipt}, {"visibilityMs", visibility.count()}};
  const Reply reply = co_await ask(stage, place, "extend", std::move(input));
  if (reply.kind == Reply::Kind::kDone) {
    place.judge.extended(id, receipt, visibility, reply.span);
    ++stage.operations;
  }
  const bool refused = reply.status == 409 && text_of(reply.body, "return_value") == "FAILED_ILLEGAL_STATE";
  if (refused) place.judge.extend_refused(id, before, reply.span);
}

}  // namespace

Async<void> hold_priority_records(Stage& stage, Random random, PriorityPlace place) {
  while (!stage.calm && !stage.verdict.is_broken()) {
    const milliseconds visibility(1'000 + static_cast<int64_t>(random.below(6'000)));
    Json input = {{"visibilityMs", visibility.count()}};
    const Reply reply = co_await ask(stage, place, "peek", std::move(input));
    std::string id;
    std::string receipt;
    if (reply.kind == Reply::Kind::kDone) {
      id = text_of(reply.body["records"][0], "id");
      receipt = text_of(reply.body["records"][0], "receipt");
      ++stage.operations;
    }
    if (!receipt.empty()) {
      place.judge.peeked(id, receipt, visibility, reply.span);
      co_await rest(stage, random, milliseconds(0), visibility * 5 / 4);
      const milliseconds longer(500 + static_cast<int64_t>(random.below(12'000)));
      co_await extend(stage, place, id, receipt, longer);
      co_await settle(stage, random, place, std::move(id), std::move(receipt), longer);
    }
    co_await rest(stage, random, milliseconds(50), milliseconds(2'000));
  }
}

namespace {

Async<void> set_priority(Stage& stage, Random& random, const PriorityPlace& place, std::string id) {
  const int64_t priority = static_cast<int64_t>(random.below(20)) - 10;
  Json input = {{"id", id}, {"priority", priority}};
  const Reply reply = co_await ask(stage, place, "priority", std::move(input));
  if (reply.kind != Reply::Kind::kDone) co_return;
  const Reply read = co_await stage.caller.get(place.routes + "records/" + id, kPatience);
  if (read.kind != Reply::Kind::kDone || place.judge.may_come_again(id)) co_return;
  const Json& item = read.body["item"];
  stage.verdict.expect(item.value("priority", int64_t{-100}) == priority, "a priority that was set is not there",
                       id + ": " + item.dump());
}

Async<void> cancel_record(Stage& stage, const PriorityPlace& place, std::string id) {
  place.judge.begin_cancel(id);
  Json input = {{"id", id}};
  const Reply reply = co_await ask(stage, place, "cancel", std::move(input));
  if (reply.kind == Reply::Kind::kDone) place.judge.cancelled(id, reply.span);
}

Async<void> redrive_records(Stage& stage, Random& random, const PriorityPlace& place) {
  Json input = Json::object();
  if (random.below(2) == 0) input["limit"] = 1 + random.below(5);
  if (random.below(3) == 0) input["rate"] = 1 + random.below(20);
  const Reply reply = co_await ask(stage, place, "redrive", std::move(input));
  const bool wrong = reply.status == 400;
  stage.verdict.expect(!wrong, "a good redrive is refused", reply.message);
}

}  // namespace

Async<void> operate_on_priority_queue(Stage& stage, Random random, PriorityPlace place) {
  while (!stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(20), milliseconds(random.below(8) == 0 ? 5'000 : 800));
    const auto& all = place.judge.enqueued_lately();
    if (all.empty()) continue;
    std::string id = all[random.below(all.size())];
    const uint64_t what = random.below(10);
    ++stage.operations;
    if (what < 3) {
      Json input = {{"id", id}};
      const Reply reply = co_await ask(stage, place, "touch", std::move(input));
      (void)reply;
    } else if (what < 6) {
      co_await set_priority(stage, random, place, std::move(id));
    } else if (what < 8) {
      co_await cancel_record(stage, place, std::move(id));
    } else {
      co_await redrive_records(stage, random, place);
    }
  }
}

Async<bool> judge_priority_rest(Stage& stage, PriorityPlace place) {
  const Reply stats = co_await stage.caller.get(place.routes + "stats", kPatience);
  if (stats.kind != Reply::Kind::kDone) co_return false;
  // A record that nobody can read counts as waiting for ever.
  int64_t left = 0;
  for (const char* state : {"ready", "in_flight", "delayed"}) left += stats.body.value(state, int64_t{0});
  if (left > (stage.plan.has("unreadable-records") && &place.judge == &stage.strict ? 4 : 0)) co_return false;
  for (const auto& [id, there] : place.judge.acknowledged()) {
    std::string path = place.routes + "records/" + id;
    const Reply reply = co_await stage.caller.get(std::move(path), kPatience);
    if (reply.kind == Reply::Kind::kUnknown) co_return false;
    stage.verdict.expect(reply.status == 200, "a record of a priority queue is lost", id);
    const std::string at = text_of(reply.body, "place");
    if (at == "ready" || at == "in-flight" || at == "delayed") co_return false;
    if (reply.status == 200) place.judge.at_rest(id, at);
  }
  co_return true;
}

}  // namespace freshet::sim
