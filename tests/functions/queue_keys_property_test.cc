// Updates that replace each other by key, under holders that fail and die, daemons that restart and many slots: of a
// key at most one is in work, an older one never runs after a newer one, and the last one always does; if that is
// cancelled while it waits, the one in work is the last again.
#include <map>

#include "functions/queue/attributes.h"
#include "tests/functions/processor_fixture.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

using Kind = Settlement::Kind;

constexpr int kKeys = 3;

// Ids are KEY-NUMBER.
std::string id_of(const std::string& key, int number) {
  return key + "-" + std::to_string(number);
}

int number_of(const std::string& id) {
  return std::stoi(id.substr(id.find('-') + 1));
}

NewTask update_of(const std::string& key, int number) {
  NewTask task;
  task.id = id_of(key, number);
  task.key = key;
  task.replace = true;
  return task;
}

// How many tasks of a key are in work at most.
size_t most_taken(QueueWorld& world) {
  QueryInput query;
  query.table = "QueueTable";
  query.index = "task-status-created-index";
  query.key_condition = "taskStatus = :s";
  query.placeholders.values.set(":s", Value("TAKEN"));
  std::map<std::string, size_t> taken;
  size_t most = 0;
  const auto page = world.wait(world.store->query(std::move(query)));
  for (const auto& task : page->items) most = std::max(most, ++taken[std::string(key_of(task))]);
  return most;
}

