#include "wire/http/server.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/wire/http/harness.h"

namespace freshet {
namespace {

using wire_test::body_of;
using wire_test::Driver;
using wire_test::get;
using wire_test::LoopThread;
using wire_test::RawClient;
using wire_test::status_of;
using wire_test::Tally;

// The reports of the test's exchanges, and the promises that let held ones go on. Promises belong to the loop.
struct Shared {
  Tally started;
  Tally destroyed;
  std::vector<Promise<bool>> held;  // Loop thread.
  std::vector<std::string> order;   // Loop thread: bodies or targets as they ran.
  std::vector<uint64_t> turns;      // Loop thread: of the loop, when they ran.
};

// /echo answers with method, target and body at once; /hold waits until the test lets it go; /big answers 3 MB.
class TestExchange final : public Exchange {
 public:
  TestExchange(Shared& shared, Scheduler& scheduler, HttpRequest request)
      : shared_(shared), scheduler_(scheduler), request_(std::move(request)) {}
  ~TestExchange() override { shared_.destroyed.add(); }

  Async<void> run() override {
    shared_.order.push_back(request_.target);
    if (const auto* loop = dynamic_cast<const Loop*>(&scheduler_)) shared_.turns.push_back(loop->stats().turns);
    if (request_.target.starts_with("/hold")) return hold();
    return {};
  }
  HttpResponse respond() override {
    HttpResponse response;
    response.content_type = "text/plain";
    response.headers.emplace_back("X-Bad", "a\r\nInjected: yes");
    response.body = request_.target == "/big" ? std::string(3u << 20, 'x')
                                              : request_.method + " " + request_.target + " " + request_.body;
    return response;
  }

 private:
  Async<void> hold() {
    const Promise<bool> promise(scheduler_);
    shared_.held.push_back(promise);
    shared_.started.add();
    co_await promise.future();
  }
  Shared& shared_;
  Scheduler& scheduler_;
  HttpRequest request_;
};

class TestRoute final : public Route {
 public:
  TestRoute(Shared& shared, Scheduler& scheduler) : shared_(shared), scheduler_(scheduler) {}
  bool matches(const HttpRequest& request) const override { return request.target != "/nothing"; }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    return std::make_unique<TestExchange>(shared_, scheduler_, std::move(request));
  }

 private:
  Shared& shared_;
  Scheduler& scheduler_;
};

class HttpServerTest : public testing::TestWithParam<Driver> {
 protected:
  void start(HttpServerOptions options = {}, LoopOptions loop_options = {}, size_t threads = 1) {
    loop_ = std::make_unique<LoopThread>(loop_options, threads == 1 ? driver_ : Driver::kThread);
    std::vector<IoThread*> io{&loop_->io()};
    for (size_t i = 1; i < threads; ++i) io.push_back(io_.emplace_back(*IoThread::start(loop_->clock())).get());
    loop_->run([&] {
      std::vector<std::unique_ptr<Route>> routes;
      routes.push_back(std::make_unique<TestRoute>(shared_, loop_->loop()));
      auto started = HttpServer::start(std::move(options), *HttpListener::bind("127.0.0.1", 0), std::move(routes), io,
                                       loop_->clock(), loop_->loop(), loop_->loop(),
                                       [this]() -> Async<Result<void>> { return durability(); });
      ASSERT_TRUE(started) << started.error().message;
      server_ = std::move(*started);
    });
  }
  void TearDown() override {
    if (!loop_) return;
    loop_->run([&] {
      scope_.clear();
      server_.reset();
      shared_.held.clear();
      durable_.reset();
    });
    loop_->end();
  }
  void let_go() {
    loop_->run([&] {
      for (const auto& promise : std::exchange(shared_.held, {})) promise.set(true);
    });
  }
  std::future<bool> stop(milliseconds patience) {
    auto stopped = std::make_shared<std::promise<bool>>();
    loop_->run([&] { scope_.spawn(set_when_stopped(*server_, patience, stopped)); });
    return stopped->get_future();
  }
  static Async<void> set_when_stopped(HttpServer& server, milliseconds patience,
                                      std::shared_ptr<std::promise<bool>> stopped) {
    stopped->set_value(co_await server.stop(patience));
  }
  Async<Result<void>> durability() {
    if (durable_) co_await durable_->future();
    co_return broken_ ? Result<void>(fail(ErrorCode::kIo, "the disk is gone")) : Result<void>{};
  }

