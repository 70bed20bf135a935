// Random work on a queue by holders that die, clients that write by themselves, clocks that step and daemons that
// restart. At the end: the books balance, every task is accounted for, no task was ever held twice.
#include <map>
#include <set>

#include "functions/queue/attributes.h"
#include "tests/functions/world.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

using Kind = Settlement::Kind;

class Model {
 public:
  Model(StoreKind kind, uint64_t seed)
      : late_(kind != StoreKind::kEmbedded), made_(make_world(kind, seed)), random_(seed * 977) {
    settings_.lease = milliseconds(2'000);
    settings_.max_attempts = 3;
    settings_.backoff = {milliseconds(200), milliseconds(1'000), 2, 0.5};
    restart();
  }

  void step() {
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
        return create();
      case 3:
      case 4:
      case 5:
        return take();
      case 6:
      case 7:
      case 8:
        return settle();
      case 9:
        return world_.pass(milliseconds(random_.below(1'500)));
      case 10:
        return meddle();
      default:
        return rarely();
    }
  }

  void finish() {
    // Holders are gone: leases end, delays pass; then somebody does all that is left.
    for (int i = 0; i < 200; ++i) {
      world_.pass(milliseconds(500));
      TakeInput input;
      input.max = 100;
      auto taken = world_.wait(queue_->take(input));
      ASSERT_TRUE(taken);
      for (auto& task : *taken) note_claim(task);
      for (auto& task : *taken) settle_one(Kind::kComplete, task);
    }
    auto books = world_.books();
    auto balance = check_balance(books);
    EXPECT_TRUE(balance) << balance.error().message;
    uint64_t total = 0;
    for (auto& [status, count] : books.stock) {
      total += count;
      bool live = status == "PENDING" || status == "TAKEN" || status == "DELAYED";
      EXPECT_TRUE(!live || count == 0) << count << " tasks are still " << status;
    }
    EXPECT_EQ(total, created_.size());
    for (const auto& id : created_) {
      Item item = world_.read(id);
      auto status = std::string(item.string_or("taskStatus"));
      EXPECT_FALSE(item.contains("lease")) << id;
      EXPECT_FALSE(item.contains("notBefore")) << id;
      EXPECT_LE(item.int_or("attempt", 0), 3) << id;
      EXPECT_TRUE(status != "DEAD" || item.int_or("attempt", 0) == 3) << id;
      EXPECT_EQ(status == "SUCCESS", completed_.contains(id)) << id << " is " << status;
    }
    EXPECT_EQ(world_.wait(queue_->stats())->running, 0u);
  }

 private:
  struct Held {
    TakenTask task;
    BootTime taken;
    int life;
  };

  void restart() {
    queue_ = &world_.start(settings_);
    ++life_;
  }

  void create() {
    std::vector<NewTask> tasks(1 + random_.below(4));
    for (auto& task : tasks) {
      task.id = "t" + std::to_string(created_.size());
      if (random_.below(8) == 0) task.delay = milliseconds(random_.below(3'000));
      if (random_.below(8) == 0) task.deadline = world_.clock.wall() + milliseconds(200 + random_.below(5'000));
      if (lanes_ && random_.below(4) == 0) task.priority = static_cast<int>(random_.below(3)) - 1;
      created_.insert(task.id);
    }
    auto made = world_.wait(queue_->create(std::move(tasks)));
    for (auto& task : made) ASSERT_TRUE(task && task->created) << (task ? "it is there already" : task.error().message);
  }

  // Without anything in flight a take gives exactly the newest PENDING tasks.
  void take() {
    TakeInput input;
    input.max = static_cast<int>(1 + random_.below(5));
    std::vector<std::string> expected = newest_pending();
    auto before = world_.books();
    auto taken = world_.wait(queue_->take(input));
    ASSERT_TRUE(taken) << taken.error().message;
    size_t i = 0;
    for (auto& task : *taken) {
      note_claim(task);
      auto id = std::string(text_of(task.task, attribute::kId));
      if (!late_ && !lanes_) {
        // Those before it in line were shed.
        while (i < expected.size() && expected[i] != id && world_.status(expected[i]) == "SHED") ++i;
        ASSERT_LT(i, expected.size());
        EXPECT_EQ(expected[i++], id);
      }
      held_.push_back({std::move(task), world_.clock.boot(), life_});
    }
  }

  std::vector<std::string> newest_pending() {
    QueryInput query;
    query.table = "QueueTable";
    query.index = "task-status-created-index";
    query.key_condition = "taskStatus = :s";
    query.placeholders.values.set(":s", Value("PENDING"));
    query.forward = false;
    std::vector<std::string> out;
    auto page = world_.wait(world_.store->query(std::move(query)));
    for (auto& item : page->items) out.emplace_back(text_of(item, attribute::kId));
    return out;
  }

  // A claim is only given for a task that nobody holds under a lease that still runs.
  void note_claim(const TakenTask& task) {
    EXPECT_TRUE(leases_.insert(task.lease).second) << "a lease given twice: " << task.lease;
    auto id = std::string(text_of(task.task, attribute::kId));
    EXPECT_FALSE(completed_.contains(id)) << id;
    for (const auto& other : held_) {
      if (text_of(other.task.task, attribute::kId) != id || other.life != life_) continue;
      auto age = world_.clock.boot() - other.taken;
      EXPECT_GE(age, milliseconds(2'000)) << id << " was given out while it was held";
    }
  }

  void settle() {
    if (held_.empty()) return;
    auto place = random_.below(held_.size());
    Held held = held_[place];
    bool dies = random_.below(5) == 0;
    auto kind = static_cast<Kind>(random_.below(4));
    if (!dies) {
      settle_one(kind, held.task);
      if (kind == Kind::kHeartbeat) return;
      if (random_.below(4) == 0) settle_one(Kind::kComplete, held.task);  // Once more, too late.
    }
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(place));
  }

  void settle_one(Kind kind, const TakenTask& task) {
    std::vector<Settlement> one{settlement(kind, task)};
    auto id = one[0].id;
    auto settled = world_.wait(queue_->settle(std::move(one)))[0];
    if (!settled) {
      EXPECT_EQ(settled.error().code, ErrorCode::kConflict) << settled.error().message;
    } else if (kind == Kind::kComplete) {
      // On the late store the same settlement gets its answer again: the first one may have been lost.
      const auto [known, is_new] = completed_.try_emplace(id, task.lease);
      EXPECT_TRUE(is_new || (late_ && known->second == task.lease)) << id << " was completed twice";
    } else if (kind == Kind::kHeartbeat) {
      for (auto& held : held_) {
        if (held.task.lease == task.lease) held.taken = world_.clock.boot();
      }
    }
  }

  // Clients cancel, redrive, and write by themselves.
  void meddle() {
    if (created_.empty()) return;
    auto id = "t" + std::to_string(random_.below(created_.size()));
    switch (random_.below(3)) {
      case 0:
        world_.wait(queue_->cancel({id}));
        break;
      case 1:
        world_.wait(queue_->redrive({"DEAD", {id}, 10, {}}));
        break;
      default: {
        auto fresh = "t" + std::to_string(created_.size());
        created_.insert(fresh);
        world_.put_pending(fresh, world_.now_ms() - static_cast<int64_t>(random_.below(1'000)));
      }
    }
  }

  void rarely() {
    switch (random_.below(6)) {
      case 0:
        return restart();
      case 1:
        return world_.clock.step_wall(milliseconds(static_cast<int64_t>(random_.below(20'000)) - 10'000));
      case 2:
        lanes_ = true;
        return;
      default:
        return world_.pass(milliseconds(random_.below(4'000)));
    }
  }

  const bool late_;
  std::unique_ptr<QueueWorld> made_;
  QueueWorld& world_ = *made_;
  Random random_;
  QueueSettings settings_;
  Queue* queue_ = nullptr;
  int life_ = 0;
  bool lanes_ = false;
  std::set<std::string> created_;
  std::map<std::string, std::string> completed_;  // With the lease.
  std::set<std::string> leases_;
  std::vector<Held> held_;
};

class QueueProperty : public ::testing::TestWithParam<StoreKind> {};
INSTANTIATE_TEST_SUITE_P(Stores, QueueProperty,
                         ::testing::Values(StoreKind::kEmbedded, StoreKind::kLate, StoreKind::kEngine), kind_name);

TEST_P(QueueProperty, NothingIsLostAndNothingHeldTwice) {
  for (const uint64_t seed : test_seeds(40)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    Model model(GetParam(), seed);
    for (int i = 0; i < 150 && !::testing::Test::HasFailure(); ++i) model.step();
    if (!::testing::Test::HasFailure()) model.finish();
    if (::testing::Test::HasFailure()) return;
  }
}

// Several takers and settlers at once, so that their calls overlap on a store that answers late.
TEST_P(QueueProperty, ConcurrentTakersGetEveryTaskOnce) {
  for (const uint64_t seed : test_seeds(5)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    const auto made = make_world(GetParam(), seed);
    QueueWorld& world = *made;
    Random random(seed);
    Queue& queue = world.start();
    std::vector<NewTask> tasks(200);
    auto creating = queue.create(std::move(tasks));
    std::map<std::string, int> given;
    std::vector<Async<Result<std::vector<TakenTask>>>> takes;
    for (int i = 0; i < 40; ++i) {
      TakeInput input;
      input.max = static_cast<int>(1 + random.below(10));
      input.wait = milliseconds(random.below(500));
      takes.push_back(queue.take(input));
      world.pass(milliseconds(random.below(5)));
    }
    world.wait(std::move(creating));
    auto collect = [&](const Result<std::vector<TakenTask>>& taken) {
      ASSERT_TRUE(taken);
      for (auto& task : *taken) ++given[std::string(text_of(task.task, attribute::kId))];
    };
    for (auto& take : takes) collect(world.wait(std::move(take)));
    for (;;) {
      TakeInput input;
      input.max = 50;
      auto taken = world.wait(queue.take(input));
      if (taken->empty()) break;
      collect(taken);
    }
    EXPECT_EQ(given.size(), 200u);
    for (auto& [id, times] : given) EXPECT_EQ(times, 1) << id;
    EXPECT_EQ(world.stock("TAKEN"), 200u);
  }
}

}  // namespace
}  // namespace freshet
