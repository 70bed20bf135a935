// Files for `freshet ui`: what the page gets of a fixture and of an export, and what is refused.
#include "app/saved/saved_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/lab/flight.h"
#include "app/saved/file_route.h"

namespace freshet::saved {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kFixtureHead =
    R"({"freshet":"fixture","version":2,"table":"emails","partitionKey":{"name":"taskId","type":"S"},)"
    R"("view":"KEYS_ONLY","start":"1970-01-01T00:00:01.000Z","policy":{"ORDER":"lifo"}})"
    "\n";

std::string image(const std::string& id, const std::string& status, const std::string& more = "") {
  return R"({"taskId":{"S":")" + id + R"("},"taskStatus":{"S":")" + status + R"("},"taskCreated":{"N":"500"})" + more +
         "}";
}

// A change at `at` seconds; an empty image is left out.
std::string change(const std::string& name, const std::string& at, const std::string& before,
                   const std::string& after) {
  return R"({"eventName":")" + name + R"(","dynamodb":{"ApproximateCreationDateTime":)" + at +
         (before.empty() ? "" : R"(,"OldImage":)" + before) + (after.empty() ? "" : R"(,"NewImage":)" + after) + "}}\n";
}

std::vector<std::string> lines_of(const std::string& text) {
  auto recording = read_saved_recording(text, "saved.jsonl");
  EXPECT_TRUE(recording) << recording.error().message;
  std::vector<std::string> out;
  if (!recording) return out;
  EXPECT_EQ(recording->queue, "emails");
  for (std::string_view answer : recording->answers) {
    while (!answer.empty()) {
      const size_t end = answer.find('\n');
      out.emplace_back(answer.substr(0, end));
      answer.remove_prefix(end + 1);
    }
  }
  return out;
}

std::string refusal_of(const std::string& text) {
  const auto recording = read_saved_recording(text, "saved.jsonl");
  return recording ? "" : recording.error().message;
}

TEST(SavedRecording, TheChangesOfAFixtureAreTheEventsOfItsTasks) {
  const std::string due = R"(,"deadline":{"N":"4000"},"group":{"S":"acme"})";
  const auto lines = lines_of(
      kFixtureHead + (R"({"snapshot":)" + image("old", "PENDING") + "}\n") +
      (R"({"snapshot":)" + image("waits", "DELAYED") + "}\n") +
      change("INSERT", "2", "", image("new", "PENDING", due)) +
      change("MODIFY", "2.5", image("new", "PENDING", due), image("new", "TAKEN", due + R"(,"takenBy":{"S":"w"})")) +
      change("MODIFY", "2.6", image("new", "TAKEN", due), image("new", "TAKEN", due + R"(,"leaseMs":{"N":"5"})")) +
      change("MODIFY", "3", image("new", "TAKEN", due), image("new", "SUCCESS", due)) +
      change("MODIFY", "3.25", image("old", "PENDING"), image("old", "SHED", R"(,"shedReason":{"S":"deadline"})")) +
      R"({"at":"1970-01-01T00:00:02.200Z","policy":{"ORDER":"fifo"}})" + "\n");
  EXPECT_THAT(
      lines,
      ElementsAre(
          R"({"freshet":"recording","version":1,"queue":"emails","from":1000,"to":4000,"forgot":false,"policy":{"ORDER":"lifo"}})",
          R"({"at":2200,"policy":{"ORDER":"fifo"}})",
          R"({"at":2000,"task":3,"to":"PENDING","about":{"dueInMs":2000,"dueBy":"deadline","ageMs":1500,"group":"acme"}})",
          R"({"at":2500,"task":3,"from":"PENDING","to":"TAKEN","pulled":true})",
          R"({"at":3000,"task":3,"from":"TAKEN","to":"SUCCESS"})",
          R"({"at":3250,"task":1,"from":"PENDING","to":"SHED","because":"deadline","about":{"ageMs":2750}})",
          R"({"at":4000,"task":2,"waits":"DELAYED","about":{"ageMs":3500}})"));
}

// A quiet queue's recording is one, and only says nothing.
TEST(SavedRecording, ARecordingWithoutChangesSaysSo) {
  EXPECT_EQ(refusal_of(kFixtureHead),
            "saved.jsonl: the recording holds no changes: nothing happened while it was recorded");
  const std::string plain =
      R"({"freshet":"fixture","version":1,"table":"emails","partitionKey":{"name":"taskId","type":"S"},)"
      R"("view":"KEYS_ONLY","start":"1970-01-01T00:00:01.000Z"})"
      "\n";
  EXPECT_THAT(refusal_of(plain), HasSubstr("this is not the recording of a queue"));
}

TEST(SavedRecording, ImagesFromBeforeMayBeMissing) {
  const auto lines = lines_of(kFixtureHead + change("INSERT", "2", "", image("a", "PENDING")) +
                              change("MODIFY", "3", "", image("a", "TAKEN", R"(,"takenBy":{"S":"process_tasks"})")) +
                              change("REMOVE", "4", image("a", "TAKEN"), ""));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2], R"({"at":3000,"task":1,"from":"PENDING","to":"TAKEN"})");
  EXPECT_EQ(lines[3], R"({"at":4000,"task":1,"from":"TAKEN"})");
}