  Driver driver_ = GetParam();
  Shared shared_;
  std::unique_ptr<LoopThread> loop_;
  std::vector<std::unique_ptr<IoThread>> io_;
  std::unique_ptr<HttpServer> server_;
  std::optional<Promise<bool>> durable_;  // Loop thread. Set: answers wait for it.
  Scope scope_;                           // Loop thread.
  bool broken_ = false;                   // Loop thread.
};

INSTANTIATE_TEST_SUITE_P(Drivers, HttpServerTest, testing::Values(Driver::kLoop, Driver::kThread),
                         [](const auto& driver) { return driver.param == Driver::kLoop ? "Loop" : "Thread"; });

TEST_P(HttpServerTest, AnswersAndKeepsTheConnection) {
  start();
  RawClient client(server_->port());
  for (int i = 0; i < 3; ++i) {
    client.send("POST /echo?x=1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 5\r\n\r\nhello");
    const std::string answer = client.answer();
    EXPECT_EQ(status_of(answer), 200) << answer;
    EXPECT_EQ(body_of(answer), "POST /echo?x=1 hello");
    EXPECT_NE(answer.find("\r\nContent-Type: text/plain\r\n"), std::string::npos);
    EXPECT_NE(answer.find(" GMT\r\n"), std::string::npos);
    EXPECT_EQ(answer.find("\r\nInjected"), std::string::npos) << "a header value started a header";
  }
  client.send(get("/echo", "Connection: close\r\n"));
  const std::string last = client.rest();
  EXPECT_EQ(status_of(last), 200);
  EXPECT_NE(last.find("Connection: close"), std::string::npos);
}

TEST_P(HttpServerTest, ReadsRequestsBytewise) {
  start();
  RawClient client(server_->port());
  const std::string request =
      "\r\nPOST /echo HTTP/1.1\r\nhOST: LocalHost:80\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n";
  for (const char c : request) client.send({&c, 1});
  EXPECT_EQ(body_of(client.answer()), "POST /echo abcde");
}

TEST_P(HttpServerTest, AnswersPipelinedRequestsInOrderAndRunsThemOneAfterTheOther) {
  start();
  RawClient client(server_->port());
  client.send(get("/echo/1") + get("/hold/2") + get("/echo/3") + get("/hold/4") + get("/echo/5"));
  EXPECT_EQ(body_of(client.answer()), "GET /echo/1 ");
  shared_.started.wait_for(1);
  loop_->run([&] { EXPECT_EQ(shared_.order, (std::vector<std::string>{"/echo/1", "/hold/2"})); });
  let_go();
  EXPECT_EQ(body_of(client.answer()), "GET /hold/2 ");
  EXPECT_EQ(body_of(client.answer()), "GET /echo/3 ");
  shared_.started.wait_for(2);
  let_go();
  EXPECT_EQ(body_of(client.answer()), "GET /hold/4 ");
  EXPECT_EQ(body_of(client.answer()), "GET /echo/5 ");
}

TEST_P(HttpServerTest, RequestsThatTakeLongAreSpreadOverTurns) {
  HttpServerOptions options;
  options.turn_slice = nanoseconds(0);
  start(std::move(options));
  RawClient client(server_->port());
  const auto path = [](int i) { return (i == 10 ? "/hold" : "/r") + std::to_string(i); };
  std::string requests;
  for (int i = 0; i < 20; ++i) requests += get(path(i));
  client.send(requests);
  for (int i = 0; i < 20; ++i) {
    if (i == 10) shared_.started.wait_for(1);
    if (i == 10) let_go();  // The others wait behind it.
    EXPECT_EQ(body_of(client.answer()), "GET " + path(i) + " ");
  }
  loop_->run([&] {
    ASSERT_EQ(shared_.turns.size(), 20u);
    EXPECT_EQ(std::set<uint64_t>(shared_.turns.begin(), shared_.turns.end()).size(), 20u);
  });
}

TEST_P(HttpServerTest, BoundsPipeliningWithoutLosingRequests) {
  HttpServerOptions options;
  options.max_pipelined = 4;
  start(options);
  RawClient client(server_->port());
  std::string all;
  for (int i = 0; i < 1000; ++i) all += get("/echo/" + std::to_string(i));
  client.send(all);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(body_of(client.answer()), "GET /echo/" + std::to_string(i) + " ");
}

TEST_P(HttpServerTest, WritesLargeAnswersToSlowReaders) {
  start();
  RawClient client(server_->port());
  client.send(get("/big") + get("/echo") + get("/big"));
  EXPECT_EQ(body_of(client.answer()).size(), 3u << 20);
  EXPECT_EQ(body_of(client.answer()), "GET /echo ");
  EXPECT_EQ(body_of(client.answer()).size(), 3u << 20);
}

TEST_P(HttpServerTest, HeadHasNoBodyAndHttp10Closes) {
  start();
  RawClient client(server_->port());
  client.send("HEAD /echo HTTP/1.1\r\nHost: localhost\r\n\r\n" +
              std::string("GET /echo HTTP/1.0\r\nHost: localhost\r\n\r\n"));
  const std::string all = client.rest();
  EXPECT_NE(all.find("Content-Length: 10\r\n"), std::string::npos) << "as of a GET: " << all;
  EXPECT_EQ(all.find("GET /echo "), all.size() - 10) << "the second answer's";
  EXPECT_TRUE(all.ends_with("GET /echo ")) << all;
}

TEST_P(HttpServerTest, AsksForTheBodyOfAClientThatWaits) {
  start();
  RawClient client(server_->port());
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.answer(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_EQ(body_of(client.answer()), "POST /echo ok");
}

// Such a client would take an interim answer for the answer.
TEST_P(HttpServerTest, AClientOfHttp10IsNotAskedForTheBody) {
  start();
  RawClient client(server_->port());
  client.send("POST /echo HTTP/1.0\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  loop_->io().run_and_wait([] {});  // It has read the head by then, if it is the one that reads.
  client.send("ok");
  EXPECT_EQ(status_of(client.answer()), 200);
}

struct Refusal {
  std::string request;
  int status;
  std::string says;
};

TEST_P(HttpServerTest, RefusesBadRequestsAndCloses) {
  HttpServerOptions options;
  options.limits.header_bytes = 2048;
  options.limits.header_count = 10;
  options.limits.body_bytes = 1000;
  start(options);
  const std::string host = "Host: localhost\r\n";
  std::string many;
  for (int i = 0; i < 11; ++i) many += "A" + std::to_string(i) + ": b\r\n";
  const std::vector<Refusal> cases = {
      {"garbage\r\n\r\n", 400, "not an HTTP message"},
      {std::string("\0\1\2\3\xff\xfe\r\n\r\n", 10), 400, "not an HTTP message"},
      {"GET / HTTP/2.0\r\n" + host + "\r\n", 505, "HTTP/1.1"},
      {"GET /\x01 HTTP/1.1\r\n" + host + "\r\n", 400, ""},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400, ""},
      {"POST /echo HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400, ""},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400, "Content-Length"},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 3, 3\r\n\r\nabc", 400, "Content-Length"},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400, ""},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: -3\r\n\r\n", 400, ""},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\n", 400, ""},
      {"POST /echo HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501, "chunked"},
      {"POST /echo HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked, identity\r\n\r\n", 501, "chunked"},
      {"POST /echo HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 400, "HTTP/1.0"},
      {"POST /echo HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400, ""},
      {"POST /echo HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n", 413, "1000 bytes"},
      {"POST /echo HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(5000, 'e'), 400, "line"},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n", 413, "1000 bytes"},
      {"GET /echo HTTP/1.1\r\n" + host + "A: " + std::string(3000, 'x') + "\r\n\r\n", 400, "2048 bytes"},
      {"GET /" + std::string(5000, 'x'), 400, "request line is longer than 2048 bytes"},
      {"GET /echo HTTP/1.1\r\n" + host + many + "\r\n", 431, "10 headers"},
      {"GET /echo HTTP/1.1\r\n" + host + "Bad Name: x\r\n\r\n", 400, ""},
  };
  for (const Refusal& bad : cases) {
    RawClient client(server_->port());
    client.send(bad.request);
    const std::string answer = client.answer();
    EXPECT_EQ(status_of(answer), bad.status) << bad.request.substr(0, 200) << "\n" << answer;
    EXPECT_NE(body_of(answer).find(bad.says), std::string::npos) << answer;
    EXPECT_NE(body_of(answer).find("\"__type\":\""), std::string::npos) << answer;
    EXPECT_NE(answer.find("\r\nx-request-id: "), std::string::npos) << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
    client.half_close();
    EXPECT_EQ(client.rest(), "");
  }
  loop_->run([&] { EXPECT_EQ(shared_.order, std::vector<std::string>{}) << "a refused request reached the loop"; });
}

TEST_P(HttpServerTest, AnswersWhatCameBeforeABadRequest) {
  start();
  RawClient client(server_->port());
  client.send(get("/hold") + "garbage\r\n\r\n");
  shared_.started.wait_for(1);
  let_go();
  EXPECT_EQ(status_of(client.answer()), 200);
  EXPECT_EQ(status_of(client.answer()), 400);
  EXPECT_EQ(client.rest(), "");
}

TEST_P(HttpServerTest, KnowsOnlyItsOwnHosts) {
  HttpServerOptions options;
  options.host_names = {"Queue.example", "*.amazonaws.com"};
  start(options);
  const auto status = [&](const std::string& headers) {
    RawClient client(server_->port());
    client.send("GET /echo HTTP/1.1\r\n" + headers + "\r\n");
    return status_of(client.answer());
  };
  for (const char* good : {"localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:8000", "127.1.2.3", "[::1]:80",
                           "queue.example", "dynamodb.us-east-1.amazonaws.com:443", "sns.localhost"}) {
    EXPECT_EQ(status("Host: " + std::string(good) + "\r\n"), 200) << good;
  }
  for (const char* bad : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "amazonaws.com",
                          "evilamazonaws.com", "127.0.0.256", "127.0.1", "[::2]", "localhost:x", "[::1", "10.0.0.1"}) {
    EXPECT_EQ(status("Host: " + std::string(bad) + "\r\n"), 421) << bad;
  }
  EXPECT_EQ(status(""), 400);
  EXPECT_EQ(status("Host: localhost\r\nHost: localhost\r\n"), 400);
}

TEST_P(HttpServerTest, TakesAbsoluteTargets) {
  start();
  const auto answer = [&](const std::string& target, const std::string& host = "localhost") {
    RawClient client(server_->port());
    client.send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return client.answer();
  };
  EXPECT_EQ(body_of(answer("http://localhost/echo?a=b")), "GET /echo?a=b ");
  EXPECT_EQ(body_of(answer("HTTP://127.0.0.1:7070/echo")), "GET /echo ");
  EXPECT_EQ(body_of(answer("http://localhost")), "GET / ");
  EXPECT_EQ(body_of(answer("http://localhost?x")), "GET /?x ");
  EXPECT_EQ(status_of(answer("http://evil.example/echo")), 421);
  EXPECT_EQ(status_of(answer("http://localhost/echo", "evil.example")), 421);
  EXPECT_EQ(status_of(answer("http://user@localhost/echo")), 421);
  for (const char* bad : {"https://localhost/echo", "http:///echo", "http://", "echo", "*", "localhost:80"}) {
    EXPECT_EQ(status_of(answer(bad)), 400) << bad;
  }
}

TEST_P(HttpServerTest, AHalfClosedClientGetsItsAnswers) {
  start();
  RawClient quick(server_->port());
  quick.send(get("/echo/1") + get("/echo/2"));
  quick.half_close();
  EXPECT_EQ(body_of(quick.answer()), "GET /echo/1 ");
  const std::string last = quick.answer();
  EXPECT_EQ(body_of(last), "GET /echo/2 ");
  EXPECT_EQ(quick.rest(), "");
  RawClient patient(server_->port());
  patient.send(get("/hold"));
  patient.half_close();
  shared_.started.wait_for(1);
  EXPECT_EQ(status_of(patient.answer()), 100) << "is asked whether it is still there";
  let_go();
  EXPECT_EQ(body_of(patient.answer()), "GET /hold ");
  EXPECT_EQ(patient.rest(), "");
}

TEST_P(HttpServerTest, UnknownPathsAreNotFoundAndTheConnectionGoesOn) {
  start();
  RawClient client(server_->port());
  client.send(get("/nothing"));
  const std::string answer = client.answer();
  EXPECT_EQ(status_of(answer), 404);
  const std::string what =
      "nothing is served at GET /nothing; a queue's tasks are at /queues/NAME/tasks, GET /queues lists the queues, and "
      "docs/task-api.md has the other paths";
  EXPECT_EQ(body_of(answer), "{\"error\":{\"code\":\"NotFoundException\",\"message\":\"" + what +
                                 "\"},\"__type\":\"NotFound\",\"message\":\"" + what + "\"}\n");
  client.send(get("/echo"));
  EXPECT_EQ(status_of(client.answer()), 200);
}

TEST_P(HttpServerTest, AHangUpDestroysTheRunningExchange) {
  start();
  auto client = std::make_unique<RawClient>(server_->port());
  client->send(get("/hold") + get("/echo/after"));
  shared_.started.wait_for(1);
  EXPECT_EQ(shared_.destroyed.count(), 0);
  client.reset();
  shared_.destroyed.wait_for(2);
  loop_->run([&] { EXPECT_EQ(shared_.order, std::vector<std::string>{"/hold"}); });
  let_go();
  loop_->run([&] { EXPECT_EQ(server_->in_flight(), 0u); });
}

TEST_P(HttpServerTest, AnswersOnlyWhatIsDurable) {
  start();
  loop_->run([&] { durable_.emplace(loop_->loop()); });
  RawClient client(server_->port());
  client.send(get("/echo"));
  while (server_->in_flight() == 0) std::this_thread::yield();
  loop_->run([&] { EXPECT_EQ(server_->in_flight(), 1u); });
  loop_->run([&] { std::exchange(durable_, std::nullopt)->set(true); });
  EXPECT_EQ(status_of(client.answer()), 200);
  loop_->run([&] { broken_ = true; });
  client.send(get("/echo"));
  const std::string answer = client.answer();
  EXPECT_EQ(status_of(answer), 500);
  EXPECT_NE(answer.find("the disk is gone"), std::string::npos);
}

TEST_P(HttpServerTest, BoundsConnectionsAndExchanges) {
  HttpServerOptions options;
  options.max_connections = 2;
  options.max_in_flight = 1;
  start(options);
  RawClient first(server_->port());
  first.send(get("/hold"));
  shared_.started.wait_for(1);
  RawClient second(server_->port());
  second.send(get("/echo"));
  const std::string answer = second.answer();
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos);
  RawClient third(server_->port());
  const std::string refused = third.rest();
  EXPECT_EQ(status_of(refused), 503) << refused;
  EXPECT_NE(refused.find("Retry-After: 1\r\n"), std::string::npos);
  let_go();
  EXPECT_EQ(status_of(first.answer()), 200);
  second.send(get("/echo"));
  EXPECT_EQ(status_of(second.answer()), 200);
}

TEST_P(HttpServerTest, BoundsTheBytesOfAllBodies) {
  HttpServerOptions options;
  options.max_body_bytes = 1000;
  start(options);
  const std::string head = "POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: 600\r\n\r\n";
  RawClient first(server_->port());
  first.send(head + std::string(600, 'a'));
  shared_.started.wait_for(1);
  RawClient whole(server_->port());
  whole.send(head + std::string(600, 'b'));
  EXPECT_EQ(status_of(whole.answer()), 503);
  RawClient arriving(server_->port());
  arriving.send(head + std::string(500, 'c'));
  const std::string answer = arriving.answer();
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos);
  let_go();
  EXPECT_EQ(body_of(first.answer()).size(), 600u + std::string("POST /hold ").size());
  RawClient last(server_->port());
  last.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n" + std::string(900, 'd'));
  EXPECT_EQ(status_of(last.answer()), 200) << "bytes of refused and answered requests are still counted";
}

