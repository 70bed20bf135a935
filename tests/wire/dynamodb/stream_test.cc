#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "runtime/loop/sim_loop.h"
#include "streams/stream_reader.h"
#include "tables/engine/embedded.h"
#include "tables/value/json_reader.h"
#include "wire/dynamodb/route.h"

namespace freshet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kFirst = "100000000000000000001";  // Sequence numbers.
constexpr std::string_view kSecond = "100000000000000000002";

// The streams' protocol over a store in memory.
class StreamProtocolTest : public testing::Test {
 protected:
  StreamProtocolTest() {
    EmbeddedOptions options;
    options.directory = std::string(kMemoryDirectory);
    store_ = std::move(*open_embedded(nullptr, sim_.loop(), random_, options));
    sim_.loop().add(*store_);
    route_ = make_dynamodb_route(*store_, clock_);
  }

  HttpResponse send(const std::string& target, std::string body) {
    HttpRequest request{"POST", "/", {{"X-Amz-Target", target}}, std::move(body)};
    EXPECT_TRUE(route_->matches(request));
    auto exchange = route_->accept(std::move(request));
    Async<void> work = exchange->run();
    EXPECT_TRUE(work.is_ready());
    sim_.run_ready();
    return exchange->respond();
  }
  void table(const std::string& name, const std::string& view = "NEW_AND_OLD_IMAGES") {
    const std::string stream =
        view.empty() ? R"({"StreamEnabled":false})" : R"({"StreamEnabled":true,"StreamViewType":")" + view + "\"}";
    write("CreateTable", R"({"TableName":")" + name + R"(","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
      "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"StreamSpecification":)" +
                             stream + "}");
  }
  void write(const std::string& operation, const std::string& body) {
    const HttpResponse response = send("DynamoDB_20120810." + operation, body);
    EXPECT_EQ(response.status, 200) << response.body;
  }
  void put(const std::string& id, const std::string& more = "") {
    write("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":")" + id + "\"}" + more + "}}");
  }
  std::string ok(const std::string& operation, const std::string& body) {
    HttpResponse response = send("DynamoDBStreams_20120810." + operation, body);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.body;
  }
  std::string error(const std::string& operation, const std::string& body) {
    const HttpResponse response = send("DynamoDBStreams_20120810." + operation, body);
    EXPECT_EQ(response.status, 400) << response.body;
    const std::string type = text(response.body, "__type");
    return type.substr(type.find('#') + 1) + ": " + text(response.body, "message");
  }
  static std::string text(const std::string& json, const std::string& name) {
    JsonDocument document;
    auto view = document.parse(json);
    EXPECT_TRUE(view) << json;
    return view ? std::string(*view->string_or(name)) : "";
  }
  std::string arn(const std::string& name = "Tasks") {
    const std::string list = ok("ListStreams", R"({"TableName":")" + name + "\"}");
    const size_t from = list.find("arn:");
    return list.substr(from, list.find('"', from) - from);
  }
  std::string newest_arn() {
    const std::string list = ok("ListStreams", "{}");
    const size_t from = list.rfind("arn:");
    return list.substr(from, list.find('"', from) - from);
  }
  std::string at(const std::string& type, std::string_view sequence = "", std::string shard = std::string(kShardId)) {
    std::string body =
        R"({"StreamArn":")" + arn() + R"(","ShardId":")" + shard + R"(","ShardIteratorType":")" + type + "\"";
    if (!sequence.empty()) body += R"(,"SequenceNumber":")" + std::string(sequence) + "\"";
    return body + "}";
  }
  // The records' sequence numbers without their leading "1", and where to go on.
  std::vector<int> read(const std::string& iterator, const std::string& more = "") {
    const std::string body = ok("GetRecords", R"({"ShardIterator":")" + iterator + "\"" + more + "}");
    next_ = text(body, "NextShardIterator");
    std::vector<int> sequences;
    for (size_t from = 0; (from = body.find("\"SequenceNumber\":\"1", from)) != std::string::npos; ++from) {
      sequences.push_back(std::stoi(body.substr(from + 19, 20)));
    }
    return sequences;
  }
  std::string iterator(const std::string& type, std::string_view sequence = "") {
    return text(ok("GetShardIterator", at(type, sequence)), "ShardIterator");
  }

  SimClock clock_{WallTime(milliseconds(1'800'000'000'123))};
  SimLoop sim_{clock_};
  Random random_{7};
  std::unique_ptr<EmbeddedTables> store_;
  std::unique_ptr<Route> route_;
  std::string next_;
};