class KeysModel {
 public:
  KeysModel(bool late, bool lanes, uint64_t seed) : late_(late), lanes_(lanes), world_(late, seed), random_(seed * 31) {
    constexpr Order kOrders[] = {Order::kNewestFirst, Order::kOldestFirst, Order::kAdaptive, Order::kDeadline};
    settings_.order = kOrders[random_.below(std::size(kOrders))];
    settings_.lease = milliseconds(2'000);
    settings_.max_attempts = 1'000;
    settings_.backoff = {milliseconds(200), milliseconds(1'000), 2, 0.5};
    restart();
  }

  void step() {
    switch (random_.below(13)) {
      case 0:
      case 1:
      case 2:
      case 3:
        create();
        break;
      case 4:
      case 5:
      case 6:
        take();
        break;
      case 7:
      case 8:
      case 9:
        settle();
        break;
      case 10:
        world_.pass(milliseconds(random_.below(1'500)));
        break;
      case 11:
        cancel_last();
        break;
      default:
        if (random_.below(8) == 0) {
          restart();
        } else {
          both_at_once();
        }
    }
    EXPECT_LE(most_taken(world_), 1u);
  }

  void finish() {
    for (int i = 0; i < 100; ++i) {
      world_.pass(milliseconds(500));
      auto taken = take_some(100);
      for (auto& task : taken) settle_one(Kind::kComplete, task);
    }
    for (const auto& [key, last] : last_) EXPECT_EQ(world_.status(id_of(key, last)), "SUCCESS") << key << last;
    auto books = world_.books();
    const auto balance = check_balance(books);
    EXPECT_TRUE(balance) << balance.error().message;
    EXPECT_EQ(books.stock["PENDING"] + books.stock["DELAYED"] + books.stock["TAKEN"], 0u);
    EXPECT_EQ(books.stock["SUCCESS"] + books.stock["CANCELLED"], created_);
  }

 private:
  void restart() {
    queue_ = &world_.start(settings_);
    held_.clear();  // Tasks held before the restart: their leases have ended.
  }

  std::vector<NewTask> updates() {
    std::vector<NewTask> tasks;
    for (uint64_t n = 1 + random_.below(3); n > 0; --n) {
      const std::string key = "k" + std::to_string(random_.below(kKeys));
      last_[key] = ++made_[key];
      tasks.push_back(update_of(key, last_[key]));
      if (random_.below(6) == 0) tasks.back().delay = milliseconds(random_.below(1'000));
      if (random_.below(2) == 0) tasks.back().deadline = world_.clock.wall() + std::chrono::hours(24);
      if (lanes_) tasks.back().group = "g" + std::to_string(random_.below(2));
    }
    created_ += tasks.size();
    return tasks;
  }

  void create() {
    for (const auto& made : world_.wait(queue_->create(updates()))) ASSERT_TRUE(made && made->created);
  }

  void cancel_last() {
    const std::string key = "k" + std::to_string(random_.below(kKeys));
    const auto last = last_.find(key);
    if (last == last_.end()) return;
    const auto lives = [this](const std::string& id, bool held) {
      const auto status = world_.status(id);
      return status == "PENDING" || status == "DELAYED" || (held && status == "TAKEN");
    };
    const std::string id = id_of(key, last->second);
    if (!lives(id, false)) return;
    ASSERT_TRUE(world_.wait(queue_->cancel({id}))[0]);
    ASSERT_EQ(world_.status(id), "CANCELLED");
    world_.pass(milliseconds(50));  // The end of a lease may be under way that still saw it.
    for (int number = last->second - 1; number > 0; --number) {
      if (!lives(id_of(key, number), true)) continue;
      last->second = number;
      return;
    }
    last_.erase(last);
  }

  std::vector<TakenTask> take_some(int max) {
    TakeInput input;
    input.max = max;
    auto taken = world_.wait(queue_->take(input));
    EXPECT_TRUE(taken);
    for (const auto& task : *taken) note(task, !late_);
    return std::move(*taken);
  }

  void take() {
    for (auto& task : take_some(static_cast<int>(1 + random_.below(4)))) held_.push_back(std::move(task));
  }

  void note(const TakenTask& task, bool newest) {
    const std::string id(text_of(task.task, attribute::kId));
    const std::string key(key_of(task.task));
    EXPECT_GE(number_of(id), started_[key]) << id << " after a newer one";
    started_[key] = number_of(id);
    if (newest) {
      EXPECT_EQ(number_of(id), last_[key]) << "a newer one waits";
    }
  }

  // So that the calls overlap on a store that answers late.
  void both_at_once() {
    TakeInput input;
    input.max = 4;
    auto before = queue_->take(input);
    world_.pass(milliseconds(random_.below(3)));
    auto creating = queue_->create(updates());
    world_.pass(milliseconds(random_.below(3)));
    auto after = queue_->take(input);
    auto first = world_.wait(std::move(before));
    world_.wait(std::move(creating));
    auto second = world_.wait(std::move(after));
    for (auto* taken : {&first, &second}) {
      ASSERT_TRUE(*taken);
      for (auto& task : **taken) {
        note(task, false);
        held_.push_back(std::move(task));
      }
    }
  }

  void settle() {
    if (held_.empty()) return;
    const auto place = held_.begin() + static_cast<std::ptrdiff_t>(random_.below(held_.size()));
    const auto kind = static_cast<Kind>(random_.below(4));
    if (random_.below(5) != 0) settle_one(kind, *place);  // Or its holder has died.
    if (kind != Kind::kHeartbeat) held_.erase(place);
  }

  void settle_one(Kind kind, const TakenTask& task) {
    std::vector<Settlement> one{settlement(kind, task)};
    const auto settled = world_.wait(queue_->settle(std::move(one)))[0];
    if (!settled) {
      EXPECT_EQ(settled.error().code, ErrorCode::kConflict) << settled.error().message;
    }
  }

  const bool late_;
  const bool lanes_;
  QueueWorld world_;
  Random random_;
  QueueSettings settings_;
  Queue* queue_ = nullptr;
  uint64_t created_ = 0;
  std::map<std::string, int> made_;     // By key: updates so far.
  std::map<std::string, int> last_;     // The newest of them that was not cancelled.
  std::map<std::string, int> started_;  // And the newest that was given out.
  std::vector<TakenTask> held_;
};

class QueueKeysProperty : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Stores, QueueKeysProperty, ::testing::Bool(),
                         [](const auto& store) { return store.param ? "late" : "embedded"; });

TEST_P(QueueKeysProperty, OneIsInWorkNoneAfterANewerOneAndTheLastAlways) {
  for (const uint64_t seed : test_seeds(40)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    KeysModel model(GetParam(), seed % 2 == 0, seed);
    for (int i = 0; i < 150 && !::testing::Test::HasFailure(); ++i) model.step();
    if (!::testing::Test::HasFailure()) model.finish();
    if (::testing::Test::HasFailure()) return;
  }
}

// The processor with sixteen slots and a worker that pulls, on the same keys; the handler fails and bounces.
TEST_P(QueueKeysProperty, ProcessorAndPullWorkersKeepToOneAKey) {
  const Environment environment{{"QUEUE_TABLE", "QueueTable"}, {"TASK_RUNNER", "http://handler/work"},
                                {"CONCURRENCY", "16"},         {"MAX_ACTIVE_MS", "100000"},
                                {"LINGER_MS", "2000"},         {"MAX_ATTEMPTS", "1000"},
                                {"BACKOFF_BASE_MS", "50"},     {"LEASE_MS", "300"}};
  for (const uint64_t seed : test_seeds(10)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    QueueWorld world(GetParam(), seed);
    Random random(seed);
    Queue& queue = world.start(process_settings(environment)->queue);
    world.http.answer = [&](const HttpRequest&) {
      HttpResponse response;
      const auto luck = random.below(8);
      response.status = luck == 0 ? 500 : luck == 1 ? 503 : 200;
      return response;
    };
    Running running(world, process_tasks, environment);
    std::map<std::string, int> last;
    std::vector<TakenTask> held;
    for (int step = 0; step < 400; ++step) {
      world.http.duration = milliseconds(random.below(120));
      const std::string key = "k" + std::to_string(random.below(kKeys));
      if (random.below(2) == 0) world.wait(queue.create({update_of(key, ++last[key])}));
      TakeInput input;
      input.max = 3;
      if (random.below(3) == 0) {
        auto taken = world.wait(queue.take(input));
        if (!taken) continue;  // The engine did not say whether its claims were carried out: their leases end.
        for (auto& task : *taken) held.push_back(std::move(task));
      }
      if (!held.empty() && random.below(3) == 0) {  // Others are never settled: their leases end.
        std::vector<Settlement> done{settlement(Kind::kComplete, held.back())};
        world.wait(queue.settle(std::move(done)));
        held.pop_back();
      }
      world.pass(milliseconds(random.below(40)));
      ASSERT_LE(most_taken(world), 1u);
    }
    ASSERT_TRUE(running.outcome(world));
    for (const auto& [key, number] : last) EXPECT_EQ(world.status(id_of(key, number)), "SUCCESS") << key;
    EXPECT_EQ(world.stock("PENDING") + world.stock("TAKEN") + world.stock("DELAYED"), 0u);
    EXPECT_TRUE(check_balance(world.books()));
  }
}

}  // namespace
}  // namespace freshet
