// A queue whose wall clock is wrong at the start, or is set while it runs.
#include "functions/queue/policy/service_time.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

constexpr milliseconds kHour{3600 * 1000};
constexpr milliseconds kDay = 24 * kHour;

class QueueClock : public QueueFixture {
 protected:
  static NewTask named(const std::string& id) {
    NewTask task;
    task.id = id;
    return task;
  }
  NewTask due_in(const std::string& id, milliseconds time) {
    NewTask task = named(id);
    task.deadline = world.clock.wall() + time;
    return task;
  }
  static NewTask after(const std::string& id, milliseconds delay) {
    NewTask task = named(id);
    task.delay = delay;
    return task;
  }
  // The daemon was down, and starts with a wall clock that shows so much more than before.
  Queue& start_off_by(milliseconds off) {
    const WallTime last = world.clock.wall();
    world.queues.reset();
    world.clock.step_wall(off);
    world.store->wall_guard().start_after(last);
    return world.start();
  }
  void put_tasks(Queue& queue) {
    ASSERT_TRUE(create(queue, named("always")));
    ASSERT_TRUE(create(queue, due_in("due", kHour)));
    NewTask brief = named("brief");
    brief.ttl = kHour;
    ASSERT_TRUE(create(queue, brief));
  }
  std::string take_all(Queue& queue) { return ids(take(queue, 100)); }
};

TEST_P(QueueClock, AStartADayAheadNeitherShedsNorStartsWhatLooksExpired) {
  put_tasks(world.start());
  Queue& queue = start_off_by(kDay);
  world.pass(seconds(5));
  EXPECT_EQ(world.status("due"), "PENDING");
  EXPECT_EQ(world.status("brief"), "PENDING");
  EXPECT_EQ(take_all(queue), "always");
  EXPECT_TRUE(world.wait(queue.stats())->clock_doubted);
  const auto why = sentences(*world.wait(queue.explain("due")));
  EXPECT_TRUE(std::any_of(why.begin(), why.end(),
                          [](const auto& one) { return one.find("the wall clock is not trusted") != one.npos; }));
  world.clock.step_wall(-kDay);
  world.pass(seconds(2));
  EXPECT_FALSE(world.wait(queue.stats())->clock_doubted);
  EXPECT_EQ(take_all(queue), "brief due");
  expect_balance();
}

TEST_P(QueueClock, WhatHasExpiredIsShedOnceTheClockIsTrusted) {
  put_tasks(world.start());
  Queue& queue = start_off_by(kDay);
  world.pass(seconds(50));
  EXPECT_EQ(world.status("due"), "PENDING");
  world.pass(seconds(15));
  EXPECT_EQ(world.status("due"), "SHED");
  EXPECT_EQ(take_all(queue), "always");
  EXPECT_NE(world.status("brief"), "PENDING");
}

TEST_P(QueueClock, WhatLooksExpiredDoesNotStandBeforeTheOthers) {
  for (const char* order : {"newest", "oldest", "deadline", "lanes"}) {
    SCOPED_TRACE(order);
    QueueSettings settings;
    if (order == std::string("oldest")) settings.order = Order::kOldestFirst;
    if (order == std::string("deadline")) settings.order = Order::kDeadline;
    Queue& first = world.start(settings);
    const int group = order == std::string("lanes") ? 1 : 0;
    const auto add = [&](NewTask task) {
      if (group) task.group = "g";
      ASSERT_TRUE(create(first, std::move(task)));
    };
    for (int i = 0; i < 40; ++i) add(due_in(std::string(order) + std::to_string(i), kHour));
    add(named(std::string("always-") + order));
    for (int i = 40; i < 80; ++i) add(due_in(std::string(order) + std::to_string(i), kHour));
    const WallTime last = world.clock.wall();
    world.queues.reset();
    world.clock.step_wall(kDay);
    world.store->wall_guard().start_after(last);
    Queue& queue = world.start(settings);
    auto taken = take(queue, 1);
    EXPECT_EQ(ids(taken), std::string("always-") + order);
    world.clock.step_wall(-kDay);
    world.pass(seconds(2));
    // They are out of the way of the next order.
    for (; taken && !taken->empty(); taken = take(queue, 100)) {
      for (const auto& task : *taken) ASSERT_TRUE(settle(queue, Kind::kComplete, task));
    }
  }
}

