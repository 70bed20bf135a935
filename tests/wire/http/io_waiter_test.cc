#include "wire/http/io_waiter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <semaphore>
#include <thread>

#include "tests/wire/http/harness.h"

namespace freshet {
namespace {

using wire_test::body_of;
using wire_test::get;
using wire_test::post;
using wire_test::RawClient;
using wire_test::Tally;

TEST(DriverRule, TheLoopDrivesUntilClientsWaitForLongTurnsAgainAndAgain) {
  DriverRule rule;
  EXPECT_TRUE(rule.loop_drives());
  for (int i = 0; i < 1000; ++i) rule.count_short();
  for (int i = 0; i < 1000; ++i) rule.count_long(false);
  EXPECT_TRUE(rule.loop_drives());
  int turns = 0;
  for (; rule.loop_drives(); ++turns) {
    ASSERT_LT(turns, 100);
    rule.count_long(true);
    rule.count_short();  // The answers of the turn before.
  }
  EXPECT_GT(turns, 10);
  for (int i = 0; i < 10; ++i) rule.count_long(false);
  EXPECT_FALSE(rule.loop_drives()) << "not for a moment without others";
}

TEST(DriverRule, TheLoopDrivesAgainWhenNobodyWaitsAnyMore) {
  for (const bool by_long_turns : {false, true}) {
    DriverRule rule;
    while (rule.loop_drives()) rule.count_long(true);
    for (int turns = 0; !rule.loop_drives(); ++turns) {
      ASSERT_LT(turns, 1000);
      by_long_turns ? rule.count_long(false) : rule.count_short();
    }
  }
}

TEST(DriverRule, TheThreadDrivesOnAsLongAsThereAreOthersNowAndThen) {
  DriverRule rule;
  while (rule.loop_drives()) rule.count_long(true);
  for (int turns = 0; turns < 10'000; ++turns) {
    turns % 20 == 0 ? rule.count_long(true) : rule.count_long(false);
    ASSERT_FALSE(rule.loop_drives());
  }
}

class EchoExchange final : public Exchange {
 public:
  EchoExchange(Tally& ran, std::string target) : ran_(ran), target_(std::move(target)) {}
  Async<void> run() override {
    ran_.add();
    return {};
  }
  HttpResponse respond() override {
    HttpResponse response;
    response.body = target_;
    return response;
  }

 private:
  Tally& ran_;
  const std::string target_;
};

class EchoRoute final : public Route {
 public:
  EchoRoute(Tally& ran, std::atomic<std::thread::id>& reader, bool slow) : ran_(ran), reader_(reader), slow_(slow) {}
  bool matches(const HttpRequest& request) const override { return (request.target == "/slow") == slow_; }
  bool is_slow() const override { return slow_; }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    reader_ = std::this_thread::get_id();
    return std::make_unique<EchoExchange>(ran_, std::move(request.target));
  }

 private:
  Tally& ran_;
  std::atomic<std::thread::id>& reader_;
  const bool slow_;
};

// A disk whose syncs are over when the test says so, and take a millisecond of the loop's clock.
class SlowCommits final : public TurnParticipant {
 public:
  SlowCommits(SimClock& clock, Tally& ran) : clock_(clock), ran_(ran) {}
  void run_due() override {}
  void commit() override {
    const int ran = ran_.count();
    if (ran == committed_) return;
    committed_ = ran;
    over_.acquire();
    clock_.advance(milliseconds(1));
  }
  BootTime next_due() const override { return BootTime::max(); }
  void let_one_end() { over_.release(); }

