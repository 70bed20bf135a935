// Policies that are changed at random while the processor works and its daemon ends and starts anew: nothing is lost,
// and nothing is started twice but what was in work when the daemon ended.
#include <map>
#include <set>

#include "functions/queue/attributes.h"
#include "tests/functions/processor_fixture.h"
#include "tests/sim/seeds.h"

namespace freshet {
namespace {

const std::vector<QueuePolicy> kPolicies = {{{"ORDER", "fifo"}},
                                            {{"ORDER", "lifo"}},
                                            {{"ORDER", "adaptive"}, {"DEADLINE_MARGIN", "yield"}},
                                            {{"DEADLINE_MARGIN", "p90"}},
                                            {{"DEADLINE_MARGIN", "off"}},
                                            {{"MAX_WAITING", "20"}, {"RESERVED_SHARE", "0.5"}},
                                            {{"MAX_WAITING", "0"}},
                                            {{"MAX_WAITING_BYTES", "3000"}},
                                            {{"MAX_WAITING_BYTES", "0"}},
                                            {{"REFUSE_LATE", "on"}},
                                            {{"REFUSE_LATE", "off"}},
                                            {{"CONCURRENCY", "1"}, {"PAGE_LIMIT", "0"}},
                                            {{"CONCURRENCY", "16"}},
                                            {{"CONCURRENCY", "adaptive"}, {"PAGE_LIMIT", "0"}},
                                            {{"CONCURRENCY", "4"}, {"PAGE_LIMIT", "5"}},
                                            {{"RATE_LIMIT", "100"}},
                                            {{"RATE_LIMIT", "0"}},
                                            {{"LEASE_MS", "1000"}},
                                            {{"MAX_ATTEMPTS", "1000"}, {"BACKOFF_BASE_MS", "10"}}};

class PolicyLife {
 public:
  PolicyLife(bool late, uint64_t seed) : world_(late, seed), random_(seed * 131) {
    world_.http.answer = [](const HttpRequest&) { return HttpResponse{}; };
    begin();
  }

  void step() {
    const auto changed = queue_->change_policy(kPolicies[random_.below(kPolicies.size())]);
    if (!changed) {
      EXPECT_NE(changed.error().message.find("set one of the two"), std::string::npos) << changed.error().message;
    }
    world_.http.duration = milliseconds(random_.below(60));
    std::vector<NewTask> tasks(random_.below(6));
    for (auto& task : tasks) {
      task.id = "t" + std::to_string(ids_++);
      if (random_.below(4) == 0) task.deadline = world_.clock.wall() + milliseconds(random_.below(400) + 1);
      if (random_.below(4) == 0) task.group = "g" + std::to_string(random_.below(3));
      if (random_.below(8) == 0) task.delay = milliseconds(random_.below(100));
    }
    for (const auto& made : world_.wait(queue_->create(std::move(tasks)))) created_ += made && made->created;
    world_.pass(milliseconds(random_.below(40)));
    if (running_->ended()) work();  // As `Start` would do.
    if (random_.below(40) == 0) restart();
  }

  void finish() {
    ASSERT_TRUE(queue_->change_policy({{"RATE_LIMIT", "0"}, {"CONCURRENCY", "16"}, {"PAGE_LIMIT", "0"}}));
    for (int i = 0; i < 100 && left() > 0; ++i) {
      world_.pass(milliseconds(500));
      if (running_->ended()) work();
    }
    EXPECT_EQ(left(), 0u);
    const auto books = world_.books();
    EXPECT_TRUE(check_balance(books));
    uint64_t stock = 0;
    for (const auto& [status, count] : books.stock) stock += count;
    EXPECT_EQ(stock, created_) << "none is lost";
    std::map<std::string, int> starts;
    for (const auto& request : world_.http.requests) {
      ++starts[std::string(parse_plain_json(request.body)->get_if<Map>()->string_or("taskId"))];
    }
    uint64_t done = 0;
    for (const auto& [id, count] : starts) {
      EXPECT_LE(count, 1 + in_work_[id]) << id << " was started twice";
      done += world_.status(id) == "SUCCESS";
    }
    EXPECT_EQ(done, world_.stock("SUCCESS")) << "none is done that was not started";
    EXPECT_EQ(done + world_.stock("SHED"), created_);
  }

 private:
  void begin() {
    queue_ = &world_.start(process_settings(environment_)->queue);
    work();
  }
  void work() {
    running_.reset();
    running_ = std::make_unique<Running>(world_, process_tasks, environment_);
  }
  void restart() {
    QueryInput query;
    query.table = "QueueTable";
    query.index = "task-status-created-index";
    query.key_condition = "taskStatus = :s";
    query.placeholders.values.set(":s", Value("TAKEN"));
    const auto page = world_.wait(world_.store->query(std::move(query)));
    for (const auto& task : page->items) ++in_work_[std::string(text_of(task, attribute::kId))];
    running_.reset();
    begin();
  }
  uint64_t left() { return world_.stock("PENDING") + world_.stock("TAKEN") + world_.stock("DELAYED"); }

  Environment environment_{{"QUEUE_TABLE", "QueueTable"},
                           {"TASK_RUNNER", "http://handler/work"},
                           {"CONCURRENCY", "4"},
                           {"MAX_ATTEMPTS", "1000"},
                           {"LINGER_MS", "0"},
                           {"BACKOFF_BASE_MS", "10"}};
  QueueWorld world_;
  Random random_;
  Queue* queue_ = nullptr;
  std::unique_ptr<Running> running_;
  int ids_ = 0;
  uint64_t created_ = 0;
  std::map<std::string, int> in_work_;  // How often, at the end of a daemon.
};

class PolicyLifeTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Stores, PolicyLifeTest, ::testing::Bool(),
                         [](const auto& store) { return store.param ? "late" : "embedded"; });

TEST_P(PolicyLifeTest, ChangesAcrossLivesLoseNothingAndStartNothingTwice) {
  for (const uint64_t seed : test_seeds(30)) {
    SCOPED_TRACE("FRESHET_SEED=" + std::to_string(seed));
    PolicyLife life(GetParam(), seed);
    for (int i = 0; i < 200 && !::testing::Test::HasFailure(); ++i) life.step();
    if (!::testing::Test::HasFailure()) life.finish();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace freshet
