// Paths of the task API, and what may stand behind their '?'.
#include "wire/tasks/task_route.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "runtime/api/task_queue.h"

namespace freshet {
namespace {

class NoQueues final : public TaskQueues {
 public:
  std::shared_ptr<TaskQueue> find(std::string_view) override { return nullptr; }
  std::vector<std::string> names() const override { return {}; }
};

// Answers that need no queue.
std::string refusal(const std::string& method, const std::string& target, const std::string& body = "") {
  NoQueues queues;
  const SystemClock clock;
  const auto route = make_task_route(queues, clock);
  HttpRequest request;
  request.method = method;
  request.target = target;
  request.body = body;
  return route->accept(std::move(request))->respond().body;
}

std::string validation(const std::string& message) {
  return R"({"error":{"code":"ValidationException","message":")" + message + "\"}}\n";
}

TEST(TaskRoute, ParametersThatAPathDoesNotHaveAreRefused) {
  EXPECT_EQ(refusal("GET", "/queues/Q/stats?state=DEAD"),
            validation("'state' in the query of GET /queues/Q/stats: there are no parameters"));
  EXPECT_EQ(refusal("GET", "/queues?x"), validation("'x' in the query of GET /queues: there are no parameters"));
  EXPECT_EQ(refusal("GET", "/queues/Q/tasks/a?limit=1"),
            validation("'limit' in the query of GET /queues/Q/tasks/a: there are no parameters"));
  EXPECT_EQ(refusal("GET", "/queues/Q/sheds?limt=1"),
            validation("'limt' in the query of GET /queues/Q/sheds: there is limit"));
  EXPECT_EQ(refusal("POST", "/queues/Q/tasks?delayMs=1000", "{}"),
            validation("'delayMs' in the query of POST /queues/Q/tasks: the body has all parameters"));
  EXPECT_EQ(
      refusal("GET", "/queues/Q/tasks?stat=DEAD"),
      validation("'stat': there are state, limit, cursor, order (newest or oldest), text, olderThanMs and where.NAME"));
}

TEST(TaskRoute, APathThatIsNotThereIsNotFoundWhateverItsParameters) {
  const std::string missing = R"({"error":{"code":"NotFoundException","message":")";
  EXPECT_EQ(refusal("GET", "/queues/Q/statz?x=1"),
            missing + "GET /queues/Q/statz is not part of the task API (docs/task-api.md)\"}}\n");
  EXPECT_EQ(refusal("PUT", "/queues/Q/nothing"),
            missing + "PUT /queues/Q/nothing is not part of the task API (docs/task-api.md)\"}}\n");
}

// A message stands in the log of refused requests, and a presigned URL has its signature in the query.
TEST(TaskRoute, NoMessageHasTheValuesOfAQuery) {
  const std::string query = "?other=5ec2e7&X-Amz-Signature=5ec2e7&X-Amz-Security-Token=5ec2e7";
  for (const char* path : {"/queues", "/queues/Q/stats", "/queues/Q/tasks", "/queues/Q/sheds", "/queues/Q/nothing"}) {
    for (const char* method : {"GET", "POST", "PUT"}) {
      for (const std::string& broken : {std::string(), std::string("&%zz")}) {
        EXPECT_EQ(refusal(method, path + query + broken).find("5ec2e7"), std::string::npos) << method << ' ' << path;
      }
    }
  }
}

TEST(TaskRoute, AWrongMethodOfAPathIsNotAllowed) {
  EXPECT_EQ(refusal("PUT", "/queues/Q/tasks"),
            R"({"error":{"code":"MethodNotAllowedException","message":"PUT is not served at /queues/Q/tasks; use )"
            "GET, HEAD, POST\"}}\n");
  EXPECT_EQ(refusal("POST", "/queues/Q/stats?x=1"),
            R"({"error":{"code":"MethodNotAllowedException","message":"POST is not served at /queues/Q/stats; use )"
            "GET, HEAD\"}}\n");
  EXPECT_EQ(refusal("GET", "/queues/Q/take"),
            R"({"error":{"code":"MethodNotAllowedException","message":"GET is not served at /queues/Q/take; use )"
            "POST\"}}\n");
}

TEST(TaskRoute, WhatIsPausedIsNamedOnce) {
  EXPECT_EQ(refusal("POST", "/queues/Q/pause", R"({"group":"a","key":"b"})"),
            validation("'key' and 'group' are both there: pause one after the other"));
  EXPECT_EQ(refusal("POST", "/queues/Q/pause", R"({"forMs":10})"),
            validation("'forMs' must be from 1000 to 31622400000"));
  EXPECT_EQ(refusal("POST", "/queues/Q/pause", R"({"until":10})"),
            validation("'until' is not known; there are group, key, reason, forMs"));
  EXPECT_EQ(refusal("POST", "/queues/Q/resume", R"({"reason":"x"})"),
            validation("'reason' is not known; there are group, key"));
}

