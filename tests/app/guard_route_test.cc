// A guard that is ended over HTTP, while the audit log works and while it refuses.
#include <gtest/gtest.h>

#include "tests/functions/world.h"
#include "tests/sim/sim_files.h"
#include "wire/tasks/task_route.h"

namespace freshet {
namespace {

// An audit log of its own, on a disk that can fail.
class GuardRouteTest : public ::testing::Test {
 protected:
  GuardRouteTest() {
    EmbeddedOptions options;
    options.directory = "audit";
    auto opened = open_embedded(&files, world.scheduler, world.random, options);
    EXPECT_TRUE(opened) << opened.error().message;
    store = std::move(*opened);
    world.scheduler.add(*store);
    log = std::make_unique<AuditLog>(*store, world.clock);
    EXPECT_TRUE(world.wait(log->open()));
    queue = &world.start();
    TaskRouteOptions with_log;
    with_log.audit = log.get();
    route = make_task_route(*world.queues, world.clock, with_log);
  }
  ~GuardRouteTest() override { world.scheduler.remove(*store); }

  // Lets that many tasks end in time: a guard needs a share to compare with.
  void work(size_t count) {
    for (auto& created : world.wait(queue->create(std::vector<NewTask>(count)))) ASSERT_TRUE(created);
    TakeInput input;
    input.max = static_cast<int>(count);
    auto taken = world.wait(queue->take(input));
    ASSERT_TRUE(taken);
    ASSERT_EQ(taken->size(), count);
    std::vector<Settlement> ends;
    for (const auto& task : *taken) ends.push_back(settlement(Settlement::Kind::kComplete, task));
    for (auto& ended : world.wait(queue->settle(std::move(ends)))) ASSERT_TRUE(ended);
  }
  HttpResponse post(const std::string& body) {
    HttpRequest request;
    request.method = "POST";
    request.target = "/queues/QueueTable/policy";
    request.body = body;
    const auto exchange = route->accept(std::move(request));
    auto run = exchange->run();
    for (int i = 0; i < 100'000 && !run.is_ready(); ++i) world.pass(milliseconds(1));
    EXPECT_TRUE(run.is_ready());
    return exchange->respond();
  }
  bool is_guarded() { return world.wait(queue->stats())->guard.has_value(); }

  QueueWorld world{false};
  SimFiles files{1};
  std::unique_ptr<EmbeddedTables> store;
  std::unique_ptr<AuditLog> log;
  Queue* queue = nullptr;
  std::unique_ptr<Route> route;
};

constexpr const char* kGuarded = R"({"DEFAULT_DEADLINE_MS":"60000","guard":{"points":10,"withinMs":300000}})";
constexpr const char* kKeep = R"({"guard":null})";

TEST_F(GuardRouteTest, KeepingThePolicyEndsItsGuard) {
  work(25);
  const HttpResponse changed = post(kGuarded);
  ASSERT_EQ(changed.status, 200) << changed.body;
  ASSERT_TRUE(is_guarded());
  EXPECT_EQ(post(kKeep).status, 200);
  EXPECT_FALSE(is_guarded());
  EXPECT_EQ(world.wait(log->newest(10, ""))->size(), 2u);
}

TEST_F(GuardRouteTest, TheGuardStaysIfItsEndCannotBeWrittenDown) {
  work(25);
  const HttpResponse changed = post(kGuarded);
  ASSERT_EQ(changed.status, 200) << changed.body;
  files.fail_sync(1);
  (void)world.wait(log->add({"pause", {}, "jobs", {}, {}, {}}));
  world.pass(seconds(1));  // From now on the store refuses every write.
  const HttpResponse kept = post(kKeep);
  EXPECT_GE(kept.status, 500) << kept.body;
  EXPECT_TRUE(is_guarded());
  // It still watches: the share in time falls, and the policy of before comes back.
  ASSERT_EQ(queue->policy().at("DEFAULT_DEADLINE_MS"), "60000");
  for (auto& created : world.wait(queue->create(std::vector<NewTask>(30)))) ASSERT_TRUE(created);
  world.pass(std::chrono::minutes(3));
  EXPECT_NE(queue->policy().at("DEFAULT_DEADLINE_MS"), "60000");
  EXPECT_FALSE(is_guarded());
}

}  // namespace
}  // namespace freshet
