// A changed policy that goes back by itself when tasks are not done in time any more. In both worlds.
#include "functions/queue/policy_guard.h"

#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

// The deadline is so short that nobody takes a task before it has passed.
const QueuePolicy kHarm = {{"DEFAULT_DEADLINE_MS", "50"}};
constexpr PolicyGuardTerms kTerms{10, std::chrono::minutes(5)};

class GuardedPolicy : public QueueFixture {
 protected:
  void create_some(Queue& queue, int count) {
    std::vector<NewTask> tasks(static_cast<size_t>(count));
    for (auto& task : tasks) task.id = "t" + std::to_string(next_++);
    for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created) << created.error().message;
  }
  // Lets that many tasks end in time.
  void work(Queue& queue, int count) {
    create_some(queue, count);
    auto taken = take(queue, count);
    ASSERT_TRUE(taken);
    ASSERT_EQ(taken->size(), static_cast<size_t>(count));
    for (const auto& task : *taken) ASSERT_TRUE(settle(queue, Kind::kComplete, task));
  }
  // As a client asks for it.
  static Result<QueuePolicy> change_guarded(Queue& queue, const QueuePolicy& changes, const PolicyGuardTerms& terms) {
    const auto before = queue.check_guard(terms);
    if (!before) return fail(before.error());
    return queue.change_policy_guarded(changes, terms, *before);
  }
  std::optional<PolicyGuardState> guard(Queue& queue) { return world.wait(queue.stats())->guard; }
  std::vector<std::string> audited() {
    std::vector<std::string> out;
    const auto lines = world.wait(world.queues->audit().newest(100, "QueueTable"));
    for (const auto& line : *lines) {
      const Item item = line.decode();
      out.push_back(std::string(item.string_or("who")) + " " + std::string(item.string_or("from")) + " " +
                    std::string(item.string_or("detail")));
    }
    return out;
  }

 private:
  int next_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, GuardedPolicy, ::testing::Bool(), store_name);

TEST_P(GuardedPolicy, GoesBackWhenTheShareInTimeFalls) {
  auto& queue = world.start();
  work(queue, 25);
  const auto before = queue.policy();
  const auto changed = change_guarded(queue, kHarm, kTerms);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->at("DEFAULT_DEADLINE_MS"), "50");
  const auto state = guard(queue);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->share_before, 1);
  EXPECT_FALSE(state->share_now) << "nothing has ended since";
  EXPECT_EQ(state->back, (QueuePolicy{{"DEFAULT_DEADLINE_MS", before.at("DEFAULT_DEADLINE_MS")}}));
  world.pass(std::chrono::seconds(2));
  create_some(queue, 25);  // Their deadline passes.
  world.pass(std::chrono::seconds(7));
  EXPECT_TRUE(guard(queue)) << "it does not look before 10 s have passed";
  world.pass(std::chrono::seconds(3));
  EXPECT_EQ(queue.policy(), before);
  EXPECT_FALSE(guard(queue));
  ASSERT_EQ(audited().size(), 1U);
  EXPECT_EQ(audited()[0], "freshet guard went back: DEFAULT_DEADLINE_MS=" + before.at("DEFAULT_DEADLINE_MS") +
                              " (done in time: 100.0 % to 0.0 %)");
  expect_balance();
}

// While the line is written, somebody may keep the policy: the line would say what did not happen.
TEST_P(GuardedPolicy, ItsLineSaysWhatHappenedWheneverThePolicyIsKept) {
  auto& queue = world.start();
  int times_kept = 0;
  int times_back = 0;
  for (milliseconds after{9'990}; after <= milliseconds(10'050); after += milliseconds(3)) {
    ASSERT_TRUE(queue.change_policy({{"DEFAULT_DEADLINE_MS", "0"}}));
    work(queue, 25);
    const size_t lines = audited().size();
    ASSERT_TRUE(change_guarded(queue, kHarm, kTerms));
    const BootTime since = world.clock.boot();
    world.pass(std::chrono::seconds(2));
    create_some(queue, 25);  // Their deadline passes.
    world.pass(since + after - world.clock.boot());
    const bool kept = queue.end_guard();
    world.pass(std::chrono::seconds(1));
    EXPECT_EQ(queue.policy().at("DEFAULT_DEADLINE_MS"), kept ? "50" : "0");
    EXPECT_EQ(audited().size(), lines + (kept ? 0 : 1)) << after.count();
    times_kept += kept ? 1 : 0;
    times_back += kept ? 0 : 1;
  }
  EXPECT_GT(times_kept, 0);
  EXPECT_GT(times_back, 0);
}

// The line of a change in the audit log takes its time, and comes before the change.
TEST_P(GuardedPolicy, IsComparedWithWhatWasCheckedHoweverMuchLater) {
  auto& queue = world.start();
  work(queue, 25);
  const auto checked = queue.check_guard(kTerms);
  ASSERT_TRUE(checked);
  world.pass(std::chrono::seconds(70));
  ASSERT_FALSE(queue.check_guard(kTerms));
  ASSERT_TRUE(queue.change_policy_guarded({{"ORDER", "fifo"}}, kTerms, *checked));
  EXPECT_EQ(guard(queue)->share_before, 1);
}

