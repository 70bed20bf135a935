// The life of a task, as explain tells it. In both worlds.
#include "tests/functions/explain_fixture.h"

namespace freshet {
namespace {

class ExplainLifeTest : public ExplainTest {};

INSTANTIATE_TEST_SUITE_P(Stores, ExplainLifeTest, ::testing::Bool(), store_name);

TEST_P(ExplainLifeTest, TheLifeOfATaskIsToldInOrder) {
  QueueSettings settings;
  settings.backoff.jitter = 0;
  settings.lease = milliseconds(1'000);
  auto& queue = world.start(settings);
  create(queue, {"a"});
  const auto created = world.clock.wall() - begun;
  world.pass(milliseconds(50));
  TakeInput input;
  input.owner = "worker 1";
  auto first = world.wait(queue.take(input));
  const auto taken = world.clock.wall() - begun;
  world.pass(milliseconds(50));
  auto failed = settlement(Settlement::Kind::kFail, (*first)[0]);
  failed.error = "the disk is full";
  ASSERT_TRUE(settle(queue, failed));
  const auto a = explain(queue, "a");
  EXPECT_EQ(codes(a), "backoff last-error");
  ASSERT_EQ(a.life.size(), 4u) << life(a);
  EXPECT_EQ(a.life[0].what.code, "created");
  EXPECT_NEAR(static_cast<double>((*a.life[0].at - begun).count()), static_cast<double>(created.count()), 50);
  EXPECT_EQ(a.life[1].what.code, "taken");
  EXPECT_NEAR(static_cast<double>((*a.life[1].at - begun).count()), static_cast<double>(taken.count()), 50);
  EXPECT_EQ(a.life[2].what.message, "attempt 1 failed: the disk is full");
  EXPECT_EQ(a.life[3].what.message, "delayed for 1000 ms, until its notBefore");
  world.pass(milliseconds(1'100));
  take(queue);
  world.pass(milliseconds(1'100));
  const auto after = explain(queue, "a");
  EXPECT_NE(life(after).find("lease-ended: attempt 2 ended: its lease ran out"), std::string::npos) << life(after);
  world.pass(milliseconds(2'100));
  auto third = take(queue);
  EXPECT_NE(life(explain(queue, "a")).find("taken: taken: attempt 3"), std::string::npos) << life(explain(queue, "a"));
  ASSERT_TRUE(settle(queue, Settlement::Kind::kRelease, (*third)[0]));
  const auto released = explain(queue, "a");
  EXPECT_EQ(released.life.back().what.code, "returned") << life(released);
  auto fourth = take(queue);
  ASSERT_TRUE(settle(queue, Settlement::Kind::kComplete, (*fourth)[0]));
  const auto done = explain(queue, "a");
  EXPECT_EQ(done.life.back().what.code, "succeeded") << life(done);
  EXPECT_EQ(codes(done), "ended last-error");
}

TEST_P(ExplainLifeTest, WhatWasPutBackSaysSo) {
  QueueSettings settings;
  settings.max_attempts = 1;
  auto& queue = world.start(settings);
  create(queue, {"a"});
  auto taken = take(queue);
  ASSERT_TRUE(settle(queue, settlement(Settlement::Kind::kFail, (*taken)[0])));
  EXPECT_EQ(explain(queue, "a").life.back().what.code, "died");
  world.pass(milliseconds(10));
  ASSERT_TRUE(world.wait(queue.redrive({})));
  const auto put_back = explain(queue, "a");
  EXPECT_EQ(put_back.life.back().what.code, "redriven") << life(put_back);
  world.pass(milliseconds(10));
  take(queue);
  const auto again = explain(queue, "a");
  ASSERT_GE(again.life.size(), 2u);
  EXPECT_EQ(again.life[again.life.size() - 2].what.code, "redriven") << life(again);
  EXPECT_EQ(again.life.back().what.code, "taken");
}

// The whole story of one that was put back: also when its last attempt succeeded, and when it was given up once more.
TEST_P(ExplainLifeTest, WhatWasPutBackStillSaysSoAfterItsEnd) {
  QueueSettings settings;
  settings.max_attempts = 2;
  settings.backoff.base = milliseconds(0);
  auto& queue = world.start(settings);
  create(queue, {"a"});
  const auto try_once = [&](Settlement::Kind kind) {
    world.pass(milliseconds(10));
    auto taken = take(queue);
    ASSERT_EQ(taken->size(), 1u);
    ASSERT_TRUE(settle(queue, settlement(kind, (*taken)[0])));
  };
  const auto put_back = [&] {
    world.pass(milliseconds(10));
    ASSERT_TRUE(world.wait(queue.redrive({})));
  };
  for (int attempt = 0; attempt < 2; ++attempt) try_once(Settlement::Kind::kFail);
  put_back();
  for (int attempt = 0; attempt < 2; ++attempt) try_once(Settlement::Kind::kFail);
  const auto given_up = explain(queue, "a");
  EXPECT_EQ(life_codes(given_up), "created taken failed taken failed redriven taken failed taken failed died")
      << life(given_up);
  put_back();
  try_once(Settlement::Kind::kComplete);
  const auto done = explain(queue, "a");
  EXPECT_EQ(life_codes(done),
            "created taken failed taken failed redriven taken failed taken failed redriven taken succeeded")
      << life(done);
}

// A task that was given back and is not served after all has used no attempt, and its life does not say that it had.
TEST_P(ExplainLifeTest, WhatWasGivenBackBeforeItsEndSaysSo) {
  QueueSettings settings;
  settings.default_deadline = milliseconds(1'000);
  settings.deadline_margin = DeadlineMargin::kOff;
  auto& queue = world.start(settings);
  create(queue, {"late", "unwanted", "in work"});
  TakeInput all;
  all.max = 3;
  auto taken = world.wait(queue.take(std::move(all)));
  ASSERT_EQ(taken->size(), 3u);
  for (auto& one : *taken) {
    if (one.task.decode().string_or("taskId") != "in work") {
      ASSERT_TRUE(settle(queue, Settlement::Kind::kRelease, one));
    }
  }
  for (const auto& cancelled : world.wait(queue.cancel({"unwanted", "in work"}))) EXPECT_TRUE(cancelled);
  world.pass(milliseconds(2'000));
  EXPECT_EQ(life_codes(explain(queue, "late")), "created taken returned shed");
  EXPECT_EQ(life_codes(explain(queue, "unwanted")), "created taken returned cancelled");
  EXPECT_EQ(life(explain(queue, "late")).find("attempt 0"), std::string::npos) << life(explain(queue, "late"));
  for (auto& one : *taken) {
    if (one.task.decode().string_or("taskId") == "in work") settle(queue, Settlement::Kind::kHeartbeat, one);
  }
  const auto in_work = explain(queue, "in work");
  EXPECT_EQ(life(in_work).find("returned"), std::string::npos) << life(in_work);
  EXPECT_NE(life(in_work).find("taken: attempt 1"), std::string::npos) << life(in_work);
}

// Its own processor is no worker with a name.

}  // namespace
}  // namespace freshet