TEST(TaskRoute, AJobSaysWhatItDoes) {
  EXPECT_EQ(refusal("POST", "/queues/Q/jobs"), validation("'do' must be purge, cancel, redrive, run or duplicate"));
  EXPECT_EQ(refusal("POST", "/queues/Q/jobs", R"({"do":"drop"})"),
            validation("'do' must be purge, cancel, redrive, run or duplicate, not 'drop'"));
  EXPECT_EQ(refusal("POST", "/queues/Q/jobs", R"({"do":"purge","where":{}})"),
            validation("'where' is empty; leave it out to purge whatever is in these states"));
  EXPECT_EQ(refusal("POST", "/queues/Q/jobs", R"({"do":"purge","ratePerSecond":0})"),
            validation("'ratePerSecond' must be above 0; leave it out to change tasks whenever nobody else waits"));
  EXPECT_EQ(refusal("POST", "/queues/Q/jobs", R"({"do":"purge","limit":0})"),
            validation("'limit' must be from 1 to 1000000000000"));
  EXPECT_EQ(refusal("POST", "/queues/Q/jobs", R"({"do":"run","taskIds":[]})"),
            validation("'taskIds' is empty; leave it out to run all that match"));
  EXPECT_EQ(refusal("POST", "/queues/Q/jobs", R"({"do":"cancel","set":{"group":"eu"}})"),
            validation("'set' is for copies: it goes with duplicate only"));
  EXPECT_EQ(refusal("POST", "/queues/Q/jobs", R"({"do":"duplicate","set":{"key":"order-17"}})"),
            validation("'set.key' cannot be set: each copy has an id of its own, and none has a key"));
  EXPECT_EQ(refusal("POST", "/queues/Q/jobs", R"({"do":"duplicate","set":{"priority":1000}})"),
            validation("'set.priority' must be from -100 to 100"));
  EXPECT_EQ(refusal("POST", "/queues/Q/jobs", R"({"do":"duplicate","set":["group"]})"),
            R"({"error":{"code":"SerializationException","message":"'set' must be an object, not a list"}})"
            "\n");
  EXPECT_EQ(
      refusal("POST", "/queues/Q/jobs", R"({"do":"duplicate","set":{"payloads":1}})"),
      validation("'set.payloads' is not known; there are payload, ttlSeconds, deadline, deadlineMs, delayMs, group, "
                 "priority, maxAttempts, cost, attributes"));
  EXPECT_EQ(refusal("POST", "/queues/Q/jobs", R"({"do":"run","states":[]})"),
            validation("'states' must have at least one state"));
  EXPECT_EQ(refusal("GET", "/queues/Q/jobs/first"), validation("the id of a job is a number: 'first'"));
  EXPECT_EQ(refusal("DELETE", "/queues/Q/jobs/-1"), validation("the id of a job is a number: '-1'"));
  EXPECT_EQ(refusal("POST", "/queues/Q/policy", R"({"dryRun":"perhaps","ORDER":"fifo"})"),
            validation("'dryRun' must be true or false"));
  EXPECT_EQ(refusal("POST", "/queues/Q/policy", R"({"dryRun":true})"),
            validation("the request names no setting to change"));
}

TEST(TaskRoute, TheAuditLogHasAPathOfItsOwn) {
  EXPECT_EQ(refusal("GET", "/audit"), R"({"lines":[]})"
                                      "\n");
  EXPECT_EQ(refusal("GET", "/audit?limit=0"), validation("'limit' must be a number from 1 to 10000"));
  EXPECT_EQ(refusal("GET", "/audit?state=x"),
            validation("'state' in the query of GET /audit: there are limit and queue"));
  EXPECT_EQ(refusal("POST", "/audit", "{}"),
            R"({"error":{"code":"MethodNotAllowedException","message":"POST is not served at /audit; use GET, HEAD"}})"
            "\n");
  EXPECT_EQ(refusal("PUT", "/queues/Q/jobs/7"),
            R"({"error":{"code":"MethodNotAllowedException","message":"PUT is not served at /queues/Q/jobs/7; use )"
            "GET, HEAD, DELETE\"}}\n");
  EXPECT_NE(refusal("GET", "/audit/x/y").find("NotFoundException"), std::string::npos);
  EXPECT_NE(refusal("POST", "/audit/x/pause", "{}").find("NotFoundException"), std::string::npos);
}

}  // namespace
}  // namespace freshet
