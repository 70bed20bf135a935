// KEEP_MS: how long an ended task stays, whatever its deadline and its ttl while it waited were.
#include "functions/keep_times.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

std::string wrong(std::string_view text) {
  const auto times = KeepTimes::parse(text);
  return times ? "accepted" : times.error().message;
}

TEST(KeepTimes, AreOneForAllOrByOutcome) {
  const auto all = KeepTimes::parse("3600000");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->of("SUCCESS"), milliseconds(3'600'000));
  EXPECT_EQ(all->of("SHED"), milliseconds(3'600'000));
  EXPECT_FALSE(all->of("PENDING"));
  EXPECT_EQ(all->text(), "3600000");
  const auto some = KeepTimes::parse("SUCCESS=60000,DEAD=86400000");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->of("SUCCESS"), milliseconds(60'000));
  EXPECT_EQ(some->of("DEAD"), milliseconds(86'400'000));
  EXPECT_FALSE(some->of("FAILURE"));
  EXPECT_EQ(some->text(), "SUCCESS=60000,DEAD=86400000");
  const auto others = KeepTimes::parse("DEAD=5000,1000,CANCELLED=0");
  ASSERT_TRUE(others);
  EXPECT_EQ(others->of("DEAD"), milliseconds(5'000));
  EXPECT_EQ(others->of("FAILURE"), milliseconds(1'000));
  EXPECT_FALSE(others->of("CANCELLED"));
  for (const auto& times : {*all, *some, *others, KeepTimes()}) EXPECT_EQ(*KeepTimes::parse(times.text()), times);
}

TEST(KeepTimes, SayWhatIsWrong) {
  constexpr const char* kRight =
      "; write milliseconds for all ended tasks, as 3600000, or by outcome, as SUCCESS=60000,DEAD=86400000";
  EXPECT_EQ(wrong("1h"),
            std::string("KEEP_MS is '1h': '1h' must be a whole number of milliseconds from 0 to 31622400000") + kRight);
  EXPECT_EQ(wrong("DONE=5"),
            std::string("KEEP_MS is 'DONE=5': 'DONE' is no state in which tasks end (SUCCESS, FAILURE, DEAD, SHED, "
                        "CANCELLED)") +
                kRight);
  EXPECT_EQ(wrong("DEAD=5,DEAD=6"), std::string("KEEP_MS is 'DEAD=5,DEAD=6': DEAD is there twice") + kRight);
  EXPECT_EQ(wrong("5,6"), std::string("KEEP_MS is '5,6': two numbers have no outcome before them") + kRight);
  for (const char* text : {"", ",", "5,", "-1", "05", "1.5", "31622400001", "DEAD", "DEAD=", "=5", "dead=5", " 5"}) {
    EXPECT_NE(wrong(text), "accepted") << text;
  }
}

class QueueKeep : public QueueFixture {
 protected:
  static QueueSettings keeping(const char* text) {
    QueueSettings settings;
    settings.keep = *KeepTimes::parse(text);
    settings.backoff.base = milliseconds(0);
    settings.max_attempts = 1;
    return settings;
  }
  // In whole seconds, rounded up.
  int64_t seconds_from_now(milliseconds time) { return epoch_s(world.clock.wall() + time + milliseconds(999)); }
  int64_t ttl_of(const std::string& id) { return world.read(id).int_or("ttl", 0); }
  Result<ItemRef> take_and(Queue& queue, Kind kind, bool final = false) {
    auto taken = take(queue);
    EXPECT_TRUE(taken && taken->size() == 1);
    Settlement one = settlement(kind, taken->at(0));
    one.final = final;
    one.error = kind == Kind::kFail ? "no" : "";
    return settle(queue, std::move(one));
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueKeep, ::testing::Bool(), store_name);

TEST_P(QueueKeep, EachOutcomeHasItsTime) {
  Queue& queue = world.start(keeping("SUCCESS=10000,FAILURE=20000,DEAD=30000,CANCELLED=40000,SHED=50000"));
  create(queue, {"success"});
  ASSERT_TRUE(take_and(queue, Kind::kComplete));
  EXPECT_EQ(ttl_of("success"), seconds_from_now(milliseconds(10'000)));
  create(queue, {"failure"});
  ASSERT_TRUE(take_and(queue, Kind::kFail, true));
  EXPECT_EQ(ttl_of("failure"), seconds_from_now(milliseconds(20'000)));
  create(queue, {"dead"});
  ASSERT_TRUE(take_and(queue, Kind::kFail));
  ASSERT_EQ(world.status("dead"), "DEAD");
  EXPECT_EQ(ttl_of("dead"), seconds_from_now(milliseconds(30'000)));
  create(queue, {"cancelled"});
  ASSERT_TRUE(world.wait(queue.cancel({"cancelled"}))[0]);
  EXPECT_EQ(ttl_of("cancelled"), seconds_from_now(milliseconds(40'000)));
  NewTask late = named({"shed"})[0];
  late.deadline_in = milliseconds(500);
  ASSERT_TRUE(create(queue, late));
  world.pass(milliseconds(600));
  ASSERT_EQ(world.status("shed"), "SHED");
  EXPECT_NEAR(static_cast<double>(ttl_of("shed")), static_cast<double>(seconds_from_now(milliseconds(50'000))), 1);
  expect_balance();
}

TEST_P(QueueKeep, AnEndedTaskGoesWhenItsTimeIsOverAndTheBooksKnow) {
  Queue& queue = world.start(keeping("5000"));
  NewTask task = named({"a"})[0];
  task.deadline_in = milliseconds(60'000);
  ASSERT_TRUE(create(queue, task));
  ASSERT_TRUE(take_and(queue, Kind::kComplete));
  world.pass(milliseconds(3'900));
  EXPECT_EQ(world.status("a"), "SUCCESS");
  world.pass(milliseconds(3'000));
  EXPECT_TRUE(world.read("a").empty());
  EXPECT_EQ(world.stock("SUCCESS"), 0u);
  EXPECT_EQ(world.wait(queue.stats())->shed_total, 0u);
  expect_balance();
}

TEST_P(QueueKeep, AClientsTtlStaysAndThatOfTheQueueIsReplaced) {
  QueueSettings settings = keeping("100000");
  settings.default_ttl = milliseconds(5'000);
  Queue& queue = world.start(settings);
  NewTask own = named({"own"})[0];
  own.ttl = milliseconds(7'000);
  ASSERT_TRUE(create(queue, own));
  const auto set = ttl_of("own");
  ASSERT_TRUE(take_and(queue, Kind::kComplete));
  EXPECT_EQ(ttl_of("own"), set);
  create(queue, {"default"});
  EXPECT_EQ(ttl_of("default"), seconds_from_now(milliseconds(5'000)));
  ASSERT_TRUE(take_and(queue, Kind::kComplete));
  EXPECT_EQ(ttl_of("default"), seconds_from_now(milliseconds(100'000)));
  // A ttl that a client has written over the queue's is the client's.
  create(queue, {"changed"});
  Item changed = world.read("changed");
  changed.set("ttl", Value::number(seconds_from_now(milliseconds(20'000))));
  const auto written = changed.int_or("ttl", 0);
  world.put(changed);
  ASSERT_TRUE(take_and(queue, Kind::kComplete));
  EXPECT_EQ(ttl_of("changed"), written);
}

// Such a task was promised its ttl; the mark is only for queues that need it.
TEST_P(QueueKeep, ATtlFromBeforeKeepMsWasSetStays) {
  QueueSettings settings = keeping("0");
  settings.default_ttl = milliseconds(5'000);
  Queue& queue = world.start(settings);
  create(queue, {"a"});
  EXPECT_FALSE(world.read("a").contains("queueTtl"));
  const auto set = ttl_of("a");
  ASSERT_TRUE(queue.change_policy({{"KEEP_MS", "60000"}}));
  ASSERT_TRUE(take_and(queue, Kind::kComplete));
  EXPECT_EQ(ttl_of("a"), set);
}

TEST_P(QueueKeep, ATtlThatRunsOutWhileTheTaskWaitsShedsIt) {
  Queue& queue = world.start(keeping("100000"));
  NewTask brief = named({"brief"})[0];
  brief.ttl = milliseconds(2'000);
  ASSERT_TRUE(create(queue, brief));
  world.pass(milliseconds(5'000));
  EXPECT_TRUE(world.read("brief").empty());
  EXPECT_EQ(world.wait(queue.stats())->shed["ttl"], 1u);
  expect_balance();
}

TEST_P(QueueKeep, ARedrivenTaskDoesNotHaveTheTtlOfItsEnd) {
  Queue& queue = world.start(keeping("5000"));
  create(queue, {"a"});
  ASSERT_TRUE(take_and(queue, Kind::kFail));
  ASSERT_GT(ttl_of("a"), 0);
  EXPECT_EQ(*world.wait(queue.redrive({"DEAD", {}, 1000, {}})), 1u);
  EXPECT_FALSE(world.read("a").contains("ttl"));
  EXPECT_FALSE(world.read("a").contains("queueTtl"));
  world.pass(seconds(20));
  EXPECT_EQ(world.status("a"), "PENDING") << "that it was kept for 5 s once does not shed it";
  QueueSettings settings = keeping("5000");
  settings.default_ttl = milliseconds(30'000);
  queue.set_settings(settings);
  ASSERT_TRUE(take_and(queue, Kind::kFail));
  EXPECT_EQ(*world.wait(queue.redrive({"DEAD", {}, 1000, {}})), 1u);
  EXPECT_EQ(ttl_of("a"), seconds_from_now(milliseconds(30'000)));
  ASSERT_TRUE(take_and(queue, Kind::kComplete));
  EXPECT_EQ(ttl_of("a"), seconds_from_now(milliseconds(5'000)));
  expect_balance();
}

TEST_P(QueueKeep, ThePolicyChangesItAtRunTime) {
  Queue& queue = world.start(keeping("0"));
  create(queue, {"before"});
  ASSERT_TRUE(take_and(queue, Kind::kComplete));
  EXPECT_FALSE(world.read("before").contains("ttl"));
  EXPECT_EQ(queue.policy().at("KEEP_MS"), "0");
  ASSERT_TRUE(queue.change_policy({{"KEEP_MS", "SUCCESS=9000"}}));
  EXPECT_EQ(queue.policy().at("KEEP_MS"), "SUCCESS=9000");
  create(queue, {"after"});
  ASSERT_TRUE(take_and(queue, Kind::kComplete));
  EXPECT_EQ(ttl_of("after"), seconds_from_now(milliseconds(9'000)));
  const auto refused = queue.change_policy({{"KEEP_MS", "9s"}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("'9s' must be a whole number of milliseconds"), std::string::npos);
  EXPECT_EQ(queue.policy().at("KEEP_MS"), "SUCCESS=9000");
}

TEST_P(QueueKeep, ATaskThatAClientEndsByItselfIsKeptAsLong) {
  QueueSettings settings = keeping("SUCCESS=60000");
  settings.default_ttl = milliseconds(5'000);
  Queue& queue = world.start(settings);
  create(queue, {"a", "b"});
  ASSERT_EQ(take(queue, 2)->size(), 2u);
  Item ended = world.read("a");
  ended.set("taskStatus", Value("SUCCESS"));
  world.put(ended);
  ended = world.read("b");
  ended.set("taskStatus", Value("SUCCESS"));
  ended.set("ttl", Value::number(seconds_from_now(milliseconds(90'000))));
  world.put(ended);
  world.pass(milliseconds(500));
  EXPECT_GT(ttl_of("a"), seconds_from_now(milliseconds(55'000)));
  EXPECT_EQ(ttl_of("b"), ended.int_or("ttl", 0)) << "that is the client's own";
}

// A task that loses its lease, or its daemon, with no attempt left.
TEST_P(QueueKeep, TheEndOfALeaseCountsToo) {
  QueueSettings settings = keeping("DEAD=60000");
  settings.lease = milliseconds(1'000);
  Queue& queue = world.start(settings);
  create(queue, {"a"});
  ASSERT_EQ(ids(take(queue)), "a");
  world.pass(milliseconds(2'500));
  ASSERT_EQ(world.status("a"), "DEAD");
  EXPECT_GT(ttl_of("a"), seconds_from_now(milliseconds(55'000)));
  create(queue, {"b"});
  ASSERT_EQ(ids(take(queue)), "b");
  world.start(settings);
  ASSERT_EQ(world.status("b"), "DEAD");
  EXPECT_GT(ttl_of("b"), seconds_from_now(milliseconds(55'000)));
  expect_balance();
}

}  // namespace
}  // namespace freshet
