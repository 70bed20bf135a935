#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/sim/machine/items_read.h"

namespace freshet::sim {

namespace {
using Json = nlohmann::json;
}  // namespace

SeenItem seen_in(const Json& item) {
  if (!item.is_object() || !item.contains("version")) return {};
  return {std::stoull(item["version"]["N"].get<std::string>()), item["value"]["S"].get<std::string>()};
}

namespace {

Json key_of(const std::string& key) {
  return {{"id", {{"S", key}}}};
}

Json item_of(const std::string& key, uint64_t version, const std::string& value) {
  return {{"id", {{"S", key}}}, {"version", {{"N", std::to_string(version)}}}, {"value", {{"S", value}}}};
}

// Version n goes on top of n - 1 only.
void add_condition(Json& put, uint64_t version) {
  if (version == 1) {
    put["ConditionExpression"] = "attribute_not_exists(id)";
    return;
  }
  put["ConditionExpression"] = "version = :before";
  put["ExpressionAttributeValues"] = {{":before", {{"N", std::to_string(version - 1)}}}};
}

bool is_huge(const std::string& key) {
  return key.starts_with("h");
}

Json put_of(const std::string& key, uint64_t version, const std::string& value) {
  Json put = {{"TableName", kItemsTable}, {"Item", item_of(key, version, value)}};
  if (is_huge(key)) put["Item"]["room"] = {{"S", std::string(360'000 + version % 10'000, 'x')}};
  add_condition(put, version);
  return put;
}

SeenItem seen_in_answer(const Json& answer) {
  const auto item = answer.find("Item");
  return item == answer.end() ? SeenItem() : seen_in(*item);
}

Async<Reply> read_item(Stage& stage, std::string key) {
  Json input = {{"TableName", kItemsTable}, {"Key", key_of(key)}, {"ConsistentRead", true}};
  if (is_huge(key)) {  // Without what only takes room.
    input["ProjectionExpression"] = "version, #v";
    input["ExpressionAttributeNames"] = {{"#v", "value"}};
  }
  return stage.caller.store("GetItem", std::move(input), kPatience);
}

// Reads until there is an answer. The version that the item has.
Async<uint64_t> find_version(Stage& stage, Random& random, std::string key) {
  while (!stage.verdict.is_broken()) {
    const uint64_t known = stage.items.known(key);
    const Reply reply = co_await read_item(stage, key);
    if (reply.kind == Reply::Kind::kDone) {
      const SeenItem seen = seen_in_answer(reply.body);
      stage.items.observed(key, seen.version, seen.value, known);
      ++stage.operations;
      co_return seen.version;
    }
    co_await rest(stage, random, milliseconds(50), milliseconds(1'000));
  }
  co_return 0;
}

std::string padding(Stage& stage, Random& random) {
  if (stage.plan.has("big-values") && random.below(3) == 0) return std::string(random.below(60'000), 'x');
  return std::string(random.below(20) == 0 ? 4'000 + random.below(30'000) : random.below(200), 'x');
}

}  // namespace

Async<void> rest(Stage& stage, Random& random, milliseconds least, milliseconds most) {
  const auto span = static_cast<uint64_t>((most - least).count()) * 1000 + 1;
  return sleep_for(stage.caller.scheduler(), least + std::chrono::microseconds(random.below(span)));
}

Async<void> make_items_table(Stage& stage) {
  Random random(stage.plan.seed);
  while (!stage.verdict.is_broken()) {
    Json input = {{"TableName", kItemsTable},
                  {"KeySchema", {{{"AttributeName", "id"}, {"KeyType", "HASH"}}}},
                  {"AttributeDefinitions", {{{"AttributeName", "id"}, {"AttributeType", "S"}}}},
                  {"BillingMode", "PAY_PER_REQUEST"},
                  {"StreamSpecification", {{"StreamEnabled", true}, {"StreamViewType", "NEW_IMAGE"}}}};
    const Reply reply = co_await stage.caller.store("CreateTable", std::move(input), kPatience);
    if (reply.kind == Reply::Kind::kDone || reply.error == "ResourceInUseException") co_return;
    co_await rest(stage, random, milliseconds(50), milliseconds(500));
  }
}

// Counts a client that writes while it lives: the stream is over when there is none.
class Writing {
 public:
  explicit Writing(Stage& stage) : stage_(stage) { ++stage_.writers; }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing() { --stage_.writers; }

 private:
  Stage& stage_;
};

namespace {

// `version`: the last one that is certain.
Async<void> put_next(Stage& stage, Random& random, std::string key, std::string value, uint64_t& version) {
  const uint64_t next = version + 1;
  stage.items.begin(key, next, value);
  Json put = put_of(key, next, value);
  const milliseconds patience(100 + static_cast<int64_t>(random.below(5'000)));
  const Reply reply = co_await stage.caller.store("PutItem", std::move(put), patience, Caller::kRepeatable);
  if (reply.kind == Reply::Kind::kDone) {
    stage.items.acknowledged(key, next, value);
    version = next;
    ++stage.operations;
  } else if (reply.error == "ConditionalCheckFailedException") {
    stage.items.condition_failed(key, next, value);
    version = co_await find_version(stage, random, std::move(key));
  } else if (reply.kind == Reply::Kind::kRefused) {
    stage.items.refused(key, next, value);
  } else {
    version = co_await find_version(stage, random, std::move(key));
  }
}

}  // namespace

Async<void> write_registers(Stage& stage, Random random, std::string name) {
  const Writing writing(stage);
  std::map<std::string, uint64_t> versions;
  uint64_t tries = 0;
  while (!stage.calm && !stage.verdict.is_broken()) {
    const std::string key = "r-" + name + "-" + std::to_string(random.below(12));
    std::string value = name + "." + std::to_string(++tries) + padding(stage, random);
    co_await put_next(stage, random, key, std::move(value), versions[key]);
    if (random.below(4) == 0) versions[key] = co_await find_version(stage, random, key);
    co_await rest(stage, random, milliseconds(0), milliseconds(random.below(3) == 0 ? 400 : 20));
  }
}

namespace {

// The token makes it the same request, for ten minutes.
Async<void> repeat_transaction(Stage& stage, Json input) {
  const BootTime before = stage.caller.scheduler().clock().boot();
  const Reply reply = co_await stage.caller.store("TransactWriteItems", std::move(input), kPatience);
  if (stage.caller.scheduler().clock().boot() - before > seconds(60)) co_return;
  // If two are under way at a time, the later one may learn that the other is still at work.
  const bool waits =
      reply.error == "ProvisionedThroughputExceededException" || reply.error == "TransactionInProgressException";
  stage.verdict.expect(reply.status != 400 || waits, "a repeated transaction is carried out again",
                       reply.error + ": " + reply.message);
}

}  // namespace

Async<void> write_pairs(Stage& stage, Random random, std::string name) {
  const Writing writing(stage);
  std::map<std::string, uint64_t> versions;
  uint64_t tries = 0;
  while (!stage.calm && !stage.verdict.is_broken()) {
    const std::string number = std::to_string(random.below(4));
    const std::string left = "pl-" + name + "-" + number;
    const std::string right = "pr-" + name + "-" + number;
    const uint64_t version = versions[left] + 1;
    const std::string value = name + "." + std::to_string(++tries);
    Json input = {
        {"TransactItems", {{{"Put", put_of(left, version, value)}}, {{"Put", put_of(right, version, value)}}}},
        {"ClientRequestToken", "token-" + value}};
    stage.items.begin(left, version, value);
    stage.items.begin(right, version, value);
    Json again = input;
    Reply reply = co_await stage.caller.store("TransactWriteItems", input, kPatience, Caller::kRepeatable);
    // The token makes a second try the same as the first.
    if (reply.kind == Reply::Kind::kUnknown && random.below(2) == 0) {
      reply = co_await stage.caller.store("TransactWriteItems", std::move(input), kPatience);
      if (reply.kind == Reply::Kind::kRefused) reply.kind = Reply::Kind::kUnknown;  // The first may have been done.
    }
    if (reply.kind == Reply::Kind::kDone) {
      if (random.below(6) == 0) co_await repeat_transaction(stage, std::move(again));
      stage.items.acknowledged(left, version, value);
      stage.items.acknowledged(right, version, value);
      versions[left] = version;
      ++stage.operations;
    } else if (reply.kind == Reply::Kind::kRefused && reply.error != "TransactionCanceledException") {
      stage.items.refused(left, version, value);
      stage.items.refused(right, version, value);
    }
    const uint64_t known = stage.items.known(left);
    Json read = {{"TransactItems",
                  {{{"Get", {{"TableName", kItemsTable}, {"Key", key_of(left)}}}},
                   {{"Get", {{"TableName", kItemsTable}, {"Key", key_of(right)}}}}}}};
    const Reply both = co_await stage.caller.store("TransactGetItems", std::move(read), kPatience);
    if (both.kind == Reply::Kind::kDone) {
      const SeenItem one = seen_in_answer(both.body["Responses"][0]);
      const SeenItem other = seen_in_answer(both.body["Responses"][1]);
      stage.verdict.expect(one.version == other.version && one.value == other.value, "a transaction is done in part",
                           left + " and " + right + " differ");
      stage.items.observed(left, one.version, one.value, known);
      if (one.version > 0) stage.items.observed(right, other.version, other.value, known);
      versions[left] = one.version;
      ++stage.operations;
    }
    co_await rest(stage, random, milliseconds(0), milliseconds(200));
  }
}

namespace {

struct LateTransaction {
  Json input;
  Span span;
};

Json transaction_of(const std::string& key) {
  return {{"TransactItems", {{{"Put", put_of(key, 1, key)}}}}, {"ClientRequestToken", "token-" + key}};
}

// A token is kept for ten minutes by the wall clock, and for as long as a daemon does not believe a clock that was set.
void judge_late(Stage& stage, const LateTransaction& made, const Reply& again) {
  const WallTime over = stage.wall.earliest(made.span.sent, made.span.answered) + seconds(599);
  if (stage.wall.latest(made.span.sent, again.span.answered) >= over) return;
  const bool anew = again.error == "TransactionCanceledException" || again.error == "IdempotentParameterMismatch";
  stage.verdict.expect(!anew, "a repeated transaction is carried out again", again.error + ": " + again.message);
  if (again.kind == Reply::Kind::kDone) stage.caller.trace().saw("transaction repeated late");
}

}  // namespace

Async<void> repeat_transactions_late(Stage& stage, Random random) {
  const Writing writing(stage);
  std::vector<LateTransaction> made;
  uint64_t number = 0;
  while (!stage.calm && !stage.verdict.is_broken()) {
    if (made.empty() || random.below(6) == 0) {
      const std::string key = "late-" + std::to_string(++number);
      stage.items.begin(key, 1, key);
      Json input = transaction_of(key);
      const Reply reply = co_await stage.caller.store("TransactWriteItems", input, kPatience);
      if (reply.kind == Reply::Kind::kDone) {
        stage.items.acknowledged(key, 1, key);
        made.push_back({std::move(input), reply.span});
      } else if (reply.kind == Reply::Kind::kRefused) {
        stage.items.refused(key, 1, key);
      }
    } else {
      const LateTransaction one = made[made.size() - 1 - random.below(std::min<size_t>(made.size(), 8))];
      const Reply again = co_await stage.caller.store("TransactWriteItems", one.input, kPatience);
      judge_late(stage, one, again);
    }
    ++stage.operations;
    co_await rest(stage, random, milliseconds(20), milliseconds(1'500));
  }
}

namespace {

// More than what the log takes away of a removed segment in one step.
Async<void> put_together(Stage& stage, Random& random, std::string number, std::map<std::string, uint64_t>& versions) {
  constexpr int kItems = 6;
  Json puts = Json::array();
  std::map<std::string, std::string> values;
  for (int i = 0; i < kItems; ++i) {
    const std::string key = "ht-" + std::to_string(i);
    values[key] = number;
    stage.items.begin(key, versions[key] + 1, number);
    Json put = {{"Put", put_of(key, versions[key] + 1, number)}};
    puts.push_back(std::move(put));
  }
  Json input = {{"TransactItems", std::move(puts)}};
  const Reply reply = co_await stage.caller.store("TransactWriteItems", std::move(input), kPatience);
  const bool refused = reply.kind == Reply::Kind::kRefused && reply.error != "TransactionCanceledException";
  for (const auto& [key, value] : values) {
    if (reply.kind == Reply::Kind::kDone) stage.items.acknowledged(key, ++versions[key], value);
    if (refused) stage.items.refused(key, versions[key] + 1, value);
    if (reply.kind != Reply::Kind::kDone) versions[key] = co_await find_version(stage, random, key);
  }
  ++stage.operations;
}

}  // namespace

Async<void> write_huge_values(Stage& stage, Random random) {
  const Writing writing(stage);
  std::map<std::string, uint64_t> versions;
  for (uint64_t tries = 1; !stage.calm && !stage.verdict.is_broken(); ++tries) {
    std::string number = std::to_string(tries) + ".";
    if (random.below(6) == 0) {
      co_await put_together(stage, random, std::move(number), versions);
    } else {
      const std::string key = "h-" + std::to_string(random.below(3));
      co_await put_next(stage, random, key, std::move(number), versions[key]);
    }
    co_await rest(stage, random, milliseconds(0), milliseconds(800));
  }
}

Async<void> count_up(Stage& stage, Random random, std::string name) {
  const Writing writing(stage);
  const std::string key = "c-" + name;
  while (!stage.calm && !stage.verdict.is_broken()) {
    Json input = {{"TableName", kItemsTable},
                  {"Key", key_of(key)},
                  {"UpdateExpression", "ADD n :one"},
                  {"ExpressionAttributeValues", {{":one", {{"N", "1"}}}}},
                  {"ReturnValues", "UPDATED_NEW"}};
    stage.items.begin_add(key);
    const uint64_t known = stage.items.known_adds(key);
    const Reply reply = co_await stage.caller.store("UpdateItem", std::move(input), kPatience);
    if (reply.kind == Reply::Kind::kDone) {
      stage.items.acknowledged_add(key);
      const std::string count = reply.body["Attributes"]["n"]["N"].get<std::string>();
      stage.items.observed_count(key, std::stoull(count), known + 1);
      ++stage.operations;
    } else if (reply.kind == Reply::Kind::kRefused) {
      stage.items.refused_add(key);
    }
    co_await rest(stage, random, milliseconds(0), milliseconds(100));
  }
}

namespace {

// True if an item of one client is there. Unsure for ever after a write without an answer, which may still arrive.
struct Coming {
  bool there = false;
  bool sure = true;
};

Async<void> put_or_delete(Stage& stage, std::string key, Coming& coming) {
  Json input = {{"TableName", kItemsTable}};
  const char* operation = coming.there ? "DeleteItem" : "PutItem";
  if (coming.there) {
    input["Key"] = key_of(key);
  } else {
    input["Item"] = {{"id", {{"S", key}}}, {"since", {{"N", "1"}}}};
  }
  coming.sure = false;
  const Reply reply = co_await stage.caller.store(operation, std::move(input), kPatience);
  coming.sure = reply.kind != Reply::Kind::kUnknown;
  if (reply.kind != Reply::Kind::kDone) co_return;
  coming.there = !coming.there;
  ++stage.operations;
}

}  // namespace

Async<void> put_and_delete(Stage& stage, Random random, std::string name) {
  std::map<std::string, Coming> all;
  uint64_t last = 0;
  while (!stage.verdict.is_broken()) {
    const uint64_t number = random.below(8);
    if (all.size() < 8 || random.below(40) == 0) all["l-" + name + "-" + std::to_string(++last)];
    auto at = all.begin();
    std::advance(at, number % all.size());
    if (!at->second.sure) {
      all.erase(at);
      continue;
    }
    if (!stage.calm) co_await put_or_delete(stage, at->first, at->second);
    if (at->second.sure) {
      const Reply reply = co_await read_item(stage, at->first);
      const bool there = reply.body.is_object() && reply.body.contains("Item");
      const bool right = reply.kind != Reply::Kind::kDone || there == at->second.there;
      stage.verdict.expect(right, there ? "a deleted item comes back" : "an acknowledged item is lost", at->first);
    }
    co_await rest(stage, random, milliseconds(0), milliseconds(stage.calm ? 2'000 : 150));
  }
}

Async<bool> find_shard(Stage& stage, StreamPlace& place) {
  Json input = {{"TableName", kItemsTable}};
  const Reply table = co_await stage.caller.store("DescribeTable", std::move(input), kPatience);
  if (table.kind != Reply::Kind::kDone || !table.body["Table"].contains("LatestStreamArn")) co_return false;
  place.stream = table.body["Table"]["LatestStreamArn"].get<std::string>();
  Json asked = {{"StreamArn", place.stream}};
  const Reply stream = co_await stage.caller.stream("DescribeStream", std::move(asked), kPatience);
  if (stream.kind != Reply::Kind::kDone) co_return false;
  const Json& shards = stream.body["StreamDescription"]["Shards"];
  if (shards.empty()) co_return false;
  place.shard = shards.back()["ShardId"].get<std::string>();
  co_return true;
}

namespace {

Async<bool> find_iterator(Stage& stage, StreamPlace& place) {
  if (place.shard.empty()) {
    const bool found = co_await find_shard(stage, place);
    if (!found) co_return false;
  }
  Json input = {{"StreamArn", place.stream}, {"ShardId", place.shard}, {"ShardIteratorType", "TRIM_HORIZON"}};
  if (!place.last.empty()) {
    input["ShardIteratorType"] = "AFTER_SEQUENCE_NUMBER";
    input["SequenceNumber"] = place.last;
  }
  const Reply reply = co_await stage.caller.stream("GetShardIterator", std::move(input), kPatience);
  if (reply.error == "TrimmedDataAccessException") {
    place.last.clear();
    place.begins_late = true;
  }
  if (reply.kind != Reply::Kind::kDone) co_return false;
  if (place.begins_late && place.last.empty()) stage.items.stream_trimmed();
  place.iterator = reply.body["ShardIterator"].get<std::string>();
  co_return true;
}

constexpr const char* kFirstNumber = "100000000000000000001";

// A full disk trims a stream before its time, perhaps before anybody has read it.
bool has_lost_its_begin(const Stage& stage, const std::string& first) {
  const auto fills_up = {"disk-full", "disk-refuses", "full-at-last"};
  return first > kFirstNumber &&
         std::any_of(fills_up.begin(), fills_up.end(), [&](const char* part) { return stage.plan.has(part); });
}

void judge_record(Stage& stage, const Json& record, StreamPlace& place) {
  const Json& change = record["dynamodb"];
  if (place.last.empty() && !place.begins_late &&
      has_lost_its_begin(stage, change["SequenceNumber"].get<std::string>())) {
    place.begins_late = true;
    stage.items.stream_trimmed();
  }
  place.last = change["SequenceNumber"].get<std::string>();
  const std::string key = change["Keys"]["id"]["S"].get<std::string>();
  const SeenItem seen = seen_in(change.value("NewImage", Json()));
  if (seen.version > 0) stage.items.streamed(key, seen.version, seen.value, place.begins_late);
  ++stage.operations;
}

}  // namespace

void judge_event(Stage& stage, const Json& event) {
  for (const Json& record : event["Records"]) {
    const Json& change = record["dynamodb"];
    const SeenItem seen = seen_in(change.value("NewImage", Json()));
    if (seen.version == 0) continue;
    stage.items.delivered(change["Keys"]["id"]["S"].get<std::string>(), seen.version, seen.value);
    ++stage.operations;
  }
}

Async<void> follow_stream(Stage& stage, Random random) {
  StreamPlace place;
  int empty_pages = 0;
  while (!stage.verdict.is_broken() && (!stage.all_is_read || empty_pages < 3)) {
    if (place.iterator.empty()) {
      const bool found = co_await find_iterator(stage, place);
      if (!found) {
        co_await rest(stage, random, milliseconds(50), milliseconds(800));
        continue;
      }
    }
    Json input = {{"ShardIterator", place.iterator}, {"Limit", 1 + random.below(200)}};
    const Reply reply = co_await stage.caller.stream("GetRecords", std::move(input), kPatience);
    place.iterator.clear();
    if (reply.kind == Reply::Kind::kDone) {
      const Json& records = reply.body["Records"];
      for (const Json& record : records) judge_record(stage, record, place);
      empty_pages = stage.all_is_read && records.empty() ? empty_pages + 1 : 0;
      const bool goes_on = random.below(10) > 0 && reply.body.contains("NextShardIterator");
      if (goes_on) place.iterator = reply.body["NextShardIterator"].get<std::string>();
    }
    co_await rest(stage, random, milliseconds(5), milliseconds(300));
  }
}

Async<void> read_all_items(Stage& stage) {
  // One may have begun a write before the faults ended.
  while (stage.writers > 0 && !stage.verdict.is_broken()) {
    co_await sleep_for(stage.caller.scheduler(), milliseconds(100));
  }
  Random random(stage.plan.seed + 1);
  for (const std::string& key : std::set<std::string>(stage.items.keys())) {
    const uint64_t version = co_await find_version(stage, random, key);
    (void)version;
  }
}

}  // namespace freshet::sim
