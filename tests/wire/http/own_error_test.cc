#include "wire/http/own_error.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(OwnError, APathThatIsNearlyOneIsNamed) {
  EXPECT_EQ(nothing_served("GET", "/queue/jobs/tasks"),
            "nothing is served at GET /queue/jobs/tasks; did you mean /queues/jobs/tasks?");
  EXPECT_EQ(nothing_served("GET", "/Metrics"), "nothing is served at GET /Metrics; did you mean /metrics?");
}

TEST(OwnError, OfAnyOtherPathTheDocumentationIsNamed) {
  const std::string rest =
      "; a queue's tasks are at /queues/NAME/tasks, GET /queues lists the queues, and docs/task-api.md has the other "
      "paths";
  for (const char* path : {"/tasks", "/x/queues", "*", ""}) {
    EXPECT_EQ(nothing_served("POST", path), "nothing is served at POST " + std::string(path) + rest);
  }
}

}  // namespace
}  // namespace freshet
