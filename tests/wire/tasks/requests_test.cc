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
  EXPECT_EQ(why(R"({"deadline": "5s"})"),
            "'deadline' must be a time as a number of milliseconds since 1970, not a text; for a time from now write "
            "'deadlineMs', like 5000");
  EXPECT_EQ(why(R"({"deadlineMs": 31622400000})"), "");
  for (const char* wrong : {"0", "-1", "31622400001"}) {
    EXPECT_EQ(why(R"({"deadlineMs": )" + std::string(wrong) + "}"), "'deadlineMs' must be from 1 to 31622400000");
  }
  EXPECT_EQ(why(R"({"deadlineMs": "5s"})"), "'deadlineMs' must be a whole number from 1 to 31622400000, not a text");
}

TEST(CreateRequest, ACostIsANumberAboveZero) {
  for (const char* good : {"1", "0.5", "1e9", "0.000001"}) EXPECT_EQ(why(R"({"cost": )" + std::string(good) + "}"), "");
  for (const char* wrong : {"0", "-1", "1000000001", "1e300", "\"812\"", "true", "[]"}) {
    EXPECT_EQ(why(R"({"tasks": [{}, {"cost": )" + std::string(wrong) + "}]}"),
              "'tasks[1].cost' must be a number above 0, from 0.000001 to 1000000000");
  }
  JsonDocument document;
  const auto settle =
      read_settle(*document.parse(R"({"settle": [{"taskId": "a", "lease": "l", "outcome": "fail", "cost": 812}]})"));
  ASSERT_TRUE(settle) << settle.error().message;
  EXPECT_EQ(settle->at(0).cost, 812);
}

TEST(CreateRequest, ATimeFromNowIsTheQueuesToCount) {
  JsonDocument document;
  const auto request = read_create(*document.parse(R"({"taskId": "a", "deadlineMs": 5000})"));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->tasks.at(0).deadline_in, milliseconds(5'000));
  EXPECT_FALSE(request->tasks.at(0).deadline);
}

TEST(CreateRequest, TwoDeadlinesAreOneTooMany) {
  EXPECT_EQ(why(R"({"tasks": [{}, {"deadline": 4102444800000, "deadlineMs": 5000}]})"),
            "'tasks[1].deadline' and 'deadlineMs' both say until when the task is worth starting: leave out "
            "'deadline'");
}

template <class Read>
std::string why_of(Read read, const std::string& body) {
  JsonDocument document;
  const auto view = document.parse(body);
  if (!view) return view.error().message;
  const auto request = read(*view);
  if (request) return "";
  EXPECT_EQ(request.error().code, ErrorCode::kSerialization) << "as ever";
  return request.error().message;
}

TEST(AnyRequest, AMemberOfAWrongKindIsToldInWordsOfOurOwn) {
  const std::string max = "'max' must be a whole number from 1 to 1000";
  EXPECT_EQ(why_of(read_take, R"({"max": "10"})"), max + ", not a text");
  EXPECT_EQ(why_of(read_take, R"({"max": 1.5})"), max);
  EXPECT_EQ(why_of(read_take, R"({"max": [10]})"), max + ", not a list");
  EXPECT_EQ(why_of(read_take, R"({"owner": 7})"), "'owner' must be a text in quotes, not a number");
  EXPECT_EQ(why_of(read_take, R"({"settle": {}})"), "'settle' must be a list, not an object");
  EXPECT_EQ(why_of(read_create, R"({"replace": "yes"})"), "'replace' must be true or false, not a text");
  EXPECT_EQ(why_of(read_create, R"({"tasks": [{"taskId": true}]})"),
            "'tasks[0].taskId' must be a text in quotes, not true or false");
  EXPECT_EQ(why_of(read_cancel, R"({"taskIds": "a"})"), "'taskIds' must be a list, not a text");
  EXPECT_EQ(why_of(read_cancel, R"({"taskIds": [1]})"), "'taskIds[0]' must be a text in quotes, not a number");
  EXPECT_EQ(why_of(read_policy, "[]"), "the body must be an object, not a list");
  EXPECT_EQ(why_of(read_policy, "[{}]"), "the body must be an object, not a list");
  EXPECT_EQ(why_of(read_redrive, R"({"where": "x"})"), "'where' must be an object, not a text");
}

TEST(PolicyRequest, SettingsInAnEnvelopeAreRefused) {
  JsonDocument document;
  const auto request = read_policy(*document.parse(R"({"settings": {"ORDER": "fifo"}})"));
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().message,
            R"('settings' is no setting: settings stand in the body itself, as in {"ORDER": "fifo"})");
}