constexpr const char* kExport =
    R"({"freshet":"recording","version":1,"queue":"emails","from":1000,"to":9000,"forgot":false,"policy":{}})"
    "\n"
    R"({"at":2000,"task":7,"to":"PENDING","about":{}})"
    "\n\n"
    R"({"at":2100,"rateLimit":20,"concurrency":8})"
    "\n";

TEST(SavedRecording, AnExportIsServedAsItIs) {
  EXPECT_THAT(lines_of(kExport),
              ElementsAre(StartsWith(R"({"freshet":"recording")"), R"({"at":2000,"task":7,"to":"PENDING","about":{}})",
                          R"({"at":2100,"rateLimit":20,"concurrency":8})"));
  EXPECT_FALSE(read_saved_recording(kExport, "saved.jsonl")->is_fixture);
}

TEST(SavedRecording, SimulateReadsAnExportToo) {
  const auto fixture = lab::read_fixture_or_flight(kExport, "saved.jsonl");
  ASSERT_TRUE(fixture) << fixture.error().message;
  EXPECT_EQ(fixture->header.table, "emails");
  EXPECT_EQ(fixture->records.size(), 1u);
  EXPECT_EQ(lab::read_fixture_or_flight(std::string(kExport) + "{\"at\":-1}\n", "f").error().message,
            "f:5: 'at' must be the time in epoch milliseconds");
}

TEST(SavedRecording, LongOnesComeInPieces) {
  std::string text = kExport;
  for (int i = 0; i < 4'500; ++i)
    text += R"({"at":3000,"task":)" + std::to_string(100 + i) +
            R"(,"to":"PENDING"})"
            "\n";
  const auto recording = read_saved_recording(text, "saved.jsonl");
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->answers.size(), 3u);
  const auto route = make_recording_file_route(std::make_shared<const SavedRecording>(*recording), "saved.jsonl");
  size_t lines = 0;
  std::string target = "/queues/emails/recording";
  while (!target.empty()) {
    const HttpResponse answer = route->accept({"GET", target, {}, ""})->respond();
    ASSERT_EQ(answer.status, 200);
    lines += static_cast<size_t>(std::count(answer.body.begin(), answer.body.end(), '\n'));
    const std::string next(header(answer.headers, "X-Freshet-Next"));
    target = next.empty() ? "" : "/queues/emails/recording?place=" + next;
  }
  EXPECT_EQ(lines, 4'503u);
}

TEST(SavedRecording, WrongFilesAreRefusedWithLineAndReason) {
  EXPECT_THAT(refusal_of(""), StartsWith("saved.jsonl:1: the file is empty"));
  EXPECT_THAT(refusal_of("{\"a\":1}\n"), StartsWith("saved.jsonl:1: "));
  EXPECT_THAT(refusal_of(kFixtureHead + std::string("{\"a\":\n")), StartsWith("saved.jsonl:2: "));
  EXPECT_THAT(refusal_of(kFixtureHead + change("INSERT", "2", "", image("a", "PENDNG"))),
              StartsWith("saved.jsonl:2: taskStatus 'PENDNG' is no state (did you mean 'PENDING'?)"));
  EXPECT_THAT(refusal_of(kFixtureHead + change("INSERT", "2", "", R"({"taskId":{"S":"x"}})")),
              HasSubstr("this is not the recording of a queue"));
  EXPECT_THAT(refusal_of(kFixtureHead + change("INSERT", "90003", "", image("a", "PENDING"))),
              HasSubstr("it spans 25 hours, and a day is the most"));
  EXPECT_THAT(refusal_of(std::string(kExport) + "[]\n"), StartsWith("saved.jsonl:5: expected a JSON object"));
  EXPECT_THAT(refusal_of(std::string(kExport) + "{\"task\":\n"), StartsWith("saved.jsonl:5: "));
}

HttpResponse ask(const std::string& method, const std::string& target) {
  const auto route = make_recording_file_route(
      std::make_shared<const SavedRecording>(*read_saved_recording(kExport, "saved.jsonl")), "saved.jsonl");
  return route->accept({method, target, {}, ""})->respond();
}

TEST(RecordingFileRoute, HasTheRecordingOfItsQueueOnly) {
  EXPECT_EQ(ask("GET", "/queues/emails/recording").status, 200);
  EXPECT_EQ(ask("GET", "/queues/emails/recording?place=1").status, 400);
  EXPECT_EQ(ask("GET", "/queues/emails/recording?place=x").status, 400);
  EXPECT_EQ(ask("POST", "/queues/emails/recording").status, 405);
  EXPECT_THAT(ask("GET", "/queues/other/recording").body, HasSubstr("the recording of the queue 'emails', not of"));
  EXPECT_EQ(ask("GET", "/queues/other/recording").status, 404);
  const HttpResponse other = ask("GET", "/queues");
  EXPECT_EQ(other.status, 404);
  EXPECT_THAT(other.body, HasSubstr("this is not a daemon"));
}

TEST(RecordingFileRoute, TheSessionSaysThatItIsAFile) {
  EXPECT_THAT(ask("GET", "/session").body,
              HasSubstr(R"("file":{"name":"saved.jsonl","queue":"emails","form":"recording"})"));
}

}  // namespace
}  // namespace freshet::saved
