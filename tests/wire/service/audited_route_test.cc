// Which requests have a line in the audit log, and what it says.
#include "wire/service/audited_route.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"

namespace freshet {
namespace {

class Answer final : public Exchange {
 public:
  explicit Answer(int status) : status_(status) {}
  Async<void> run() override { return {}; }
  HttpResponse respond() override {
    HttpResponse response;
    response.status = status_;
    return response;
  }

 private:
  const int status_;
};

class Anything final : public Route {
 public:
  bool matches(const HttpRequest&) const override { return true; }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    return std::make_unique<Answer>(request.target.find("refused") == std::string::npos ? 200 : 400);
  }
  bool changes(const HttpRequest& request) const override {
    return request.method != "GET" || request.target.starts_with("/record");
  }
};

class AuditedRouteTest : public ::testing::Test {
 protected:
  AuditedRouteTest() {
    EmbeddedOptions options;
    options.directory = std::string(kMemoryDirectory);
    auto opened = open_embedded(nullptr, scheduler, random, options);
    EXPECT_TRUE(opened) << opened.error().message;
    store = std::move(*opened);
    scheduler.add(*store);
    log = std::make_unique<AuditLog>(*store, clock);
    route = make_audited_route(std::make_unique<Anything>(), *log, false);
  }
  ~AuditedRouteTest() override { scheduler.remove(*store); }

  template <class T>
  T wait(Async<T> work) {
    for (int i = 0; i < 1'000'000 && !work.is_ready(); ++i) {
      scheduler.run_ready();
      if (!work.is_ready()) scheduler.run_for(milliseconds(1));
    }
    EXPECT_TRUE(work.is_ready());
    return work.take();
  }

