// The Spawner port on a real loop: it never waits for the spawner process, and tells when that is lost.
#include <gtest/gtest.h>
#include <signal.h>

#include <list>

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

TEST_F(SpawnerPortTest, AProgramThatIsNotThereIsNoMatterOfTime) {
  ProcessSpec spec;
  spec.argv = {"no-such-program-here"};
  scope_.spawn(run(std::move(spec)));
  run_until_ended(1);
  ASSERT_FALSE(ended_.front());
  EXPECT_EQ(ended_.front().error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace freshet
