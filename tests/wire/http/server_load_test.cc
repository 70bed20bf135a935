// One client's requests must not slow the others down: requests that take long to parse, responses that nobody reads,
// work for clients that are gone.
#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

#include "tests/wire/http/harness.h"

namespace freshet {
namespace {

using wire_test::body_of;
using wire_test::get;
using wire_test::LoopThread;
using wire_test::post;
using wire_test::RawClient;
using wire_test::status_of;
using wire_test::Tally;

// Longer than what a turn of the I/O thread has for heavy requests.
constexpr milliseconds kLong{3};
const std::string kHeavy(70'000, 'x');

// Observes the exchanges, and lets them go on.
struct LoadShared {
  std::counting_semaphore<> may_parse{0};
  std::counting_semaphore<> may_run{0};
  Tally parsing;  // Heavy requests.
  Tally running;  // For GET /held.
  Tally run;
  std::mutex mutex;
  std::string order;  // A letter a request, as they are parsed: h of a heavy one, s of another.
};

// GET /after is parsed when an exchange has run, GET /big has an answer of 4 MiB, GET /huge one of 16 MiB (more than
// the kernel takes for a client that does not read), GET /held runs when it may, all else answers its size.
class LoadExchange final : public Exchange {
 public:
  LoadExchange(LoadShared& shared, HttpRequest request) : shared_(shared), request_(std::move(request)) {}
  Async<void> run() override {
    if (request_.target == "/held") {
      shared_.running.add();
      shared_.may_run.acquire();
    }
    shared_.run.add();
    return {};
  }
  HttpResponse respond() override {
    HttpResponse response;
    if (request_.target == "/big") {
      response.body.assign(4u << 20, 'x');
    } else if (request_.target == "/huge") {
      response.body.assign(16u << 20, 'x');
    } else {
      response.body = std::to_string(request_.body.size());
    }
    return response;
  }

 private:
  LoadShared& shared_;
  const HttpRequest request_;
};

class LoadRoute final : public Route {
 public:
  LoadRoute(LoadShared& shared, const Clock& clock) : shared_(shared), clock_(clock) {}
  bool matches(const HttpRequest& request) const override { return request.target != "/nothing"; }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    const bool heavy = request.body.size() == kHeavy.size();
    {
      const std::lock_guard lock(shared_.mutex);
      shared_.order += heavy ? 'h' : 's';
    }
    if (request.target == "/after") shared_.run.wait_for(1);
    if (heavy) {
      const BootTime begun = clock_.boot();
      shared_.parsing.add();
      shared_.may_parse.acquire();
      while (clock_.boot() < begun + kLong) std::this_thread::yield();
    }
    return std::make_unique<LoadExchange>(shared_, std::move(request));
  }

 private:
  LoadShared& shared_;
  const Clock& clock_;
};

class ServerLoadTest : public testing::Test {
 protected:
  void start(HttpServerOptions options = {}) {
    auto listener = HttpListener::bind("127.0.0.1", 0);
    ASSERT_TRUE(listener) << listener.error().message;
    io_ = *IoThread::start(loop_.clock());
    std::vector<std::unique_ptr<Route>> routes;
    routes.push_back(std::make_unique<LoadRoute>(shared_, loop_.clock()));
    loop_.run([&] {
      server_ = std::move(*HttpServer::start(std::move(options), std::move(*listener), std::move(routes), {io_.get()},
                                             loop_.clock(), loop_.loop(), loop_.loop(),
                                             []() -> Async<Result<void>> { return Result<void>{}; }));
    });
  }
  void TearDown() override {
    shared_.may_parse.release(100);
    shared_.may_run.release(100);
    loop_.run([&] { server_.reset(); });
    loop_.end();
  }
  // Waits for what another thread is about to do.
  template <class Holds>
  static bool comes(const Holds& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return holds();
  }