TEST_P(GuardedPolicy, StaysWhenNothingWorsensWithinTheTime) {
  auto& queue = world.start();
  work(queue, 25);
  ASSERT_TRUE(change_guarded(queue, {{"ORDER", "fifo"}}, {10, std::chrono::minutes(2)}));
  for (int i = 0; i < 59; ++i) {
    world.pass(std::chrono::seconds(1));
    work(queue, 2);
  }
  ASSERT_TRUE(guard(queue));
  EXPECT_EQ(guard(queue)->share_now, 1);
  world.pass(std::chrono::seconds(62));
  EXPECT_FALSE(guard(queue));
  EXPECT_EQ(queue.policy().at("ORDER"), "fifo");
  EXPECT_TRUE(audited().empty());
}

TEST_P(GuardedPolicy, WaitsWhileTooFewTasksHaveEnded) {
  auto& queue = world.start();
  work(queue, 25);
  ASSERT_TRUE(change_guarded(queue, kHarm, kTerms));
  world.pass(std::chrono::seconds(2));
  create_some(queue, 12);
  world.pass(std::chrono::seconds(70));
  ASSERT_TRUE(guard(queue));
  EXPECT_FALSE(guard(queue)->share_now);
  create_some(queue, 12);  // The last minute has 12, all the time since the change 24.
  world.pass(std::chrono::seconds(3));
  EXPECT_FALSE(guard(queue));
  EXPECT_EQ(audited().size(), 1U);
}

TEST_P(GuardedPolicy, EndsWithTheNextChangeAndWhenItIsKept) {
  auto& queue = world.start();
  work(queue, 25);
  ASSERT_TRUE(change_guarded(queue, kHarm, kTerms));
  ASSERT_TRUE(queue.change_policy({{"ORDER", "fifo"}}));
  EXPECT_FALSE(guard(queue));
  ASSERT_TRUE(change_guarded(queue, {{"DEFAULT_DEADLINE_MS", "60"}}, kTerms));
  EXPECT_EQ(guard(queue)->back, (QueuePolicy{{"DEFAULT_DEADLINE_MS", "50"}})) << "it goes back by one change";
  EXPECT_TRUE(queue.end_guard());
  queue.restore_guard();  // The line of the audit log could not be written.
  EXPECT_TRUE(queue.end_guard());
  EXPECT_FALSE(queue.end_guard()) << "there is none any more";
  EXPECT_FALSE(guard(queue));
  create_some(queue, 30);
  world.pass(std::chrono::minutes(6));
  EXPECT_EQ(queue.policy().at("DEFAULT_DEADLINE_MS"), "60");
  EXPECT_TRUE(audited().empty());
}

TEST_P(GuardedPolicy, EndsWithoutAVerdictWhenNothingHasEnded) {
  auto& queue = world.start();
  work(queue, 25);
  ASSERT_TRUE(change_guarded(queue, {{"ORDER", "fifo"}}, {10, std::chrono::seconds(20)}));
  world.pass(std::chrono::seconds(22));
  EXPECT_FALSE(guard(queue));
  EXPECT_EQ(queue.policy().at("ORDER"), "fifo");
  EXPECT_TRUE(audited().empty());
}

TEST_P(GuardedPolicy, IsRefusedWhenTheShareCannotFallThatFar) {
  auto& queue = world.start();
  ASSERT_TRUE(queue.change_policy(kHarm));
  create_some(queue, 25);  // Their deadline passes.
  world.pass(std::chrono::seconds(2));
  const auto changed = change_guarded(queue, {{"ORDER", "fifo"}}, kTerms);
  ASSERT_FALSE(changed);
  EXPECT_NE(changed.error().message.find("was 0.0 % in the last minute"), std::string::npos) << changed.error().message;
  EXPECT_EQ(queue.policy().at("ORDER"), "lifo");
}

TEST_P(GuardedPolicy, IsRefusedWithoutAnythingToCompareWith) {
  auto& queue = world.start();
  const auto before = queue.policy();
  const auto error_of = [&](PolicyGuardTerms terms) {
    const auto changed = change_guarded(queue, kHarm, terms);
    EXPECT_EQ(queue.policy(), before);
    return changed ? std::string() : changed.error().message;
  };
  EXPECT_NE(error_of(kTerms).find("only 0 tasks have ended in the last minute"), std::string::npos);
  work(queue, 1);
  EXPECT_NE(error_of(kTerms).find("only 1 task has ended in the last minute"), std::string::npos);
  EXPECT_EQ(error_of({0, std::chrono::minutes(1)}), "the points of a guard must be above 0 and at most 100");
  EXPECT_EQ(error_of({101, std::chrono::minutes(1)}), "the points of a guard must be above 0 and at most 100");
  EXPECT_EQ(error_of({5, std::chrono::seconds(9)}), "the time of a guard must be 10 s to 24 h");
  EXPECT_EQ(error_of({5, std::chrono::hours(25)}), "the time of a guard must be 10 s to 24 h");
  EXPECT_FALSE(guard(queue));
}

}  // namespace
}  // namespace freshet