TEST(CreateRequest, AMemberThatIsThereTwiceIsRefused) {
  EXPECT_EQ(why(R"({"taskId": "a", "priority": 1, "taskId": "b"})"), "'taskId' is there twice");
  EXPECT_EQ(why(R"({"tasks": [], "tasks": [{}]})"), "'tasks' is there twice");
  EXPECT_EQ(why(R"({"tasks": [{}, {"delayMs": 1, "delayMs": 1}]})"), "'tasks[1].delayMs' is there twice");
  // The members inside of it are the caller's own.
  EXPECT_EQ(why(R"({"payload": {"a": 1, "a": 2}})"), "");
}

TEST(CreateRequest, WhoeverSendsTheDataItselfLearnsWhereItGoes) {
  const std::string there =
      "there are taskId, payload, ttlSeconds, deadline, deadlineMs, delayMs, key, replace, group, priority, "
      "maxAttempts, "
      "cost, attributes; your own data goes into 'payload', as in {\"payload\": {\"to\": \"ada\"}}";
  EXPECT_EQ(why(R"({"to": "ada"})"), "'to' is not known; " + there);
  EXPECT_EQ(why(R"({"tasks": [{}, {"to": "ada"}]})"), "'tasks[1].to' is not known; " + there);
  EXPECT_EQ(why(R"({"prio": 1})"), "'prio' is not known; " + there);
  EXPECT_EQ(why(R"({"priorty": 1})"), "'priorty' is not known (did you mean 'priority'?); " + there);
  EXPECT_EQ(why(R"({"taskId": 1})"), "'taskId' must be a text in quotes, not a number");
  const std::string example = R"(, as in {"payload": {"to": "ada"}})";
  EXPECT_EQ(why(R"([{"payload": 1}])"),
            "the body must be an object" + example + R"(; several tasks go into {"tasks": [ ... ]})");
  EXPECT_EQ(why(R"({"tasks": ["ada"]})"), "'tasks[0]' must be an object" + example);
}

TEST(CreateRequest, AnIdIsNotEmpty) {
  EXPECT_EQ(why(R"({"taskId": ""})"), "'taskId' must not be empty; leave it out to have one made");
  EXPECT_EQ(why(R"({"taskId": "a"})"), "");
  EXPECT_EQ(why("{}"), "");
}

TEST(CreateRequest, TasksWithoutAnIdGetOneFromTheUuid) {
  const std::string uuid = "0a1b2c3d-4e5f-4678-9abc-def012345678";
  CreateRequest request;
  request.tasks.resize(1000);
  request.tasks[1].id = "theirs";
  for (const char* none :
       {"", "0a1b2c3d", "0a1b2c3d-4e5f-4678-9abc-def01234567\xff", "0A1B2C3D-4E5F-4678-9ABC-DEF012345678"}) {
    name_tasks(request, none);
    EXPECT_TRUE(request.named.empty()) << none;
  }
  name_tasks(request, uuid);
  EXPECT_EQ(request.named.size(), 999u);
  EXPECT_EQ(request.tasks[0].id, "0a1b2c3d-4e5f-4678-9abc-def012340000");
  EXPECT_EQ(request.tasks[1].id, "theirs");
  EXPECT_EQ(request.tasks[999].id, "0a1b2c3d-4e5f-4678-9abc-def0123403e7");
}

}  // namespace
}  // namespace freshet::tasks
