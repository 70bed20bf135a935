// A queue's promises under overload, each in numbers: poison, updates of one key, a quiet group beside a flood, and
// very many tasks that expire. On the embedded store, in simulated time.
#include <algorithm>
#include <cmath>

#include "tests/functions/processor_fixture.h"
#include "tests/functions/queue_fixture.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

class PromisesTest : public ProcessorTest {};

INSTANTIATE_TEST_SUITE_P(Stores, PromisesTest, ::testing::Values(false), [](const auto&) { return "embedded"; });

// It is the newest whenever it can be taken, and fails each time.
TEST_P(PromisesTest, APoisonTaskIsDeadInItsClaimsAndCostsOthersNearlyNothing) {
  environment["MAX_ATTEMPTS"] = "5";
  environment["BACKOFF_BASE_MS"] = "0";
  environment["MAX_ACTIVE_MS"] = "10000";
  environment["CONCURRENCY"] = "4";
  uint64_t done[2] = {0, 0};
  for (const bool poisoned : {false, true}) {
    QueueWorld fresh(false);
    auto& queue = fresh.start(process_settings(environment)->queue);
    std::vector<NewTask> tasks(2'000);
    for (auto& created : fresh.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created);
    if (poisoned) {
      fresh.pass(milliseconds(10));
      for (auto& created : fresh.wait(queue.create(named({"poison"})))) ASSERT_TRUE(created);
    }
    int claims = 0;
    fresh.http.duration = milliseconds(50);
    fresh.http.answer = [&](const HttpRequest& request) {
      HttpResponse response;
      const bool poison = request.body.find("\"poison\"") != std::string::npos;
      claims += poison;
      response.status = poison ? 500 : 200;
      return response;
    };
    Running running(fresh, process_tasks, environment);
    ASSERT_TRUE(running.outcome(fresh));
    done[poisoned] = fresh.stock("SUCCESS");
    EXPECT_EQ(claims, poisoned ? 5 : 0);
    EXPECT_EQ(fresh.stock("DEAD"), poisoned ? 1u : 0u);
  }
  EXPECT_GE(static_cast<double>(done[1]), 0.95 * static_cast<double>(done[0]));
}

// The state of the first one, and the number of slots, do not matter.
TEST_P(PromisesTest, TenThousandUpdatesOfAKeyRunAtMostTwiceAndTheLastAlways) {
  environment["CONCURRENCY"] = "16";
  environment["MAX_ACTIVE_MS"] = "60000";
  environment["LINGER_MS"] = "1000";
  for (const int status : {200, 500, 503}) {
    SCOPED_TRACE(status);
    QueueWorld fresh(false);
    auto& queue = fresh.start(process_settings(environment)->queue);
    fresh.http.duration = seconds(5);
    int ended = 0;
    fresh.http.answer = [&](const HttpRequest&) {
      HttpResponse response;
      response.status = ++ended == 1 ? status : 200;
      return response;
    };
    Running running(fresh, process_tasks, environment);
    fresh.pass(milliseconds(10));
    for (int i = 0; i < 10'000; ++i) {
      std::vector<NewTask> one(1);
      one[0].id = "u" + std::to_string(i);
      one[0].key = "k";
      one[0].replace = true;
      ASSERT_TRUE(fresh.wait(queue.create(std::move(one)))[0]);
      if (i % 1'000 == 0) fresh.pass(milliseconds(10));
    }
    ASSERT_TRUE(running.outcome(fresh));
    EXPECT_EQ(fresh.http.most_in_work, 1);
    ASSERT_EQ(fresh.http.requests.size(), 2u) << "all came while the first was in work";
    EXPECT_NE(fresh.http.requests[1].body.find("\"u9999\""), std::string::npos) << fresh.http.requests[1].body;
    EXPECT_EQ(fresh.stock("SUCCESS"), status == 200 ? 2u : 1u);
    EXPECT_EQ(fresh.stock("SUCCESS") + fresh.stock("CANCELLED"), 10'000u);
  }
}

// All within one second: no take sees one once it has passed, and all are gone within half a minute, while fresh tasks
// are given at once.
TEST_P(PromisesTest, VeryManyThatExpireAtOnceAreUnseenAtOnceAndGoneSoon) {
  constexpr int kTasks = 100'000;
  Queue& queue = start();
  const auto deadline = world.clock.wall() + seconds(30);
  for (int i = 0; i < kTasks; i += 1'000) {
    std::vector<NewTask> some(1'000);
    for (size_t j = 0; j < some.size(); ++j) some[j].deadline = deadline + milliseconds(j);
    for (auto& created : world.wait(queue.create(std::move(some)))) ASSERT_TRUE(created);
  }
  const auto due = std::chrono::floor<milliseconds>(deadline + seconds(1) - world.clock.wall());
  world.pass(due);
  TakeInput input;
  input.max = 10;
  for (int i = 0; i < 20; ++i) {
    for (auto& created : world.wait(queue.create(named({("fresh" + std::to_string(i)).c_str()})))) ASSERT_TRUE(created);
    const auto taken = world.wait(queue.take(input));
    ASSERT_TRUE(taken);
    EXPECT_EQ(ids(taken), "fresh" + std::to_string(i));
    world.pass(milliseconds(10));
  }
  world.pass(seconds(30));
  EXPECT_EQ(world.stock("PENDING"), 0u);
  EXPECT_EQ(world.stock("SHED"), static_cast<uint64_t>(kTasks));
  EXPECT_TRUE(check_balance(world.books()));
}

// At the pace of a million in a minute: each is shed within 50 ms of its deadline, but for one in a hundred.
TEST_P(PromisesTest, AMillionAMinuteAreShedAsTheyExpire) {
  constexpr int kTasks = 100'000;
  constexpr double kEvery = 60.0 / 1'000;  // Milliseconds.
  Queue& queue = start();
  const auto first = world.clock.wall() + seconds(30);
  for (int i = 0; i < kTasks; i += 1'000) {
    std::vector<NewTask> some(1'000);
    for (int j = 0; j < 1'000; ++j) {
      some[static_cast<size_t>(j)].deadline = first + milliseconds(static_cast<int64_t>((i + j) * kEvery));
    }
    for (auto& created : world.wait(queue.create(std::move(some)))) ASSERT_TRUE(created);
  }
  world.pass(seconds(40));
  ASSERT_EQ(world.stock("SHED"), static_cast<uint64_t>(kTasks));
  std::vector<int64_t> lags;
  ListInput input;
  input.state = "SHED";
  input.limit = 1'000;
  do {
    auto page = world.wait(queue.list(input));
    ASSERT_TRUE(page);
    for (const auto& task : page->tasks) {
      const Item item = task.decode();
      lags.push_back(item.int_or("taskUpdated", 0) - item.int_or("deadline", 0));
    }
    input.cursor = std::move(page->cursor);
  } while (!input.cursor.empty());
  ASSERT_EQ(lags.size(), static_cast<size_t>(kTasks));
  std::sort(lags.begin(), lags.end());
  EXPECT_GE(lags.front(), 0) << "none before its time";
  EXPECT_LE(lags[lags.size() * 99 / 100], 50);
}

using Held = std::vector<std::pair<int64_t, TakenTask>>;  // With when it will be done.

void complete_due(QueueWorld& world, Queue& queue, Held& held, int64_t now) {
  std::vector<Settlement> done;
  std::erase_if(held, [&](auto& one) {
    if (one.first > now) return false;
    done.push_back(settlement(Settlement::Kind::kComplete, one.second));
    return true;
  });
  if (!done.empty()) world.wait(queue.settle(std::move(done)));
}

// One slot after the other in rounds: the quiet group's tasks wait as if they were nearly alone.
double p99_of_the_quiet(bool flooded, uint64_t seed, double* jain) {
  QueueWorld world(false, seed);
  Random random(seed);
  auto& queue = world.start();
  std::vector<double> waits;
  std::map<std::string, int64_t> came;
  Held held;
  double served[2] = {0, 0}, created[2] = {0, 0};
  constexpr int64_t kMs = 20'000;
  for (int64_t now = 0; now < kMs; now += 10) {
    std::vector<NewTask> tasks;
    if (random.unit() < 0.02) {
      tasks.emplace_back();
      tasks.back().group = "quiet";
      tasks.back().id = "q" + std::to_string(now);
      came[tasks.back().id] = now;
    }
    for (int i = 0; flooded && i < 20; ++i) tasks.emplace_back().group = "loud";  // A thousand times as many.
    for (const auto& task : tasks) ++created[task.group == "quiet"];
    if (!tasks.empty()) world.wait(queue.create(std::move(tasks)));
    complete_due(world, queue, held, now);
    if (held.size() < 4) {
      TakeInput input;
      input.max = static_cast<int>(4 - held.size());
      auto taken = world.wait(queue.take(input));
      for (auto& task : *taken) {
        const std::string id(task.task.decode().string_or("taskId"));
        const auto end = now + static_cast<int64_t>(-std::log(1 - random.unit()) * 100);
        ++served[came.contains(id)];
        if (came.contains(id)) waits.push_back(static_cast<double>(end - came[id]));
        held.emplace_back(end, std::move(task));
      }
    }
    world.pass(milliseconds(10));
  }
  if (jain) {
    // The share that each may claim: half, and the part that the quiet one leaves.
    const double all = served[0] + served[1];
    const double quiet = served[1] / std::min(created[1], all / 2);
    const double loud = served[0] / std::min(created[0], all - std::min(created[1], all / 2));
    *jain = (quiet + loud) * (quiet + loud) / (2 * (quiet * quiet + loud * loud));
  }
  std::sort(waits.begin(), waits.end());
  return waits.empty() ? 0 : waits[waits.size() * 99 / 100];
}

TEST(QueuePromises, AQuietGroupBesideAFloodWaitsAtMostTwiceAsLong) {
  double alone = 0, beside = 0;
  for (const auto seed : test_seeds(5)) {
    SCOPED_TRACE(seed);
    double jain = 0;
    alone += p99_of_the_quiet(false, seed, nullptr);
    beside += p99_of_the_quiet(true, seed, &jain);
    EXPECT_GE(jain, 0.95);
  }
  EXPECT_LE(beside, 2 * alone) << "alone " << alone / 5 << " ms";
}

// From creation to end, in ms, of tasks that come at half of what four slots can do, while 2,000 dead ones are put
// back: `at_once` every 100 ms. 0: none.
double p99_of_the_live(Order order, uint32_t at_once, uint64_t seed) {
  QueueWorld world(false, seed);
  Random random(seed);
  QueueSettings settings;
  settings.order = order;
  auto& queue = world.start(settings);
  for (int i = 0; i < 2; ++i) {
    std::vector<std::string> dead;
    for (auto& created : world.wait(queue.create(std::vector<NewTask>(1'000)))) dead.push_back(created->id);
    world.wait(queue.cancel(std::move(dead)));
  }
  std::vector<double> times;
  std::map<std::string, int64_t> came;
  Held held;
  for (int64_t now = 0; now < 30'000; now += 5) {
    if (random.unit() < 0.1) {
      std::vector<NewTask> one(1);
      one[0].id = "live" + std::to_string(now);
      came[one[0].id] = now;
      world.wait(queue.create(std::move(one)));
    }
    if (at_once > 0 && now % 100 == 0) world.wait(queue.redrive({"CANCELLED", {}, at_once, {}}));
    complete_due(world, queue, held, now);
    TakeInput input;
    input.max = static_cast<int>(4 - held.size());
    if (input.max > 0) {
      auto taken = world.wait(queue.take(input));
      for (auto& task : *taken) {
        const std::string id(task.task.decode().string_or("taskId"));
        const auto end = now + static_cast<int64_t>(-std::log(1 - random.unit()) * 100);
        if (came.contains(id)) times.push_back(static_cast<double>(end - came[id]));
        held.emplace_back(end, std::move(task));
      }
    }
    world.pass(milliseconds(5));
  }
  // Those that were never taken were the slowest.
  times.resize(came.size(), 30'000);
  std::sort(times.begin(), times.end());
  return times[times.size() * 99 / 100];
}

TEST(QueuePromises, ARedriveAtARateLeavesLiveTrafficAlone) {
  for (const auto order : {Order::kNewestFirst, Order::kOldestFirst}) {
    SCOPED_TRACE(order == Order::kNewestFirst ? "lifo" : "fifo");
    double alone = 0, at_a_rate = 0, all = 0;
    for (const auto seed : test_seeds(5)) {
      alone += p99_of_the_live(order, 0, seed) / 5;
      at_a_rate += p99_of_the_live(order, 1, seed) / 5;
      all += p99_of_the_live(order, 2'000, seed) / 5;
    }
    std::printf("p99 of live tasks: alone %.0f ms, beside 10 redriven a second %.0f ms, beside all at once %.0f ms\n",
                alone, at_a_rate, all);
    EXPECT_LE(at_a_rate, 1.5 * alone);
    if (order == Order::kNewestFirst) {
      EXPECT_LE(all, 2 * alone) << "what is put back is older than what comes";
    } else {
      EXPECT_GE(all, 10 * alone) << "what the rate is for";
    }
  }
}

}  // namespace
}  // namespace freshet
