// The calls that `freshet replay --into` sends for a fixture.
#include "app/cli/play_plan.h"

#include <gtest/gtest.h>

namespace freshet::cli {
namespace {

const std::string kQueue =
    R"({"freshet":"fixture","version":1,"table":"Tasks","partitionKey":{"name":"taskId","type":"S"},)"
    R"("start":"2026-01-01T00:00:00.000Z"})"
    "\n";
constexpr int64_t kStart = 1'767'225'600;

std::string record(const std::string& kind, const std::string& seconds, const std::string& image) {
  const auto member = kind == "REMOVE" ? "OldImage" : "NewImage";
  return R"({"eventName":")" + kind + R"(","dynamodb":{"ApproximateCreationDateTime":)" + seconds + ",\"" + member +
         "\":" + image + "}}\n";
}

std::string task(const std::string& id, const std::string& status, const std::string& more = "") {
  return R"({"taskId":{"S":")" + id + R"("},"taskStatus":{"S":")" + status + "\"}" + more + "}";
}

Fixture fixture(const std::string& lines, const std::string& header = kQueue) {
  auto out = read_fixture(header + lines, "f");
  EXPECT_TRUE(out) << out.error().message;
  return out ? *out : Fixture{};
}

std::string body(const Fixture& of, WallTime now) {
  const auto plan = play_plan(of, true);
  EXPECT_EQ(plan.calls.size(), 1u);
  return plan.calls.empty() ? "" : played_request(plan.calls[0], "Tasks", now).body;
}

TEST(PlayPlan, OfAQueueWhatComesIsCreatedAndTheRestLeftOut) {
  const auto plan =
      play_plan(fixture(R"({"snapshot":)" + task("waits", "PENDING") + "}\n" + R"({"snapshot":)" +
                        task("works", "TAKEN") + "}\n" + R"({"snapshot":)" + task("done", "SUCCESS") + "}\n" +
                        R"({"snapshot":)" + task("late", "PENDING", R"(,"ttl":{"N":"1767225600"})") + "}\n" +
                        record("INSERT", "1767225601.5", task("a", "PENDING")) +
                        record("MODIFY", "1767225602", task("a", "TAKEN")) +
                        record("INSERT", "1767225600.25", task("earlier", "DELAYED")) +
                        record("INSERT", "1767225603", task("import", "DEAD")) +
                        record("REMOVE", "1767225604", task("a", "SUCCESS"))),
                true);
  ASSERT_EQ(plan.calls.size(), 4u);
  std::vector<std::pair<std::string, int64_t>> calls;
  for (const auto& call : plan.calls) {
    EXPECT_EQ(call.kind, PlayedCall::Kind::kCreate);
    calls.emplace_back(call.place, call.at.count());
  }
  // A line never goes before the one above it.
  EXPECT_EQ(calls,
            (std::vector<std::pair<std::string, int64_t>>{{"f:2", 0}, {"f:3", 0}, {"f:6", 1500}, {"f:8", 1500}}));
  EXPECT_EQ(plan.left_out, (std::map<std::string, size_t>{{"TTL had passed", 1},
                                                          {"came as ended", 1},
                                                          {"changed after their creation", 1},
                                                          {"ended before the start", 1},
                                                          {"removed", 1}}));
}

TEST(PlayPlan, TimesOfATaskAreAsFarAheadAsTheyWere) {
  const WallTime now(seconds(kStart + 1'000'000));
  EXPECT_EQ(body(fixture(record("INSERT", "1767225600.5",
                                task("a", "DELAYED",
                                     R"(,"ttl":{"N":"1767225660"},"deadline":{"N":"1767225603500"},)"
                                     R"("notBefore":{"N":"1767225601000"})"))),
                 now),
            R"({"taskId":"a","ttlSeconds":59.500,"deadline":1768225603000,"delayMs":500})");
}

TEST(PlayPlan, ANotBeforeBeforeAllTimesIsNoDelay) {
  const auto never = R"(,"notBefore":{"N":"-9223372036854775808"})";
  EXPECT_EQ(body(fixture(record("INSERT", "1767225600.5", task("a", "DELAYED", never))), WallTime(seconds(kStart))),
            R"({"taskId":"a"})");
}

TEST(PlayPlan, ATaskKeepsWhatItsClientSaid) {
  EXPECT_EQ(
      body(fixture(record(
               "INSERT", "1767225601",
               task(R"(a \"b\")", "PENDING",
                    R"(,"payload":{"M":{"n":{"N":"1.5"}}},"key":{"S":"k"},"replace":{"BOOL":true},"group":{"S":"g"},)"
                    R"("priority":{"N":"-7"},"maxAttempts":{"N":"3"},"liveKey":{"S":"k"},"lane":{"S":"x"},)"
                    R"("taskCreated":{"N":"1"},"own":{"L":[{"S":"x"}]},"more":{"NULL":true})"))),
           WallTime()),
      R"({"taskId":"a \"b\"","payload":{"n":1.5},"key":"k","group":"g","priority":-7,"maxAttempts":3,)"
      R"("replace":true,"attributes":{"more":null,"own":["x"]}})");
}

TEST(PlayPlan, OfAnotherTableEveryChangeIsPlayedAsItWas) {
  const std::string header = R"({"freshet":"fixture","version":1,"table":"T","partitionKey":{"name":"p","type":"S"},)"
                             R"("sortKey":{"name":"s","type":"N"},"start":"2026-01-01T00:00:00.000Z"})"
                             "\n";
  const std::string item = R"({"p":{"S":"a"},"s":{"N":"1"},"ttl":{"N":"5"}})";
  const auto plan = play_plan(fixture(R"({"snapshot":)" + item + "}\n" + record("MODIFY", "1767225601", item) +
                                          record("REMOVE", "1767225602", item),
                                      header),
                              false);
  ASSERT_EQ(plan.calls.size(), 3u);
  EXPECT_TRUE(plan.left_out.empty());
  std::vector<std::string> said;
  for (const auto& call : plan.calls) {
    const auto request = played_request(call, "Other", WallTime());
    said.push_back(request.headers.front().second + " " + request.target + " " + request.body);
    EXPECT_EQ(call.order, plan.calls[0].order) << "one item";
  }
  EXPECT_EQ(said[0], R"(DynamoDB_20120810.PutItem / {"TableName":"Other","Item":)" + item + "}");
  EXPECT_EQ(said[1], said[0]);
  EXPECT_EQ(said[2], R"(DynamoDB_20120810.DeleteItem / {"TableName":"Other","Key":{"p":{"S":"a"},"s":{"N":"1"}}})");
}

TEST(PlayPlan, TasksOfOneKeyStayInOrder) {
  const auto plan = play_plan(fixture(record("INSERT", "1767225601", task("a", "PENDING", R"(,"key":{"S":"k"})")) +
                                      record("INSERT", "1767225602", task("b", "PENDING", R"(,"key":{"S":"k"})")) +
                                      record("INSERT", "1767225602", task("k", "PENDING"))),
                              true);
  ASSERT_EQ(plan.calls.size(), 3u);
  EXPECT_EQ(plan.calls[0].order, plan.calls[1].order);
  EXPECT_NE(plan.calls[0].order, plan.calls[2].order);
}

}  // namespace
}  // namespace freshet::cli