using Sequences = std::vector<int>;

TEST_F(StreamProtocolTest, ListsStreamsInPages) {
  table("bbb");
  table("aaa", "KEYS_ONLY");
  table("quiet", "");
  const std::string prefix = R"({"StreamArn":"arn:aws:dynamodb:us-east-1:000000000000:table/)";
  const std::string label = "2027-01-15T08:00:00.123";
  const auto entry = [&](const std::string& name) {
    return prefix + name + "/stream/" + label + R"(","TableName":")" + name + R"(","StreamLabel":")" + label + "\"}";
  };
  EXPECT_EQ(ok("ListStreams", "{}"), R"({"Streams":[)" + entry("aaa") + "," + entry("bbb") + "]}");
  EXPECT_EQ(ok("ListStreams", R"({"Limit":1})"),
            R"({"Streams":[)" + entry("aaa") + R"(],"LastEvaluatedStreamArn":")" + arn("aaa") + "\"}");
  EXPECT_EQ(ok("ListStreams", R"({"Limit":1,"ExclusiveStartStreamArn":")" + arn("aaa") + "\"}"),
            R"({"Streams":[)" + entry("bbb") + "]}");
  EXPECT_EQ(ok("ListStreams", R"({"TableName":"bbb"})"), R"({"Streams":[)" + entry("bbb") + "]}");
  EXPECT_EQ(ok("ListStreams", R"({"TableName":"quiet"})"), R"({"Streams":[]})");
  EXPECT_EQ(error("ListStreams", R"({"TableName":"none"})"),
            "ResourceNotFoundException: Requested resource not found: Table: none not found");
  EXPECT_EQ(
      error("ListStreams", R"({"Limit":0})"),
      "ValidationException: 1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member "
      "must have value greater than or equal to 1");
  EXPECT_NE(error("ListStreams", R"({"Limit":101})").find("less than or equal to 100"), std::string::npos);
  EXPECT_NE(error("ListStreams", R"({"ExclusiveStartStreamArn":")" + std::string(40, 'x') + "\"}").find("Validation"),
            std::string::npos);
}

TEST_F(StreamProtocolTest, DescribesItsShard) {
  table("Tasks", "OLD_IMAGE");
  const std::string head = R"({"StreamDescription":{"StreamArn":")" + arn() +
                           R"(","StreamLabel":"2027-01-15T08:00:00.123","StreamStatus":"ENABLED",)"
                           R"("StreamViewType":"OLD_IMAGE","CreationRequestDateTime":1800000000.123,)"
                           R"("TableName":"Tasks","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"Shards":[)";
  const std::string shard = R"({"ShardId":"shardId-00000000000000000000-00000001","SequenceNumberRange":)"
                            R"({"StartingSequenceNumber":"100000000000000000001"}})";
  const std::string stream = R"({"StreamArn":")" + arn() + "\"";
  EXPECT_EQ(ok("DescribeStream", stream + "}"), head + shard + "]}}");
  EXPECT_EQ(ok("DescribeStream", stream + R"(,"Limit":1})"), head + shard + "]}}");
  const std::string id(kShardId);
  EXPECT_EQ(ok("DescribeStream", stream + R"(,"ExclusiveStartShardId":")" + id + "\"}"), head + "]}}");
  EXPECT_EQ(ok("DescribeStream", stream + R"(,"ShardFilter":{"Type":"CHILD_SHARDS","ShardId":")" + id + "\"}}"),
            head + "]}}");
  EXPECT_NE(error("DescribeStream", stream + R"(,"ShardFilter":{"Type":"ALL"}})").find("[CHILD_SHARDS]"),
            std::string::npos);
  EXPECT_EQ(error("DescribeStream", stream.substr(0, stream.size() - 1) + "9\"}"),
            "ResourceNotFoundException: Requested resource not found: Stream: " + arn() + "9 not found");
  EXPECT_NE(error("DescribeStream", "{}").find("Value null at 'streamArn'"), std::string::npos);
  EXPECT_NE(error("DescribeStream", R"({"StreamArn":"short"})").find("greater than or equal to 37"), std::string::npos);
  EXPECT_NE(error("DescribeStream", R"({"StreamArn":")" + std::string(40, 'x') + "\"}").find("Invalid StreamArn"),
            std::string::npos);
}

