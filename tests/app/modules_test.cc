// A daemon that has nothing but LIFO queues, in the simulated world: it starts, serves, stops and starts again without
// any other module.
#include "app/daemon/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/app/house.h"
#include "tests/sim/source_dir.h"

namespace freshet {
namespace {

using testing::HasSubstr;

TEST(Modules, ADaemonNeedsNothingButItsQueue) {
  House house({queue_module()});
  ASSERT_TRUE(house.start()) << testing::PrintToString(house.log.lines);
  EXPECT_EQ(house.call("POST", "/queues/QueueTable/tasks", R"({"taskId": "a", "payload": 1})").status, 200);
  EXPECT_EQ(house.call("POST", "/queues/QueueTable/tasks", R"({"taskId": "b", "payload": 2})").status, 200);
  const HttpResponse taken = house.call("POST", "/queues/QueueTable/take", R"({"max": 1})");
  EXPECT_THAT(taken.body, HasSubstr(R"("taskId":"b")")) << "the newest first";
  EXPECT_EQ(house.call("GET", "/readyz").status, 200);
  for (const char* path : {"/priority", "/filtered", "/ordered", "/2015-03-31/functions", "/logs", "/record"}) {
    EXPECT_EQ(house.call("GET", path).status, 404) << path;
  }
  const HttpResponse metrics = house.call("GET", "/metrics");
  EXPECT_THAT(metrics.body, HasSubstr("freshet_queue_"));
  EXPECT_THAT(metrics.body, Not(HasSubstr("freshet_store_items"))) << "another module's";
  EXPECT_TRUE(house.stop()) << testing::PrintToString(house.log.lines);

  ASSERT_TRUE(house.start()) << "again, on what it left";
  EXPECT_THAT(house.call("GET", "/queues/QueueTable/tasks/a").body, HasSubstr("PENDING"));
  EXPECT_TRUE(house.stop());
}

// A recording that goes on across a restart has the policy that the new life began with, and each change since.
TEST(Modules, ARecordingGoesOnAcrossARestart) {
  House house(all_modules());
  const auto change = [&](int rate) {
    const std::string settings = R"({"RATE_LIMIT": ")" + std::to_string(rate) + R"("})";
    ASSERT_EQ(house.call("POST", "/queues/QueueTable/policy", settings).status, 200);
  };
  const auto go_on = [&](std::string& place) {
    HttpResponse piece = house.call("GET", "/record?table=QueueTable" + (place.empty() ? "" : "&from=" + place));
    EXPECT_EQ(piece.status, 200) << piece.body;
    for (const auto& [name, value] : piece.headers) {
      if (name == "X-Freshet-Next" || name == "x-freshet-next") place = value;
    }
    return piece.body;
  };
  ASSERT_TRUE(house.start());
  std::string place;
  go_on(place);
  for (int rate = 11; rate < 14; ++rate) change(rate);
  const std::string first = go_on(place);
  for (const char* rate : {"11", "12", "13"}) EXPECT_THAT(first, HasSubstr(R"("RATE_LIMIT":")" + std::string(rate)));
  ASSERT_TRUE(house.stop());

  ASSERT_TRUE(house.start());
  house.call("GET", "/readyz");  // This finds that the connection to the first daemon is gone.
  ASSERT_EQ(house.call("GET", "/readyz").status, 200);
  change(21);
  const std::string second = go_on(place);
  EXPECT_THAT(second, HasSubstr(R"("RATE_LIMIT":"0")")) << "what the new life began with";
  EXPECT_THAT(second, HasSubstr(R"("RATE_LIMIT":"21")"));
  EXPECT_EQ(go_on(place), "") << "once";
  change(22);
  const std::string third = go_on(place);
  EXPECT_THAT(third, HasSubstr(R"("RATE_LIMIT":"22")"));
  EXPECT_THAT(third, Not(HasSubstr(R"("RATE_LIMIT":"21")")));

  // Too far behind: it has a gap, and says so.
  for (int i = 0; i <= 1'000; ++i) change(100 + i);
  const HttpResponse gap = house.call("GET", "/record?table=QueueTable&from=" + place);
  EXPECT_EQ(gap.status, 500) << gap.body;  // As for a place in the stream that is no longer kept (docs/errors.md).
  EXPECT_THAT(gap.body, HasSubstr("TrimmedDataAccessException"));
  EXPECT_THAT(gap.body, HasSubstr("1 change of its policy is forgotten"));
  ASSERT_TRUE(house.stop());
}

// A request for a recording makes the store keep both images of each change, so pages of others may not send one.
TEST(Modules, OnlyItsOwnPagesMayBeginARecording) {
  House house(all_modules());
  ASSERT_TRUE(house.start()) << testing::PrintToString(house.log.lines);
  const auto status = [&](const std::string& method, const std::string& path, HttpHeaders headers) {
    return house.call(method, path, {}, std::move(headers)).status;
  };
  const HttpHeaders foreign[] = {
      {{"Origin", "http://127.0.0.1:7071"}}, {{"Sec-Fetch-Site", "cross-site"}}, {{"Sec-Fetch-Site", "same-site"}}};
  for (const HttpHeaders& page : foreign) {
    for (const char* query : {"?table=QueueTable", "?table=QueueTable&from=latest", "?table=QueueTable&from=7", ""}) {
      EXPECT_EQ(status("GET", "/record" + std::string(query), page), 403) << page[0].second << query;
      EXPECT_EQ(status("HEAD", "/record" + std::string(query), page), 403) << page[0].second << query;
    }
    EXPECT_EQ(status("GET", "/queues", page), 200) << "changes nothing";
  }
  EXPECT_EQ(status("GET", "/record?table=QueueTable", {}), 200) << "freshet record";
  EXPECT_EQ(status("GET", "/record?table=QueueTable", {{"Origin", "http://127.0.0.1:7070"}}), 200);
  EXPECT_EQ(status("GET", "/record?table=QueueTable", {{"Sec-Fetch-Site", "same-origin"}}), 200);
  EXPECT_EQ(status("GET", "/record?table=QueueTable", {{"Sec-Fetch-Site", "none"}}), 200) << "typed by the user";
  EXPECT_TRUE(house.stop());
}

TEST(Modules, AllOfThemTogether) {
  House house(all_modules());
  ASSERT_TRUE(house.start()) << testing::PrintToString(house.log.lines);
  EXPECT_EQ(house.call("GET", "/2015-03-31/functions").status, 200);
  EXPECT_THAT(house.call("GET", "/metrics").body, HasSubstr("freshet_store_items"));
  EXPECT_TRUE(house.stop());
}

// Takes its time in each call that may.
class SlowModule final : public Module {
 public:
  Result<void> open(DaemonParts& parts) override {
    loop_ = &parts.loop;
    return {};
  }
  Async<Result<void>> restore() override { return wait(); }
  Async<Result<void>> check() override { return wait(); }
  Async<Result<void>> deployed(const PlannedDeployment&) override { return wait(); }
  Async<Result<void>> start() override { return wait(); }
  // Longer than all of them: what goes on of the start goes on beside the stop.
  Async<bool> returned(BootTime) override {
    co_await sleep_for(*loop_, milliseconds(10));
    co_return true;
  }

 private:
  Async<Result<void>> wait() {
    co_await sleep_for(*loop_, milliseconds(1));
    co_return Result<void>();
  }
  Loop* loop_ = nullptr;
};

// At whatever turn of the start it comes, on an empty folder and on one that was left in the middle of a start.
TEST(Modules, AStopDuringTheStartIsNoRefusal) {
  auto modules = all_modules();
  modules.push_back({"slow", make_module<SlowModule>});
  House left(modules);
  for (House* house : {static_cast<House*>(nullptr), &left}) {
    bool is_ready = false;
    int turns = 0;
    for (; !is_ready && turns < 1000; ++turns) {
      House fresh(modules);
      EXPECT_EQ((house ? *house : fresh).stop_after(turns, is_ready), "") << "after " << turns << " turns";
    }
    EXPECT_TRUE(is_ready);
    EXPECT_GT(turns, 40) << "four calls that take ten turns each";
  }
}

TEST(Modules, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const ModuleKind& kind : all_modules()) EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
  EXPECT_GT(names.size(), 10u);
}

TEST(Modules, AFileThatCannotBeReadIsRefusedBeforeAnythingIsOpened) {
  DaemonOptions options = options_of_lifo();
  options.priority_queues = {"/nowhere/queues.yaml"};
  const auto plan = plan_daemon(options);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("--priority-queue: "));
  EXPECT_TRUE(plan_daemon(options, {queue_module()})) << "nobody reads it without that module";
}

TEST(Modules, ANameThatTwoDefinitionsHaveIsRefusedBeforeAnythingIsOpened) {
  DaemonOptions options = options_of_lifo();
  const std::string config = source_dir() + "/config/";
  options.priority_queues = {config + "priority-queue.json", config + "priority-queue-published.json"};
  auto plan = plan_daemon(options);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message,
              HasSubstr("--priority-queue " + config + "priority-queue-published.json: 'Shipment' is defined in " +
                        config + "priority-queue.json, too: give one of them another 'name'"));
  options.priority_queues.clear();
  options.filtered_queues = {config + "filtered-queue.json", config + "filtered-queue.json"};
  plan = plan_daemon(options);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("'CallCenter' is defined twice: give one of them another 'name'"));
}

}  // namespace
}  // namespace freshet