TEST_P(QueueClock, AJumpWhileItRunsStartsNothingThatLooksExpired) {
  Queue& queue = world.start();
  put_tasks(queue);
  world.clock.step_wall(kDay);
  world.pass(seconds(3));
  EXPECT_EQ(take_all(queue), "always");
  world.clock.step_wall(-kDay);
  world.pass(seconds(3));
  EXPECT_EQ(take_all(queue), "brief due");
}

TEST_P(QueueClock, ATimeThatIsGivenWhileTheClockIsTooEarlyDoesNotEndEarly) {
  QueueSettings settings;
  settings.keep = *KeepTimes::parse("300000");
  Queue& queue = world.start(settings);
  NewTask done = named("done");
  ASSERT_TRUE(create(queue, done));
  world.clock.step_wall(-kHour);
  NewTask due = named("due");
  due.deadline_in = milliseconds(15'000);
  ASSERT_TRUE(create(queue, due));
  NewTask brief = named("brief");
  brief.ttl = milliseconds(30'000);
  ASSERT_TRUE(create(queue, brief));
  auto taken = take(queue, 3);
  ASSERT_EQ(ids(taken), "brief due done");
  ASSERT_TRUE(settle(queue, Kind::kRelease, (*taken)[0]));
  ASSERT_TRUE(settle(queue, Kind::kRelease, (*taken)[1]));
  ASSERT_TRUE(settle(queue, Kind::kComplete, (*taken)[2]));
  world.clock.step_wall(kHour);
  world.pass(seconds(10));
  EXPECT_EQ(world.status("due"), "PENDING");
  EXPECT_EQ(world.status("brief"), "PENDING");
  EXPECT_EQ(world.status("done"), "SUCCESS");
  world.pass(seconds(10));
  EXPECT_EQ(world.status("due"), "SHED");
  expect_balance();
}

// Nothing is taken, so that nobody looks at the clock before the task ends.
TEST_P(QueueClock, AResultIsKeptAlthoughTheClockWasSetBackWhileItWasInWork) {
  QueueSettings settings;
  settings.keep = *KeepTimes::parse("300000");
  settings.lease = seconds(100);
  Queue& queue = world.start(settings);
  ASSERT_TRUE(create(queue, named("done")));
  const auto taken = take(queue);
  ASSERT_EQ(ids(taken), "done");
  world.clock.step_wall(-kDay);
  ASSERT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
  world.clock.step_wall(kDay);
  world.pass(seconds(20));
  EXPECT_EQ(world.status("done"), "SUCCESS");
}

TEST_P(QueueClock, ARedriveOfWhatWasLateBeforeAStepBackHasNoDeadline) {
  QueueSettings settings;
  settings.keep = *KeepTimes::parse("300000");
  Queue& queue = world.start(settings);
  NewTask due = named("due");
  due.deadline_in = milliseconds(5'000);
  ASSERT_TRUE(create(queue, due));
  world.pass(seconds(10));
  ASSERT_EQ(world.status("due"), "SHED");
  world.clock.step_wall(-kHour);
  ASSERT_EQ(*world.wait(queue.redrive({"SHED", {"due"}, 1, {}})), 1u);
  world.clock.step_wall(kHour);
  world.pass(seconds(2));
  EXPECT_EQ(take_all(queue), "due");
}

TEST_P(QueueClock, AStepBackStartsNothingThatIsLateByTheTimeBefore) {
  Queue& queue = world.start();
  NewTask before = named("before");
  before.deadline_in = milliseconds(15'000);
  ASSERT_TRUE(create(queue, before));
  world.clock.step_wall(-kHour);
  NewTask since = named("since");
  since.deadline_in = milliseconds(15'000);
  ASSERT_TRUE(create(queue, since));
  world.pass(seconds(16));
  EXPECT_EQ(take_all(queue), "") << "whichever clock is right, it is too late";
  EXPECT_EQ(world.status("before"), "PENDING");
  world.pass(seconds(50));
  EXPECT_EQ(take_all(queue), "since before") << "the step is believed, so they are due in an hour";
}

// Its worker would give it back at once, to take it again.
TEST_P(QueueClock, WhatAMarginMakesLookLateIsNotTakenByADoubtedClock) {
  QueueSettings settings;
  settings.deadline_margin = DeadlineMargin::kP90;
  Queue& queue = world.start(settings);
  for (size_t i = 0; i < ServiceTimes::kLeast; ++i) ASSERT_TRUE(create(queue, named("slow" + std::to_string(i))));
  const auto slow = take(queue, 100);
  world.pass(seconds(10));
  for (const auto& task : *slow) ASSERT_TRUE(settle(queue, Kind::kComplete, task));
  ASSERT_TRUE(create(queue, due_in("near", kHour + seconds(5))));
  world.clock.step_wall(kHour);
  EXPECT_EQ(take_all(queue), "");
  EXPECT_FALSE(*world.wait(queue.has_work()));
  world.clock.step_wall(-kHour);
  world.pass(seconds(2));
  const auto taken = take(queue);
  ASSERT_EQ(ids(taken), "near");
  EXPECT_EQ(queue.stale((*taken)[0].task), "");
  EXPECT_EQ((*taken)[0].task.decode().int_or("attempt", 0), 1);
}

// Or processors would be started for it again and again.
TEST_P(QueueClock, WhatLooksExpiredByADoubtedClockIsNoWork) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, due_in("due", kHour)));
  EXPECT_TRUE(*world.wait(queue.has_work()));
  world.clock.step_wall(kDay);
  EXPECT_FALSE(*world.wait(queue.has_work()));
  ASSERT_TRUE(create(queue, named("always")));
  EXPECT_TRUE(*world.wait(queue.has_work()));
  EXPECT_EQ(take_all(queue), "always");
  EXPECT_FALSE(*world.wait(queue.has_work()));
  world.clock.step_wall(-kDay);
  world.pass(seconds(2));
  EXPECT_TRUE(*world.wait(queue.has_work()));
}

TEST_P(QueueClock, AStepBackMakesNoDelayLonger) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, after("a", seconds(2))));
  ASSERT_TRUE(create(queue, named("b")));
  auto taken = take(queue);
  ASSERT_EQ(ids(taken), "b");
  Settlement failed = settlement(Kind::kFail, (*taken)[0]);
  failed.delay = seconds(4);
  ASSERT_TRUE(settle(queue, failed));
  world.clock.step_wall(-kHour);
  world.pass(milliseconds(1'500));
  EXPECT_EQ(world.status("a"), "DELAYED");
  ASSERT_TRUE(create(queue, after("c", seconds(5))));
  world.pass(milliseconds(1'000));
  EXPECT_EQ(world.status("a"), "PENDING");
  EXPECT_EQ(world.status("b"), "DELAYED");
  world.pass(milliseconds(2'000));
  EXPECT_EQ(world.status("b"), "PENDING");
  EXPECT_EQ(world.status("c"), "DELAYED");
  world.pass(milliseconds(2'500));
  EXPECT_EQ(world.status("c"), "PENDING");
}

TEST_P(QueueClock, AStepForwardEndsNoDelay) {
  Queue& queue = world.start();
  for (int i = 0; i < 600; ++i) ASSERT_TRUE(create(queue, after("t" + std::to_string(i), seconds(600))));
  world.clock.step_wall(kHour / 4);
  world.pass(seconds(60));
  EXPECT_EQ(world.stock("DELAYED"), 600u);
  const auto why = sentences(*world.wait(queue.explain("t0")));
  EXPECT_NE(why.at(0).find("by the time before the clock was set"), std::string::npos) << why.at(0);
  // Those that are delayed later are not kept back by them.
  ASSERT_TRUE(create(queue, after("later", seconds(5))));
  world.put(Item{{"taskId", Value("client")},
                 {"taskStatus", Value("DELAYED")},
                 {"taskCreated", Value::number(world.now_ms())},
                 {"notBefore", Value::number(world.now_ms() + 5'000)}});
  world.pass(seconds(7));
  EXPECT_EQ(world.status("later"), "PENDING");
  EXPECT_EQ(world.status("client"), "PENDING");
  EXPECT_EQ(world.stock("DELAYED"), 600u);
  const auto before = world.store_calls();
  world.pass(seconds(10));
  EXPECT_LT(world.store_calls() - before, 400u) << "nothing is done in a hot loop";
  world.clock.step_wall(-kHour / 4);
  world.pass(seconds(500));
  EXPECT_EQ(world.stock("DELAYED"), 600u);
  world.pass(seconds(60));
  EXPECT_EQ(world.stock("DELAYED"), 0u);
  expect_balance();
}

TEST_P(QueueClock, ALongDelayThatBeginsWhileAStepIsNotedIsNoShorter) {
  QueueSettings settings;
  settings.look_around = kHour;
  Queue& queue = world.start(settings);
  // More than are noted before others have their turn.
  for (int i = 0; i < 600; ++i) ASSERT_TRUE(create(queue, after("t" + std::to_string(i), seconds(600))));
  world.clock.step_wall(kHour / 4);
  ASSERT_TRUE(create(queue, after("long", 2 * kDay)));
  world.pass(kDay + kHour);
  EXPECT_EQ(world.status("long"), "DELAYED");
  world.pass(kDay);
  EXPECT_EQ(world.status("long"), "PENDING");
}

TEST_P(QueueClock, ADelayThatAClientChangesAfterAStepIsTheNewOne) {
  Queue& queue = world.start();
  ASSERT_TRUE(create(queue, after("a", seconds(600))));
  ASSERT_TRUE(create(queue, after("gone", seconds(5))));
  world.clock.step_wall(-kHour);
  world.pass(seconds(2));
  Item task = world.read("a");
  task.set("notBefore", Value::number(world.now_ms() + 1'000));
  world.put(task);
  DeleteItemInput gone;
  gone.table = "QueueTable";
  gone.key.set("taskId", Value("gone"));
  ASSERT_TRUE(world.wait(world.store->delete_item(std::move(gone))));
  world.pass(seconds(4));
  EXPECT_EQ(world.status("a"), "PENDING");
  expect_balance();
}

INSTANTIATE_TEST_SUITE_P(Stores, QueueClock, ::testing::Bool(), store_name);

// The queue reads a task whose delay is over, and the clock is set before a slow store has answered.
TEST_P(QueueClock, ADelayIsNotCutShortByAStepWhileTheStoreAnswers) {
  for (int k = 0; k < 24; ++k) {
    QueueWorld fresh(GetParam(), static_cast<uint64_t>(k + 1));
    Queue& queue = fresh.start();
    const auto put = [&](const NewTask& task) { return fresh.wait(queue.create({task}))[0].has_value(); };
    ASSERT_TRUE(put(after("first", seconds(3))));
    fresh.clock.step_wall(kHour);
    fresh.pass(milliseconds(1'500));  // It is timed by boot time from here on.
    ASSERT_TRUE(put(after("second", seconds(600))));
    fresh.pass(milliseconds(1'500) - milliseconds(30) + milliseconds(4 * k));
    fresh.clock.step_wall(kHour);
    fresh.pass(seconds(2));
    EXPECT_EQ(fresh.status("second"), "DELAYED") << k;
  }
}

// Their `notBefore` is by the old clock, and the store takes them when the new one is there.
TEST_P(QueueClock, ADelayThatIsWrittenWhileTheClockIsSetIsAsLong) {
  for (const milliseconds step : {kHour, -kHour}) {
    for (int k = 0; k < 12; ++k) {
      SCOPED_TRACE(testing::Message() << step.count() << " ms, " << k);
      QueueWorld fresh(GetParam(), static_cast<uint64_t>(k + 1));
      Queue& queue = fresh.start();
      ASSERT_TRUE(fresh.wait(queue.create({named("failed")}))[0]);
      const auto taken = fresh.wait(queue.take(TakeInput{}));
      ASSERT_EQ(ids(taken), "failed");
      Settlement failed = settlement(Kind::kFail, (*taken)[0]);
      failed.delay = seconds(600);
      auto fails = queue.settle({failed});
      auto creates = queue.create({after("created", seconds(600))});
      fresh.pass(milliseconds(2 * k));
      fresh.clock.step_wall(step);
      ASSERT_TRUE(fresh.wait(std::move(fails))[0]);
      ASSERT_TRUE(fresh.wait(std::move(creates))[0]);
      fresh.pass(seconds(598));
      EXPECT_EQ(fresh.status("failed"), "DELAYED");
      EXPECT_EQ(fresh.status("created"), "DELAYED");
      fresh.pass(seconds(4));
      EXPECT_EQ(fresh.status("failed"), "PENDING");
      EXPECT_EQ(fresh.status("created"), "PENDING");
    }
  }
}

// The delays are to be timed by boot time, and cannot be read just then.
TEST_P(QueueClock, ADelayIsAsLongAlthoughItsIndexIsGoneWhileTheClockIsSet) {
  ASSERT_TRUE(create(world.start(), after("a", seconds(20))));
  auto described = world.wait(world.store->describe_table("QueueTable"));
  ASSERT_TRUE(described);
  std::erase_if(described->definition.indexes, [](const auto& index) { return index.name == "freshet-delayed-index"; });
  world.clock.step_wall(kHour);
  ASSERT_TRUE(world.wait(world.store->alter_table(described->definition)));
  world.pass(seconds(18));
  EXPECT_EQ(world.status("a"), "DELAYED");
  world.pass(seconds(4));
  EXPECT_EQ(world.status("a"), "PENDING");
}

}  // namespace
}  // namespace freshet
