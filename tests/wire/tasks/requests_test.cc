// Bodies of the task API: what is refused, and why.
#include "wire/tasks/requests.h"

#include <gtest/gtest.h>

namespace freshet::tasks {
namespace {

std::string why(const std::string& body) {
  JsonDocument document;
  const auto view = document.parse(body);
  if (!view) return view.error().message;
  const auto request = read_create(*view);
  return request ? "" : request.error().message;
}

TEST(CreateRequest, BoundsAreToldWithThePathOfTheMember) {
  EXPECT_EQ(why(R"({"ttlSeconds": 31622400})"), "");
  const std::string ttl = "must be a number of seconds above 0, at most 31622400";
  for (const char* wrong : {"0", "-1", "31622400.1", "1e300", "\"1\"", "true"}) {
    EXPECT_EQ(why(R"({"tasks": [{}, {"ttlSeconds": )" + std::string(wrong) + "}]}"), "'tasks[1].ttlSeconds' " + ttl);
  }
  EXPECT_EQ(why(R"({"delayMs": 31622400001})"), "'delayMs' must be from 0 to 31622400000");
  EXPECT_EQ(why(R"({"deadline": 253402300799999})"), "");
  EXPECT_EQ(why(R"({"deadline": 0})"), "'deadline' must be from 1 to 253402300799999");
}

TEST(CreateRequest, AMemberThatIsThereTwiceIsRefused) {
  EXPECT_EQ(why(R"({"taskId": "a", "priority": 1, "taskId": "b"})"), "'taskId' is there twice");
  EXPECT_EQ(why(R"({"tasks": [], "tasks": [{}]})"), "'tasks' is there twice");
  EXPECT_EQ(why(R"({"tasks": [{}, {"delayMs": 1, "delayMs": 1}]})"), "'tasks[1].delayMs' is there twice");
  // What is inside of it is the caller's own.
  EXPECT_EQ(why(R"({"payload": {"a": 1, "a": 2}})"), "");
}

TEST(CreateRequest, AnIdIsNotEmpty) {
  EXPECT_EQ(why(R"({"taskId": ""})"), "'taskId' must not be empty; leave it out to have one made");
  EXPECT_EQ(why(R"({"taskId": "a"})"), "");
  EXPECT_EQ(why("{}"), "");
}

}  // namespace
}  // namespace freshet::tasks
