// The Runtime API over sockets: each door serves its own session, whatever a client sends.
#include "wire/lambda/runtime_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <optional>

#include "tests/wire/http/harness.h"
#include "wire/http/listener.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using wire_test::body_of;
using wire_test::LoopThread;
using wire_test::RawClient;
using wire_test::status_of;
using wire_test::Tally;

// Loop thread, but for the tally.
class Session final : public RuntimeSession {
 public:
  explicit Session(Scheduler& scheduler) : scheduler_(scheduler) {}
  Async<Result<RuntimeEvent>> next() override {
    asked.emplace(scheduler_);
    asks.add();
    return wait(*asked);
  }
  Result<void> answer(const std::string& request_id, InvokeOutcome outcome) override {
    if (request_id != "id-1") return invalid("there is no such event in work: " + request_id);
    outcomes.push_back(std::move(outcome));
    return {};
  }
  Result<void> fail_init(InvokeOutcome outcome) override {
    outcomes.push_back(std::move(outcome));
    return {};
  }

  Tally asks;
  std::optional<Promise<Result<RuntimeEvent>>> asked;
  std::vector<InvokeOutcome> outcomes;

 private:
  static Async<Result<RuntimeEvent>> wait(Promise<Result<RuntimeEvent>> asked) {
    auto event = co_await asked.future();
    co_return event;
  }
  Scheduler& scheduler_;
};

std::string post(const std::string& path, const std::string& body, const std::string& headers = "") {
  return "POST /2018-06-01/runtime/" + path +
         " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" +
         body;
}
constexpr const char* kNext = "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

// The system's, or later by as much as the test says.
class LaterClock final : public Clock {
 public:
  WallTime wall() const override { return system_.wall(); }
  BootTime boot() const override { return system_.boot() + seconds(later.load()); }
  std::atomic<int64_t> later{0};

 private:
  SystemClock system_;
};

class RuntimeApiTest : public ::testing::Test {
 protected:
  RuntimeApiTest() : io_(std::move(*IoThread::start(clock_))) {
    api_ = make_runtime_api({io_.get()}, loop_.clock(), loop_.loop(), loop_.loop());
    loop_.run([&] {
      for (auto& one : sessions_) {
        one.emplace(loop_.loop());
        doors_.push_back(std::move(*api_->open(*one)));
      }
    });
  }
  ~RuntimeApiTest() override {
    loop_.run([&] {
      doors_.clear();
      api_.reset();
      for (auto& one : sessions_) one->asked.reset();
    });
    loop_.end();
  }
  uint16_t port(size_t i) {
    const std::string& address = doors_[i]->address();
    return static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1)));
  }
  std::vector<InvokeOutcome> outcomes(size_t i) {
    std::vector<InvokeOutcome> seen;
    loop_.run([&] { seen = sessions_[i]->outcomes; });
    return seen;
  }

  // Moves the clock of the sockets' timeouts.
  void pass(seconds time) {
    clock_.later += time.count();
    for (int turns = 0; turns < 3; ++turns) io_->run_and_wait([] {});
  }

  LoopThread loop_;
  LaterClock clock_;
  std::unique_ptr<IoThread> io_;
  std::array<std::optional<Session>, 2> sessions_;
  std::unique_ptr<RuntimeApi> api_;
  std::vector<std::unique_ptr<RuntimeDoor>> doors_;
};

TEST_F(RuntimeApiTest, HoldsTheCallForTheNextEventAndTakesTheAnswerWithIt) {
  RawClient client(port(1));
  client.send(kNext);
  sessions_[1]->asks.wait_for(1);
  EXPECT_EQ(sessions_[0]->asks.count(), 0) << "another process's door";
  loop_.run([&] { sessions_[1]->asked->set(RuntimeEvent{"id-1", 1234, "arn:f", "Root=1", R"({"a":1})"}); });
  const std::string event = client.answer();
  EXPECT_EQ(status_of(event), 200);
  EXPECT_EQ(body_of(event), R"({"a":1})");
  for (const char* header : {"Lambda-Runtime-Aws-Request-Id: id-1\r\n", "Lambda-Runtime-Deadline-Ms: 1234\r\n",
                             "Lambda-Runtime-Invoked-Function-Arn: arn:f\r\n", "Lambda-Runtime-Trace-Id: Root=1\r\n"}) {
    EXPECT_THAT(event, HasSubstr(header));
  }
  client.send(post("invocation/id-1/response", "not JSON") + kNext);  // Both at once, as our own clients do.
  const std::string answer = client.answer();
  EXPECT_EQ(status_of(answer), 202);
  EXPECT_EQ(body_of(answer), R"({"status":"OK"})");
  sessions_[1]->asks.wait_for(2);
  ASSERT_EQ(outcomes(1).size(), 1u);
  EXPECT_EQ(outcomes(1)[0].payload, R"("not JSON")");
  EXPECT_FALSE(outcomes(1)[0].error);
}

