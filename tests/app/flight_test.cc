// A fetched recording as a fixture: which tasks are there at the start, and what became of each.
#include "app/lab/flight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/lab/trace.h"
#include "functions/queue/attributes.h"

namespace freshet::lab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kFlightHead =
    R"({"freshet":"recording","version":1,"queue":"emails","from":1000,"to":90000,"forgot":false,)"
    R"("policy":{"CONCURRENCY":"2","ORDER":"lifo"}})"
    "\n";

Flight flight_of(const std::string& lines) {
  Flight out;
  const auto added = out.add(kFlightHead + lines);
  EXPECT_TRUE(added) << added.error().message;
  return out;
}

Fixture fixture_of(const Flight& flight, int64_t start) {
  std::string text;
  flight.write_fixture(WallTime(milliseconds(start)), [&](const std::string& line) {
    text += line;
    return true;
  });
  auto fixture = read_fixture(text, "saved");
  EXPECT_TRUE(fixture) << fixture.error().message << text;
  return fixture ? std::move(*fixture) : Fixture();
}

int64_t number_in(const Item& task, std::string_view name) {
  return freshet::int_of(ItemRef::encode(task), name, -1);
}

std::vector<std::string> steps_of(const Fixture& fixture) {
  std::vector<std::string> out;
  for (const ChangeRecord& record : fixture.records) {
    const auto status = [](const ItemRef& task) {
      return task ? std::string(task.decode().string_or("taskStatus")) : std::string();
    };
    out.push_back(std::string(record.keys.string_or("taskId")) + " " + status(record.before) + "->" +
                  status(record.after));
  }
  return out;
}

