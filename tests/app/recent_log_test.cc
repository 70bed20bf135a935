// GET /logs: who waits for a line has it as soon as it is written, on whatever thread; nothing looks again and again.
#include "app/daemon/recent_log.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/loop/sim_loop.h"

namespace freshet {
namespace {

class Nowhere final : public LogSink {
 public:
  void write(LogLevel, std::string_view) override {}
};

class RecentLogTest : public ::testing::Test {
 protected:
  // A request under way.
  struct Following {
    std::unique_ptr<Exchange> exchange;
    Async<void> work;
    bool done() const { return work.is_ready(); }
    std::string lines() { return exchange->respond().body; }
  };
  Following ask(const std::string& query) {
    auto exchange = route_->accept({"GET", "/logs?" + query, {}, ""});
    Async<void> work = exchange->run();
    return {std::move(exchange), std::move(work)};
  }

  SimClock clock_{WallTime(seconds(1'700'000'000))};
  SimLoop sim_{clock_};
  Nowhere nowhere_;
  RecentLog log_{nowhere_, 1000};
  std::unique_ptr<Route> route_ = make_log_route(log_, sim_.loop(), sim_.loop());
};

TEST_F(RecentLogTest, AParameterThatIsNotThereIsRefused) {
  Following stray = ask("foo=1");
  ASSERT_TRUE(stray.done());
  EXPECT_NE(stray.lines().find("'foo' in the query of GET /logs: there are from, waitMs, newest and function"),
            std::string::npos)
      << stray.lines();
}

TEST_F(RecentLogTest, WhatIsThereIsAnsweredAtOnce) {
  log_.write(LogLevel::kInfo, "one");
  log_.write(LogLevel::kInfo, "two");
  Following all = ask("from=1&waitMs=1000");
  ASSERT_TRUE(all.done());
  EXPECT_EQ(all.lines(), "one\ntwo\n");
  Following none = ask("from=3");
  ASSERT_TRUE(none.done()) << "nobody asked to wait";
  EXPECT_EQ(none.lines(), "");
}

TEST_F(RecentLogTest, ALineOfAnyThreadWakesAllWhoWaitWithoutAnyTimePassing) {
  Following first = ask("from=1&waitMs=1000");
  Following second = ask("from=1&waitMs=1000");
  sim_.run_ready();
  EXPECT_FALSE(first.done());
  const BootTime before = clock_.boot();
  std::thread([this] { log_.write(LogLevel::kInfo, "now"); }).join();
  sim_.run_ready();
  EXPECT_EQ(clock_.boot(), before);
  ASSERT_TRUE(first.done() && second.done());
  EXPECT_EQ(first.lines(), "now\n");
  EXPECT_EQ(second.lines(), "now\n");
  log_.write(LogLevel::kInfo, "later");  // Nobody waits for it.
  sim_.run_ready();
  Following next = ask("from=2&waitMs=1000");
  ASSERT_TRUE(next.done());
  EXPECT_EQ(next.lines(), "later\n");
}

TEST_F(RecentLogTest, WhoWaitsInVainIsAnsweredAtTheEndOfItsTime) {
  Following waiting = ask("from=1&waitMs=700");
  sim_.run_for(milliseconds(699));
  EXPECT_FALSE(waiting.done());
  sim_.run_for(milliseconds(1));
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting.lines(), "");
}

TEST_F(RecentLogTest, LinesOfOneFunctionAreReadAlone) {
  log_.write(LogLevel::kInfo, R"({"event":"FUNCTION_LOG","function":"A","line":"1"})");
  log_.write(LogLevel::kInfo, R"({"event":"FUNCTION_LOG","function":"B","line":"{\"function\":\"A\"}"})");
  log_.write(LogLevel::kInfo, R"({"event":"FUNCTION_LOG","function":"AB","line":"3"})");
  log_.write(LogLevel::kInfo, R"({"event":"FUNCTION_ERROR","function":"A","errorType":"E"})");
  EXPECT_EQ(ask("from=1&function=A").lines(),
            "{\"event\":\"FUNCTION_LOG\",\"function\":\"A\",\"line\":\"1\"}\n"
            "{\"event\":\"FUNCTION_ERROR\",\"function\":\"A\",\"errorType\":\"E\"}\n");
  EXPECT_EQ(ask("newest=1&function=A").lines(),
            "{\"event\":\"FUNCTION_ERROR\",\"function\":\"A\",\"errorType\":\"E\"}\n");
  EXPECT_EQ(ask("from=1&function=None").lines(), "");
  EXPECT_EQ(ask("newest=2&from=1").exchange->respond().status, 400);
}

TEST_F(RecentLogTest, TheNewestLinesComeInTheirOrderWithTheNumberOfTheNextOne) {
  for (const char* line : {"one", "two", "three"}) log_.write(LogLevel::kInfo, line);
  HttpResponse newest = ask("newest=2").exchange->respond();
  EXPECT_EQ(newest.body, "two\nthree\n");
  EXPECT_EQ(header(newest.headers, "X-Freshet-Next"), "4");
  EXPECT_EQ(ask("newest=9").lines(), "one\ntwo\nthree\n");
}

TEST_F(RecentLogTest, LinesOfOthersWakeNobodyAndAreReadOnce) {
  Following waiting = ask("from=1&waitMs=1000&function=A");
  log_.write(LogLevel::kInfo, R"({"function":"B"})");
  sim_.run_ready();
  EXPECT_FALSE(waiting.done());
  log_.write(LogLevel::kInfo, R"({"function":"A"})");
  sim_.run_ready();
  ASSERT_TRUE(waiting.done());
  HttpResponse came = waiting.exchange->respond();
  EXPECT_EQ(came.body, "{\"function\":\"A\"}\n");
  EXPECT_EQ(header(came.headers, "X-Freshet-Next"), "3");
}

TEST_F(RecentLogTest, ARequestThatIsGivenUpHoldsNobodyUp) {
  { const Following gone = ask("from=1&waitMs=1000"); }
  Following stays = ask("from=1&waitMs=1000");
  log_.write(LogLevel::kInfo, "line");
  sim_.run_ready();
  ASSERT_TRUE(stays.done());
  route_.reset();
  log_.write(LogLevel::kInfo, "after the route");
  sim_.run_ready();
}

}  // namespace
}  // namespace freshet