// An event that a page took would be lost to the function: the page cannot read it.
TEST_F(RuntimeApiTest, PagesTakeNoEvents) {
  const std::string head = "/2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  for (const char* page :
       {"Origin: http://127.0.0.1:7070", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"}) {
    for (const char* method : {"GET ", "HEAD "}) {
      RawClient client(port(0));
      client.send(method + head + page + "\r\nConnection: close\r\n\r\n");
      EXPECT_THAT(client.rest(), HasSubstr("HTTP/1.1 403 ")) << method << page;
    }
  }
  EXPECT_EQ(sessions_[0]->asks.count(), 0);
  RawClient client(port(0));
  client.send(kNext);
  sessions_[0]->asks.wait_for(1);
}

TEST_F(RuntimeApiTest, TheClientContextIsAHeaderIfThereIsOne) {
  RawClient client(port(0));
  client.send(kNext);
  sessions_[0]->asks.wait_for(1);
  loop_.run([&] {
    RuntimeEvent event{"id-1", 1234, "arn:f", "", "1"};
    event.client_context = R"({"custom":{}})";
    sessions_[0]->asked->set(event);
  });
  EXPECT_THAT(client.answer(), HasSubstr("Lambda-Runtime-Client-Context: {\"custom\":{}}\r\n"));
  client.send(kNext);
  sessions_[0]->asks.wait_for(2);
  loop_.run([&] { sessions_[0]->asked->set(RuntimeEvent{"id-1", 1234, "arn:f", "", "1"}); });
  EXPECT_THAT(client.answer(), testing::Not(HasSubstr("Lambda-Runtime-Client-Context")));
}

TEST_F(RuntimeApiTest, TakesAStreamedAnswerWhole) {
  RawClient client(port(0));
  client.send(
      "POST /2018-06-01/runtime/invocation/id-1/response HTTP/1.1\r\nHost: x.localhost\r\n"
      "Lambda-Runtime-Function-Response-Mode: streaming\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n");
  EXPECT_EQ(status_of(client.answer()), 202);
  EXPECT_EQ(outcomes(0).at(0).payload, R"({"a":1})");
}

TEST_F(RuntimeApiTest, AFailureBehindAStreamedAnswerCounts) {
  RawClient client(port(0));
  const std::string head =
      "POST /2018-06-01/runtime/invocation/id-1/response HTTP/1.1\r\nHost: x.localhost\r\n"
      "Lambda-Runtime-Function-Response-Mode: streaming\r\nTransfer-Encoding: chunked\r\n"
      "Trailer: Lambda-Runtime-Function-Error-Type, Lambda-Runtime-Function-Error-Body\r\n\r\n"
      "5\r\nhalf \r\n0\r\n";
  client.send(head +
              "Lambda-Runtime-Function-Error-Type: Unhandled\r\n"
              "Lambda-Runtime-Function-Error-Body: eyJlcnJvclR5cGUiOiJUIiwiZXJyb3JNZXNzYWdlIjoibSJ9\r\n\r\n");
  EXPECT_EQ(status_of(client.answer()), 202);
  client.send(head + "Lambda-Runtime-Function-Error-Type: Odd\r\nLambda-Runtime-Function-Error-Body: ???\r\n\r\n");
  EXPECT_EQ(status_of(client.answer()), 202);
  const auto seen = outcomes(0);
  ASSERT_EQ(seen.size(), 2u);
  ASSERT_TRUE(seen[0].error);
  EXPECT_EQ(seen[0].error->type, "T");
  EXPECT_EQ(seen[0].error->message, "m");
  EXPECT_EQ(seen[0].payload, R"({"errorType":"T","errorMessage":"m"})");
  ASSERT_TRUE(seen[1].error);
  EXPECT_EQ(seen[1].error->type, "Odd");
}

