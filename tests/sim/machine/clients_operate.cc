// Hands on a running queue: policies, deployments, redrives, backups.
#include <utility>

#include "base/text_file.h"
#include "tests/sim/machine/clients.h"
#include "tests/sim/machine/run_options.h"

namespace freshet::sim {

namespace {

using Json = nlohmann::json;

Json draw_policy(Random& random) {
  static constexpr const char* kOrders[] = {"lifo", "fifo", "adaptive", "deadline"};
  static constexpr const char* kMargins[] = {"off", "p90", "yield"};
  switch (random.below(5)) {
    case 0:
      return {{"ORDER", kOrders[random.below(4)]}};
    case 1:
      return {{"DEADLINE_MARGIN", kMargins[random.below(3)]}};
    case 2:
      return {{"MAX_WAITING", std::to_string(random.below(2) == 0 ? 0 : 20 + random.below(200))}};
    case 3:
      return {{"CONCURRENCY", random.below(3) == 0 ? "adaptive" : std::to_string(1 + random.below(8))}};
    default:
      return {{"RATE_LIMIT", std::to_string(random.below(2) == 0 ? 0 : 5 + random.below(200))}};
  }
}

}  // namespace

Async<void> change_policy(Stage& stage, Random random) {
  while (!stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(200), milliseconds(6'000));
    Json policy = draw_policy(random);
    const Reply reply = co_await stage.caller.queue("policy", std::move(policy), kPatience);
    stage.verdict.expect(reply.status != 400 || reply.error == "ValidationException", "a policy is refused strangely",
                         reply.error);
    ++stage.operations;
  }
}

Async<void> deploy_again(Stage& stage, Random random) {
  const std::string file = template_of(stage.plan);
  const auto text = read_text_file(file);
  while (text && !stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(500), milliseconds(8'000));
    Json body = {
        {"file", file},
        {"template", *text},
        {"parameters",
         {"TaskRunner=" + stage.runner, "DefaultTtlSeconds=0", "TaskTimeoutMs=5000",
          "MaxAttempts=" + std::to_string(3 + random.below(3)), "Concurrency=" + std::to_string(1 + random.below(6))}},
        {"settings", {"ProcessTasksFunction.LEASE_MS=8000", "ProcessTasksFunction.BACKOFF_MAX_MS=8000"}}};
    const Reply reply = co_await stage.caller.post("/deploy", std::move(body), kPatience);
    stage.verdict.expect(reply.status != 400, "a good template is refused", reply.message);
    ++stage.operations;
  }
}

namespace {

// The queue makes it again at once, unless the store has no room.
Async<void> wait_for_index(Stage& stage, Random& random, Json name) {
  int looks = 0;
  while (looks < 30 && !stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(100), milliseconds(1'500));
    Json asked = {{"TableName", "QueueTable"}};
    const Reply table = co_await stage.caller.store("DescribeTable", std::move(asked), kPatience);
    if (table.kind != Reply::Kind::kDone) continue;
    ++looks;
    for (const Json& index : table.body["Table"].value("GlobalSecondaryIndexes", Json::array())) {
      if (index["IndexName"] == name) co_return;
    }
  }
  bool has_room = true;
  for (const char* part : {"disk-full", "disk-refuses", "little-memory", "little-data"}) {
    has_room = has_room && !stage.plan.has(part);
  }
  stage.verdict.expect(looks < 30 || !has_room, "a dropped index is not made again", name.dump());
}

}  // namespace

Async<void> drop_indexes(Stage& stage, Random random) {
  while (!stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(2'000), milliseconds(15'000));
    Json asked = {{"TableName", "QueueTable"}};
    const Reply table = co_await stage.caller.store("DescribeTable", std::move(asked), kPatience);
    if (table.kind != Reply::Kind::kDone || !table.body["Table"].contains("GlobalSecondaryIndexes")) continue;
    const Json& indexes = table.body["Table"]["GlobalSecondaryIndexes"];
    Json name = indexes[random.below(indexes.size())]["IndexName"];
    Json input = {{"TableName", "QueueTable"}, {"GlobalSecondaryIndexUpdates", {{{"Delete", {{"IndexName", name}}}}}}};
    const Reply reply = co_await stage.caller.store("UpdateTable", std::move(input), kPatience);
    if (reply.kind != Reply::Kind::kDone) continue;
    ++stage.operations;
    co_await wait_for_index(stage, random, std::move(name));
  }
}

Async<void> redrive_tasks(Stage& stage, Random random) {
  static constexpr const char* kStates[] = {"DEAD", "FAILURE", "CANCELLED"};
  while (!stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(500), milliseconds(5'000));
    Json body = {{"state", kStates[random.below(3)]}, {"limit", 1 + random.below(20)}};
    const Reply reply = co_await stage.caller.queue("redrive", std::move(body), kPatience);
    if (reply.kind == Reply::Kind::kDone) ++stage.operations;
  }
}

namespace {

constexpr seconds kLongestWay{3};  // The longest that a request is on its way.

// A queue that was resumed is not paused, whatever daemon has it.
Async<void> look_if_resumed(Stage& stage, BootTime resumed) {
  if (stage.tasks.life_began() < resumed) co_return;
  const Reply stats = co_await stage.caller.get("/queues/QueueTable/stats", kPatience);
  if (stats.kind != Reply::Kind::kDone) co_return;
  stage.caller.trace().saw("looked for a pause after a start");
  stage.verdict.expect(!stats.body.contains("pauses"), "a queue is paused that was resumed", stats.body.dump());
}

}  // namespace

Async<void> pause_queue(Stage& stage, Random random) {
  Random haste(stage.plan.seed + 95);
  BootTime resumed_at{};
  bool waits = false;  // For the next daemon: was the pause of the hasty client stored?
  while (!stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(1'000), milliseconds(10'000));
    for (int i = 0; waits && i < 40 && !stage.calm && stage.tasks.life_began() < resumed_at; ++i) {
      co_await sleep_for(stage.caller.scheduler(), seconds(1));
    }
    co_await look_if_resumed(stage, resumed_at);
    Json pause = Json::object();
    if (random.below(2) == 0) pause["forMs"] = 1'000 + random.below(5'000);
    const bool ends_by_itself = pause.contains("forMs");
    // A hasty client hangs up while the daemon is at it.
    const bool hasty = stage.plan.has("hasty-pauses") && haste.below(2) == 0;
    const milliseconds patience = hasty ? milliseconds(1 + static_cast<int64_t>(haste.below(300))) : kPatience;
    const Reply reply = co_await stage.caller.queue("pause", std::move(pause), patience);
    if (reply.kind == Reply::Kind::kDone && !ends_by_itself) stage.tasks.paused(reply.span.answered);
    // Some pauses are there for longer than a daemon.
    const milliseconds longest(random.below(3) == 0 ? 30'000 : 3'000);
    co_await rest(stage, random, milliseconds(10), longest);
    stage.tasks.resuming();
    // Until it is known not to be paused: a request without an answer may have been carried out, now or before, or may
    // be on its way yet.
    bool may_come = reply.kind == Reply::Kind::kUnknown;
    for (;;) {
      Json all = Json::object();
      const Reply resumed = co_await stage.caller.queue("resume", std::move(all), kPatience);
      waits = hasty && reply.kind == Reply::Kind::kUnknown;
      resumed_at = resumed.span.answered;
      if (resumed.kind == Reply::Kind::kDone) break;
      if (resumed.error == "ConflictException") {
        if (!std::exchange(may_come, false)) break;
        co_await sleep_for(stage.caller.scheduler(), kLongestWay);
      }
      if (stage.verdict.is_broken()) co_return;
      co_await rest(stage, random, milliseconds(50), milliseconds(500));
    }
    ++stage.operations;
  }
}

Async<void> purge_ended(Stage& stage, Random random) {
  static constexpr const char* kStates[] = {"SUCCESS", "DEAD", "FAILURE", "CANCELLED", "SHED"};
  while (!stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(500), milliseconds(8'000));
    Json body = {{"do", "purge"}, {"states", {kStates[random.below(5)], kStates[random.below(5)]}}};
    if (random.below(2) == 0) body["olderThanMs"] = random.below(5'000);
    if (random.below(3) == 0) body["ratePerSecond"] = 1 + random.below(50);
    const Reply reply = co_await stage.caller.queue("jobs", std::move(body), kPatience);
    stage.verdict.expect(reply.status != 400, "a good job is refused", reply.message);
    if (reply.kind == Reply::Kind::kDone) ++stage.operations;
  }
}

Async<void> run_delayed_tasks(Stage& stage, Random random) {
  while (!stage.calm && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(200), milliseconds(3'000));
    Json body = {{"do", "run"}};
    if (random.below(3) == 0) body["ratePerSecond"] = 1 + random.below(20);
    const Reply reply = co_await stage.caller.queue("jobs", std::move(body), kPatience);
    stage.verdict.expect(reply.status != 400, "a good job is refused", reply.message);
    if (reply.kind == Reply::Kind::kDone) ++stage.operations;
  }
}

namespace {

// The backup's table, item by item: pairs were written together, so that they are equal in it.
Async<void> judge_restored(Stage& stage, std::string table) {
  Json scan = {{"TableName", table}};
  std::map<std::string, std::string> lefts;
  std::map<std::string, std::string> rights;
  while (!stage.verdict.is_broken()) {
    const Reply page = co_await stage.caller.store("Scan", scan, kPatience);
    if (page.kind != Reply::Kind::kDone) co_return;
    for (const Json& item : page.body["Items"]) {
      const std::string key = item["id"]["S"].get<std::string>();
      if (!item.contains("value")) continue;
      if (key.starts_with("pl-")) lefts[key.substr(3)] = item["value"]["S"].get<std::string>();
      if (key.starts_with("pr-")) rights[key.substr(3)] = item["value"]["S"].get<std::string>();
    }
    if (!page.body.contains("LastEvaluatedKey")) break;
    scan["ExclusiveStartKey"] = page.body["LastEvaluatedKey"];
  }
  stage.verdict.expect(lefts == rights, "a backup has a transaction in part", table);
  ++stage.operations;
}

// Until it says so, or for a while.
Async<bool> wait_for_table(Stage& stage, Random& random, std::string table, bool active) {
  for (int i = 0; i < 40 && !stage.verdict.is_broken(); ++i) {
    Json input = {{"TableName", table}};
    const Reply reply = co_await stage.caller.store("DescribeTable", std::move(input), kPatience);
    const bool there = reply.kind == Reply::Kind::kDone && reply.body["Table"]["TableStatus"] == "ACTIVE";
    if (active && there) co_return true;
    if (!active && reply.error == "ResourceNotFoundException") co_return true;
    co_await rest(stage, random, milliseconds(100), milliseconds(600));
  }
  co_return false;
}

}  // namespace

Async<void> make_backups(Stage& stage, Random random) {
  for (int number = 1; !stage.calm && !stage.verdict.is_broken(); ++number) {
    co_await rest(stage, random, milliseconds(1'000), milliseconds(8'000));
    Json input = {{"TableName", "Items"}, {"BackupName", "backup-" + std::to_string(number)}};
    const Reply made = co_await stage.caller.store("CreateBackup", std::move(input), kPatience);
    if (made.kind != Reply::Kind::kDone) continue;
    const std::string arn = made.body["BackupDetails"]["BackupArn"].get<std::string>();
    const std::string table = "Restored" + std::to_string(number);
    Json restore = {{"BackupArn", arn}, {"TargetTableName", table}};
    Reply restored = co_await stage.caller.store("RestoreTableFromBackup", restore, kPatience);
    for (int i = 0; i < 5 && restored.kind != Reply::Kind::kDone; ++i) {
      co_await rest(stage, random, milliseconds(200), milliseconds(1'500));
      restored = co_await stage.caller.store("RestoreTableFromBackup", restore, kPatience);
    }
    const bool active = co_await wait_for_table(stage, random, table, true);
    if (active) co_await judge_restored(stage, table);
    Json gone = {{"TableName", table}};
    const Reply deleted = co_await stage.caller.store("DeleteTable", std::move(gone), kPatience);
    Json no_backup = {{"BackupArn", arn}};
    const Reply swept = co_await stage.caller.store("DeleteBackup", std::move(no_backup), kPatience);
    (void)deleted;
    (void)swept;
  }
}

}  // namespace freshet::sim
