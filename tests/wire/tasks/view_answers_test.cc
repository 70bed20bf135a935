// The history of a queue, its shares and its holders as JSON, and what their paths take.
#include "wire/tasks/view_answers.h"

#include <gtest/gtest.h>

#include "tables/value/json.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/task_route.h"

namespace freshet::tasks {
namespace {

TEST(ViewAnswers, AHistoryIsAColumnOfEachCountWithNullWhereNothingIsKnown) {
  SeriesSlice slice;
  slice.first = 100;
  slice.points.resize(3);
  slice.points[0].known = true;
  slice.points[0].flows[static_cast<size_t>(QueueFlow::kInTime)] = 4;
  slice.points[0].flows[static_cast<size_t>(QueueFlow::kShedDeadline)] = 2;
  slice.points[0].pending = 3;
  slice.points[0].oldest_age_ms = 1500;
  slice.points[0].pickups = 2;
  slice.points[0].pickup_seconds = 0.3F;
  slice.points[0].rate_limit = 19.5F;
  slice.points[2].known = true;
  const std::string text = series_json(slice, WallTime(milliseconds(5'000)));
  ASSERT_TRUE(parse_plain_json(text)) << text;
  for (const char* part :
       {R"("stepMs":1000,"first":100,"begins":5000,"points":3)", R"("inTime":[4,null,0])", R"("deadline":[2,null,0])",
        R"("pending":[3,null,0])", R"("oldestAgeMs":[1500,null,null])", R"("ageAtStartMs":[150,null,null])",
        R"("rateLimit":[19.5,null,null])", R"("concurrency":[null,null,null])"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(ViewAnswers, ARateCloseToAWholeNumberIsJson) {
  SeriesSlice slice;
  slice.points.resize(3);
  const float rates[] = {5.0001F, 0.0003F, 19.9999F};
  for (size_t i = 0; i < slice.points.size(); ++i) {
    slice.points[i].known = true;
    slice.points[i].rate_limit = rates[i];
  }
  const std::string text = series_json(slice, WallTime(milliseconds(5'000)));
  EXPECT_TRUE(parse_plain_json(text)) << text;
  EXPECT_NE(text.find(R"("rateLimit":[5,0,20])"), std::string::npos) << text;
}

TEST(ViewAnswers, SharesSayWhatHoldsThemBack) {
  QueueShares shares;
  shares.shares = {{"acme", 3, 20, true, false, 5.5, true, milliseconds(180)}, {"", 1, {}, false, true, 0, false, {}}};
  shares.more = true;
  EXPECT_EQ(shares_json(shares, false),
            R"({"by":"group","groups":[{"name":"acme","inWork":3,"waiting":20,"waitingAtLeast":true,"atLimit":true,)"
            R"("perSecond":5.5,"startsInMs":180},{"name":"","inWork":1,"paused":true}],"more":true})");
}

TEST(ViewAnswers, OnlyAMarkThatIsTrueIsACancel) {
  for (const bool mark : {true, false}) {
    const ItemRef task = ItemRef::encode({{"taskStatus", Value("TAKEN")}, {"cancelRequested", Value::boolean(mark)}});
    QueueHolders holders;
    holders.tasks.push_back({"a", task, "w", milliseconds(1), milliseconds(2)});
    EXPECT_EQ(settled_json({"a"}, {task}).find("cancelRequested") != std::string::npos, mark);
    EXPECT_EQ(holders_json(holders).find("cancelRequested") != std::string::npos, mark);
  }
}

TEST(ViewAnswers, HoldersHaveTheirTasks) {
  QueueHolders holders;
  holders.in_work = 2;
  holders.holders = {{"worker \"7\"", 2, milliseconds(8'000)}};
  const Item item{{"taskId", Value("a")}, {"attempt", Value::number(2)}, {"group", Value("eu")}};
  holders.tasks = {{"a", ItemRef::encode(item), "worker \"7\"", milliseconds(8'000), milliseconds(-5)}};
  EXPECT_EQ(
      holders_json(holders),
      R"({"inWork":2,"holders":[{"name":"worker \"7\"","tasks":2,"longestMs":8000}],)"
      R"("tasks":[{"taskId":"a","holder":"worker \"7\"","heldMs":8000,"leaseLeftMs":-5,"attempt":2,"group":"eu"}]})");
}

TEST(TraceJson, HasEachSpanWithItsTimes) {
  RecentSpans::OfTask trace;
  Span span;
  span.trace_id = "t";
  span.span_id = "s";
  span.name = "POST http://h/";
  span.kind = "request";
  span.start_ns = 1'700'000'000'000'001'000;
  span.end_ns = span.start_ns + 1'050'999;
  trace.spans.push_back(span);
  span.parent_id = "s";
  span.error = "status 500";
  span.attributes = {{"freshet.attempt", "2"}};
  trace.spans.push_back(span);
  trace.more = true;
  EXPECT_EQ(
      trace_json(trace, true),
      R"({"traced":true,"spans":[{"traceId":"t","spanId":"s","name":"POST http://h/","kind":"request",)"
      R"("at":1700000000000.001,"ms":1.050,"attributes":{}},)"
      R"({"traceId":"t","spanId":"s","parentId":"s","name":"POST http://h/","kind":"request",)"
      R"("at":1700000000000.001,"ms":1.050,"error":"status 500","attributes":{"freshet.attempt":"2"}}],"more":true})");
  EXPECT_EQ(trace_json({}, false), R"({"traced":false,"spans":[],"more":false})");
}

class NoQueuesSeen final : public TaskQueues {
 public:
  std::shared_ptr<TaskQueue> find(std::string_view) override { return nullptr; }
  std::vector<std::string> names() const override { return {}; }
};

std::string refusal(const std::string& target) {
  NoQueuesSeen queues;
  const SystemClock clock;
  const auto route = make_task_route(queues, clock);
  HttpRequest request;
  request.method = "GET";
  request.target = target;
  return route->accept(std::move(request))->respond().body;
}

TEST(ViewRoutes, ParametersAreCheckedBeforeAnyQueueIsAsked) {
  const std::pair<const char*, const char*> cases[] = {
      {"/queues/Q/series?step=hour", "'step' must be second or minute"},
      {"/queues/Q/series?limit=3601", "'limit' must be a number from 1 to 3600"},
      {"/queues/Q/series?step=minute&limit=1441", "'limit' must be a number from 1 to 1440"},
      {"/queues/Q/series?by=key", "there are limit and step"},
      {"/queues/Q/groups?by=colour", "'by' must be group or key"},
      {"/queues/Q/groups?limit=0", "'limit' must be a number from 1 to 1000"},
      {"/queues/Q/holders?by=key", "there is limit"},
      {"/queues/Q/series?X-Amz-Signature=s&step=hour", "'step' must be"},  // A presigned request has more members.
      {"/queues/Q/tasks?X-Amz-Signature=s&limit=0", "'limit' must be"},
      {"/queues/Q/tasks?olderThanMs=-1", "'olderThanMs' must be a whole number of milliseconds"},
  };
  for (const auto& [target, message] : cases) {
    EXPECT_NE(refusal(target).find(message), std::string::npos) << target << ": " << refusal(target);
  }
}

}  // namespace
}  // namespace freshet::tasks
