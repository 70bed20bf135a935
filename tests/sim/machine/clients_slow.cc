// Clients that read their answers slowly, and ask for large ones. An answer is whole and right, or there is none. Once
// faults are over it comes whole, and nobody else waits for it.
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/sim/machine/items_read.h"

namespace freshet::sim {

namespace {

using Json = nlohmann::json;

constexpr milliseconds kSlowPatience{300'000};
// After that time no connection is in use any more that a power cut has frozen.
constexpr seconds kCalmLines{60};

// Scans the whole table: every register that certainly was there before must be in it. False without an answer.
Async<bool> scan_slowly(Stage& stage, Caller& slow) {
  std::map<std::string, uint64_t> known;
  for (const std::string& key : stage.items.keys()) known[key] = stage.items.known(key);
  Json from;
  do {
    Json input = {{"TableName", kItemsTable}, {"ConsistentRead", true}};
    if (!from.is_null()) input["ExclusiveStartKey"] = std::move(from);
    const Reply reply = co_await slow.store("Scan", std::move(input), kSlowPatience);
    if (reply.kind != Reply::Kind::kDone) co_return false;
    for (const Json& item : reply.body["Items"]) {
      const SeenItem seen = seen_in(item);
      if (seen.version == 0) continue;
      const auto key = item["id"]["S"].get<std::string>();
      const auto before = known.find(key);
      stage.items.observed(key, seen.version, seen.value, before == known.end() ? 0 : before->second);
      if (before != known.end()) known.erase(before);
      ++stage.operations;
    }
    from = reply.body.value("LastEvaluatedKey", Json());
  } while (!from.is_null());
  for (const auto& [key, version] : known) stage.verdict.expect(version == 0, "a scan lacks an item", key);
  co_return true;
}

// `last`: the version of each item that the pages before have shown.
void judge_page(Stage& stage, const Json& records, std::map<std::string, uint64_t>& last) {
  for (const Json& record : records) {
    const Json& change = record["dynamodb"];
    const SeenItem seen = seen_in(change.value("NewImage", Json()));
    if (seen.version == 0) continue;
    const auto key = change["Keys"]["id"]["S"].get<std::string>();
    stage.items.delivered(key, seen.version, seen.value);
    uint64_t& before = last[key];
    stage.verdict.expect(before == 0 || seen.version == before + 1, "the stream has a gap, a double or a wrong order",
                         key + ": version " + std::to_string(seen.version) + " comes after " + std::to_string(before));
    before = seen.version;
    ++stage.operations;
  }
}

// From the first record that is left.
Async<void> read_stream_slowly(Stage& stage, Caller& slow) {
  StreamPlace place;
  const bool found = co_await find_shard(stage, place);
  if (!found) co_return;
  Json input = {{"StreamArn", place.stream}, {"ShardId", place.shard}, {"ShardIteratorType", "TRIM_HORIZON"}};
  const Reply begun = co_await stage.caller.stream("GetShardIterator", std::move(input), kPatience);
  std::string iterator = begun.kind == Reply::Kind::kDone ? text_of(begun.body, "ShardIterator") : "";
  std::map<std::string, uint64_t> last;
  for (int pages = 0; pages < 3 && !iterator.empty(); ++pages) {
    Json asked = {{"ShardIterator", iterator}, {"Limit", 1000}};
    const Reply reply = co_await slow.stream("GetRecords", std::move(asked), kSlowPatience);
    if (reply.kind != Reply::Kind::kDone || reply.body["Records"].empty()) co_return;
    judge_page(stage, reply.body["Records"], last);
    iterator = text_of(reply.body, "NextShardIterator");
  }
}

Async<void> list_tasks_slowly(Stage& stage, Caller& slow, std::string state) {
  std::set<std::string> ended(stage.tasks.ended_lately().begin(), stage.tasks.ended_lately().end());
  const Reply reply = co_await slow.get("/queues/QueueTable/tasks?limit=1000&state=" + state, kSlowPatience);
  if (reply.kind != Reply::Kind::kDone) co_return;
  std::set<std::string> listed;
  for (const Json& task : reply.body["tasks"]) {
    const std::string id = text_of(task, "taskId");
    const std::string status = text_of(task, "taskStatus");
    stage.verdict.expect(listed.insert(id).second, "a list has a task twice", id);
    stage.verdict.expect(status == state, "a list has a task of another state", id + ": " + status);
    stage.tasks.seen(id, status, ended.contains(id), reply.span);
    ++stage.operations;
  }
}

Async<void> read_something(Stage& stage, Random& random, Caller& slow) {
  const uint64_t what = random.below(10);
  if (what < 4) {
    const bool read = co_await scan_slowly(stage, slow);
    (void)read;
  } else if (what < 7) {
    co_await read_stream_slowly(stage, slow);
  } else {
    std::string state = what == 7 ? "PENDING" : "SUCCESS";
    co_await list_tasks_slowly(stage, slow, std::move(state));
  }
}

// Another client calls while this one reads slowly: it must not have to wait.
Async<void> call_meanwhile(Stage& stage, Random random) {
  while (!stage.verdict.is_broken()) {
    const Reply health = co_await stage.caller.get("/healthz", kPatience);
    stage.verdict.insist(health.status != 0, "a client waits for another one that reads slowly", "/healthz");
    Json input = {{"TableName", kItemsTable}, {"Key", {{"id", {{"S", "nobody's"}}}}}};
    const Reply item = co_await stage.caller.store("GetItem", std::move(input), kPatience);
    stage.verdict.insist(item.status != 0, "a client waits for another one that reads slowly", "GetItem");
    ++stage.operations;
    co_await rest(stage, random, milliseconds(10), milliseconds(1'000));
  }
}

}  // namespace

Async<void> read_slowly(Stage& stage, Random random) {
  ++stage.slow_readers;
  Caller slow = stage.caller.over_a_slow_line();
  while (!stage.calm && !stage.verdict.is_broken()) {
    co_await read_something(stage, random, slow);
    co_await rest(stage, random, milliseconds(10), milliseconds(2'000));
  }
  const Clock& clock = stage.caller.scheduler().clock();
  const BootTime calm = stage.last_fault + kCalmLines;
  if (clock.boot() < calm) co_await sleep_for(stage.caller.scheduler(), calm - clock.boot());
  Scope others;
  others.spawn(call_meanwhile(stage, Random(random.next())));
  for (bool read = false; !read && !stage.verdict.is_broken();) {
    read = co_await scan_slowly(stage, slow);
    co_await rest(stage, random, milliseconds(10), milliseconds(1'000));
  }
  stage.caller.trace().saw("a slow reader has read all");
  --stage.slow_readers;
}

}  // namespace freshet::sim