TEST_F(StreamProtocolTest, IteratorsStartWhereTheySay) {
  table("Tasks");
  const std::string empty = iterator("AFTER_SEQUENCE_NUMBER", kFirst);  // Where the empty shard says that it starts.
  const std::string latest = iterator("LATEST");
  for (const char* id : {"a", "b", "c"}) put(id);
  EXPECT_EQ(read(empty), (Sequences{1, 2, 3}));
  EXPECT_EQ(read(latest, R"(,"Limit":2)"), (Sequences{1, 2}));
  EXPECT_EQ(read(next_), Sequences{3});
  EXPECT_EQ(read(next_), Sequences{});
  EXPECT_EQ(read(iterator("TRIM_HORIZON")), (Sequences{1, 2, 3}));
  EXPECT_EQ(read(iterator("LATEST")), Sequences{});
  EXPECT_EQ(read(iterator("AT_SEQUENCE_NUMBER", kSecond)), (Sequences{2, 3}));
  EXPECT_EQ(read(iterator("AFTER_SEQUENCE_NUMBER", kSecond)), Sequences{3});
}

TEST_F(StreamProtocolTest, ChecksIterators) {
  table("Tasks");
  put("a");
  EXPECT_NE(error("GetShardIterator", at("AT_SEQUENCE_NUMBER")).find("SequenceNumber is required"), std::string::npos);
  EXPECT_NE(error("GetShardIterator", at("LATEST", kFirst)).find("must not be given"), std::string::npos);
  EXPECT_NE(error("GetShardIterator", at("NEWEST")).find("[AFTER_SEQUENCE_NUMBER, LATEST, AT_SEQUENCE_NUMBER, TRIM_"),
            std::string::npos);
  EXPECT_NE(error("GetShardIterator", at("AT_SEQUENCE_NUMBER", std::string(21, 'x'))).find("is not a number"),
            std::string::npos);
  EXPECT_NE(error("GetShardIterator", at("AT_SEQUENCE_NUMBER", "100000000000000000009")).find("not in the stream"),
            std::string::npos);
  EXPECT_NE(error("GetShardIterator", at("AT_SEQUENCE_NUMBER", "1")).find("greater than or equal to 21"),
            std::string::npos);
  EXPECT_EQ(error("GetShardIterator", at("AT_SEQUENCE_NUMBER", "100000000000000000000")).substr(0, 26),
            "TrimmedDataAccessException");
  EXPECT_EQ(error("GetShardIterator", at("LATEST", "", std::string(28, 'x'))).substr(0, 25),
            "ResourceNotFoundException");
  EXPECT_EQ(error("GetRecords", R"({"ShardIterator":"x"})"), "ValidationException: Invalid ShardIterator");
  const std::string body = R"({"ShardIterator":")" + iterator("LATEST") + "\"";
  EXPECT_NE(error("GetRecords", body + R"(,"Limit":1001})").find("less than or equal to 1000"), std::string::npos);
  sim_.run_for(kIteratorLife + seconds(1));
  EXPECT_EQ(error("GetRecords", body + "}").substr(0, 24), "ExpiredIteratorException");
}

TEST_F(StreamProtocolTest, RecordsHaveWhatTheViewSays) {
  table("Tasks");
  put("a", R"(,"v":{"N":"1"})");
  put("a", R"(,"v":{"N":"1"})");  // Changes nothing: no record.
  put("a", R"(,"v":{"N":"2"})");
  write("DeleteItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}}})");
  const std::string body = ok("GetRecords", R"({"ShardIterator":")" + iterator("TRIM_HORIZON") + "\"}");
  for (const char* part :
       {R"("eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"us-east-1","dynamodb":{)"
        R"("ApproximateCreationDateTime":1800000000,"Keys":{"id":{"S":"a"}},"NewImage":{"id":{"S":"a"},"v":{"N":"1"}},)"
        R"("SequenceNumber":"100000000000000000001",)",
        R"("eventName":"MODIFY")",
        R"("NewImage":{"id":{"S":"a"},"v":{"N":"2"}},"OldImage":{"id":{"S":"a"},"v":{"N":"1"}})",
        R"("eventName":"REMOVE")",
        R"("Keys":{"id":{"S":"a"}},"OldImage":{"id":{"S":"a"},"v":{"N":"2"}},"SequenceNumber")",
        R"("StreamViewType":"NEW_AND_OLD_IMAGES"}})"}) {
    EXPECT_NE(body.find(part), std::string::npos) << part << "\n" << body;
  }
  EXPECT_EQ(body.find("userIdentity"), std::string::npos);
  EXPECT_EQ(body.find("eventSourceARN"), std::string::npos);
}