TEST_P(HttpServerTest, AFullMailboxIsAnswered503) {
  LoopOptions loop_options;
  loop_options.mailbox_bound = 1;
  driver_ = Driver::kThread;  // The loop stands still.
  start({}, loop_options);
  std::promise<void> hold;
  const auto holding = std::make_shared<std::promise<void>>();
  // The loop may be in there longer than this function lasts.
  const auto work = [holding, released = hold.get_future().share()] {
    holding->set_value();
    released.wait();
  };
  while (!loop_->loop().deliver(work)) std::this_thread::yield();  // The server's own start may stand there.
  holding->get_future().wait();
  static_cast<void>(loop_->loop().deliver([] {}));  // Full from now on, if it was not before: nobody empties it.
  RawClient client(server_->port());
  client.send(get("/echo"));
  const std::string answer = client.answer();
  hold.set_value();
  EXPECT_EQ(status_of(answer), 503) << answer;
  EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos);
}

TEST_P(HttpServerTest, CutsSlowAndIdleClients) {
  HttpServerOptions options;
  options.read_timeout = milliseconds(40);
  options.idle_timeout = milliseconds(40);
  options.write_timeout = milliseconds(40);
  start(options);
  RawClient slow_header(server_->port());
  slow_header.send("GET /echo HTTP/1.1\r\nHos");
  RawClient slow_body(server_->port());
  slow_body.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab");
  RawClient idle(server_->port());
  RawClient held(server_->port());
  held.send(get("/hold"));
  shared_.started.wait_for(1);
  RawClient deaf(server_->port());
  for (int i = 0; i < 20; ++i) deaf.send(get("/big"));
  EXPECT_EQ(status_of(slow_header.answer()), 408);
  EXPECT_EQ(status_of(slow_body.answer()), 408);
  EXPECT_EQ(idle.rest(), "");
  while (server_->connections() > 3) std::this_thread::yield();  // The deaf one is cut; two linger or are gone.
  let_go();
  EXPECT_EQ(status_of(held.answer()), 200) << "an exchange in work has no timeout";
}

