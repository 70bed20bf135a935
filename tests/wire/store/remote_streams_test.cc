// The requests, answers and errors of a store's change streams.
#include "wire/store/remote_streams.h"

#include <gtest/gtest.h>

#include "runtime/loop/sim_loop.h"
#include "tests/runtime/fakes.h"
#include "tests/wire/store/fixed_key.h"

namespace freshet::remote {
namespace {

HttpResponse answer(std::string body, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

HttpResponse refusal(const std::string& name) {
  return answer(R"({"__type":"com.amazonaws.dynamodb.v20120810#)" + name + R"(","message":"why"})", 400);
}

struct RemoteStreamsTest : testing::Test {
  SimClock clock{WallTime(seconds(1'700'000'000))};
  SimLoop sim{clock};
  Random random{1};
  FakeHttp http{sim.loop()};
  FixedKey key{AccessKey{"id", "secret", {}}};
  CallerOptions options{{"http://engine:8000"}};
  Caller caller{options, http, key, sim, random};
  RemoteStreams streams{caller, caller};
  std::vector<HttpRequest> requests;

  void answers(HttpResponse response) {
    http.answer = [this, response](const HttpRequest& request) {
      requests.push_back(request);
      return response;
    };
  }
  template <class T>
  Result<T> wait(Async<Result<T>> work) {
    EXPECT_TRUE(sim.run_until([&] { return work.is_ready(); }, std::chrono::hours(1)));
    return work.take();
  }
  std::string target() const { return std::string(header(requests.back().headers, "X-Amz-Target")); }
};

TEST_F(RemoteStreamsTest, TheLatestStreamOfATable) {
  answers(answer(R"({"Table":{"TableName":"T","LatestStreamArn":"arn:s/L","LatestStreamLabel":"L",
                     "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}})"));
  const auto stream = wait(streams.stream_of("T"));
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(stream->arn, "arn:s/L");
  EXPECT_EQ(stream->label, "L");
  EXPECT_EQ(stream->view, StreamView::kNewImage);
  EXPECT_TRUE(stream->open);
  EXPECT_EQ(target(), "DynamoDB_20120810.DescribeTable");
  EXPECT_EQ(requests.back().body, R"({"TableName":"T"})");
  answers(answer(R"({"Table":{"TableName":"T","LatestStreamArn":"arn:s/L","LatestStreamLabel":"L"}})"));
  EXPECT_FALSE(wait(streams.stream_of("T"))->open) << "it was switched off";
  answers(answer(R"({"Table":{"TableName":"T"}})"));
  EXPECT_EQ(wait(streams.stream_of("T")).error().code, ErrorCode::kResourceNotFound);
}

TEST_F(RemoteStreamsTest, APageOfShards) {
  answers(answer(R"({"StreamDescription":{"StreamArn":"arn","StreamLabel":"L","StreamStatus":"ENABLED",
      "StreamViewType":"KEYS_ONLY","LastEvaluatedShardId":"s2","Shards":[
        {"ShardId":"s1","SequenceNumberRange":{"StartingSequenceNumber":"1","EndingSequenceNumber":"9"}},
        {"ShardId":"s2","ParentShardId":"s1","SequenceNumberRange":{"StartingSequenceNumber":"10"}}]}})"));
  const auto page = wait(streams.shards("arn", "s0"));
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->shards.size(), 2u);
  EXPECT_TRUE(page->shards[0].closed);
  EXPECT_TRUE(page->shards[0].parents.empty());
  EXPECT_FALSE(page->shards[1].closed);
  EXPECT_EQ(page->shards[1].parents, std::vector<std::string>{"s1"});
  EXPECT_EQ(page->last, "s2");
  EXPECT_TRUE(page->stream.open);
  EXPECT_EQ(target(), "DynamoDBStreams_20120810.DescribeStream");
  EXPECT_EQ(requests.back().body, R"({"StreamArn":"arn","ExclusiveStartShardId":"s0"})");
  answers(answer(R"({"StreamDescription":{"StreamArn":"arn","StreamStatus":"DISABLED","Shards":[]}})"));
  const auto last = wait(streams.shards("arn", ""));
  EXPECT_FALSE(last->stream.open);
  EXPECT_EQ(last->last, "");
  EXPECT_EQ(requests.back().body, R"({"StreamArn":"arn"})");
}

TEST_F(RemoteStreamsTest, TheThreeIterators) {
  answers(answer(R"({"ShardIterator":"it"})"));
  EXPECT_EQ(*wait(streams.iterator("arn", "s", ShardStart::kHorizon, "")), "it");
  EXPECT_EQ(target(), "DynamoDBStreams_20120810.GetShardIterator");
  EXPECT_EQ(requests.back().body, R"({"StreamArn":"arn","ShardId":"s","ShardIteratorType":"TRIM_HORIZON"})");
  wait(streams.iterator("arn", "s", ShardStart::kLatest, ""));
  EXPECT_EQ(requests.back().body, R"({"StreamArn":"arn","ShardId":"s","ShardIteratorType":"LATEST"})");
  wait(streams.iterator("arn", "s", ShardStart::kAfter, "12"));
  EXPECT_EQ(requests.back().body,
            R"({"StreamArn":"arn","ShardId":"s","ShardIteratorType":"AFTER_SEQUENCE_NUMBER","SequenceNumber":"12"})");
}

TEST_F(RemoteStreamsTest, RecordsOfEachKind) {
  answers(answer(R"({"NextShardIterator":"next","Records":[
      {"eventID":"e1","eventName":"INSERT","dynamodb":{"ApproximateCreationDateTime":1700000000,
        "Keys":{"id":{"S":"a"}},"NewImage":{"id":{"S":"a"},"n":{"N":"1"}},"SequenceNumber":"111"}},
      {"eventID":"e2","eventName":"MODIFY","dynamodb":{"ApproximateCreationDateTime":1700000000.25,
        "Keys":{"id":{"S":"a"}},"OldImage":{"id":{"S":"a"},"n":{"N":"1"}},"NewImage":{"id":{"S":"a"}},
        "SequenceNumber":"1000000000000000000000000000000000000112"}},
      {"eventID":"e3","eventName":"REMOVE","userIdentity":{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"},
        "dynamodb":{"Keys":{"id":{"S":"a"}},"OldImage":{"id":{"S":"a"}},"SequenceNumber":"113"}}]})"));
  const auto page = wait(streams.records("it"));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(target(), "DynamoDBStreams_20120810.GetRecords");
  EXPECT_EQ(requests.back().body, R"({"ShardIterator":"it"})");
  EXPECT_EQ(page->next, "next");
  ASSERT_EQ(page->records.size(), 3u);
  const ShardRecord& insert = page->records[0];
  EXPECT_EQ(insert.record.kind, ChangeRecord::Kind::kInsert);
  EXPECT_EQ(insert.record.at, WallTime(seconds(1'700'000'000)));
  EXPECT_EQ(insert.record.keys, (Item{{"id", "a"}}));
  EXPECT_FALSE(insert.record.before);
  EXPECT_EQ(insert.record.after.decode().int_or("n", 0), 1);
  EXPECT_EQ(insert.number, "111");
  EXPECT_EQ(insert.event_id, "e1");
  const ShardRecord& change = page->records[1];
  EXPECT_EQ(change.record.kind, ChangeRecord::Kind::kModify);
  EXPECT_EQ(change.record.at, WallTime(milliseconds(1'700'000'000'250)));
  EXPECT_TRUE(change.record.before);
  EXPECT_EQ(change.number, "1000000000000000000000000000000000000112") << "up to 40 digits";
  EXPECT_FALSE(change.record.by_ttl);
  const ShardRecord& removal = page->records[2];
  EXPECT_EQ(removal.record.kind, ChangeRecord::Kind::kRemove);
  EXPECT_FALSE(removal.record.after);
  EXPECT_TRUE(removal.record.by_ttl);
  answers(answer(R"({"Records":[]})"));
  EXPECT_EQ(wait(streams.records("it"))->next, "") << "the end of the shard";
}

TEST_F(RemoteStreamsTest, ErrorsThatAReaderPassesAreNotRepeated) {
  for (const auto& [name, code] : {std::pair{"ExpiredIteratorException", ErrorCode::kExpiredIterator},
                                   {"TrimmedDataAccessException", ErrorCode::kTrimmedDataAccess},
                                   {"ResourceNotFoundException", ErrorCode::kResourceNotFound},
                                   {"LimitExceededException", ErrorCode::kLimitExceeded}}) {
    answers(refusal(name));
    requests.clear();
    const auto page = wait(streams.records("it"));
    ASSERT_FALSE(page);
    EXPECT_EQ(page.error().code, code) << name;
    EXPECT_EQ(requests.size(), 1u) << name;
  }
}

TEST_F(RemoteStreamsTest, ThrottledReadsAreRepeatedAFewTimes) {
  answers(refusal("ProvisionedThroughputExceededException"));
  EXPECT_EQ(wait(streams.records("it")).error().code, ErrorCode::kThroughputExceeded);
  EXPECT_EQ(requests.size(), 4u);
}

TEST_F(RemoteStreamsTest, AnswersThatAreNotOfTheProtocol) {
  for (const char* body : {"[]x", R"({"Records":[{"eventName":"OTHER","dynamodb":{}}]})", R"({"Records":[{}]})",
                           R"({"Records":[{"eventName":"INSERT","dynamodb":{"Keys":{"id":{"S":"a"}}}}]})",
                           R"({"Records":[{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1"}}]})"}) {
    EXPECT_EQ(records_of(body).error().code, ErrorCode::kInternal) << body;
  }
  EXPECT_EQ(iterator_of("{}").error().code, ErrorCode::kInternal);
  EXPECT_EQ(shard_page_of("{}").error().code, ErrorCode::kInternal);
  EXPECT_EQ(shard_page_of(R"({"StreamDescription":{"Shards":[{}]}})").error().code, ErrorCode::kInternal);
  EXPECT_EQ(latest_stream_of("{}").error().code, ErrorCode::kInternal);
}

TEST(RemoteStreams, OnlyAmazonHasAnotherHostForStreams) {
  const CallerOptions options{{"https://dynamodb.eu-west-1.amazonaws.com", "http://127.0.0.1:8000"}};
  EXPECT_EQ(streams_caller_options(options).endpoints,
            (std::vector<std::string>{"https://streams.dynamodb.eu-west-1.amazonaws.com", "http://127.0.0.1:8000"}));
}

}  // namespace
}  // namespace freshet::remote
