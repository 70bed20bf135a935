// Calls of a remote store: what they ask the store, how much of it at a time, and what they make of odd answers.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "runtime/loop/sim_loop.h"
#include "tests/runtime/fakes.h"
#include "tests/wire/store/fixed_key.h"
#include "wire/store/remote_tables.h"

namespace freshet::remote {
namespace {

class ManyTest : public testing::Test {
 protected:
  ManyTest() {
    http.answer = [this](const HttpRequest& request) -> Result<HttpResponse> {
      const auto target = std::string(header(request.headers, "X-Amz-Target"));
      const std::string operation = target.substr(target.find('.') + 1);
      ++calls[operation];
      HttpResponse response;
      response.body = "{}";
      if (operation == "DescribeTable" && is_down) {
        response.status = 400;
        response.body = R"({"__type":"x#ResourceNotFoundException","message":"no such table"})";
      } else if (operation == "DescribeTable") {
        response.body =
            R"({"Table":{"TableName":"T","TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],)"
            R"("AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"ItemCount":0,"TableSizeBytes":0}})";
      }
      return response;
    };
  }

  static PutItemInput put(int n) {
    PutItemInput input;
    input.table = "T";
    input.item = Item{{"id", Value("t" + std::to_string(n))}};
    input.only_new = true;
    return input;
  }
  static std::vector<WriteInput> puts(int count) {
    std::vector<WriteInput> out;
    for (int i = 0; i < count; ++i) out.emplace_back(put(i));
    return out;
  }

  template <class T>
  T wait(Async<T> work) {
    loop.run_until([&] { return work.is_ready(); }, seconds(60));
    EXPECT_TRUE(work.is_ready());
    return work.take();
  }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop loop{clock};
  FakeHttp http{loop, milliseconds(5)};
  std::unique_ptr<AccessKeySource> keys = fixed_key(AccessKey{"id", "secret", ""});
  Random random{1};
  Caller caller{{.endpoints = {"http://one:8000"}}, http, *keys, loop, random};
  RemoteTables tables{caller, random};
  std::map<std::string, int> calls;
  bool is_down = false;
};

TEST_F(ManyTest, TheKeysOfATableAreAskedForOnce) {
  for (const auto& answer : wait(tables.write_many(puts(200)))) EXPECT_TRUE(answer);
  EXPECT_EQ(calls["PutItem"], 200);
  EXPECT_EQ(calls["DescribeTable"], 1);
  EXPECT_EQ(http.most_in_work, 64);
}

// The daemon of a queue ended there: it read the item that was not in the answer.
TEST_F(ManyTest, AnUpdateWithoutTheItemThatWasAskedForHasAnUnknownOutcome) {
  UpdateItemInput update;
  update.table = "T";
  update.key = Item{{"id", Value("a")}};
  update.update = "SET n = :one";
  update.placeholders.values.set(":one", Value::number(int64_t{1}));
  update.return_values = ReturnValues::kAllNew;
  const auto answer = wait(tables.update_item(update));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnknownOutcome);
  update.return_values = ReturnValues::kNone;
  EXPECT_TRUE(wait(tables.update_item(update)));
  std::vector<EditItemInput> edits(1);
  edits[0].table = "T";
  edits[0].seen = ItemRef::encode(Item{{"id", Value("a")}, {"taskStatus", Value("PENDING")}});
  EXPECT_EQ(wait(tables.edit_many(std::move(edits)))[0].error().code, ErrorCode::kUnknownOutcome);
}

TEST_F(ManyTest, AQuestionThatFailsFailsForAllThatWaitForIt) {
  is_down = true;
  std::vector<Async<Result<WriteOutput>>> work;
  for (int i = 0; i < 10; ++i) work.push_back(tables.put_item(put(i)));
  for (auto& one : work) EXPECT_EQ(wait(std::move(one)).error().code, ErrorCode::kResourceNotFound);
  EXPECT_EQ(calls["DescribeTable"], 1);
}

TEST_F(ManyTest, IfTheCallThatAsksIsEndedAnotherAsks) {
  auto first = std::make_unique<Async<Result<WriteOutput>>>(tables.put_item(put(1)));
  auto second = tables.put_item(put(2));
  auto third = tables.put_item(put(3));
  loop.run_for(milliseconds(1));
  first.reset();
  EXPECT_TRUE(wait(std::move(second)));
  EXPECT_TRUE(wait(std::move(third)));
  EXPECT_EQ(calls["PutItem"], 2);
  EXPECT_EQ(calls["DescribeTable"], 1) << "that of the first was abandoned";
}

TEST_F(ManyTest, ReadsHaveABoundedNumberOfBatchesUnderWay) {
  std::vector<GetItemInput> reads(10'000);
  for (size_t i = 0; i < reads.size(); ++i) {
    reads[i].table = "T";
    reads[i].key = Item{{"id", Value("t" + std::to_string(i))}};
  }
  const auto answers = wait(tables.read_many(std::move(reads)));
  ASSERT_EQ(answers.size(), 10'000u);
  EXPECT_EQ(calls["BatchGetItem"], 100);
  EXPECT_EQ(http.most_in_work, 16);
}

}  // namespace
}  // namespace freshet::remote