TEST_P(HttpServerTest, StopsCleanly) {
  start({}, {}, 2);
  RawClient idle(server_->port());
  idle.send(get("/echo"));
  idle.answer();
  RawClient busy(server_->port());
  busy.send(get("/hold"));
  shared_.started.wait_for(1);
  auto stopped = stop(seconds(20));
  EXPECT_EQ(idle.rest(), "");
  let_go();
  const std::string answer = busy.rest();
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  busy.close();
  EXPECT_TRUE(stopped.get());
}

TEST_P(HttpServerTest, AStopDoesNotWaitForTheRestOfARequest) {
  start();
  const std::string half = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab";
  RawClient header(server_->port());
  header.send("GET /echo HTTP/1.1\r\nHos");
  RawClient body(server_->port());
  body.send(half);
  RawClient after(server_->port());
  after.send(get("/hold") + half);
  shared_.started.wait_for(1);
  RawClient known(server_->port());  // Answered, so the others have been read.
  known.send(get("/echo"));
  known.answer();
  auto stopped = stop(seconds(600));
  EXPECT_EQ(status_of(header.rest()), 503);
  EXPECT_EQ(status_of(body.rest()), 503);
  let_go();
  EXPECT_EQ(status_of(after.answer()), 200);
  EXPECT_EQ(status_of(after.rest()), 503);
  EXPECT_TRUE(stopped.get()) << "though the clients have not closed their side";
  loop_->run([&] { EXPECT_EQ(shared_.order, (std::vector<std::string>{"/hold", "/echo"})); });
}

