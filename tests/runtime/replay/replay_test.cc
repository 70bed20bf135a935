#include "runtime/replay/replay.h"

#include <gtest/gtest.h>

#include "runtime/loop/sim_loop.h"
#include "runtime/replay/record.h"
#include "streams/topics.h"
#include "tables/engine/embedded.h"
#include "tables/value/json.h"

namespace freshet {
namespace {

const std::string kTemplate =
    "Resources:\n"
    "  Tasks:\n"
    "    Type: AWS::DynamoDB::Table\n"
    "    Metadata: {Freshet: {Queue: true}}\n"
    "    Properties:\n"
    "      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]\n"
    "      KeySchema: [{AttributeName: id, KeyType: HASH}]\n"
    "      StreamSpecification: {StreamViewType: KEYS_ONLY}\n"
    "      TimeToLiveSpecification: {AttributeName: ttl}\n"
    "  Done: {Type: AWS::SNS::Topic}\n"
    "  Work:\n"
    "    Type: AWS::Serverless::Function\n"
    "    Properties:\n"
    "      Runtime: native\n"
    "      Handler: work\n"
    "      Timeout: 5\n"
    "      Environment: {Variables: {TOPIC: !Ref Done}}\n"
    "      Events:\n"
    "        Rows:\n"
    "          Type: DynamoDB\n"
    "          Properties:\n"
    "            Stream: !GetAtt Tasks.StreamArn\n"
    "            StartingPosition: TRIM_HORIZON\n"
    "            MaximumBatchingWindowInSeconds: 1\n"
    "            FilterCriteria: {Filters: [{Pattern: '{\"eventName\":[\"INSERT\"]}'}]}\n";

const std::string kHeader =
    R"({"freshet":"fixture","version":1,"table":"Tasks","partitionKey":{"name":"id","type":"S"},)"
    R"("start":"2026-01-01T00:00:00.000Z"})"
    "\n";

std::string record(const std::string& kind, const std::string& seconds, const std::string& image) {
  std::string member = kind == "REMOVE" ? "Keys" : "NewImage";
  return R"({"eventName":")" + kind + R"(","dynamodb":{"ApproximateCreationDateTime":)" + seconds + ",\"" + member +
         "\":" + image + "}}\n";
}

Deployment deployment(const std::string& text = kTemplate) {
  DeploymentInput input;
  input.source.file = "t.yaml";
  input.source.text = text;
  auto out = resolve_deployment(input);
  EXPECT_TRUE(out) << out.error().message;
  return out ? *out : Deployment{};
}

// Marks one item done, one that is not there, publishes, and takes its time.
Async<Result<std::string>> work(Context& context) {
  UpdateItemInput update;
  update.table = "Tasks";
  update.key = Item{{"id", "a"}};
  update.update = "SET #s = :done REMOVE note";
  update.condition = "#s = :open";
  update.placeholders.names = {{"#s", "taskStatus"}};
  update.placeholders.values = Map{{":done", "DONE"}, {":open", "OPEN"}};
  auto updated = co_await context.services.tables.update_item(std::move(update));
  PublishInput publish;
  publish.topic_arn = context.function.environment.at("TOPIC");
  publish.message = updated ? "done" : "lost";
  auto published = co_await context.services.topics.publish(std::move(publish));
  if (!published) co_return fail(published.error());
  co_await sleep_for(context.services.scheduler, milliseconds(250));
  HttpRequest request;
  request.method = "POST";
  request.body = R"({"x":1})";
  std::string url = "http://127.0.0.1:9/run";
  auto answer = co_await context.services.http.send(std::move(url), std::move(request), seconds(1));
  if (!answer) co_return fail(answer.error());
  co_return R"({"status":)" + std::to_string(answer->status) + "}";
}

std::string run(const std::string& fixture_text, ReplayOptions options = {}, const std::string& text = kTemplate) {
  auto fixture = read_fixture(fixture_text, "f");
  if (!fixture) return fixture.error().message;
  NativeRegistry natives;
  natives.add("work", work);
  PlainReplayProgram program(std::move(natives));
  auto out = replay(*fixture, deployment(text), program, options);
  return out ? *out : out.error().message;
}

// The lines that have that member, without their times and ids.
std::vector<std::string> lines_with(const std::string& output, const std::string& member) {
  std::vector<std::string> out;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    if (line.find("\"" + member + "\":", 33) == 33) out.push_back(line);
  }
  return out;
}

const std::string kInsertA =
    record("INSERT", "1767225601.5", R"({"id":{"S":"a"},"taskStatus":{"S":"OPEN"},"note":{"S":"n"}})");

TEST(Replay, PrintsWhatTheFunctionsDid) {
  std::string out = run(kHeader + R"({"snapshot":{"id":{"S":"old"},"taskStatus":{"S":"OPEN"}}})" + "\n" + kInsertA);
  auto applied = lines_with(out, "apply");
  ASSERT_EQ(applied.size(), 1u) << out;
  EXPECT_EQ(applied[0], R"({"at":"2026-01-01T00:00:01.500Z","apply":"insert","record":1,"keys":{"id":{"S":"a"}}})");
  auto invoked = lines_with(out, "invoke");
  ASSERT_EQ(invoked.size(), 1u) << "the snapshot is no event, the MODIFY is filtered out\n" << out;
  EXPECT_EQ(invoked[0].substr(0, 32), R"({"at":"2026-01-01T00:00:02.500Z")") << "the batching window";
  EXPECT_EQ(invoked[0].substr(32), R"(,"invoke":"Work","run":1,"changes":[{"INSERT":{"id":{"S":"a"}}}]})");
  EXPECT_EQ(lines_with(out, "write"),
            std::vector<std::string>{R"({"at":"2026-01-01T00:00:02.500Z","write":"update","table":"Tasks","keys":)"
                                     R"({"id":{"S":"a"}},"set":{"taskStatus":{"S":"DONE"}},"removed":["note"]})"});
  EXPECT_EQ(lines_with(out, "publish"),
            std::vector<std::string>{R"({"at":"2026-01-01T00:00:02.500Z","publish":)"
                                     R"("arn:aws:sns:us-east-1:000000000000:Done","message":"done"})"});
  EXPECT_EQ(lines_with(out, "http"),
            std::vector<std::string>{R"({"at":"2026-01-01T00:00:02.750Z","http":"http://127.0.0.1:9/run",)"
                                     R"("method":"POST","body":{"x":1}})"});
  auto returned = lines_with(out, "return");
  ASSERT_EQ(returned.size(), 1u);
  EXPECT_EQ(returned[0].substr(0, 32), R"({"at":"2026-01-01T00:00:02.850Z")");
  EXPECT_NE(returned[0].find(R"("result":{"status":200}})"), std::string::npos);
  EXPECT_EQ(lines_with(out, "stock"),
            std::vector<std::string>{R"({"at":"2026-01-01T00:02:01.500Z","stock":"Tasks","DONE":1,"OPEN":1})"});
}

TEST(Replay, WholeEventsAreTrimmedToTheViewOfTheStream) {
  ReplayOptions options;
  options.whole_events = true;
  std::string out = run(kHeader + kInsertA, options);
  auto invoked = lines_with(out, "invoke");
  ASSERT_EQ(invoked.size(), 1u) << out;
  EXPECT_NE(invoked[0].find(R"("StreamViewType":"KEYS_ONLY")"), std::string::npos);
  EXPECT_EQ(invoked[0].find("NewImage"), std::string::npos);
}

TEST(Replay, AFunctionThatIsCutAtItsTimeoutIsVisible) {
  ReplayOptions options;
  options.answer_after = seconds(20);
  std::string slow = kTemplate;
  slow.replace(slow.find("Timeout: 5"), 10, "Timeout: 1");
  std::string out = run(kHeader + kInsertA, options, slow);
  auto cut = lines_with(out, "cut");
  ASSERT_FALSE(cut.empty()) << out;
  EXPECT_EQ(cut[0], R"({"at":"2026-01-01T00:00:03.500Z","cut":"Work","run":1})");
}

TEST(Replay, SameInputSameBytes) {
  std::string first = run(kHeader + kInsertA);
  EXPECT_EQ(run(kHeader + kInsertA), first);
  ReplayOptions options;
  options.whole_events = true;
  first = run(kHeader + kInsertA, options);
  EXPECT_EQ(run(kHeader + kInsertA, options), first);
}

TEST(Replay, ALostRaceIsVisible) {
  std::string taken = record("MODIFY", "1767225601.6", R"({"id":{"S":"a"},"taskStatus":{"S":"TAKEN"}})");
  std::string out = run(kHeader + kInsertA + taken);
  EXPECT_EQ(lines_with(out, "write"),
            std::vector<std::string>{R"({"at":"2026-01-01T00:00:02.500Z","write":"update","table":"Tasks","keys":)"
                                     R"({"id":{"S":"a"}},"error":"ConditionalCheckFailedException"})"});
}

TEST(Replay, TimeNeverRunsBackAndExpiredItemsGo) {
  std::string early =
      record("INSERT", "1767225590", R"({"id":{"S":"b"},"taskStatus":{"S":"OPEN"},"ttl":{"N":"1767225603"}})");
  std::string out = run(kHeader + kInsertA + early + record("REMOVE", "1767225610", R"({"id":{"S":"a"}})"));
  auto applied = lines_with(out, "apply");
  ASSERT_EQ(applied.size(), 3u) << out;
  EXPECT_EQ(applied[1].substr(0, 32), R"({"at":"2026-01-01T00:00:01.500Z")");
  EXPECT_EQ(applied[2], R"({"at":"2026-01-01T00:00:10.000Z","apply":"remove","record":3,"keys":{"id":{"S":"a"}}})");
  auto expired = lines_with(out, "expired");
  ASSERT_EQ(expired.size(), 1u) << out;
  EXPECT_EQ(expired[0].substr(0, 27), R"({"at":"2026-01-01T00:00:03.)");
  EXPECT_NE(expired[0].find(R"("expired":"Tasks","keys":{"id":{"S":"b"}},"was":"OPEN"})"), std::string::npos);
}

TEST(Replay, InputsOnlyLeavesOutTheOriginalProcessorsMoves) {
  const std::string text =
      kHeader + kInsertA +
      R"({"eventName":"MODIFY","dynamodb":{"ApproximateCreationDateTime":1767225602,)"
      R"("NewImage":{"id":{"S":"a"},"taskStatus":{"S":"TAKEN"}},"OldImage":{"id":{"S":"a"},"taskStatus":{"S":"OPEN"}}}})"
      "\n"
      R"({"eventName":"REMOVE","dynamodb":{"ApproximateCreationDateTime":1767225604,"Keys":{"id":{"S":"a"}}},)"
      R"("userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"}})"
      "\n";
  ReplayOptions options;
  options.inputs_only = true;
  std::string out = run(text, options);
  EXPECT_EQ(lines_with(out, "apply").size(), 1u);
  EXPECT_EQ(lines_with(out, "skip"),
            (std::vector<std::string>{R"({"at":"2026-01-01T00:00:02.000Z","skip":"modify","record":2,"keys":)"
                                      R"({"id":{"S":"a"}},"why":"moved between states"})",
                                      R"({"at":"2026-01-01T00:00:04.000Z","skip":"remove","record":3,"keys":)"
                                      R"({"id":{"S":"a"}},"why":"removed by TTL"})"}));
  EXPECT_NE(lines_with(out, "stock").at(0).find(R"("DONE":1)"), std::string::npos);
}

TEST(Replay, WhatDoesNotFitIsRefused) {
  auto with_header = [](const std::string& from, const std::string& to) {
    std::string out = kHeader;
    return out.replace(out.find(from), from.size(), to);
  };
  EXPECT_EQ(run(with_header("Tasks", "Jobs")), "the fixture is of table Jobs, which the template does not have");
  EXPECT_EQ(run(with_header("\"S\"", "\"N\"")),
            "table Tasks has the key id (N) in the fixture and id (S) in the template");
  EXPECT_EQ(run(kHeader + record("REMOVE", "1798848002", R"({"id":{"S":"a"}})")),
            "f:2: the change is from 2027-01-02T00:00:02.000Z, more than 366 days after the start of the fixture");
  std::string program = kTemplate;
  const std::string native = "      Runtime: native\n";
  program.replace(program.find(native), native.size(), "      Runtime: python3.11\n      CodeUri: .\n");
  EXPECT_EQ(
      run(kHeader, {}, program),
      "function Work runs as a program, and a replay in simulated time runs none: give it a native handler, or play "
      "the fixture into a daemon");
}

TEST(Replay, WhatTheStoreRefusesIsNamedByItsLine) {
  const std::string refused = ": One or more parameter values are not valid. The AttributeValue for a key attribute";
  const auto item = run(kHeader + "# a comment\n" + R"({"snapshot":{"id":{"S":""}}})" + "\n");
  EXPECT_EQ(item.substr(0, 3 + refused.size()), "f:3" + refused);
  const auto change = run(kHeader + kInsertA + "\n\n" + record("INSERT", "1767225602", R"({"id":{"S":""}})"));
  EXPECT_EQ(change.substr(0, 3 + refused.size()), "f:5" + refused);
}

TEST(Replay, AFixtureMaySpanManyDays) {
  const auto out = run(kHeader + kInsertA + record("INSERT", "1769817600", R"({"id":{"S":"late"}})"));
  EXPECT_EQ(lines_with(out, "apply").back(),
            R"({"at":"2026-01-31T00:00:00.000Z","apply":"insert","record":2,"keys":{"id":{"S":"late"}}})");
}

// A handler that writes to the table by whose stream it is invoked, each time another item.
TEST(Replay, FunctionsThatWakeEachOtherWithoutEndAreGivenUp) {
  auto fixture = read_fixture(kHeader + kInsertA, "f");
  ASSERT_TRUE(fixture);
  int calls = 0;
  NativeRegistry natives;
  natives.add("work", [&](Context& context) -> Async<Result<std::string>> {
    PutItemInput put;
    put.table = "Tasks";
    put.item = Item{{"id", std::to_string(++calls)}};
    auto done = context.services.tables.put_item(std::move(put));
    return Result<std::string>(done.is_ready() ? "1" : "0");
  });
  PlainReplayProgram program(std::move(natives));
  std::string at_once = kTemplate;
  at_once.replace(at_once.find("MaximumBatchingWindowInSeconds: 1"), 33, "MaximumBatchingWindowInSeconds: 0");
  ReplayOptions options;
  options.most_turns = 20;
  auto out = replay(*fixture, deployment(at_once), program, options);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(out.error().message.substr(0, 70),
            "at 2026-01-01T00:00:01.500Z the functions wake each other without end,");
  EXPECT_GT(calls, 20);
}

TEST(Replay, TheFirstDifferenceIsShown) {
  EXPECT_FALSE(first_difference("a\nb\n", "a\nb\n"));
  EXPECT_EQ(first_difference("a\nb\n", "a\nc\n")->to_string(), "line 2 differs\n  expected: b\n  actual:   c");
  EXPECT_EQ(first_difference("a\n", "a\nc\n")->to_string(),
            "line 2 differs\n  expected: (nothing more)\n  actual:   c");
  EXPECT_EQ(first_difference("a\nb\n", "a\n")->line, 2);
}

// A live store to record from.
class Recording : public testing::Test {
 protected:
  void SetUp() override {
    EmbeddedOptions options;
    options.directory = std::string(kMemoryDirectory);
    auto opened = open_embedded(nullptr, loop_.loop(), random_, options);
    ASSERT_TRUE(opened);
    tables_ = std::move(*opened);
    loop_.loop().add(*tables_);
    TableDefinition table = deployment().tables.at(0);
    ASSERT_TRUE(wait(tables_->create_table(table)));
  }
  void TearDown() override { loop_.loop().remove(*tables_); }