TEST_F(StreamProtocolTest, DeletesOfTheServiceSaySo) {
  table("Tasks", "KEYS_ONLY");
  write("UpdateTimeToLive",
        R"({"TableName":"Tasks","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}})");
  put("a", R"(,"ttl":{"N":"1800000001"})");
  const std::string latest = iterator("LATEST");
  sim_.run_for(seconds(3));
  const std::string body = ok("GetRecords", R"({"ShardIterator":")" + latest + "\"}");
  EXPECT_NE(body.find(R"("eventName":"REMOVE")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("StreamViewType":"KEYS_ONLY"},"userIdentity":{"PrincipalId":"dynamodb.amazonaws.com",)"
                      R"("Type":"Service"}})"),
            std::string::npos)
      << body;
  EXPECT_EQ(body.find("Image\""), std::string::npos);
}

TEST_F(StreamProtocolTest, APageHasAMegabyteAtMost) {
  table("Tasks", "NEW_IMAGE");
  for (const char* id : {"a", "b", "c", "d"}) put(id, R"(,"v":{"S":")" + std::string(390 << 10, 'x') + "\"}");
  const std::string body = ok("GetRecords", R"({"ShardIterator":")" + iterator("TRIM_HORIZON") + "\"}");
  EXPECT_LT(body.size(), 1u << 20);
  EXPECT_EQ(read(iterator("TRIM_HORIZON")), (Sequences{1, 2}));
  EXPECT_EQ(read(next_), (Sequences{3, 4}));
}

// A stream that was switched off, or whose table is deleted, is a closed shard for a day.
TEST_F(StreamProtocolTest, AClosedStreamCanBeReadToItsEnd) {
  table("Tasks");
  put("a");
  put("b");
  const std::string from = iterator("TRIM_HORIZON");
  const std::string arn = newest_arn();
  const std::string body = R"({"StreamArn":")" + arn + "\"}";
  write("UpdateTable", R"({"TableName":"Tasks","StreamSpecification":{"StreamEnabled":false}})");
  put("unseen");
  EXPECT_THAT(ok("DescribeStream", body),
              HasSubstr(R"("StreamStatus":"DISABLED","StreamViewType":"NEW_AND_OLD_IMAGES")"));
  EXPECT_THAT(ok("DescribeStream", body),
              HasSubstr(R"("SequenceNumberRange":{"StartingSequenceNumber":")" + sequence_number(1) +
                        R"(","EndingSequenceNumber":")" + sequence_number(2) + R"("}}])"));
  EXPECT_THAT(ok("ListStreams", R"({"TableName":"Tasks"})"), HasSubstr(arn));
  const std::string first = ok("GetRecords", R"({"Limit":1,"ShardIterator":")" + from + "\"}");
  EXPECT_THAT(first, HasSubstr(R"("NextShardIterator":")"));
  const std::string last = ok("GetRecords", R"({"ShardIterator":")" + text(first, "NextShardIterator") + "\"}");
  EXPECT_THAT(last, HasSubstr(sequence_number(2)));
  EXPECT_THAT(last, Not(HasSubstr("NextShardIterator")));

  write("UpdateTable",
        R"({"TableName":"Tasks","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"}})");
  EXPECT_NE(newest_arn(), arn);
  EXPECT_THAT(ok("ListStreams", "{}"), HasSubstr(arn));
  EXPECT_THAT(ok("ListStreams", R"({"ExclusiveStartStreamArn":")" + arn + "\"}"),
              AllOf(Not(HasSubstr(arn + "\"")), HasSubstr(newest_arn())));
  write("DeleteTable", R"({"TableName":"Tasks"})");
  EXPECT_THAT(ok("DescribeStream", body), HasSubstr(R"("StreamStatus":"DISABLED")"));
  EXPECT_THAT(ok("ListStreams", R"({"TableName":"Tasks"})"), HasSubstr(arn));

  sim_.run_for(std::chrono::hours(25));
  EXPECT_EQ(ok("ListStreams", "{}"), R"({"Streams":[]})");
  EXPECT_EQ(error("DescribeStream", body).substr(0, 25), "ResourceNotFoundException");
}

}  // namespace
}  // namespace freshet