TEST_P(HttpServerTest, AStopClosesWhatIsAnsweredInTheSameTurn) {
  driver_ = Driver::kThread;
  start();
  RawClient client(server_->port());
  client.send(get("/hold"));
  shared_.started.wait_for(1);
  std::promise<void> go_on;  // Until then the I/O thread does nothing: it hears of the answer and of the stop at once.
  loop_->io().post([&] { go_on.get_future().wait(); });
  let_go();
  auto stopped = stop(seconds(600));
  go_on.set_value();
  EXPECT_EQ(status_of(client.rest()), 200);
  EXPECT_TRUE(stopped.get());
}

TEST_P(HttpServerTest, StopGivesUpWhenPatienceEnds) {
  start();
  RawClient busy(server_->port());
  busy.send(get("/hold"));
  shared_.started.wait_for(1);
  EXPECT_FALSE(stop(milliseconds(1)).get());
  loop_->run([&] { server_.reset(); });
  EXPECT_EQ(busy.rest(), "");
  shared_.destroyed.wait_for(1);
}

TEST_P(HttpServerTest, ManyConnectionsOverTwoThreads) {
  start({}, {}, 2);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(std::make_unique<RawClient>(server_->port()));
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < clients.size(); ++i) clients[i]->send(get("/echo/" + std::to_string(i)));
    for (size_t i = 0; i < clients.size(); ++i) {
      ASSERT_EQ(body_of(clients[i]->answer()), "GET /echo/" + std::to_string(i) + " ");
    }
  }
}

}  // namespace
}  // namespace freshet
