#include "streams/fixture.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "tables/value/json.h"

namespace freshet {
namespace {

const std::string kHeader =
    R"({"freshet":"fixture","version":1,"table":"Tasks","partitionKey":{"name":"id","type":"S"},"view":"NEW_IMAGE",)"
    R"("start":"2026-01-01T00:00:00.000Z"})"
    "\n";

Item item(const std::string& json) {
  auto parsed = parse_item_json(json);
  EXPECT_TRUE(parsed) << json;
  return parsed ? *parsed : Item{};
}

ItemRef ref(const std::string& json) {
  return ItemRef::encode(item(json));
}

Fixture sample() {
  Fixture out;
  out.header = {"Tasks",
                {{"id", Type::kString}, KeyAttribute{"n", Type::kNumber}},
                StreamView::kKeysOnly,
                WallTime(milliseconds(1'767'225'600'123)),
                "two \"tasks\"\n"};
  out.snapshot = {item(R"({"id":{"S":"old"},"n":{"N":"1"},"b":{"B":"AAEC"}})")};
  ChangeRecord insert;
  insert.sequence = 41;
  insert.at = out.header.start + milliseconds(877);
  insert.keys = item(R"({"id":{"S":"new"},"n":{"N":"-2.5"}})");
  insert.after = ref(R"({"id":{"S":"new"},"n":{"N":"-2.5"},"tags":{"SS":["a","b"]}})");
  ChangeRecord modify = insert;
  modify.sequence = 42;
  modify.kind = ChangeRecord::Kind::kModify;
  modify.at -= seconds(10);
  modify.before = insert.after;
  modify.after = ref(R"({"id":{"S":"new"},"n":{"N":"-2.5"}})");
  ChangeRecord remove = modify;
  remove.sequence = 43;
  remove.kind = ChangeRecord::Kind::kRemove;
  remove.before = modify.after;
  remove.after = ItemRef();
  remove.by_ttl = true;
  out.records = {insert, modify, remove};
  return out;
}

TEST(Fixture, OfAQueueHoldsThePolicyThatWasInForce) {
  auto fixture = sample();
  EXPECT_NE(header_line(fixture.header).find(R"("version":1,)"), std::string::npos) << "older programs read it";
  fixture.header.policy = {{"CONCURRENCY", "8"}, {"RATE_LIMIT", "19"}};
  const std::string text = write_fixture(fixture, {});
  EXPECT_NE(text.find(R"("version":2,)"), std::string::npos);
  EXPECT_NE(text.find(R"("policy":{"CONCURRENCY":"8","RATE_LIMIT":"19"}})"), std::string::npos) << text;
  auto read = read_fixture(text, "f");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->header, fixture.header);
  EXPECT_EQ(write_fixture(*read, {}), text);

  const std::string start = R"({"freshet":"fixture","version":2,"table":"T","partitionKey":{"name":"id","type":"S"},)"
                            R"("start":"2026-01-01T00:00:00.000Z","policy":)";
  EXPECT_EQ(read_fixture(start + "7}\n", "f").error().message,
            R"(f:1: policy must be an object of settings, like {"ORDER":"lifo"})");
  EXPECT_EQ(read_fixture(start + R"({"CONCURRENCY":8}})" + "\n", "f").error().message,
            "f:1: policy: the value of CONCURRENCY must be a string");
}

TEST(Fixture, HoldsTheChangesOfThePolicy) {
  auto fixture = sample();
  fixture.header.policy = {{"ORDER", "lifo"}, {"RATE_LIMIT", "19"}};
  const FixturePolicy early{fixture.header.start + milliseconds(5), {{"ORDER", "lifo"}, {"RATE_LIMIT", "10"}}};
  const FixturePolicy late{fixture.header.start + seconds(30), {{"ORDER", "fifo"}}};
  fixture.policy_changes = {early, late};
  const std::string text = write_fixture(fixture, {});
  EXPECT_NE(text.find(R"({"at":"2026-01-01T00:00:00.128Z","policy":{"ORDER":"lifo","RATE_LIMIT":"10"}})"
                      "\n"),
            std::string::npos)
      << text;
  const auto read = read_fixture(text, "f");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->policy_changes, fixture.policy_changes);
  EXPECT_EQ(read->records.size(), 3u);
  EXPECT_EQ(write_fixture(*read, {}), text);
  // By time, wherever the lines stand.
  const auto moved = read_fixture(header_line(fixture.header) + policy_line(late) + policy_line(early), "f");
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(moved->policy_changes, fixture.policy_changes);
}

