// The queue on request: create, take, settle, cancel, redrive, look. In both worlds.
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class QueueTest : public QueueFixture {};

INSTANTIATE_TEST_SUITE_P(Stores, QueueTest, ::testing::Values(false, true), store_name);

TEST_P(QueueTest, TakesTheNewestFirstAndKeepsArrivalOrderWithinAMillisecond) {
  Queue& queue = world.start();
  create(queue, {"a", "b"});
  world.pass(milliseconds(1));
  create(queue, {"c", "d", "e"});
  EXPECT_EQ(ids(take(queue, 2)), "e d");
  create(queue, {"f"});
  EXPECT_EQ(ids(take(queue, 10)), "f c b a");
  EXPECT_EQ(ids(take(queue, 10)), "");
}

TEST_P(QueueTest, OldestFirstOnRequest) {
  QueueSettings settings;
  settings.order = Order::kOldestFirst;
  Queue& queue = world.start(settings);
  create(queue, {"a", "b", "c"});
  EXPECT_EQ(ids(take(queue, 2)), "a b");
}

TEST_P(QueueTest, OrderSurvivesAClockStepBackAndARestart) {
  Queue& first = world.start();
  create(first, {"a"});
  world.clock.step_wall(milliseconds(-3'600'000));
  create(first, {"b"});
  Queue& second = world.start();
  create(second, {"c"});
  EXPECT_EQ(ids(take(second, 3)), "c b a");
}

TEST_P(QueueTest, ATaskOfTheSdkIsATaskLikeAnyOther) {
  Queue& queue = world.start();
  create(queue, {"api"});
  world.put_pending("sdk", world.now_ms() + 10);
  auto taken = take(queue, 2);
  ASSERT_EQ(ids(taken), "sdk api");
  auto done = settle(queue, Kind::kFail, (*taken)[0]);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(world.status("sdk"), "DELAYED");
  EXPECT_EQ(world.read("sdk").int_or("attempt", -1), 1);
  expect_balance();
}