  template <class T>
  T wait(Async<T> work) {
    EXPECT_TRUE(loop_.run_until([&] { return work.is_ready(); }, seconds(60)));
    return work.take();
  }
  void put(const std::string& json) {
    PutItemInput input;
    input.table = "Tasks";
    input.item = *parse_item_json(json);
    ASSERT_TRUE(wait(tables_->put_item(std::move(input))));
  }
  void remove(const std::string& id) {
    DeleteItemInput input;
    input.table = "Tasks";
    input.key = Item{{"id", id}};
    ASSERT_TRUE(wait(tables_->delete_item(std::move(input))));
  }
  Result<FixtureChunk> next(uint64_t from) {
    ContinueFixtureInput input;
    input.table = "Tasks";
    input.from = from;
    return wait(continue_fixture(*tables_, std::move(input)));
  }

  SimClock clock_{WallTime(milliseconds(1'767'225'600'500))};
  SimLoop loop_{clock_};
  Random random_{1};
  std::unique_ptr<EmbeddedTables> tables_;
};

TEST_F(Recording, HoldsTheSnapshotAndEveryChangeAfterIt) {
  put(R"({"id":{"S":"b"},"taskStatus":{"S":"OPEN"}})");
  put(R"({"id":{"S":"a"},"taskStatus":{"S":"OPEN"}})");
  ASSERT_TRUE(tables_->keep_images("Tasks", true));
  BeginFixtureInput input;
  input.table = "Tasks";
  input.note = "night shift";
  auto begun = wait(begin_fixture(*tables_, loop_.loop(), input));
  ASSERT_TRUE(begun) << begun.error().message;
  loop_.run_for(milliseconds(1750));
  put(R"({"id":{"S":"c"},"taskStatus":{"S":"OPEN"}})");
  put(R"({"id":{"S":"c"},"taskStatus":{"S":"DONE"}})");
  remove("a");
  loop_.run_ready();
  auto chunk = next(begun->next);
  ASSERT_TRUE(chunk) << chunk.error().message;
  EXPECT_EQ(next(chunk->next)->lines, "");

  auto fixture = read_fixture(begun->lines + chunk->lines, "f");
  ASSERT_TRUE(fixture) << fixture.error().message;
  EXPECT_EQ(fixture->header.note, "night shift");
  EXPECT_EQ(fixture->header.start, WallTime(milliseconds(1'767'225'600'500)));
  ASSERT_EQ(fixture->snapshot.size(), 2u);
  EXPECT_EQ(fixture->snapshot[0].string_or("id"), "a");
  ASSERT_EQ(fixture->records.size(), 3u);
  EXPECT_EQ(fixture->records[1].kind, ChangeRecord::Kind::kModify);
  EXPECT_EQ(fixture->records[1].before.decode().string_or("taskStatus"), "OPEN");
  EXPECT_EQ(fixture->records[1].at, WallTime(milliseconds(1'767'225'602'250)));
  EXPECT_EQ(fixture->records[2].before.decode().string_or("taskStatus"), "OPEN");
  EXPECT_EQ(write_fixture(*fixture, {}), begun->lines + chunk->lines);

  // A recording can be replayed.
  std::string out = run(begun->lines + chunk->lines);
  EXPECT_EQ(lines_with(out, "apply").size(), 3u) << out;
}

TEST_F(Recording, TheSnapshotIsOneMomentThoughWritesGoOn) {
  // More than a page, so that the scan pauses in between.
  const std::string blob(100'000, 'x');
  for (int i = 0; i < 30; ++i) {
    put(R"({"id":{"S":"t)" + std::to_string(i) + R"("},"taskStatus":{"S":"OPEN"},"blob":{"S":")" + blob + "\"}}");
  }
  ASSERT_TRUE(tables_->keep_images("Tasks", true));
  BeginFixtureInput input;
  input.table = "Tasks";
  auto begun = begin_fixture(*tables_, loop_.loop(), input);
  EXPECT_FALSE(begun.is_ready()) << "this test needs a pause to write in";
  for (int i = 0; i < 30; ++i) remove("t" + std::to_string(i));
  put(R"({"id":{"S":"new"},"taskStatus":{"S":"OPEN"}})");
  auto chunk = wait(std::move(begun));
  ASSERT_TRUE(chunk) << chunk.error().message;
  auto fixture = read_fixture(chunk->lines + next(chunk->next)->lines, "f");
  ASSERT_TRUE(fixture) << fixture.error().message;
  // Snapshot and records together end where the table ended.
  std::set<std::string> ids;
  for (const Item& item : fixture->snapshot) ids.insert(std::string(item.string_or("id")));
  for (const ChangeRecord& one : fixture->records) {
    std::string id(one.keys.string_or("id"));
    if (one.kind == ChangeRecord::Kind::kRemove) {
      EXPECT_EQ(ids.erase(id), 1u) << id;
    } else {
      EXPECT_TRUE(ids.insert(id).second) << id;
    }
  }
  EXPECT_EQ(ids, std::set<std::string>{"new"});
}

TEST_F(Recording, WhatCannotBeRecordedIsRefused) {
  BeginFixtureInput input;
  input.table = "Nope";
  auto missing = wait(begin_fixture(*tables_, loop_.loop(), input));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kResourceNotFound);
  TableDefinition plain;
  plain.name = "Plain";
  plain.keys.partition = {"id", Type::kString};
  ASSERT_TRUE(wait(tables_->create_table(plain)));
  input.table = "Plain";
  auto silent = wait(begin_fixture(*tables_, loop_.loop(), input));
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().message, "table Plain has no stream to record");
  put(R"({"id":{"S":"a"}})");
  put(R"({"id":{"S":"b"}})");
  input.table = "Tasks";
  input.max_items = 1;
  auto many = wait(begin_fixture(*tables_, loop_.loop(), input));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::kLimitExceeded);
}

}  // namespace
}  // namespace freshet