TEST(Fixture, HoldsPauses) {
  auto fixture = sample();
  fixture.header.has_pauses = true;
  const WallTime start = fixture.header.start;
  fixture.pauses = {{start, true, "queue", ""},
                    {start + seconds(5), false, "queue", ""},
                    {start + seconds(5), true, "group", "a\"b"}};
  const std::string text = write_fixture(fixture, {});
  EXPECT_NE(text.find(R"("version":3,)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"({"at":"2026-01-01T00:00:05.123Z","paused":"group","name":"a\"b"})"), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"({"at":"2026-01-01T00:00:05.123Z","resumed":"queue"})"), std::string::npos) << text;
  const auto read = read_fixture(text, "f");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->pauses, fixture.pauses);
  EXPECT_EQ(read->header, fixture.header);
  EXPECT_EQ(write_fixture(*read, {}), text);
  for (const char* wrong :
       {R"({"at":"noon","paused":"queue"})", R"({"at":"2026-01-01T00:00:05Z","paused":"all"})",
        R"({"at":"2026-01-01T00:00:05Z","resumed":"key"})", R"({"at":"2026-01-01T00:00:05Z","paused":7})",
        R"({"at":"2026-01-01T00:00:05Z","paused":"queue","name":"a"})"}) {
    EXPECT_FALSE(read_fixture(header_line(fixture.header) + wrong + "\n", "f")) << wrong;
  }
  // A newer version that uses nothing of it.
  const auto without = read_fixture(header_line(fixture.header), "f");
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_FALSE(without->header.has_pauses);
  EXPECT_EQ(without->header, sample().header);
}

TEST(Fixture, AWrongChangeOfThePolicyIsRefused) {
  FixtureHeader header = sample().header;
  const std::string line = policy_line({header.start, {{"ORDER", "fifo"}}});
  EXPECT_EQ(read_fixture(header_line(header) + line, "f").error().message,
            "f:2: the policy changes, but the header does not say what it was");
  header.policy = {{"ORDER", "lifo"}};
  const auto said = [&](const std::string& wrong) {
    return read_fixture(header_line(header) + wrong + "\n", "f").error().message;
  };
  EXPECT_EQ(said(R"({"policy":{"ORDER":"fifo"}})"),
            R"(f:2: the 'at' of a policy must be a time such as "2026-11-21T00:08:52.709Z")");
  EXPECT_EQ(said(R"({"at":17,"policy":{"ORDER":"fifo"}})"),
            R"(f:2: the 'at' of a policy must be a time such as "2026-11-21T00:08:52.709Z")");
  EXPECT_EQ(said(R"({"at":"2026-01-01T00:00:00Z","policy":{"ORDER":1}})"),
            "f:2: policy: the value of ORDER must be a string");
}

TEST(Fixture, IsTheSameBytesAfterReadingAndWriting) {
  std::string text = write_fixture(sample(), {});
  auto read = read_fixture(text, "f");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(write_fixture(*read, {}), text);
  EXPECT_EQ(read->header, sample().header);
  EXPECT_EQ(read->snapshot, sample().snapshot);
  ASSERT_EQ(read->records.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const ChangeRecord wanted = sample().records[i];
    const ChangeRecord& got = read->records[i];
    EXPECT_EQ(got.sequence, wanted.sequence);
    EXPECT_EQ(got.kind, wanted.kind);
    EXPECT_EQ(got.at, wanted.at);
    EXPECT_EQ(got.keys, wanted.keys);
    EXPECT_EQ(got.by_ttl, wanted.by_ttl);
    EXPECT_EQ(static_cast<bool>(got.before), static_cast<bool>(wanted.before));
    EXPECT_EQ(static_cast<bool>(got.after), static_cast<bool>(wanted.after));
    EXPECT_TRUE(!wanted.before || got.before.same_bytes(wanted.before));
    EXPECT_TRUE(!wanted.after || got.after.same_bytes(wanted.after));
  }
}

TEST(Fixture, LinesAreTheStandardRecords) {
  std::string text = write_fixture(sample(), {});
  EXPECT_NE(text.find(R"("note":"two \"tasks\"\n"})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("eventSource":"aws:dynamodb")"), std::string::npos);
  EXPECT_NE(text.find(R"("ApproximateCreationDateTime":1767225601,"Keys":)"), std::string::npos);
  EXPECT_NE(text.find(R"("ApproximateCreationDateTime":1767225591,"Keys":)"), std::string::npos);
  EXPECT_NE(text.find(R"("StreamViewType":"NEW_AND_OLD_IMAGES")"), std::string::npos);
  EXPECT_NE(text.find(R"("type":"Service")"), std::string::npos);
  FixtureHeader odd = sample().header;
  ChangeRecord record = sample().records[0];
  record.at = odd.start;
  EXPECT_NE(record_line(record, "Tasks", {}).find(R"("ApproximateCreationDateTime":1767225600.123,)"),
            std::string::npos);
}

TEST(Fixture, ShortRecordsAreEnough) {
  auto read = read_fixture(
      "# a comment\n\n" + kHeader +
          R"({"snapshot":{"id":{"S":"a"}}})"
          "\n"
          R"({"eventName":"INSERT","dynamodb":{"ApproximateCreationDateTime":1767225600.25,"NewImage":{"id":{"S":"b"}}}})"
          "\n"
          R"({"eventName":"REMOVE","dynamodb":{"ApproximateCreationDateTime":1767225601,"Keys":{"id":{"S":"b"}}}})",
      "f");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->header.view, StreamView::kNewImage);
  EXPECT_EQ(read->snapshot.size(), 1u);
  ASSERT_EQ(read->records.size(), 2u);
  EXPECT_EQ(read->records[0].sequence, 1u);
  EXPECT_EQ(epoch_ms(read->records[0].at), 1'767'225'600'250);
  EXPECT_EQ(read->records[0].keys, item(R"({"id":{"S":"b"}})"));
  EXPECT_EQ(read->records[1].sequence, 2u);
  EXPECT_FALSE(read->records[1].before);
}

