#include "tests/sim/fleet/fleet_clients.h"

#include <utility>

namespace freshet::fleet_sim {

namespace {

using Json = nlohmann::json;

constexpr milliseconds kPatience{3'000};

uint16_t any_member(FleetStage& stage, Random& random) {
  return stage.ports[random.below(stage.ports.size())];
}

std::string any_queue(FleetStage& stage, Random& random) {
  return stage.plan.queues[random.below(stage.plan.queues.size())];
}

milliseconds draw_ms(Random& random, int64_t least, int64_t most) {
  return milliseconds(least + static_cast<int64_t>(random.below(static_cast<uint64_t>(most - least + 1))));
}

// Some clients wait until a member knows what became of a write that the engine has not answered.
milliseconds draw_patience(const FleetStage& stage, Random& random) {
  return !stage.calm && random.below(3) == 0 ? milliseconds(15'000) : kPatience;
}

}  // namespace

Async<void> create_task(FleetStage& stage, Random& random, std::string queue, std::string id) {
  stage.ledger.create_sent(queue, id, stage.caller.now());
  for (int tries = 0; tries < 60 && !stage.verdict.is_broken(); ++tries) {
    std::string path = "/queues/" + queue + "/tasks";
    Json body = {{"taskId", id}, {"payload", {{"n", tries}}}};
    const uint16_t port = any_member(stage, random);
    const auto patience = draw_patience(stage, random);
    const Reply reply = co_await stage.caller.post(port, std::move(path), std::move(body), patience);
    if (reply.ok()) {
      stage.verdict.expect(text_in(reply.body, "taskId") == id, "a create is answered with another task", id);
      stage.ledger.created(id, reply.answered);
      ++stage.operations;
      co_return;
    }
    stage.verdict.expect(reply.status == 0 || reply.status >= 500 || reply.status == 429, "a create is refused",
                         id + ": " + std::to_string(reply.status));
    co_await pause_for(stage, random, milliseconds(20), milliseconds(400));
  }
}

Async<void> pause_for(FleetStage& stage, Random& random, milliseconds least, milliseconds most) {
  const auto time = draw_ms(random, least.count(), most.count());
  co_await sleep_for(stage.caller.scheduler(), time);
}

Async<void> make_tables(FleetStage& stage) {
  std::vector<std::string> tables = stage.plan.queues;
  if (stage.plan.has_schedule) tables.emplace_back(kScheduledQueue);
  for (const std::string& table : tables) {
    if (table == "QueueTable") continue;
    for (int status = 0; status != 200;) {
      Json input = {{"TableName", table},
                    {"BillingMode", "PAY_PER_REQUEST"},
                    {"AttributeDefinitions", {{{"AttributeName", "taskId"}, {"AttributeType", "S"}}}},
                    {"KeySchema", {{{"AttributeName", "taskId"}, {"KeyType", "HASH"}}}}};
      const Reply reply = co_await stage.caller.store(stage.engine, "CreateTable", std::move(input), kPatience);
      const bool is_there = text_in(reply.body, "__type").ends_with("ResourceInUseException");
      status = is_there ? 200 : reply.status;
      if (status != 200) co_await sleep_for(stage.caller.scheduler(), milliseconds(20));
    }
  }
}

Async<void> create_tasks(FleetStage& stage, Random random, std::string name) {
  ++stage.creators;
  for (int number = 1; !stage.calm && !stage.verdict.is_broken(); ++number) {
    std::string id = name + "-" + std::to_string(number);
    std::string queue = any_queue(stage, random);
    co_await create_task(stage, random, std::move(queue), std::move(id));
    const bool rests = random.below(20) == 0;
    co_await pause_for(stage, random, milliseconds(1), milliseconds(rests ? 2'000 : 150));
  }
  --stage.creators;
}

Async<void> create_runs(FleetStage& stage, Random random) {
  ++stage.creators;
  for (int number = 1; !stage.calm && !stage.verdict.is_broken(); ++number) {
    std::string queue = kRunQueue;
    std::string id = "run-" + std::to_string(number);
    co_await create_task(stage, random, std::move(queue), std::move(id));
    const bool rests = random.below(40) == 0;
    co_await pause_for(stage, random, milliseconds(1), milliseconds(rests ? 3'000 : 120));
  }
  --stage.creators;
}

namespace {

// Sent until it is known to be there.
Async<void> put_task(FleetStage& stage, Random& random, std::string queue, std::string id) {
  stage.ledger.put_sent(queue, id, stage.caller.now());
  const auto created = epoch_ms(stage.caller.scheduler().clock().wall());
  for (int tries = 0; tries < 60 && !stage.verdict.is_broken(); ++tries) {
    Json item = {{"taskId", {{"S", id}}}, {"taskStatus", {{"S", "PENDING"}}}};
    item["taskCreated"] = {{"N", std::to_string(created)}};
    Json input = {{"TableName", queue}, {"Item", std::move(item)}};
    input["ConditionExpression"] = "attribute_not_exists(taskId)";
    const Reply reply = co_await stage.caller.store(stage.engine, "PutItem", std::move(input), kPatience);
    const bool is_there = text_in(reply.body, "__type").ends_with("ConditionalCheckFailedException");
    if (reply.ok() || is_there) {
      stage.ledger.created(id, reply.answered);
      ++stage.operations;
      co_return;
    }
    co_await pause_for(stage, random, milliseconds(20), milliseconds(400));
  }
}

}  // namespace

Async<void> put_tasks(FleetStage& stage, Random random, std::string name) {
  ++stage.creators;
  for (int number = 1; !stage.calm && !stage.verdict.is_broken(); ++number) {
    std::string id = name + "-" + std::to_string(number);
    std::string queue = any_queue(stage, random);
    co_await pause_for(stage, random, milliseconds(100), milliseconds(2'000));
    co_await put_task(stage, random, std::move(queue), std::move(id));
  }
  --stage.creators;
}

namespace {

enum class Fate { kForget, kFail, kLate, kComplete };

Fate draw_fate(const FleetStage& stage, Random& random) {
  if (stage.calm) return Fate::kComplete;
  const uint64_t drawn = random.below(100);
  return drawn < 6 ? Fate::kForget : drawn < 16 ? Fate::kFail : drawn < 24 ? Fate::kLate : Fate::kComplete;
}

// The same again until an answer says what became of it.
Async<void> settle(FleetStage& stage, Random& random, std::string queue, std::string id, std::string lease,
                   bool completes) {
  for (int tries = 0; tries < 8 && !stage.verdict.is_broken(); ++tries) {
    Json one = {{"taskId", id}, {"lease", lease}, {"outcome", completes ? "complete" : "fail"}};
    if (!completes) one["delayMs"] = 100;
    Json body = {{"settle", Json::array({std::move(one)})}};
    std::string path = "/queues/" + queue + "/settle";
    const uint16_t port = any_member(stage, random);
    stage.ledger.settle_sent(id, lease, stage.caller.now());
    const auto patience = draw_patience(stage, random);
    const Reply reply = co_await stage.caller.post(port, std::move(path), std::move(body), patience);
    if (reply.ok()) {
      const Json& settled = reply.body["settled"][0];
      if (!settled.is_object() || !settled.contains("error")) {
        ++stage.operations;
        stage.ledger.settled(id, lease, completes);
        co_return;
      }
      const std::string code = text_in(settled["error"], "code");
      stage.caller.trace().saw("settle " + code);
      // A task that another try of this call has completed stays so.
      if (code == "ConflictException" && (tries == 0 || completes))
        stage.ledger.settle_refused(id, lease, reply.answered);
      if (code == "ConflictException" || code == "ResourceNotFoundException") co_return;
    }
    co_await pause_for(stage, random, milliseconds(20), milliseconds(500));
  }
}

Async<void> do_task(FleetStage& stage, Random& random, std::string id, std::string lease, Take take) {
  const Fate fate = draw_fate(stage, random);
  if (fate == Fate::kForget) co_return;
  const auto longest = stage.calm ? milliseconds(10) : fate == Fate::kLate ? take.lease * 2 : take.lease / 6;
  co_await pause_for(stage, random, milliseconds(0), longest);
  co_await settle(stage, random, take.queue, std::move(id), std::move(lease), fate != Fate::kFail);
}

}  // namespace

Async<void> work_on_tasks(FleetStage& stage, Random random, std::string name) {
  while (!stage.verdict.is_broken()) {
    if (stage.resting) {
      co_await pause_for(stage, random, milliseconds(100), milliseconds(300));
      continue;
    }
    Take take;
    take.queue = any_queue(stage, random);
    take.lease = stage.calm ? milliseconds(10'000) : draw_ms(random, 1'000, 8'000);
    const auto wait = draw_ms(random, 0, 400);
    Json body = {{"max", 1 + random.below(stage.calm ? 8 : 3)},
                 {"leaseMs", take.lease.count()},
                 {"waitMs", wait.count()},
                 {"owner", name}};
    std::string path = "/queues/" + take.queue + "/take";
    const uint16_t port = any_member(stage, random);
    const auto patience = wait + draw_patience(stage, random);
    const Reply reply = co_await stage.caller.post(port, std::move(path), std::move(body), patience);
    take.sent = reply.sent;
    take.answered = reply.answered;
    if (!reply.ok()) {
      if (!reply.refused()) stage.ledger.take_unknown(take);
      co_await pause_for(stage, random, milliseconds(50), milliseconds(600));
      continue;
    }
    ++stage.operations;
    const Json tasks = reply.body["tasks"];
    for (const Json& task : tasks) stage.ledger.taken(text_in(task, "taskId"), text_in(task, "lease"), take);
    for (const Json& task : tasks) {
      std::string id = text_in(task, "taskId");
      std::string lease = text_in(task, "lease");
      co_await do_task(stage, random, std::move(id), std::move(lease), take);
    }
    if (tasks.empty()) co_await pause_for(stage, random, milliseconds(50), milliseconds(300));
  }
}

Async<void> look_around(FleetStage& stage, Random random) {
  while (!stage.calm && !stage.verdict.is_broken()) {
    const uint16_t port = any_member(stage, random);
    std::string path = random.below(2) == 0 ? "/fleet" : "/queues/" + any_queue(stage, random) + "/stats";
    const Reply reply = co_await stage.caller.get(port, std::move(path), kPatience);
    // While the engine fails, so do requests.
    const bool is_right = reply.status == 0 || reply.status == 200 || reply.status == 429 || reply.status >= 500;
    stage.verdict.expect(is_right, "a reader gets an error", std::to_string(reply.status));
    co_await pause_for(stage, random, milliseconds(50), milliseconds(1'500));
  }
}

Async<void> watch_plan(FleetStage& stage, Random random) {
  int64_t term = 0;
  int64_t version = 0;
  std::string shown;
  while (!stage.calm && !stage.verdict.is_broken()) {
    Json input = {{"TableName", "freshet-fleet"}, {"ConsistentRead", true}, {"Key", {{"id", {{"S", "plan"}}}}}};
    const Reply reply = co_await stage.caller.store(stage.engine, "GetItem", std::move(input), kPatience);
    if (reply.ok() && reply.body.contains("Item")) {
      const Json& plan = reply.body["Item"];
      const int64_t new_term = std::stoll(plan.value("/term/N"_json_pointer, "0"));
      const int64_t new_version = std::stoll(plan.value("/version/N"_json_pointer, "0"));
      std::string now = plan.dump();
      const bool is_forward = new_term >= term && (new_version > version || now == shown);
      stage.verdict.expect(is_forward, "the plan goes back", shown + " became " + now);
      term = new_term;
      version = new_version;
      shown = std::move(now);
    }
    co_await pause_for(stage, random, milliseconds(20), milliseconds(100));
  }
}

Async<bool> scan_table(FleetStage& stage, std::string table, std::map<std::string, StoredTask>& into) {
  Json from;
  do {
    Json input = {{"TableName", table}, {"ConsistentRead", true}};
    if (!from.is_null()) input["ExclusiveStartKey"] = from;
    const Reply reply = co_await stage.caller.store(stage.engine, "Scan", std::move(input), kPatience);
    if (!reply.ok()) co_return false;
    for (const Json& item : reply.body["Items"]) {
      StoredTask found;
      found.status = item.value("/taskStatus/S"_json_pointer, "");
      found.attempt = std::stoll(item.value("/attempt/N"_json_pointer, "0"));
      into[item.value("/taskId/S"_json_pointer, "")] = found;
    }
    from = reply.body.contains("LastEvaluatedKey") ? reply.body["LastEvaluatedKey"] : Json();
  } while (!from.is_null());
  co_return true;
}

}  // namespace freshet::fleet_sim