TEST_P(QueueTest, ATaskDatedFarAheadWaitsAndIsTakenThen) {
  Queue& queue = world.start();
  create(queue, {"now"});
  world.put_pending("ahead", world.now_ms() + 60'000);
  EXPECT_EQ(ids(take(queue, 9)), "now");
  TakeInput input;
  input.wait = milliseconds(600'000);
  auto start = world.clock.boot();
  auto taken = world.wait(queue.take(input));
  EXPECT_EQ(ids(taken), "ahead");
  auto waited = std::chrono::duration_cast<milliseconds>(world.clock.boot() - start).count();
  EXPECT_GE(waited, 54'900);
  EXPECT_LE(waited, 56'500);
}

TEST_P(QueueTest, CreatingAnIdAgainChangesNothing) {
  Queue& queue = world.start();
  NewTask task;
  task.id = "x";
  task.payload = Value("one");
  EXPECT_TRUE(create(queue, task)->created);
  task.payload = Value("two");
  auto again = create(queue, task);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->id, "x");
  EXPECT_EQ(world.read("x").string_or("payload"), "one");
}

TEST_P(QueueTest, RefusesWhatATaskCannotBe) {
  Queue& queue = world.start();
  NewTask task;
  task.priority = 101;
  EXPECT_EQ(create(queue, task).error().message, "priority must be from -100 to 100");
  task.priority = 0;
  task.attributes.set("taskStatus", Value("DONE"));
  EXPECT_EQ(create(queue, task).error().message,
            "attribute 'taskStatus' is Freshet's own: it cannot be among `attributes`");
  task.attributes = {};
  task.attributes.set("", Value("x"));
  EXPECT_EQ(create(queue, task).error().message, "an attribute without a name: `attributes` has a member ''");
  task.attributes = {};
  task.replace = true;
  EXPECT_EQ(create(queue, task).error().message, "replace needs a key");
  task.replace = false;
  task.ttl = milliseconds(-1);
  EXPECT_EQ(create(queue, task).error().message, "ttl must be from 0 to 366 days");
  EXPECT_EQ(take(queue, 0).error().message, "max must be from 1 to 1000");
  EXPECT_EQ(take(queue, 1001).error().message, "max must be from 1 to 1000");
  EXPECT_EQ(world.stock("PENDING"), 0u);
}

TEST_P(QueueTest, CompleteKeepsTheResult) {
  Queue& queue = world.start();
  create(queue, {"a"});
  auto taken = take(queue);
  EXPECT_EQ((*taken)[0].task.decode().int_or("attempt", 0), 1);
  auto done = settlement(Kind::kComplete, (*taken)[0]);
  done.result = Value(Map{{"answer", Value::number(42)}});
  auto task = settle(queue, done);
  ASSERT_TRUE(task) << task.error().message;
  Item item = world.read("a");
  EXPECT_EQ(item, task->decode());
  EXPECT_EQ(item.string_or("taskStatus"), "SUCCESS");
  EXPECT_EQ(item.find("result")->get_if<Map>()->int_or("answer", 0), 42);
  EXPECT_FALSE(item.contains("lease"));
  auto again = settle(queue, done);
  if (GetParam()) {
    EXPECT_TRUE(again) << "the first answer may have been lost: the same settlement gets it again";
  } else {
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::kConflict);
    EXPECT_EQ(again.error().message, "task 'a' is not held under this lease: it is SUCCESS");
  }
  expect_balance();
}

TEST_P(QueueTest, AStaleLeaseChangesNothing) {
  Queue& queue = world.start();
  create(queue, {"a"});
  auto first = take(queue);
  ASSERT_TRUE(settle(queue, Kind::kRelease, (*first)[0]));
  auto second = take(queue);
  ASSERT_EQ(ids(second), "a");
  for (auto kind : {Kind::kComplete, Kind::kFail, Kind::kRelease, Kind::kHeartbeat}) {
    auto stale = settle(queue, kind, (*first)[0]);
    if (GetParam() && kind == Kind::kRelease) {
      EXPECT_TRUE(stale) << "it was released: the answer may have been lost";
      continue;
    }
    ASSERT_FALSE(stale);
    EXPECT_EQ(stale.error().code, ErrorCode::kConflict);
    EXPECT_EQ(stale.error().message, "task 'a' is held under another lease");
  }
  Settlement none;
  none.id = "none";
  none.lease = "x";
  EXPECT_EQ(settle(queue, std::move(none)).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(settle(queue, Kind::kComplete, (*second)[0]));
  expect_balance();
}

TEST_P(QueueTest, APoisonTaskIsDeadAfterExactlyItsAttempts) {
  QueueSettings settings;
  settings.max_attempts = 3;
  settings.backoff.base = milliseconds(0);
  Queue& queue = world.start(settings);
  create(queue, {"a"});
  int claims = 0;
  for (;; ++claims) {
    auto taken = take(queue);
    if (taken->empty()) break;
    if (claims < 2) {  // Given back twice: that does not count.
      ASSERT_TRUE(settle(queue, Kind::kRelease, (*taken)[0]));
      continue;
    }
    auto failed = settlement(Kind::kFail, (*taken)[0]);
    failed.error = "boom " + std::to_string(claims);
    ASSERT_TRUE(settle(queue, failed));
  }
  EXPECT_EQ(claims, 2 + 3);
  Item item = world.read("a");
  EXPECT_EQ(item.string_or("taskStatus"), "DEAD");
  EXPECT_EQ(item.int_or("attempt", 0), 3);
  EXPECT_EQ(item.string_or("error"), "boom 4");
  const auto& history = item.find("history")->get_if<List>()->elements;
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].get_if<Map>()->string_or("error"), "boom 2");
  EXPECT_EQ(history[2].get_if<Map>()->int_or("attempt", 0), 3);
  EXPECT_EQ(history[2].get_if<Map>()->string_or("outcome"), "failed");
  expect_balance();
}

TEST_P(QueueTest, TheHistoryIsBounded) {
  QueueSettings settings;
  settings.max_attempts = 100;
  settings.backoff.base = milliseconds(0);
  Queue& queue = world.start(settings);
  create(queue, {"a"});
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(settle(queue, Kind::kFail, (*take(queue))[0]));
  Item item = world.read("a");
  const auto& history = item.find("history")->get_if<List>()->elements;
  ASSERT_EQ(history.size(), 10u);
  EXPECT_EQ(history.front().get_if<Map>()->int_or("attempt", 0), 6);
  EXPECT_EQ(history.back().get_if<Map>()->int_or("attempt", 0), 15);
}

TEST_P(QueueTest, AFinalFailureIsFailure) {
  Queue& queue = world.start();
  create(queue, {"a"});
  auto failed = settlement(Kind::kFail, (*take(queue))[0]);
  failed.final = true;
  failed.error = "no such customer";
  ASSERT_TRUE(settle(queue, failed));
  EXPECT_EQ(world.status("a"), "FAILURE");
}

TEST_P(QueueTest, AReturnedTaskKeepsItsPlaceBelowNewerWork) {
  Queue& queue = world.start();
  create(queue, {"old"});
  auto old = take(queue);
  world.pass(milliseconds(5));
  create(queue, {"new"});
  ASSERT_TRUE(settle(queue, Kind::kRelease, (*old)[0]));
  EXPECT_EQ(world.read("old").int_or("attempt", -1), 0);
  EXPECT_EQ(ids(take(queue, 2)), "new old");
}

TEST_P(QueueTest, BackoffDelaysAndThenItIsWorkAgain) {
  QueueSettings settings;
  settings.backoff = {milliseconds(10'000), milliseconds(60'000), 2, 0};
  Queue& queue = world.start(settings);
  create(queue, {"a"});
  ASSERT_TRUE(settle(queue, Kind::kFail, (*take(queue))[0]));
  EXPECT_EQ(world.status("a"), "DELAYED");
  world.pass(milliseconds(9'900));
  EXPECT_EQ(world.status("a"), "DELAYED");
  world.pass(milliseconds(200));
  EXPECT_EQ(world.status("a"), "PENDING");
  EXPECT_FALSE(world.read("a").contains("notBefore"));
  ASSERT_TRUE(settle(queue, Kind::kFail, (*take(queue))[0]));
  world.pass(milliseconds(19'900));
  EXPECT_EQ(world.status("a"), "DELAYED");
  world.pass(milliseconds(200));
  EXPECT_EQ(world.status("a"), "PENDING");
  expect_balance();
}

TEST_P(QueueTest, ADelayIsKeptAcrossARestart) {
  Queue& first = world.start();
  NewTask task;
  task.id = "later";
  task.delay = milliseconds(30'000);
  ASSERT_TRUE(create(first, task));
  EXPECT_EQ(world.status("later"), "DELAYED");
  Queue& second = world.start();
  TakeInput input;
  input.wait = milliseconds(60'000);
  auto begin = world.now_ms();
  EXPECT_EQ(ids(world.wait(second.take(input))), "later");
  EXPECT_NEAR(static_cast<double>(world.now_ms() - begin), 30'000, 300);
}

TEST_P(QueueTest, ALongPollEndsWithTheFirstTaskOrItsTime) {
  Queue& queue = world.start();
  TakeInput input;
  input.wait = milliseconds(20'000);
  auto waiting = queue.take(input);
  world.pass(milliseconds(1'000));
  auto other = queue.take(input);
  world.pass(milliseconds(5'000));
  EXPECT_FALSE(waiting.is_ready());
  create(queue, {"a"});
  world.pass(milliseconds(100));
  // A late store may tell both of it, by the answer and by the stream, and answer either first.
  ASSERT_NE(waiting.is_ready(), other.is_ready());
  EXPECT_TRUE(waiting.is_ready() || GetParam());
  auto& first = waiting.is_ready() ? waiting : other;
  auto& second = waiting.is_ready() ? other : waiting;
  EXPECT_EQ(ids(first.take()), "a");
  world.put_pending("sdk", world.now_ms());
  world.pass(milliseconds(100));
  ASSERT_TRUE(second.is_ready());
  EXPECT_EQ(ids(second.take()), "sdk");
  auto start = world.now_ms();
  EXPECT_EQ(ids(take(queue, 1, milliseconds(3'000))), "");
  EXPECT_GE(world.now_ms() - start, 3'000);
}

TEST_P(QueueTest, AWaiterThatHangsUpPassesTheCallOn) {
  Queue& queue = world.start();
  TakeInput input;
  input.wait = milliseconds(60'000);
  auto first = std::make_unique<Async<Result<std::vector<TakenTask>>>>(queue.take(input));
  auto second = queue.take(input);
  world.pass(milliseconds(1'000));
  auto creating = queue.create(named({"a"}));
  if (!GetParam()) first.reset();  // Called, but not looked yet.
  world.pass(milliseconds(5));
  first.reset();
  world.pass(milliseconds(1'000));
  world.wait(std::move(creating));
  ASSERT_TRUE(second.is_ready());
  EXPECT_EQ(ids(second.take()), "a");
}

TEST_P(QueueTest, TwoTakesAtOnceDoNotFightForTheSameTasks) {
  Queue& queue = world.start();
  create(queue, {"a", "b", "c", "d", "e", "f"});
  TakeInput input;
  input.max = 3;
  auto first = queue.take(input);
  auto second = queue.take(input);
  auto one = world.wait(std::move(first));
  auto two = world.wait(std::move(second));
  EXPECT_EQ(one->size() + two->size(), 6u) << ids(one) << " / " << ids(two);
}

TEST_P(QueueTest, ATakerThatGoesAwayInAClaimGivesItBack) {
  Queue& queue = world.start();
  create(queue, {"a"});
  {
    TakeInput input;
    auto abandoned = queue.take(input);
    world.pass(milliseconds(2));
  }
  world.pass(milliseconds(100));
  if (GetParam()) {
    EXPECT_EQ(world.status("a"), "PENDING");
    EXPECT_EQ(world.read("a").int_or("attempt", -1), 0);
  }
  expect_balance();
}

TEST_P(QueueTest, RedriveGivesNewAttempts) {
  QueueSettings settings;
  settings.max_attempts = 1;
  Queue& queue = world.start(settings);
  create(queue, {"a", "b", "c"});
  auto taken = take(queue, 3);
  for (auto& task : *taken) ASSERT_TRUE(settle(queue, Kind::kFail, task));
  EXPECT_EQ(world.stock("DEAD"), 3u);
  EXPECT_EQ(*world.wait(queue.redrive({"DEAD", {"b"}, 1000, {}})), 1u);
  EXPECT_EQ(world.status("b"), "PENDING");
  EXPECT_EQ(world.read("b").int_or("attempt", -1), 0);
  EXPECT_EQ(*world.wait(queue.redrive({"DEAD", {}, 1, {}})), 1u);
  EXPECT_EQ(*world.wait(queue.redrive({"DEAD", {}, 1000, {}})), 1u);
  EXPECT_EQ(ids(take(queue, 9)), "c b a");
  EXPECT_EQ(world.wait(queue.redrive({"SUCCESS", {}, 1, {}})).error().message,
            "state 'SUCCESS' cannot be redriven: it must be DEAD, FAILURE, CANCELLED or SHED");
  expect_balance();
}

TEST_P(QueueTest, ARedrivenShedTaskIsWorkAgain) {
  Queue& queue = world.start();
  NewTask late;
  late.id = "late";
  late.deadline = world.clock.wall() + milliseconds(1'000);
  ASSERT_TRUE(create(queue, late));
  world.pass(milliseconds(5'000));
  EXPECT_EQ(ids(take(queue, 9)), "");
  ASSERT_EQ(world.status("late"), "SHED");
  EXPECT_EQ(*world.wait(queue.redrive({"SHED", {}, 1000, {}})), 1u);
  const Item task = world.read("late");
  EXPECT_FALSE(task.contains("shedReason"));
  EXPECT_FALSE(task.contains("deadline"));
  EXPECT_EQ(ids(take(queue, 9)), "late");
  EXPECT_EQ(world.wait(queue.stats())->shed["deadline"], 1u) << "that it was shed once stays in the books";
  expect_balance();
}

TEST_P(QueueTest, ExpiredTasksAreShedAndNeverGiven) {
  Queue& queue = world.start();
  NewTask soon;
  soon.id = "deadline";
  soon.deadline = world.clock.wall() + milliseconds(1'000);
  ASSERT_TRUE(create(queue, soon));
  NewTask brief;
  brief.id = "ttl";
  brief.ttl = milliseconds(2'000);
  ASSERT_TRUE(create(queue, brief));
  create(queue, {"stays"});
  world.pass(milliseconds(5'000));
  EXPECT_EQ(ids(take(queue, 9)), "stays");
  world.pass(milliseconds(100));
  EXPECT_EQ(world.status("deadline"), "SHED");
  EXPECT_EQ(world.read("deadline").string_or("shedReason"), "deadline");
  EXPECT_TRUE(world.read("ttl").empty());
  auto stats = world.wait(queue.stats());
  EXPECT_EQ(stats->shed["deadline"], 1u);
  EXPECT_EQ(stats->shed["ttl"], 1u);
  auto lines = world.wait(queue.sheds(10));
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), 2u);
  Item line = (*lines)[0].decode();
  EXPECT_EQ(line.string_or("by"), "sweep");
  line = (*lines)[1].decode();
  EXPECT_EQ(line.string_or("taskId"), "deadline");
  EXPECT_EQ(line.string_or("reason"), "deadline");
  EXPECT_EQ(line.string_or("by"), "timer");
  EXPECT_GE(line.int_or("ageMs", 0), 1'000);
  EXPECT_LE(line.int_or("ageMs", 0), 1'100) << "as soon as it is hopeless";
  expect_balance();
}

TEST_P(QueueTest, TheShedLogIsABoundedRing) {
  QueueSettings settings;
  settings.shed_log_lines = 5;
  Queue& queue = world.start(settings);
  for (int i = 0; i < 12; ++i) {
    NewTask task;
    task.id = "t" + std::to_string(i);
    task.deadline = world.clock.wall() + milliseconds(100);
    ASSERT_TRUE(create(queue, task));
    world.pass(milliseconds(200));
    EXPECT_EQ(ids(take(queue)), "");
  }
  Queue& again = world.start(settings);
  auto lines = world.wait(again.sheds(100));
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ((*lines)[i].decode().string_or("taskId"), "t" + std::to_string(11 - i));
  EXPECT_EQ(world.wait(again.sheds(2))->size(), 2u);
  EXPECT_EQ(world.wait(again.stats())->shed["deadline"], 12u);
}

TEST_P(QueueTest, TheShedLogIsReadInFull) {
  Queue& queue = world.start();
  std::vector<NewTask> tasks(9'000);
  for (auto& task : tasks) {
    task.id = world.random.uuid() + std::string(100, 'x');  // More than one page of the store.
    task.deadline = world.clock.wall() + milliseconds(500);
  }
  world.wait(queue.create(std::move(tasks)));
  world.pass(milliseconds(500));
  EXPECT_EQ(ids(take(queue, 1'000)), "");
  world.pass(milliseconds(500));
  auto lines = world.wait(queue.sheds(10'000));
  ASSERT_TRUE(lines) << lines.error().message;
  EXPECT_EQ(lines->size(), 9'000u);
  EXPECT_EQ(world.wait(queue.sheds(10'001)).error().message, "limit must be from 1 to 10000");
}

TEST_P(QueueTest, ListsAStateInPages) {
  Queue& queue = world.start();
  create(queue, {"a", "b", "c", "d", "e"});
  ListInput input;
  input.limit = 2;
  std::string seen;
  do {
    auto page = world.wait(queue.list(input));
    ASSERT_TRUE(page) << page.error().message;
    for (auto& task : page->tasks) seen += task.decode().string_or("taskId");
    input.cursor = page->cursor;
  } while (!input.cursor.empty());
  EXPECT_EQ(seen, "edcba");
  input.oldest_first = true;
  EXPECT_EQ(world.wait(queue.list(input))->tasks[0].decode().string_or("taskId"), "a");
  input.cursor = "xyz";
  EXPECT_EQ(world.wait(queue.list(input)).error().message,
            "'cursor' is none that a page of this list ended with: repeat the one in the answer before unchanged, or "
            "leave it "
            "out for the first page");
  input.state = "GONE";
  EXPECT_EQ(world.wait(queue.list(input)).error().message,
            "state 'GONE' is none of PENDING, DELAYED, TAKEN, SUCCESS, FAILURE, DEAD, SHED, CANCELLED");
}

TEST_P(QueueTest, StatsAreTheBooks) {
  Queue& queue = world.start();
  create(queue, {"a"});
  auto oldest = world.clock.wall();
  world.pass(milliseconds(500));
  create(queue, {"b", "c"});
  take(queue);
  auto stats = world.wait(queue.stats());
  EXPECT_EQ(stats->depth["PENDING"], 2u);
  EXPECT_EQ(stats->depth["TAKEN"], 1u);
  EXPECT_EQ(stats->depth["DEAD"], 0u);
  EXPECT_EQ(stats->flow["->PENDING"], 3u);
  EXPECT_EQ(stats->flow["PENDING->TAKEN"], 1u);
  EXPECT_EQ(stats->running, 1u);
  EXPECT_LE(*stats->oldest, oldest);
  EXPECT_GE(*stats->newest - *stats->oldest, milliseconds(500));
}

TEST_P(QueueTest, AKeyIsDeduplicatedWhileItsTaskLives) {
  Queue& queue = world.start();
  NewTask task;
  task.key = "customer-7";
  task.id = "one";
  EXPECT_TRUE(create(queue, task)->created);
  task.id = "two";
  auto second = create(queue, task);
  EXPECT_FALSE(second->created);
  EXPECT_EQ(second->id, "one");
  auto taken = take(queue);
  EXPECT_FALSE(create(queue, task)->created) << "held counts as living";
  ASSERT_TRUE(settle(queue, Kind::kComplete, (*taken)[0]));
  EXPECT_TRUE(create(queue, task)->created);
  EXPECT_EQ(world.read("one").string_or("key"), "customer-7");
}

TEST_P(QueueTest, ReplaceLeavesOnlyTheLatestWaiting) {
  Queue& queue = world.start();
  NewTask task;
  task.key = "k";
  task.replace = true;
  std::vector<Async<std::vector<Result<CreatedTask>>>> creating;
  for (const char* id : {"one", "two", "three"}) {
    task.id = id;
    std::vector<NewTask> one{task};
    creating.push_back(queue.create(std::move(one)));
  }
  for (auto& work : creating) EXPECT_TRUE(world.wait(std::move(work))[0]->created);
  EXPECT_EQ(world.stock("PENDING"), 1u);
  EXPECT_EQ(world.stock("CANCELLED"), 2u);
  auto taken = take(queue, 9);
  EXPECT_EQ(taken->size(), 1u);
  auto running = ids(taken);
  task.id = "four";
  EXPECT_TRUE(create(queue, task)->created) << "the one in work goes on beside it";
  EXPECT_EQ(world.status(running), "TAKEN");
  EXPECT_EQ(world.read("one").string_or("replacedBy").empty(), running == "one");
  expect_balance();
}

TEST_P(QueueTest, HigherPriorityFirstAndNewestWithin) {
  Queue& queue = world.start();
  create(queue, {"plain1"});
  NewTask task;
  for (auto [id, priority] : {std::pair("low", -5), {"high1", 5}, {"high2", 5}}) {
    task.id = id;
    task.priority = priority;
    ASSERT_TRUE(create(queue, task));
  }
  create(queue, {"plain2"});
  world.put_pending("sdk", world.now_ms());
  world.pass(milliseconds(500));
  EXPECT_EQ(ids(take(queue, 1)), "high2");
  EXPECT_EQ(ids(take(queue, 9)), "high1 sdk plain2 plain1 low");
  EXPECT_EQ(ids(take(queue, 9)), "");
  expect_balance();
}

TEST_P(QueueTest, LanesSurviveARestartAndReturns) {
  Queue& first = world.start();
  NewTask task;
  task.id = "high";
  task.priority = 9;
  ASSERT_TRUE(create(first, task));
  create(first, {"plain"});
  auto taken = take(first);
  ASSERT_EQ(ids(taken), "high");
  EXPECT_FALSE((*taken)[0].task.decode().contains("lane"));
  ASSERT_TRUE(settle(first, Kind::kRelease, (*taken)[0]));
  EXPECT_EQ(world.read("high").string_or("lane"), "091##0");
  Queue& second = world.start();
  EXPECT_EQ(ids(take(second, 2)), "high plain");
}

TEST_P(QueueTest, GroupsShareByWhatIsInWork) {
  Queue& queue = world.start();
  NewTask task;
  for (int i = 0; i < 6; ++i) {
    task.id = "a" + std::to_string(i);
    task.group = "A";
    ASSERT_TRUE(create(queue, task));
  }
  task.id = "b0";
  task.group = "B";
  ASSERT_TRUE(create(queue, task));
  for (int i = 6; i < 9; ++i) {
    task.id = "a" + std::to_string(i);
    task.group = "A";
    ASSERT_TRUE(create(queue, task));
  }
  EXPECT_EQ(ids(take(queue, 1)), "a8");
  EXPECT_EQ(ids(take(queue, 3)), "b0 a7 a6");
}

}  // namespace
}  // namespace freshet