TEST(Flight, ALifeBecomesTheRecordsOfItsTask) {
  const Flight flight = flight_of(
      R"({"at":2000,"task":7,"to":"PENDING","about":{"dueInMs":5000,"dueBy":"deadline","group":"g","key":"k",)"
      R"("replaces":true,"priority":3,"maxAttempts":2,"cost":1.5}})"
      "\n"
      R"({"at":2100,"rateLimit":20,"concurrency":8})"
      "\n"
      R"({"at":2500,"task":7,"from":"PENDING","to":"TAKEN"})"
      "\n"
      R"({"at":3250,"task":7,"from":"TAKEN","to":"SUCCESS","cost":2})"
      "\n");
  const Fixture fixture = fixture_of(flight, 1000);
  EXPECT_EQ(fixture.header.table, "emails");
  EXPECT_EQ(fixture.header.policy.at("ORDER"), "lifo");
  EXPECT_EQ(fixture.header.start, WallTime(milliseconds(1000)));
  EXPECT_THAT(steps_of(fixture), ElementsAre("t7 ->PENDING", "t7 PENDING->TAKEN", "t7 TAKEN->SUCCESS"));
  const auto recording = read_recording(fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  const TraceTask& task = recording->trace.tasks.at(0);
  EXPECT_EQ(task.group, "g");
  EXPECT_EQ(task.key, "k");
  EXPECT_TRUE(task.replace);
  EXPECT_EQ(task.priority, 3);
  EXPECT_EQ(task.max_attempts, 2);
  EXPECT_EQ(task.cost, 1.5);
  EXPECT_EQ(recording->trace.arrivals.at(0).deadline_ms, 5'000);
  EXPECT_THAT(recording->trace.services, ElementsAre(nanoseconds(milliseconds(750))));
  EXPECT_EQ(recording->trace.cost_ratios.at(0), 2 / 1.5);
  EXPECT_EQ(recording->real.in_time, 1u);
  EXPECT_EQ(recording->real.pulled, 0u);
}

TEST(Flight, AFailedAttemptAndOneThatIsGivenBackDiffer) {
  const Flight flight = flight_of(R"({"at":2000,"task":1,"to":"PENDING","about":{}})"
                                  "\n"
                                  R"({"at":2001,"task":1,"from":"PENDING","to":"TAKEN","pulled":true})"
                                  "\n"
                                  R"({"at":2002,"task":1,"from":"TAKEN","to":"PENDING","givenBack":true})"
                                  "\n"
                                  R"({"at":2003,"task":1,"from":"PENDING","to":"TAKEN","pulled":true})"
                                  "\n"
                                  R"({"at":2013,"task":1,"from":"TAKEN","to":"DELAYED","about":{"delayMs":500}})"
                                  "\n"
                                  R"({"at":2513,"task":1,"from":"DELAYED","to":"PENDING"})"
                                  "\n"
                                  R"({"at":2520,"task":1,"from":"PENDING","to":"TAKEN","pulled":true})"
                                  "\n"
                                  R"({"at":2560,"task":1,"from":"TAKEN","to":"SUCCESS"})"
                                  "\n");
  const Fixture fixture = fixture_of(flight, 1000);
  const auto recording = read_recording(fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->real.refused, 1u);
  EXPECT_EQ(recording->real.failed, 1u);
  EXPECT_EQ(recording->real.done, 1u);
  EXPECT_EQ(recording->real.pulled, 3u);
  EXPECT_EQ(number_in(fixture.records[4].after.decode(), "notBefore"), 2513);
}

// At 5000, the tasks 1, 2, 3 and 5 wait; 1 came before, of 2 a later move tells, 3 still waits at the end, 5 is
// delayed.
TEST(Flight, TheSnapshotHasWhateverWaitedAtTheStart) {
  const Flight flight =
      flight_of(R"({"at":2000,"task":1,"to":"PENDING","about":{"dueInMs":60000,"dueBy":"ttl"}})"
                "\n"
                R"({"at":2000,"task":4,"to":"PENDING","about":{}})"
                "\n"
                R"({"at":2100,"task":4,"from":"PENDING","to":"TAKEN"})"
                "\n"
                R"({"at":2200,"task":5,"to":"DELAYED","about":{"delayMs":9000}})"
                "\n"
                R"({"at":6000,"task":4,"from":"TAKEN","to":"SUCCESS"})"
                "\n"
                R"({"at":6000,"task":2,"from":"PENDING","to":"TAKEN","about":{"ageMs":50000,"group":"g"}})"
                "\n"
                R"({"at":6500,"task":1,"from":"PENDING","to":"SHED","because":"ttl"})"
                "\n"
                R"({"at":7000,"task":9,"from":"PENDING","to":"TAKEN"})"
                "\n"
                R"({"at":7500,"task":2,"from":"TAKEN","to":"SUCCESS"})"
                "\n"
                R"({"at":91000,"task":3,"waits":"PENDING","about":{"ageMs":90900,"dueInMs":100,"key":"k"}})"
                "\n"
                R"({"at":91000,"task":8,"waits":"PENDING","about":{"ageMs":500}})"
                "\n"
                R"({"at":91000,"task":5,"waits":"DELAYED","about":{"ageMs":88800}})"
                "\n");
  const Fixture fixture = fixture_of(flight, 5000);
  std::vector<std::string> there;
  for (const Item& task : fixture.snapshot) {
    there.push_back(std::string(task.string_or("taskId")) + " " + std::string(task.string_or("taskStatus")));
  }
  EXPECT_THAT(there, ElementsAre("t1 PENDING", "t2 PENDING", "t3 PENDING", "t5 DELAYED"));
  EXPECT_EQ(number_in(fixture.snapshot[0], "deadline"), 62000);
  EXPECT_EQ(number_in(fixture.snapshot[1], "taskCreated"), -44000);
  EXPECT_EQ(number_in(fixture.snapshot[2], "deadline"), 91100);
  EXPECT_EQ(number_in(fixture.snapshot[3], "notBefore"), 11200);
  // Nothing of 4, which was in work, and of 9, of which nothing is known.
  EXPECT_THAT(steps_of(fixture), ElementsAre("t2 PENDING->TAKEN", "t1 PENDING->SHED", "t2 TAKEN->SUCCESS"));
  ASSERT_TRUE(read_recording(fixture));
}

// It waited all the time, and was created at a time that the clock of now has not shown yet.
TEST(Flight, ATaskFromBeforeTheClockWasSetBackIsThere) {
  const Flight flight = flight_of(R"({"at":2000,"task":10,"to":"PENDING","about":{}})"
                                  "\n"
                                  R"({"at":5000,"task":2,"from":"PENDING","to":"TAKEN","about":{"ageMs":-9000}})"
                                  "\n"
                                  R"({"at":91000,"task":3,"waits":"PENDING","about":{"ageMs":-3500000}})"
                                  "\n"
                                  R"({"at":91000,"task":11,"waits":"PENDING","about":{"ageMs":500000}})"
                                  "\n");
  const Fixture fixture = fixture_of(flight, 1000);
  ASSERT_EQ(fixture.snapshot.size(), 2u) << "the last one came after the end";
  for (const Item& task : fixture.snapshot) EXPECT_LE(number_in(task, "taskCreated"), 1000);
  EXPECT_EQ(fixture.snapshot[1].string_or("taskId"), "t3");
}

TEST(Flight, MovesAfterTheEndSayWhatWaitedAtTheEnd) {
  const Flight flight =
      flight_of(R"({"at":2000,"task":10,"to":"PENDING","about":{}})"
                "\n"
                R"({"at":91000,"task":11,"waits":"PENDING","about":{"ageMs":100}})"
                "\n"
                R"({"at":90400,"task":3,"from":"PENDING","to":"TAKEN","about":{"ageMs":95000,"group":"g"}})"
                "\n"
                R"({"at":90900,"task":11,"to":"PENDING","about":{}})"
                "\n");
  EXPECT_EQ(flight.events(), 1u);
  const Fixture fixture = fixture_of(flight, 1500);
  ASSERT_EQ(fixture.snapshot.size(), 1u);
  EXPECT_EQ(fixture.snapshot[0].string_or("taskId"), "t3");
  EXPECT_EQ(fixture.snapshot[0].string_or("group"), "g");
  EXPECT_THAT(steps_of(fixture), ElementsAre("t10 ->PENDING")) << "nothing of what came later";
}

TEST(Flight, ATaskInWorkAtTheStartComesWhenItWaitsAgain) {
  const Flight flight = flight_of(R"({"at":2000,"task":1,"to":"PENDING","about":{"priority":5}})"
                                  "\n"
                                  R"({"at":2100,"task":1,"from":"PENDING","to":"TAKEN"})"
                                  "\n"
                                  R"({"at":6000,"task":1,"from":"TAKEN","to":"PENDING","givenBack":true})"
                                  "\n"
                                  R"({"at":6100,"task":1,"from":"PENDING","to":"TAKEN"})"
                                  "\n"
                                  R"({"at":6300,"task":1,"from":"TAKEN","to":"SUCCESS"})"
                                  "\n");
  const Fixture fixture = fixture_of(flight, 5000);
  EXPECT_TRUE(fixture.snapshot.empty());
  EXPECT_THAT(steps_of(fixture), ElementsAre("t1 ->PENDING", "t1 PENDING->TAKEN", "t1 TAKEN->SUCCESS"));
  EXPECT_EQ(number_in(fixture.records[0].after.decode(), "priority"), 5);
}

TEST(Flight, ATaskThatComesAgainIsAnotherTask) {
  const Flight flight = flight_of(R"({"at":2000,"task":1,"to":"PENDING","about":{}})"
                                  "\n"
                                  R"({"at":2100,"task":1,"from":"PENDING","to":"TAKEN"})"
                                  "\n"
                                  R"({"at":2200,"task":1,"from":"TAKEN","to":"DEAD"})"
                                  "\n"
                                  R"({"at":2300,"task":1,"from":"DEAD","to":"PENDING","about":{}})"
                                  "\n"
                                  R"({"at":2400,"task":1,"from":"PENDING","to":"TAKEN"})"
                                  "\n"
                                  R"({"at":2500,"task":1,"from":"TAKEN","to":"SUCCESS"})"
                                  "\n"
                                  R"({"at":2600,"task":1,"from":"SUCCESS"})"
                                  "\n");
  const Fixture fixture = fixture_of(flight, 1000);
  EXPECT_THAT(steps_of(fixture), ElementsAre("t1 ->PENDING", "t1 PENDING->TAKEN", "t1 TAKEN->DEAD", "t1-2 ->PENDING",
                                             "t1-2 PENDING->TAKEN", "t1-2 TAKEN->SUCCESS"));
  const auto recording = read_recording(fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->real.done, 1u);
}

TEST(Flight, RemovalsAndReplacementsSayWhatTheyWere) {
  const Flight flight = flight_of(R"({"at":2000,"task":1,"to":"PENDING","about":{}})"
                                  "\n"
                                  R"({"at":2000,"task":2,"to":"PENDING","about":{}})"
                                  "\n"
                                  R"({"at":2000,"task":3,"to":"PENDING","about":{}})"
                                  "\n"
                                  R"({"at":2001,"task":1,"from":"PENDING","byTtl":true})"
                                  "\n"
                                  R"({"at":2002,"task":2,"from":"PENDING","to":"CANCELLED","replaced":true})"
                                  "\n"
                                  R"({"at":2003,"task":3,"from":"PENDING","to":"TAKEN"})"
                                  "\n"
                                  R"({"at":2004,"task":3,"from":"TAKEN","to":"SUCCESS"})"
                                  "\n");
  const auto recording = read_recording(fixture_of(flight, 1000));
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->real.shed, 1u);
  EXPECT_EQ(recording->real.cancelled, 0u) << "it was replaced";
}

TEST(Flight, ThePolicyIsThatOfTheStartAndItsLaterChanges) {
  const Flight flight = flight_of(R"({"at":3000,"policy":{"CONCURRENCY":"3"}})"
                                  "\n"
                                  R"({"at":7000,"policy":{"CONCURRENCY":"4"}})"
                                  "\n"
                                  R"({"at":8000,"task":1,"to":"PENDING","about":{}})"
                                  "\n");
  const Fixture fixture = fixture_of(flight, 5000);
  EXPECT_EQ(fixture.header.policy.at("CONCURRENCY"), "3");
  ASSERT_EQ(fixture.policy_changes.size(), 1u);
  EXPECT_EQ(fixture.policy_changes[0].at, WallTime(milliseconds(7000)));
  EXPECT_EQ(fixture.policy_changes[0].policy.at("CONCURRENCY"), "4");
}

TEST(Flight, PausesAreThoseOfTheStartAndTheLaterChanges) {
  const Flight flight = flight_of(R"({"at":1000,"paused":"group","name":"a"})"
                                  "\n"
                                  R"({"at":2000,"paused":"queue"})"
                                  "\n"
                                  R"({"at":3000,"resumed":"queue"})"
                                  "\n"
                                  R"({"at":7000,"resumed":"group","name":"a"})"
                                  "\n"
                                  R"({"at":8000,"task":1,"to":"PENDING","about":{}})"
                                  "\n");
  const Fixture fixture = fixture_of(flight, 5000);
  EXPECT_TRUE(fixture.header.has_pauses);
  const std::vector<FixturePause> expected{{WallTime(milliseconds(5000)), true, "group", "a"},
                                           {WallTime(milliseconds(7000)), false, "group", "a"}};
  EXPECT_EQ(fixture.pauses, expected);
  EXPECT_EQ(fixture_of(flight, 1500).pauses.size(), 4u);
  EXPECT_FALSE(fixture_of(flight_of(""), 1500).header.has_pauses) << "older programs read it";
}

TEST(Flight, AnswersThatAreNoneAreRefused) {
  Flight other;
  const auto foreign = other.add("{\"queues\":[]}\n");
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("line 1: the answer is not that of GET /queues/NAME/recording"));
  Flight newer;
  EXPECT_FALSE(newer.add(R"({"freshet":"recording","version":2})"));
  Flight torn;
  const auto cut = torn.add(std::string(kFlightHead) + R"({"at":20)");
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, HasSubstr("line 2: "));
}

}  // namespace
}  // namespace freshet::lab
