// The Spawner port on a real loop: it never waits for the spawner process, and tells when that is lost.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "app/spawner/spawner.h"
#include "runtime/loop/loop.h"

namespace freshet {
namespace {

class SpawnerPortTest : public ::testing::Test {
 protected:
  static constexpr size_t kBound = 4u << 20;

  SpawnerPortTest()
      : process_(std::move(*SpawnerProcess::start())),
        spawner_(make_spawner(process_, loop_, loop_, {[this] { lost_++; }, kBound})) {}

  // Runs `cat` on that many bytes; the outcome goes to the end of `ended_`.
  Async<void> run(size_t bytes) {
    ProcessSpec spec;
    spec.argv = {"cat"};
    spec.environment = {{"PATH", "/usr/bin:/bin"}};
    spec.input = std::string(bytes, 'x');
    spec.max_output = bytes;
    return run(std::move(spec));
  }
  Async<void> run(ProcessSpec spec) {
    auto ran = co_await spawner_->run(std::move(spec));
    ended_.push_back(std::move(ran));
    if (ended_.size() == wanted_) loop_.stop();
  }
  void run_until_ended(size_t count) {
    wanted_ = count;
    if (ended_.size() < count) loop_.run();
  }

  SystemClock clock_;
  EventWaiter waiter_{clock_};
  Loop loop_{clock_, waiter_};
  SpawnerProcess process_;
  int lost_ = 0;
  size_t wanted_ = 0;
  std::list<Result<ProcessResult>> ended_;
  std::unique_ptr<Spawner> spawner_;
  Scope scope_;  // Ends what waits on the spawner, before it.
};

TEST_F(SpawnerPortTest, ASpawnerThatReadsNothingHoldsNobodyUp) {
  ASSERT_EQ(kill(process_.pid(), SIGSTOP), 0);
  constexpr size_t kRuns = 20;
  for (size_t i = 0; i < kRuns; ++i) scope_.spawn(run(300'000));
  const size_t refused = ended_.size();
  EXPECT_GE(refused, kRuns - kBound / 300'000 - 2) << "at the bound a run is refused at once";
  EXPECT_LT(refused, kRuns);
  for (const auto& one : ended_) EXPECT_EQ(one.error().code, ErrorCode::kUnavailable);
  ASSERT_EQ(kill(process_.pid(), SIGCONT), 0);
  run_until_ended(kRuns);
  size_t fed = 0;
  for (const auto& one : ended_) fed += one && one->output.size() == 300'000 ? 1 : 0;
  EXPECT_EQ(fed, kRuns - refused);
}

TEST_F(SpawnerPortTest, AnEmptyQueueTakesOneThatIsAboveTheBound) {
  scope_.spawn(run(kBound + 1));
  run_until_ended(1);
  ASSERT_TRUE(ended_.front()) << ended_.front().error().message;
  EXPECT_EQ(ended_.front()->output.size(), kBound + 1);
}

TEST_F(SpawnerPortTest, ALostSpawnerIsToldOnceAndEndsWhatWaits) {
  ASSERT_EQ(kill(process_.pid(), SIGSTOP), 0);
  scope_.spawn(run(1));
  scope_.spawn(run(1));
  ASSERT_EQ(kill(process_.pid(), SIGKILL), 0);
  run_until_ended(2);
  EXPECT_EQ(lost_, 1);
  scope_.spawn(run(1));
  ASSERT_EQ(ended_.size(), 3u) << "known to be lost: no waiting";
  for (const auto& one : ended_) EXPECT_EQ(one.error().code, ErrorCode::kUnavailable);
}

// Refuses the first works, as a full one does.
class FullMailbox final : public Mailbox {
 public:
  explicit FullMailbox(Mailbox& mailbox) : mailbox_(mailbox) {}
  bool deliver(Work work) override {
    times.push_back(std::chrono::steady_clock::now());
    return times.size() > kRefused && mailbox_.deliver(std::move(work));
  }
  static constexpr size_t kRefused = 4;
  std::vector<std::chrono::steady_clock::time_point> times;  // One reader; read after what it has delivered.

 private:
  Mailbox& mailbox_;
};

TEST_F(SpawnerPortTest, AFullMailboxIsAskedAgainAfterAWhile) {
  FullMailbox full(loop_);
  SpawnerProcess process = std::move(*SpawnerProcess::start());
  spawner_ = make_spawner(process, loop_, full, {});
  scope_.spawn(run(1));
  run_until_ended(1);
  spawner_.reset();
  ASSERT_TRUE(ended_.front()) << ended_.front().error().message;
  ASSERT_GT(full.times.size(), FullMailbox::kRefused);
  EXPECT_GE(full.times[FullMailbox::kRefused] - full.times[0], milliseconds(20)) << "it spins";
}

TEST_F(SpawnerPortTest, AProgramThatIsNotThereIsNoMatterOfTime) {
  ProcessSpec spec;
  spec.argv = {"no-such-program-here"};
  scope_.spawn(run(std::move(spec)));
  run_until_ended(1);
  ASSERT_FALSE(ended_.front());
  EXPECT_EQ(ended_.front().error().code, ErrorCode::kIo);
}

// Keeps what it is told; stops the loop at the end.
struct Watcher final : ProgramWatcher {
  explicit Watcher(Loop& l) : loop(l) {}
  void on_output(OutputStream stream, std::string bytes, uint64_t dropped) override {
    told += (stream == OutputStream::kOutput ? "" : "!") + bytes;
    lost += dropped;
  }
  void on_flushed() override {
    told += "|";
    if (at_flush) at_flush();
  }
  void on_end(Result<ProcessResult> result) override {
    end = std::move(result);
    at_end ? at_end() : loop.stop();
  }
  Loop& loop;
  std::string told;
  uint64_t lost = 0;
  std::function<void()> at_flush;
  std::function<void()> at_end;
  std::optional<Result<ProcessResult>> end;
};

ProcessSpec shell(const std::string& script) {
  ProcessSpec spec;
  spec.argv = {"sh", "-c", script};
  spec.environment = {{"PATH", "/usr/bin:/bin"}};
  return spec;
}

TEST_F(SpawnerPortTest, AProgramThatStaysIsFollowedToItsEnd) {
  Watcher watcher(loop_);
  const auto program = spawner_->start(shell("echo hello; exit 4"), watcher);
  loop_.run();
  EXPECT_EQ(watcher.told, "hello\n");
  ASSERT_TRUE(watcher.end && *watcher.end);
  EXPECT_EQ((*watcher.end)->exit_status, 4);
}

TEST_F(SpawnerPortTest, EndingAProgramThatStaysTellsNothingMore) {
  Watcher watcher(loop_);
  auto program = spawner_->start(shell("sleep 1000"), watcher);
  watcher.at_flush = [&] {
    program.reset();
    scope_.spawn(run(1));
    wanted_ = 1;
  };
  program->flush();
  loop_.run();
  EXPECT_EQ(watcher.told, "|");
  EXPECT_FALSE(watcher.end);
  EXPECT_EQ(ended_.size(), 1u);
}

TEST_F(SpawnerPortTest, WhatStaysHearsOfALostSpawnerNeverInsideTheCall) {
  ASSERT_EQ(kill(process_.pid(), SIGKILL), 0);
  Watcher first(loop_);
  Watcher second(loop_);
  const auto program = spawner_->start(shell("sleep 1000"), first);
  std::unique_ptr<Program> another;
  first.at_end = [&] {
    another = spawner_->start(shell("true"), second);
    EXPECT_FALSE(second.end);
  };
  loop_.run();
  for (const Watcher* one : {&first, &second}) {
    ASSERT_TRUE(one->end && !*one->end);
    EXPECT_EQ(one->end->error().code, ErrorCode::kUnavailable);
  }
}

}  // namespace
}  // namespace freshet
