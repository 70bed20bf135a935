// Readings, shares, holders and filtered lists: a queue as people who watch it see it. In both worlds.
#include "tests/functions/queue_fixture.h"

namespace freshet {
namespace {

class QueueLook : public QueueFixture {
 protected:
  static NewTask task(const std::string& id, const std::string& group, const std::string& key = {}) {
    NewTask out;
    out.id = id;
    out.group = group;
    out.key = key;
    return out;
  }
  QueueShares shares(Queue& queue, SharesInput input = {}) {
    auto out = world.wait(queue.shares(input));
    EXPECT_TRUE(out) << out.error().message;
    return std::move(*out);
  }
  static std::string text_of(const QueueShares& shares) {
    std::string out;
    for (const auto& share : shares.shares) {
      out += (share.name.empty() ? "-" : share.name) + " " + std::to_string(share.in_work) + "/" +
             (share.waiting ? std::to_string(*share.waiting) : "?") + (share.waiting_at_least ? "+" : "") +
             (share.paused ? " paused" : "") + (share.at_limit ? " held" : "") + "; ";
    }
    return out;
  }
  static uint64_t flow(const QueueReading& reading, QueueFlow which) {
    return reading.flows[static_cast<size_t>(which)];
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, QueueLook, ::testing::Values(false, true), store_name);

TEST_P(QueueLook, AReadingCountsWhatHappened) {
  Queue& queue = world.start();
  create(queue, {"a", "b", "c"});
  NewTask late;
  late.id = "late";
  late.deadline_in = milliseconds(100);
  ASSERT_TRUE(create(queue, std::move(late)));
  world.pass(milliseconds(2'000));
  auto held = take(queue, 2);
  ASSERT_EQ(ids(held), "c b");
  ASSERT_TRUE(settle(queue, Kind::kComplete, held->at(0)));
  const auto now = world.wait(queue.reading());
  ASSERT_TRUE(now);
  EXPECT_EQ(flow(*now, QueueFlow::kOffered), 4u);
  EXPECT_EQ(flow(*now, QueueFlow::kStarted), 2u);
  EXPECT_EQ(flow(*now, QueueFlow::kInTime), 1u);
  EXPECT_EQ(flow(*now, QueueFlow::kShedDeadline), 1u);
  EXPECT_EQ(now->pending, 1u);
  EXPECT_EQ(now->in_work, 1u);
  EXPECT_GE(now->oldest_age, milliseconds(2'000));
  EXPECT_EQ(now->newest_age, now->oldest_age);
}

TEST_P(QueueLook, WithoutGroupsAllTasksAreOfOneShare) {
  Queue& queue = world.start();
  create(queue, {"a", "b", "c"});
  ASSERT_EQ(ids(take(queue)), "c");
  EXPECT_EQ(text_of(shares(queue)), "- 1/2; ");
}

TEST_P(QueueLook, GroupsHaveTheirTasksInWorkAndWaiting) {
  Queue& queue = world.start();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(create(queue, task("acme-" + std::to_string(i), "acme")));
  ASSERT_TRUE(create(queue, task("eu-0", "eu")));
  create(queue, {"none"});
  NewTask urgent = task("acme-urgent", "acme");
  urgent.priority = 50;
  ASSERT_TRUE(create(queue, std::move(urgent)));
  ASSERT_EQ(ids(take(queue)), "acme-urgent");
  ASSERT_TRUE(world.wait(queue.pause({Pause::Of::kGroup, "eu", "", {}}, {})));
  EXPECT_EQ(text_of(shares(queue)), "acme 1/3; - 0/1; eu 0/1 paused; ");
  const auto first = shares(queue, {false, 1});
  EXPECT_EQ(text_of(first), "acme 1/3; ");
  EXPECT_TRUE(first.more);
}

TEST_P(QueueLook, AShareWithManyTasksIsNotCountedToItsEnd) {
  Queue& queue = world.start();
  std::vector<NewTask> many;
  for (int i = 0; i < 1'000; ++i) many.push_back(task("a-" + std::to_string(i), "acme"));
  for (int i = 0; i < 600; ++i) many.push_back(task("b-" + std::to_string(i), "acme"));
  for (size_t from = 0; from < many.size(); from += 800) {
    const auto begin = many.begin() + static_cast<std::ptrdiff_t>(from);
    std::vector<NewTask> some(std::make_move_iterator(begin), std::make_move_iterator(begin + 800));
    for (auto& created : world.wait(queue.create(std::move(some)))) ASSERT_TRUE(created);
  }
  const auto out = shares(queue);
  ASSERT_EQ(out.shares.size(), 1u);
  EXPECT_TRUE(out.shares[0].waiting_at_least);
  EXPECT_GE(*out.shares[0].waiting, 1'000u);
  EXPECT_LT(*out.shares[0].waiting, 1'600u);
}

TEST_P(QueueLook, WithMoreLanesThanAreLookedAtNoCountIsSaidToBeWhole) {
  Queue& queue = world.start();
  ASSERT_TRUE(queue.change_policy({{"KEY_CONCURRENCY", "1"}, {"LIMIT_BY", "key"}, {"LEASE_MS", "3600000"}}));
  const auto create_keys = [&](int from, int to) {
    std::vector<NewTask> some;
    for (int k = from; k < to; ++k) some.push_back(task("t" + std::to_string(k), {}, "k" + std::to_string(k)));
    for (auto& created : world.wait(queue.create(std::move(some)))) ASSERT_TRUE(created) << created.error().message;
  };
  const auto zebra = [](QueueShares all) {
    std::erase_if(all.shares, [](const QueueShare& share) { return share.name != "zebra"; });
    return text_of(all);
  };
  create_keys(0, 10);
  ASSERT_TRUE(create(queue, task("one", {}, "zebra")));
  ASSERT_EQ(take(queue, 20)->size(), 11u);
  NewTask newer = task("two", {}, "zebra");
  newer.replace = true;
  ASSERT_TRUE(create(queue, std::move(newer)));
  EXPECT_EQ(zebra(shares(queue, {true, 20})), "zebra 1/1 held; ");
  for (int from = 1'000; from < 21'000; from += 1'000) create_keys(from, from + 1'000);
  // The last lane by its name: whether tasks wait in it was not looked at.
  const auto cut = shares(queue, {true, 20});
  EXPECT_TRUE(cut.more);
  EXPECT_EQ(zebra(cut), "zebra 1/0+ held; ");
}

TEST_P(QueueLook, HoldersAreNamedWithTheirTasks) {
  Queue& queue = world.start();
  create(queue, {"a", "b", "c"});
  TakeInput input;
  input.max = 2;
  input.owner = "worker-7";
  ASSERT_EQ(ids(world.wait(queue.take(input))), "c b");
  world.pass(milliseconds(500));
  ASSERT_EQ(ids(take(queue)), "a");
  const QueueHolders all = queue.holders(100);
  EXPECT_EQ(all.in_work, 3u);
  ASSERT_EQ(all.holders.size(), 2u);
  EXPECT_EQ(all.holders[0].name, "worker-7");
  EXPECT_EQ(all.holders[0].tasks, 2u);
  EXPECT_GE(all.holders[0].longest, milliseconds(500));
  ASSERT_EQ(all.tasks.size(), 3u);
  EXPECT_EQ(all.tasks[0].holder, "worker-7");  // Its lease ends first.
  EXPECT_LT(all.tasks[0].lease_left, all.tasks[2].lease_left);
  const QueueHolders some = queue.holders(1);
  EXPECT_EQ(some.tasks.size(), 1u);
  EXPECT_EQ(some.holders.size(), 1u);
}

TEST_P(QueueLook, AListWithAFilterHasOnlyWhatFitsAndSaysWhereItEnded) {
  Queue& queue = world.start();
  for (int i = 0; i < 30; ++i) {
    NewTask one = task("t-" + std::to_string(i), i % 3 == 0 ? "eu" : "us");
    one.payload = Value(i == 21 ? "needle" : "hay");
    ASSERT_TRUE(create(queue, std::move(one)));
    world.pass(milliseconds(10));
  }
  ListInput input;
  input.limit = 4;
  input.where = {{"group", "eu"}};
  std::vector<std::string> found;
  do {
    const auto page = world.wait(queue.list(input));
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_LE(page->tasks.size(), 4u);
    for (const auto& one : page->tasks) found.push_back(std::string(one.find("taskId")->bytes()));
    input.cursor = page->cursor;
  } while (!input.cursor.empty());
  EXPECT_EQ(found,
            (std::vector<std::string>{"t-27", "t-24", "t-21", "t-18", "t-15", "t-12", "t-9", "t-6", "t-3", "t-0"}));
  input.text = "needle";
  auto page = world.wait(queue.list(input));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->tasks.size(), 1u);
  EXPECT_EQ(page->looked, 30u);
  const auto fifth = world.wait(queue.get("t-4"));
  ASSERT_TRUE(fifth);
  input = ListInput{};
  input.older_than = milliseconds(world.now_ms() - fifth->decode().int_or("taskCreated", 0));
  page = world.wait(queue.list(input));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->tasks.size(), 5u);
}

}  // namespace
}  // namespace freshet
