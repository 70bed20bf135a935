// The DynamoDB protocol over a store in memory, for tests of its operations.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/random.h"
#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"
#include "tables/value/json_reader.h"
#include "wire/dynamodb/route.h"

namespace freshet {

// A request in, the answer's document out.
class DynamoDbTest : public testing::Test {
 protected:
  DynamoDbTest() {
    EmbeddedOptions options;
    options.directory = std::string(kMemoryDirectory);
    auto opened = open_embedded(nullptr, scheduler_, random_, options);
    EXPECT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
    route_ = make_dynamodb_route(*store_, clock_);
  }

  HttpResponse send(const std::string& operation, std::string body, HttpHeaders more = {}) {
    HttpRequest request{
        "POST", "/", {{"X-Amz-Target", "DynamoDB_20120810." + operation}, {"Host", "localhost:8000"}}, std::move(body)};
    request.headers.insert(request.headers.end(), more.begin(), more.end());
    EXPECT_TRUE(route_->matches(request));
    auto exchange = route_->accept(std::move(request));
    Async<void> work = exchange->run();
    EXPECT_TRUE(work.is_ready());
    HttpResponse response = exchange->respond();
    const auto* bytes = reinterpret_cast<const Bytef*>(response.body.data());
    EXPECT_EQ(header(response.headers, "x-amz-crc32"), std::to_string(::crc32_z(0, bytes, response.body.size())));
    EXPECT_EQ(header(response.headers, "x-amzn-RequestId").size(), 52u);
    JsonDocument document;
    EXPECT_TRUE(response.body.empty() || document.parse(response.body)) << response.body;
    return response;
  }
  // The answer of a request that must succeed.
  std::string ok(const std::string& operation, std::string body) {
    HttpResponse response = send(operation, std::move(body));
    EXPECT_EQ(response.status, 200) << response.body;
    return response.body;
  }
  // "Name: message" of a request that must fail with 400.
  std::string error(const std::string& operation, std::string body) {
    const HttpResponse response = send(operation, std::move(body));
    EXPECT_EQ(response.status, 400) << response.body;
    JsonDocument document;
    auto view = document.parse(response.body);
    if (!view) return response.body;
    std::string type(*view->string_or("__type"));
    return type.substr(type.find('#') + 1) + ": " +
           std::string(*view->string_or("message", *view->string_or("Message")));
  }
  void make_tasks() {
    ok("CreateTable", R"({"TableName":"Tasks","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"state","AttributeType":"S"},
                              {"AttributeName":"at","AttributeType":"N"}],
      "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
      "GlobalSecondaryIndexes":[{"IndexName":"by-state","Projection":{"ProjectionType":"KEYS_ONLY"},
        "KeySchema":[{"AttributeName":"state","KeyType":"HASH"},{"AttributeName":"at","KeyType":"RANGE"}]}],
      "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}})");
  }

  SimClock clock_{WallTime(milliseconds(1'800'000'000'123))};
  SimLoop scheduler_{clock_};
  Random random_{7};
  std::unique_ptr<EmbeddedTables> store_;
  std::unique_ptr<Route> route_;
};

}  // namespace freshet
