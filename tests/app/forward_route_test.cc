// Requests at a member of a fleet that does not serve their queue.
#include "app/fleet/forward_route.h"

#include <nlohmann/json.hpp>
#include <set>

#include "tests/app/asked_member.h"
#include "wire/tasks/requests.h"
#include "wire/tasks/task_route.h"

namespace freshet {
namespace {

constexpr const char* kTasks = "/queues/QueueTable/tasks";

class ForwardRouteTest : public AskedMemberTest {
 protected:
  using Json = nlohmann::json;

  ForwardRouteTest() : AskedMemberTest("queue/QueueTable") {
    TaskRouteOptions options;
    options.create_elsewhere = [this](const std::string& queue, std::vector<NewTask> tasks) {
      return units->create(queue, std::move(tasks));
    };
    route = make_forward_route(make_task_route(*world.queues, world.clock, options), *units, calls);
  }

  void join(QueueSettings settings = {}) {
    EXPECT_TRUE(world.wait(units->deploy({{"QueueTable", settings}})));
    begin();
  }
  // The last request that went to the owner as a create.
  const HttpRequest& passed_on() const {
    for (size_t i = world.http.requests.size(); i-- > 0;) {
      if (world.http.requests[i].target == kTasks) return world.http.requests[i];
    }
    ADD_FAILURE() << "none";
    return world.http.requests.front();
  }
  size_t items() {
    ScanInput scan;
    scan.table = "QueueTable";
    return world.wait(world.store->scan(std::move(scan)))->items.size();
  }
};

TEST_F(ForwardRouteTest, ACreateGoesToTheOwnerWhileThatAnswers) {
  join();
  HttpResponse full;
  full.status = 429;
  full.body = "full";
  full.headers.emplace_back("Retry-After", "7");
  world.http.answers.emplace_back(full);
  const HttpResponse answer = post(kTasks, R"({"payload":1})");
  EXPECT_EQ(answer.status, 429) << "the owner judges its limits";
  EXPECT_EQ(answer.body, "full");
  EXPECT_EQ(header(answer.headers, "Retry-After"), "7");
  EXPECT_EQ(items(), 0u);
}

TEST_F(ForwardRouteTest, ACreateIsWrittenHereIfTheOwnerDoesNotAnswer) {
  join();
  world.http.answer = [](const HttpRequest&) { return never_sent(ErrorCode::kUnavailable, "nobody listens"); };
  const Json one = Json::parse(post(kTasks, R"({"taskId":"a","payload":1})").body);
  EXPECT_EQ(one["taskId"], "a");
  EXPECT_EQ(one["created"], true);
  const Json again = Json::parse(post(kTasks, R"({"taskId":"a","payload":1})").body);
  EXPECT_EQ(again["created"], false);
  const Json batch = Json::parse(post(kTasks, R"({"tasks":[{"taskId":"b"},{},{"priority":5},{"priority":500}]})").body);
  EXPECT_EQ(batch["error"]["code"], "ValidationException") << "the body itself is wrong: " << batch;
  const Json good = Json::parse(post(kTasks, R"({"tasks":[{"taskId":"b"},{},{"priority":5}]})").body);
  ASSERT_EQ(good["results"].size(), 3u) << good;
  EXPECT_EQ(world.status("b"), "PENDING");
  EXPECT_EQ(world.status(good["results"][1]["taskId"]), "PENDING");
  EXPECT_EQ(world.read(good["results"][2]["taskId"]).int_or("priority", 0), 5);
  EXPECT_EQ(items(), 4u);
}

TEST_F(ForwardRouteTest, ASilentOwnerIsNotWaitedForByEachCreate) {
  join();
  int asked = 0;
  world.http.answer = [&](const HttpRequest& request) -> Result<HttpResponse> {
    if (request.target == kTasks) ++asked;
    return fail(ErrorCode::kTimeout, "no answer");
  };
  EXPECT_EQ(post(kTasks, R"({"taskId":"a"})").status, 200);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(post(kTasks, R"({"tasks":[{"taskId":"b"},{}]})").status, 200);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(items(), 3u);
  EXPECT_EQ(post(kTasks, R"({"taskId":"c","key":"k"})").status, 503) << "only the owner may create it";
  EXPECT_EQ(asked, 2);
  world.pass(milliseconds(1'500));  // The owner's heartbeat comes.
  EXPECT_EQ(post(kTasks, R"({"taskId":"d"})").status, 200);
  EXPECT_EQ(asked, 3);
  HttpResponse good;
  good.body = "from the owner";
  world.http.answer = [&](const HttpRequest&) { return good; };
  EXPECT_EQ(post(kTasks, R"({"taskId":"e","key":"k"})").body, good.body);
  EXPECT_EQ(post(kTasks, R"({"taskId":"e"})").body, good.body) << "it has answered";
}

// The owner has written the task, and died before it answered.
TEST_F(ForwardRouteTest, ATaskWithoutAnIdIsTheSameWhoeverWritesIt) {
  join();
  std::string id;
  world.http.answer = [&](const HttpRequest& request) -> Result<HttpResponse> {
    tasks::CreateRequest as_sent;
    as_sent.tasks.resize(2);
    tasks::name_tasks(as_sent, header(request.headers, tasks::kNewTaskId));
    id = as_sent.tasks[1].id;
    world.put_pending(id, world.now_ms());
    return fail(ErrorCode::kUnavailable, "the connection broke");
  };
  const Json answer = Json::parse(post(kTasks, R"({"tasks":[{"taskId":"a"},{"payload":1}]})").body);
  EXPECT_EQ(answer["results"][1]["taskId"], id);
  EXPECT_EQ(answer["results"][1]["created"], true);
  EXPECT_EQ(id.size(), 36u);
  EXPECT_EQ(items(), 2u);
}

TEST_F(ForwardRouteTest, ACreateThatIsForTheOwnerAloneGetsWhatBecameOfIt) {
  join();
  world.http.answer = [](const HttpRequest&) { return fail(ErrorCode::kTimeout, "no answer"); };
  for (const char* body : {R"({"taskId":"a","key":"k"})", R"({"tasks":[{"taskId":"b"},{"key":"k"}]})"}) {
    const HttpResponse unknown = post(kTasks, body);
    EXPECT_EQ(unknown.status, 503);
    EXPECT_EQ(Json::parse(unknown.body)["error"]["code"], "UnknownOutcomeException");
  }
  world.http.answer = [](const HttpRequest&) { return never_sent(ErrorCode::kUnavailable, "nobody listens"); };
  const HttpResponse refused = post(kTasks, R"({"taskId":"a","key":"k"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(Json::parse(refused.body)["error"]["code"], "ServiceUnavailableException");
  EXPECT_EQ(header(refused.headers, "Retry-After").empty(), false);
  EXPECT_EQ(items(), 0u);
}

TEST_F(ForwardRouteTest, AQueueWithABoundIsCreatedInByItsOwnerAlone) {
  QueueSettings settings;
  settings.admission.max_waiting = 5;
  join(settings);
  world.http.answer = [](const HttpRequest&) { return never_sent(ErrorCode::kUnavailable, "nobody listens"); };
  EXPECT_EQ(post(kTasks, R"({"taskId":"a"})").status, 503);
  EXPECT_EQ(items(), 0u);
}

TEST_F(ForwardRouteTest, OnlyCreatesAreCarriedOutHere) {
  join();
  world.http.answer = [](const HttpRequest&) { return never_sent(ErrorCode::kUnavailable, "nobody listens"); };
  EXPECT_EQ(post("/queues/QueueTable/take", "{}").status, 503);
  EXPECT_EQ(ask("GET", "/queues/QueueTable/tasks/a", "").status, 503);
  EXPECT_EQ(ask("GET", kTasks, "").status, 503);
  EXPECT_EQ(post("/queues/Nothing/tasks", "{}").status, 404);
}

// The member that passed it on believes that this one serves the queue.
TEST_F(ForwardRouteTest, ACreateThatCameFromAMemberIsNotPassedOnAgain) {
  join();
  const size_t sent = world.http.requests.size();
  EXPECT_EQ(ask("POST", kTasks, R"({"taskId":"a"})", true).status, 200);
  EXPECT_EQ(ask("POST", "/queues/QueueTable/take", "{}", true).status, 503);
  EXPECT_EQ(world.http.requests.size(), sent);
  EXPECT_EQ(world.status("a"), "PENDING");
}

TEST_F(ForwardRouteTest, NothingIsCreatedBeforeTheClockHasBeenCompared) {
  EXPECT_TRUE(world.wait(units->deploy({{"QueueTable", QueueSettings{}}})));
  EXPECT_EQ(post(kTasks, R"({"taskId":"a"})").status, 503);
  world.clock.step_wall(seconds(60));  // The owner has beaten before.
  units->begin("http://asked");
  world.pass(milliseconds(1));
  world.http.answer = [](const HttpRequest&) { return never_sent(ErrorCode::kUnavailable, "nobody listens"); };
  EXPECT_EQ(post(kTasks, R"({"taskId":"a"})").status, 503);
  EXPECT_EQ(items(), 0u);
}

// From the owner's death until this member serves the queue.
TEST_F(ForwardRouteTest, CreatesGoOnWhileTheQueueIsTakenOver) {
  join();
  world.http.answer = [](const HttpRequest&) { return never_sent(ErrorCode::kUnavailable, "nobody listens"); };
  owner.reset();
  std::set<std::string> created;
  const BootTime died = world.clock.boot();
  while (!world.queues->find_queue("QueueTable") && world.clock.boot() - died < seconds(10)) {
    const std::string id = "t-" + std::to_string(created.size());
    ASSERT_EQ(post(kTasks, R"({"taskId":")" + id + R"("})").status, 200) << id;
    created.insert(id);
    world.pass(milliseconds(20));
  }
  EXPECT_GT(created.size(), 100u);
  ASSERT_EQ(post(kTasks, R"({"taskId":"last"})").status, 200);
  EXPECT_EQ(items(), created.size() + 1);
  TakeInput input;
  input.max = 1000;
  EXPECT_EQ(world.wait(world.queues->find_queue("QueueTable")->take(input))->size(), created.size() + 1);
}

}  // namespace
}  // namespace freshet