 private:
  SimClock& clock_;
  Tally& ran_;
  int committed_ = 0;
  std::counting_semaphore<1000> over_{0};
};

// Marks what it accepts, and refuses a request that has its mark.
class MarkingGate final : public RequestGate {
 public:
  std::unique_ptr<HttpResponse> head_refusal(const HttpRequest&) const override { return nullptr; }
  std::unique_ptr<HttpResponse> admit(HttpRequest& request) const override {
    if (!header(request.headers, "Authorization").empty()) return std::make_unique<HttpResponse>();
    request.headers.emplace_back("Authorization", "marked");
    return nullptr;
  }
};

class IoWaiterTest : public testing::Test {
 protected:
  IoWaiterTest() {
    loop_.add(commits_);
    waiter_.attach(*io_, loop_);
    std::vector<std::unique_ptr<Route>> routes;
    for (const bool slow : {false, true}) routes.push_back(std::make_unique<EchoRoute>(ran_, reader_, slow));
    HttpServerOptions options;
    options.gate = std::make_shared<MarkingGate>();
    server_ =
        *HttpServer::start(std::move(options), *HttpListener::bind("127.0.0.1", 0), std::move(routes), {io_.get()},
                           system_, loop_, loop_, []() -> Async<Result<void>> { return Result<void>{}; });
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~IoWaiterTest() override {
    for (int i = 0; i < 10; ++i) commits_.let_one_end();  // After a failure nobody else would.
    loop_.stop();
    thread_.join();
  }
  // While the loop is in a sync: the socket has it when this returns, and the I/O thread has read it if it drives.
  void send_meanwhile(RawClient& client, std::string_view path) {
    const uint64_t before = io_->ready_sockets();
    client.send(get(path));
    while (!io_->lent() && io_->ready_sockets() == before) std::this_thread::yield();
  }
  // The sync of one client's request goes on until the request of the other is there, and so on.
  void overlap(RawClient& one, RawClient& other, int times) {
    one.send(get("/one"));
    for (int i = 0; i < times; ++i) {
      ran_.wait_for(++requests_);
      send_meanwhile(other, "/other");
      commits_.let_one_end();
      EXPECT_EQ(body_of(one.answer()), "/one");
      ran_.wait_for(++requests_);
      send_meanwhile(one, "/one");
      commits_.let_one_end();
      EXPECT_EQ(body_of(other.answer()), "/other");
    }
    ++requests_;
    commits_.let_one_end();
    EXPECT_EQ(body_of(one.answer()), "/one");
  }
  void alone(RawClient& client) {
    commits_.let_one_end();
    client.send(get("/alone"));
    EXPECT_EQ(body_of(client.answer()), "/alone");
    ++requests_;
  }

  SystemClock system_;
  SimClock clock_{WallTime(seconds(1))};
  Tally ran_;
  std::atomic<std::thread::id> reader_;  // The thread that read the last request.
  int requests_ = 0;
  SlowCommits commits_{clock_, ran_};
  std::unique_ptr<IoThread> io_ = *IoThread::start(system_);
  IoWaiter waiter_{clock_};
  Loop loop_{clock_, waiter_};
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST_F(IoWaiterTest, TheThreadTakesOverWhenClientsWaitForSyncsAndGivesBackWhenOneIsLeft) {
  RawClient one(server_->port());
  RawClient other(server_->port());
  while (!io_->lent()) std::this_thread::yield();
  overlap(one, other, 40);
  EXPECT_FALSE(io_->lent());
  for (int requests = 0; !io_->lent(); ++requests) {
    ASSERT_LT(requests, 1000);
    alone(one);
  }
  overlap(one, other, 40);
  EXPECT_FALSE(io_->lent());
}

TEST_F(IoWaiterTest, TheThreadTakesOverFromALoopThatNeverSleeps) {
  RawClient one(server_->port());
  RawClient other(server_->port());
  while (!io_->lent()) std::this_thread::yield();
  std::atomic<bool> busy{true};
  const std::function<void()> go_on = [&] {
    if (busy) loop_.post([&] { go_on(); });
  };
  ASSERT_TRUE(loop_.deliver([&] { go_on(); }));
  overlap(one, other, 40);
  EXPECT_FALSE(io_->lent());
  Tally idle;
  busy = false;
  ASSERT_TRUE(loop_.deliver([&] { idle.add(); }));
  idle.wait_for(1);  // Posted work has run.
}

// The gate judges each once, also one that has to wait until the thread has its turns back.
TEST_F(IoWaiterTest, WhatTakesLongIsReadByTheThread) {
  const std::string gzip("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00", 20);
  for (const std::string& heavy :
       {post(std::string(200'000, 'x')), post(gzip, "Content-Encoding: gzip\r\n"), get("/slow")}) {
    RawClient client(server_->port());
    for (int requests = 0; reader_.load() != thread_.get_id(); ++requests) {
      ASSERT_LT(requests, 1000);
      alone(client);
    }
    commits_.let_one_end();
    client.send(heavy);
    EXPECT_TRUE(body_of(client.answer()).starts_with("/"));
    ++requests_;
    EXPECT_NE(reader_.load(), thread_.get_id());
    alone(client);
  }
}

TEST_F(IoWaiterTest, WorkOfOtherThreadsWakesTheLoopWhoeverDrives) {
  RawClient one(server_->port());
  RawClient other(server_->port());
  Tally delivered;
  for (const int before : {0, 100}) {
    if (before > 0) overlap(one, other, 40);
    for (int i = before + 1; i <= before + 100; ++i) {
      ASSERT_TRUE(loop_.deliver([&] { delivered.add(); }));
      if (i % 2 == 0) delivered.wait_for(i);  // So that it comes while the loop sleeps, and while it is awake.
    }
  }
}

TEST(IoWaiterAlone, AWakeUpBeforeTheAnswersGoOutIsNotLost) {
  SystemClock clock;
  auto io = *IoThread::start(clock);
  IoWaiter waiter(clock);
  Loop loop(clock, waiter);
  waiter.attach(*io, loop);
  waiter.wait_until(clock.boot());
  ASSERT_TRUE(io->lent());
  io->post([] {});  // An answer: the waiter looks at the sockets before it sleeps.
  std::thread([&] { waiter.wake(); }).join();
  std::binary_semaphore awake{0};
  bool slept = false;
  std::thread rescue([&] {
    slept = !awake.try_acquire_for(seconds(10));
    if (slept) io->wake();
  });
  waiter.wait_until(BootTime::max());
  awake.release();
  rescue.join();
  EXPECT_FALSE(slept) << "and nobody else would have woken it";
  waiter.end();
}

TEST(IoThreadLent, PostsRunInOrderWhileTheTurnsChangeHands) {
  SystemClock clock;
  auto io = *IoThread::start(clock);
  constexpr int kPosts = 2000;
  std::atomic<int> ran{0};
  std::atomic<bool> in_order{true};
  std::thread poster([&] {
    for (int i = 0; i < kPosts; ++i) {
      io->post([&, i] {
        if (ran.load() != i) in_order = false;
        ++ran;
      });
    }
  });
  while (ran.load() < kPosts) {
    io->lend();
    io->turn(BootTime{});
    bool inside = false;
    io->run_and_wait([&] { inside = io->borrowed_here(); });
    EXPECT_TRUE(inside);
    io->take_back();
  }
  poster.join();
  EXPECT_TRUE(in_order);
}

}  // namespace
}  // namespace freshet