  LoadShared shared_;
  LoopThread loop_;
  std::unique_ptr<IoThread> io_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(ServerLoadTest, OthersHaveTheirTurnsBetweenHeavyRequests) {
  start();
  RawClient first(server_->port());
  first.send(post(kHeavy));
  shared_.parsing.wait_for(1);
  RawClient second(server_->port()), third(server_->port()), fourth(server_->port()), small(server_->port());
  for (RawClient* client : {&second, &third, &fourth}) client->send(post(kHeavy));
  small.send(get("/"));
  shared_.may_parse.release();
  shared_.parsing.wait_for(2);
  shared_.run.wait_for(2);  // The first heavy one and the small one,
  loop_.run([] {});         // and their answers are on their way.
  shared_.may_parse.release();
  shared_.parsing.wait_for(3);
  EXPECT_EQ(status_of(small.answer()), 200) << "while two of the four are still to be parsed";
  EXPECT_EQ(shared_.parsing.count(), 3);
  shared_.may_parse.release(2);
  for (RawClient* client : {&first, &second, &third, &fourth}) {
    EXPECT_EQ(body_of(client->answer()), std::to_string(kHeavy.size()));
  }
}

TEST_F(ServerLoadTest, ABatchRunsWhileTheRestOfTheTurnIsParsed) {
  start();
  const std::string batch(4000, 'x');
  RawClient client(server_->port());
  client.send(post(batch) + get("/after"));
  EXPECT_EQ(body_of(client.answer()), std::to_string(batch.size()));
  EXPECT_EQ(status_of(client.answer()), 200);
}

TEST_F(ServerLoadTest, NothingOvertakesAHeavyRequestOfTheSameConnection) {
  start();
  shared_.may_parse.release(3);
  RawClient client(server_->port());
  client.send(get("/") + post(kHeavy) + get("/") + post(kHeavy) + get("/") + get("/") + post(kHeavy) + get("/"));
  std::string sizes;
  for (int i = 0; i < 8; ++i) sizes += body_of(client.answer()) + " ";
  EXPECT_EQ(sizes, "0 70000 0 70000 0 0 70000 0 ");
  const std::lock_guard lock(shared_.mutex);
  EXPECT_EQ(shared_.order, "shshsshs");
}

TEST_F(ServerLoadTest, WhoGoesWhileAHeavyRequestWaitsLeavesNothing) {
  start();
  RawClient first(server_->port());
  first.send(post(kHeavy));
  shared_.parsing.wait_for(1);
  {
    RawClient gone(server_->port());
    gone.send(post(kHeavy) + get("/"));
  }
  shared_.may_parse.release(2);
  EXPECT_EQ(status_of(first.answer()), 200);
  first.close();
  EXPECT_TRUE(comes([&] { return server_->connections() == 0 && server_->in_flight() == 0; }));
}

TEST_F(ServerLoadTest, WhoTakesNoAnswersIsCutWhenThereIsNoRoomForMore) {
  HttpServerOptions options;
  options.max_answer_bytes = 8u << 20;
  start(std::move(options));
  RawClient greedy(server_->port());
  std::string requests;
  for (int i = 0; i < 32; ++i) requests += get("/big");
  greedy.send(requests);
  EXPECT_TRUE(comes([&] { return shared_.run.count() > 0 && server_->connections() == 0; }));
  // Others do not notice, also where one answer is all the room.
  for (int i = 0; i < 3; ++i) {
    RawClient other(server_->port());
    for (int answer = 0; answer < 3; ++answer) {
      other.send(get("/big"));
      EXPECT_EQ(body_of(other.answer()).size(), 4u << 20);
    }
  }
}

TEST_F(ServerLoadTest, WhoReadsIsNotCutWhereThereIsNoRoom) {
  HttpServerOptions options;
  options.max_answer_bytes = 8u << 20;
  start(std::move(options));
  constexpr int kRequests = 32;
  RawClient reader(server_->port());
  std::string requests;
  for (int i = 0; i < kRequests; ++i) requests += get("/big");
  reader.send(requests);
  int whole = 0;
  for (int i = 0; i < kRequests; ++i) {
    const std::string answer = reader.answer();
    ASSERT_TRUE(status_of(answer) == 200 || status_of(answer) == 503) << i;
    whole += status_of(answer) == 200 ? 1 : 0;
  }
  EXPECT_GE(whole, 1);
  reader.send(get("/big"));
  EXPECT_EQ(body_of(reader.answer()).size(), 4u << 20);
}

TEST_F(ServerLoadTest, WhoTakesNothingOfASingleAnswerIsCutWhereThereIsNoRoom) {
  HttpServerOptions options;
  options.max_answer_bytes = 1u << 20;
  start(std::move(options));
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawClient>(server_->port()));
    clients.back()->send(get("/huge"));
  }
  shared_.run.wait_for(4);
  // Long before the 30 s of one that nobody waits for.
  EXPECT_TRUE(comes([&] { return server_->connections() < 4; }));
}

TEST_F(ServerLoadTest, WhatClientsThatAreGoneHaveLeftIsNotBegun) {
  HttpServerOptions options;
  options.turn_slice = nanoseconds(0);  // One request a turn of the loop.
  start(std::move(options));
  std::string requests;
  for (int i = 0; i < 100; ++i) requests += get("/held");
  {
    RawClient gone(server_->port());
    gone.send(requests);
    shared_.running.wait_for(1);
  }
  ASSERT_TRUE(comes([&] { return server_->connections() == 0; }));
  RawClient other(server_->port());
  other.send(get("/nothing"));  // Answered by the I/O thread in a later turn: the loop has been told by then.
  EXPECT_EQ(status_of(other.answer()), 404);
  shared_.may_run.release(100);
  other.send(get("/"));
  EXPECT_EQ(status_of(other.answer()), 200);
  EXPECT_TRUE(comes([&] { return server_->in_flight() == 0; }));
  EXPECT_LE(shared_.running.count(), 4);
}

}  // namespace
}  // namespace freshet