  // "what queue: detail" of the line that the request gets; "" if it gets none.
  std::string line(const std::string& method, const std::string& target, HttpHeaders headers = {},
                   const std::string& body = "{}") {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.headers = std::move(headers);
    request.body = body;
    const size_t before = wait(log->newest(100, ""))->size();
    const auto exchange = route->accept(std::move(request));
    auto run = exchange->run();
    for (int i = 0; i < 1'000'000 && !run.is_ready(); ++i) scheduler.run_for(milliseconds(1));
    EXPECT_TRUE(run.is_ready());
    (void)exchange->respond();
    const auto lines = wait(log->newest(100, ""));
    if (lines->size() == before) return "";
    EXPECT_EQ(lines->size(), before + 1);
    const Item item = lines->front().decode();
    return std::string(item.string_or("what")) + " " + std::string(item.string_or("queue")) + ": " +
           std::string(item.string_or("detail"));
  }
  static HttpHeaders item_store(const std::string& operation, bool of_page = false) {
    HttpHeaders out{{"X-Amz-Target", "DynamoDB_20120810." + operation}};
    if (of_page) out.emplace_back("Sec-Fetch-Site", "same-origin");
    return out;
  }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop scheduler{clock};
  Random random{1};
  std::unique_ptr<EmbeddedTables> store;
  std::unique_ptr<AuditLog> log;
  std::unique_ptr<Route> route;
  const HttpHeaders page{{"Sec-Fetch-Site", "same-origin"}};
};

TEST_F(AuditedRouteTest, WorkOfProgramsHasNoLine) {
  EXPECT_EQ(line("POST", "/queues/jobs/tasks"), "");
  EXPECT_EQ(line("POST", "/queues/jobs/take"), "");
  EXPECT_EQ(line("POST", "/priority/jobs/put"), "");
  EXPECT_EQ(line("POST", "/", item_store("PutItem"), R"({"TableName":"T"})"), "");
  EXPECT_EQ(line("POST", "/2015-03-31/functions/f/invocations"), "");
}

TEST_F(AuditedRouteTest, LooksHaveNoLine) {
  EXPECT_EQ(line("GET", "/queues/jobs/tasks", page), "");
  EXPECT_EQ(line("POST", "/", item_store("Query", true), R"({"TableName":"T"})"), "");
  EXPECT_EQ(line("GET", "/2015-03-31/functions/f"), "");
}

TEST_F(AuditedRouteTest, WhatNeedsMoreThanWorkHasALine) {
  EXPECT_EQ(line("POST", "/priority/jobs/redrive"), "priorityRedrive jobs: POST /priority/jobs/redrive");
  EXPECT_EQ(line("POST", "/", item_store("DeleteTable"), R"({"TableName":"T"})"), "DeleteTable T: POST /");
  EXPECT_EQ(line("PUT", "/2015-03-31/functions/f/code"), "function f: PUT /2015-03-31/functions/f/code");
  EXPECT_EQ(line("POST", "/", {{"Content-Type", "application/x-www-form-urlencoded"}},
                 "Action=DeleteTopic&Version=2010-03-31&TopicArn=arn:aws:sns:us-east-1:000000000000:news"),
            "topic news: DeleteTopic");
}

TEST_F(AuditedRouteTest, WhatAPersonChangesOnAPageHasALine) {
  EXPECT_EQ(line("POST", "/queues/jobs/tasks", page), "createTasks jobs: POST /queues/jobs/tasks");
  EXPECT_EQ(line("POST", "/queues/jobs/tasks", {{"Host", "127.0.0.1:1"}, {"Origin", "http://127.0.0.1:1"}}),
            "createTasks jobs: POST /queues/jobs/tasks");
  EXPECT_EQ(line("POST", "/", item_store("BatchWriteItem", true), R"({"RequestItems":{"T":[],"U":[]}})"),
            "BatchWriteItem T: T U");
  EXPECT_EQ(line("POST", "/", item_store("PutItem", true), R"({"TableName":"T"})"), "PutItem T: POST /");
  EXPECT_EQ(line("POST", "/", item_store("ExecuteStatement", true), R"({"Statement":"DELETE FROM T WHERE a = 1"})"),
            "ExecuteStatement : DELETE FROM T WHERE a = 1");
  EXPECT_EQ(line("POST", "/2015-03-31/functions/f/invocations", page),
            "function f: POST /2015-03-31/functions/f/invocations");
}

TEST_F(AuditedRouteTest, PagesOfOtherOriginsArePrograms) {
  EXPECT_EQ(line("POST", "/queues/jobs/tasks", {{"Sec-Fetch-Site", "cross-site"}}), "");
  EXPECT_EQ(line("POST", "/queues/jobs/take", {{"Host", "127.0.0.1:1"}, {"Origin", "http://app.example"}}), "");
  EXPECT_EQ(line("POST", "/queues/jobs/whatif", page), "") << "it changes nothing";
  EXPECT_EQ(line("POST", "/", item_store("DescribeEndpoints")), "");
}

TEST_F(AuditedRouteTest, CallsThatWriteTheirOwnLineGetNoSecondOne) {
  for (const char* call : {"policy", "cancel", "redrive", "pause", "resume", "jobs"}) {
    EXPECT_EQ(line("POST", std::string("/queues/jobs/") + call), "") << call;
    EXPECT_EQ(line("POST", std::string("/queues/jobs/") + call, page), "") << call;
  }
  EXPECT_EQ(line("POST", "/deploy", page), "");
}

// On a busy queue the pieces of a recording would push all else out of the log.
TEST_F(AuditedRouteTest, ARecordingHasALineForItsBeginning) {
  EXPECT_EQ(line("GET", "/record?table=jobs"), "record jobs: GET /record");
  EXPECT_EQ(line("GET", "/record?table=jobs&from=0"), "record jobs: GET /record");
  EXPECT_EQ(line("GET", "/record?table=jobs&from=latest"), "record jobs: GET /record");
  EXPECT_EQ(line("GET", "/record?table=jobs&from=00"), "record jobs: GET /record");
  EXPECT_EQ(line("GET", "/record?table=jobs&from=0.0.0"), "record jobs: GET /record");
  EXPECT_EQ(line("GET", "/record?table=jobs&from=17&waitMs=1000"), "");
  EXPECT_EQ(line("GET", "/record?table=jobs&from=17.2.1800000000000"), "");
  // Nobody has to begin at the beginning.
  EXPECT_EQ(line("GET", "/record?table=others&from=17"), "record others: GET /record");
  EXPECT_EQ(line("GET", "/record?table=others&from=18"), "");
  clock.advance(std::chrono::seconds(61));
  EXPECT_EQ(line("GET", "/record?table=others&from=19"), "record others: GET /record") << "it had ended";
}

TEST_F(AuditedRouteTest, ARequestThatIsRefusedKeepsNoRecordingGoing) {
  EXPECT_EQ(line("GET", "/record?table=jobs&from=refused"), "record jobs: GET /record");
  EXPECT_EQ(line("GET", "/record?table=jobs&from=17"), "record jobs: GET /record")
      << "nothing had been recorded before";
  clock.advance(std::chrono::seconds(50));
  EXPECT_EQ(line("GET", "/record?table=jobs&from=18&refused=1"), "");
  clock.advance(std::chrono::seconds(50));
  EXPECT_EQ(line("GET", "/record?table=jobs&from=18"), "record jobs: GET /record") << "it had ended";
}

// The log tells of changes, and a call that is refused with 404 or 405 makes none.
TEST_F(AuditedRouteTest, CallsThatThereAreNotHaveNoLine) {
  EXPECT_EQ(line("DELETE", "/queues"), "");
  EXPECT_EQ(line("POST", "/metrics"), "");
  EXPECT_EQ(line("POST", "/ui/"), "");
  EXPECT_EQ(line("PATCH", "/nothing/at/all", page), "");
}

TEST_F(AuditedRouteTest, BrokenRequestsAndLongStatementsAreLogged) {
  EXPECT_EQ(line("POST", "/", item_store("DeleteTable"), "{"), "DeleteTable : POST /");
  EXPECT_EQ(line("POST", "/", item_store("Nothing")), "Nothing : POST /");
  EXPECT_EQ(line("POST", "/", {}, ""), "unknown : POST /");
  const std::string statement = "SELECT '" + std::string(400, 'x') + "'";
  EXPECT_EQ(line("POST", "/", item_store("ExecuteStatement", true), R"({"Statement":")" + statement + "\"}"),
            "ExecuteStatement : " + statement.substr(0, 300) + "…");
}

}  // namespace
}  // namespace freshet