TEST_F(RuntimeApiTest, ConnectionsStayHoweverLongAHandlerTakes) {
  RawClient client(port(0));
  client.send(kNext);
  sessions_[0]->asks.wait_for(1);
  loop_.run([&] { sessions_[0]->asked->set(RuntimeEvent{"id-1", 1234, "arn:f", "", "1"}); });
  EXPECT_EQ(status_of(client.answer()), 200);
  pass(std::chrono::hours(20));  // At work.
  client.send(
      "POST /2018-06-01/runtime/invocation/id-1/response HTTP/1.1\r\nHost: 127.0.0.1\r\n"
      "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(status_of(client.answer()), 100);
  client.send("2\r\n[1\r\n");
  pass(std::chrono::hours(4));  // Still streaming.
  client.send("2\r\n,2\r\n1\r\n]\r\n0\r\n\r\n");
  EXPECT_EQ(status_of(client.answer()), 202);
  EXPECT_EQ(outcomes(0).at(0).payload, "[1,2]");
}

TEST_F(RuntimeApiTest, FailuresKeepTheirDocument) {
  RawClient client(port(0));
  client.send(post("invocation/id-1/error", R"({"errorType":"T","errorMessage":"m","trace":[]})",
                   "Lambda-Runtime-Function-Error-Type: Unhandled\r\n"));
  EXPECT_EQ(status_of(client.answer()), 202);
  client.send(post("invocation/id-1/error", R"({"errorType":"H","errorMessage":"m"})",
                   "Lambda-Runtime-Function-Error-Type: Handled\r\n"));
  EXPECT_EQ(status_of(client.answer()), 202);
  client.send(post("init/error", "no JSON", "Lambda-Runtime-Function-Error-Type: Runtime.Odd\r\n"));
  EXPECT_EQ(status_of(client.answer()), 202);
  const auto seen = outcomes(0);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].payload, R"({"errorType":"T","errorMessage":"m","trace":[]})");
  EXPECT_EQ(seen[0].error->type, "T");
  EXPECT_FALSE(seen[0].error->handled);
  EXPECT_EQ(seen[1].error->type, "H");
  EXPECT_TRUE(seen[1].error->handled);
  EXPECT_EQ(seen[2].error->type, "Runtime.Odd");
  EXPECT_EQ(seen[2].error->message, "no JSON");
  EXPECT_FALSE(seen[2].error->handled);
}

TEST_F(RuntimeApiTest, RefusesWhatDoesNotFit) {
  RawClient client(port(0));
  client.send(post("invocation/id-2/response", "1"));
  const std::string wrong = client.answer();
  EXPECT_EQ(status_of(wrong), 400);
  EXPECT_THAT(body_of(wrong), HasSubstr(R"("errorType":"InvalidRequestID")"));
  for (const std::string& odd :
       {post("invocation/id-1/other", "1"), post("nothing", "1"),
        std::string("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        std::string("DELETE /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")}) {
    client.send(odd);
    EXPECT_EQ(status_of(client.answer()), 404) << odd;
  }
  client.send(post("invocation/id-1/response", std::string((6u << 20) + 1, '1')));
  EXPECT_EQ(status_of(client.answer()), 413);
  EXPECT_EQ(outcomes(0).at(0).error->type, "Function.ResponseSizeTooLarge");
}

// A program that reaches a port would get events and answer for the function.
TEST_F(RuntimeApiTest, OtherUsersOfTheMachineAreCut) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  std::optional<RawClient> other;
  {
    const wire_test::AsUser nobody(65'534);
    other.emplace(port(0));
  }
  const std::string refused = other->answer();
  EXPECT_EQ(status_of(refused), 403);
  EXPECT_THAT(refused, HasSubstr("processes of the user that the server runs as"));
  EXPECT_EQ(other->rest(), "");
  RawClient own(port(0));
  own.send(kNext);
  sessions_[0]->asks.wait_for(1);
  EXPECT_EQ(sessions_[0]->asks.count(), 1);
}

TEST_F(RuntimeApiTest, AClosedDoorServesNobody) {
  RawClient client(port(0));
  client.send(post("invocation/id-1/response", "1"));
  EXPECT_EQ(status_of(client.answer()), 202);
  const uint16_t closed = port(0);
  loop_.run([&] { doors_.erase(doors_.begin()); });
  io_->run_and_wait([] {});  // It has heard of that.
  EXPECT_TRUE(HttpListener::bind("127.0.0.1", closed)->listen()) << "the port is free";
  client.send(post("invocation/id-1/response", "1"));
  EXPECT_EQ(status_of(client.answer()), 400);
  EXPECT_EQ(outcomes(0).size(), 1u);
}

}  // namespace
}  // namespace freshet