TEST(Fixture, DamagedFixturesAreRefusedWithTheirLine) {
  const uint64_t seed = 20260102;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const std::string whole = write_fixture(sample(), {});
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string text = whole;
    for (uint64_t n = 1 + random.below(3); n > 0; --n) {
      size_t at = random.below(text.size());
      if (random.below(2) == 0) {
        text.erase(at, random.below(20));
      } else {
        text[at] = static_cast<char>(random.below(256));
      }
    }
    auto read = read_fixture(text, "f");
    if (read) continue;
    ++refused;
    EXPECT_EQ(read.error().message.substr(0, 2), "f:") << read.error().message;
  }
  EXPECT_GT(refused, 500);
}

TEST(Fixture, WrongLinesAreNamed) {
  auto record = [](const std::string& name, const std::string& change) {
    return kHeader + R"({"eventName":")" + name + R"(","dynamodb":{"ApproximateCreationDateTime":1767225600)" + change +
           "}}\n";
  };
  const std::string image = R"(,"NewImage":{"id":{"S":"b"}})";
  auto header = [](const std::string& from, const std::string& to) {
    std::string out = kHeader;
    return out.replace(out.find(from), from.size(), to);
  };
  const std::vector<std::pair<std::string, std::string>> table{
      {"", "f:1: the file is empty; expected a fixture's header"},
      {"# nothing\n", "f:1: the file is empty"},
      {"{\n", "f:1: "},
      {"[]\n", "f:1: expected a JSON object"},
      {kHeader + "\n  {bad\n", "f:3: malformed JSON at column 4: unexpected character"},
      {"\n{\"a\":1}\n", "f:2: the first line must be a fixture's header"},
      {header("\"version\":1", "\"version\":4"), "f:1: the fixture has version 4; this program reads up to 3"},
      {header("\"version\":1", "\"version\":0"), "f:1: version is missing"},
      {header("Tasks", ""), "f:1: table is missing"},
      {header("NEW_IMAGE", "NEW"), "f:1: the view 'NEW' is unknown"},
      {header("2026-01-01T", "2026-02-30T"), "f:1: start must be a time such as 2026-11-21T00:08:52.709Z"},
      {header("00.000Z", "00.0Z"), "f:1: start must be a time"},
      {header("\"type\":\"S\"", "\"type\":\"L\""),
       "f:1: partitionKey must be {\"name\":...,\"type\":\"S\", \"N\" or \"B\"}"},
      {header("partitionKey", "key"), "f:1: partitionKey is missing"},
      {kHeader + "{\"snapshot\":{\"x\":{\"S\":\"a\"}}}", "f:2: the item needs the key attribute id of type S"},
      {kHeader + "{\"snapshot\":{\"id\":{\"N\":\"1\"}}}", "f:2: the item needs the key attribute id of type S"},
      {kHeader + "{\"snapshot\":{\"id\":\"a\"}}", "f:2: "},
      {record("INSERT", image) + "{\"snapshot\":{\"id\":{\"S\":\"a\"}}}",
       "f:3: a snapshot line after the first record"},
      {record("UPDATE", image), "f:2: eventName must be INSERT, MODIFY or REMOVE, not 'UPDATE'"},
      {kHeader + "{\"eventName\":\"INSERT\"}", "f:2: dynamodb is missing"},
      {kHeader + "{\"eventName\":\"INSERT\",\"dynamodb\":{}}",
       "f:2: dynamodb.ApproximateCreationDateTime must be a number"},
      {record("INSERT", "000000" + image),
       "f:2: dynamodb.ApproximateCreationDateTime is out of range; it is in seconds"},
      {record("INSERT", R"(,"Keys":{"id":{"S":"b"}})"), "f:2: INSERT needs NewImage: record with `freshet record`"},
      {record("REMOVE", image), "f:2: a REMOVE has no NewImage"},
      {record("REMOVE", ""), "f:2: dynamodb.Keys is missing"},
      {record("INSERT", image + R"(,"OldImage":{"id":{"S":"b"}})"), "f:2: an INSERT has no OldImage"},
      {record("INSERT", image + R"(,"Keys":{"id":{"S":"c"}})"),
       "f:2: dynamodb.Keys and the image name different items"},
      {record("INSERT", image + R"(,"Keys":{"id":{"S":"b"},"x":{"S":"b"}})"),
       "f:2: dynamodb.Keys has more than the key attributes"},
      {record("INSERT", image + R"(,"SequenceNumber":"x")"), "f:2: SequenceNumber 'x' is no sequence number"},
      {kHeader + std::string(kMaxFixtureLine + 1, 'x'), "f:2: the line is longer than 4 MiB"},
  };
  for (const auto& [text, expected] : table) {
    auto read = read_fixture(text, "f");
    ASSERT_FALSE(read) << expected;
    EXPECT_EQ(read.error().message.substr(0, expected.size()), expected);
  }
}

}  // namespace
}  // namespace freshet
