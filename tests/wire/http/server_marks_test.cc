// The headers that the server adds to every response, and its log of refused ones.
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "tests/wire/http/harness.h"
#include "wire/http/own_error.h"
#include "wire/http/server.h"

namespace freshet {
namespace {

using wire_test::get;
using wire_test::LoopThread;
using wire_test::RawClient;
using wire_test::status_of;

// Answers everything but /nothing; /412 with that status.
class AnyRoute final : public Route {
 public:
  bool matches(const HttpRequest& request) const override { return request.target != "/nothing"; }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    HttpResponse response;
    if (request.target == "/412") response.status = 412;
    return answer_with_response(std::move(response));
  }
};

class ServerMarksTest : public testing::Test {
 protected:
  void start(HttpServerOptions options = {}) {
    loop_ = std::make_unique<LoopThread>();
    loop_->run([&] {
      std::vector<std::unique_ptr<Route>> routes;
      routes.push_back(std::make_unique<AnyRoute>());
      auto started = HttpServer::start(std::move(options), *HttpListener::bind("127.0.0.1", 0), std::move(routes),
                                       {&loop_->io()}, loop_->clock(), loop_->loop(), loop_->loop(),
                                       [this]() -> Async<Result<void>> { return durability(); });
      ASSERT_TRUE(started) << started.error().message;
      server_ = std::move(*started);
    });
  }
  void TearDown() override {
    if (!loop_) return;
    loop_->run([&] { server_.reset(); });
    loop_->end();
    loop_.reset();
  }
  Async<Result<void>> durability() const {
    return broken_ ? Result<void>(fail(ErrorCode::kIo, "the disk is gone")) : Result<void>{};
  }

  std::unique_ptr<LoopThread> loop_;
  std::unique_ptr<HttpServer> server_;
  bool broken_ = false;  // Loop thread.
};

std::string field(const std::string& answer, const std::string& name) {
  const size_t at = answer.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 4;
  return answer.substr(begin, answer.find("\r\n", begin) - begin);
}

TEST_F(ServerMarksTest, EveryAnswerHasAnIdAndSaysWhoServes) {
  start();
  std::set<std::string> ids;
  for (int i = 0; i < 2; ++i) {  // Connections.
    RawClient client(server_->port());
    for (const char* path : {"/echo", "/nothing", "/echo"}) {
      client.send(get(path));
      const std::string answer = client.answer();
      EXPECT_EQ(field(answer, "Server"), "Freshet") << answer;
      EXPECT_EQ(field(answer, "x-request-id").size(), 16u) << answer;
      ids.insert(field(answer, "x-request-id"));
    }
  }
  EXPECT_EQ(ids.size(), 6u);
  RawClient client(server_->port());
  client.send(get("/echo", "X-Request-ID: mine/1\r\n"));
  EXPECT_EQ(field(client.answer(), "x-request-id"), "mine/1");
  client.send(get("/echo", "X-Request-Id: " + std::string(129, 'x') + "\r\n"));
  EXPECT_EQ(field(client.answer(), "x-request-id").size(), 16u);
  client.send(get("/?x=1", "X-Request-Id: mine\r\n"));
  const std::string aws = client.answer();
  EXPECT_EQ(field(aws, "x-amzn-RequestId").size(), 52u) << aws;
  EXPECT_EQ(field(aws, "x-request-id"), "") << aws;
  EXPECT_EQ(field(aws, "Server"), "Server") << aws;
}

// The Lambda API answers so when a RevisionId is not the newest.
TEST_F(ServerMarksTest, AFailedPreconditionIsCalledSo) {
  start();
  RawClient client(server_->port());
  client.send(get("/412"));
  const std::string answer = client.answer();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 412 Precondition Failed\r\n")) << answer;
}

TEST_F(ServerMarksTest, AServerMayLeaveItsAnswersUnmarked) {
  HttpServerOptions options;
  options.marks_answers = false;
  start(std::move(options));
  RawClient client(server_->port());
  client.send(get("/echo"));
  const std::string answer = client.answer();
  EXPECT_EQ(field(answer, "Server") + field(answer, "x-request-id"), "") << answer;
}

class Lines final : public LogSink {
 public:
  void write(LogLevel, std::string_view line) override {
    const std::lock_guard lock(mutex_);
    all_ += std::string(line) + "\n";
  }
  std::string all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;
  std::string all_;
};

TEST_F(ServerMarksTest, WhatIsRefusedOrFailsIsLoggedByItsId) {
  Lines lines;
  const SystemClock clock;
  HttpServerOptions options;
  options.log = EventLog(clock, lines, LogLevel::kInfo);
  start(std::move(options));
  RawClient client(server_->port());
  client.send(get("/echo", "X-Request-Id: fine\r\n"));
  EXPECT_EQ(status_of(client.answer()), 200);
  client.send(get("/nothing", "X-Request-Id: gone\r\n"));
  EXPECT_EQ(status_of(client.answer()), 404);
  loop_->run([&] { broken_ = true; });
  client.send(get("/echo", "X-Request-Id: broken\r\n"));
  EXPECT_EQ(status_of(client.answer()), 500);
  const std::string log = lines.all();
  EXPECT_EQ(log.find("fine"), std::string::npos) << log;
  EXPECT_NE(log.find(R"("level":"info","event":"REQUEST_REFUSED","requestId":"gone","request":"GET /nothing",)"
                     R"("status":404,"code":"NotFoundException","message":"nothing is served at GET /nothing; )"),
            std::string::npos)
      << log;
  EXPECT_NE(log.find(R"("level":"warn","event":"REQUEST_FAILED","requestId":"broken","request":"GET /echo",)"
                     R"("status":500,"code":"InternalServerError","message":"the disk is gone")"),
            std::string::npos)
      << log;
  TearDown();  // Before the lines go.
}

}  // namespace
}  // namespace freshet
