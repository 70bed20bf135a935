// The flight recorder of a whole daemon, in simulated time: its recording is played by the lab and comes to the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/lab/flight.h"
#include "app/lab/trace_run.h"
#include "tests/app/house.h"

namespace freshet {
namespace {

using testing::HasSubstr;

DaemonOptions options_of_recording() {
  DaemonOptions options = options_of_lifo();
  options.deploy.parameters = {"TaskRunner=fake"};
  options.deploy.settings = {"ProcessTasksFunction.FAKE_MS=200", "ProcessTasksFunction.FAKE_SLOTS=100",
                             "ProcessTasksFunction.CONCURRENCY=8"};
  return options;
}

class RecordingOfADaemon : public testing::Test {
 protected:
  House house_{all_modules(), options_of_recording()};

  // Tasks for that long, 60 a second where 40 can be done: 3 s each to be done.
  void load(int seconds) {
    for (int i = 0; i < 60 * seconds; ++i) {
      const std::string group = i % 3 == 0 ? R"(,"group":"loud")" : "";
      const std::string priority = i % 10 == 0 ? R"(,"priority":1)" : "";
      const std::string body = R"({"payload": "secret", "deadlineMs": 3000)" + group + priority + "}";
      ASSERT_EQ(house_.call("POST", "/queues/QueueTable/tasks", body).status, 200);
      house_.pass(std::chrono::microseconds(1'000'000 / 60 - 1'000));
    }
  }

  lab::Flight fetch(const std::string& query = "") {
    lab::Flight flight;
    std::string target = "/queues/QueueTable/recording" + query;
    while (!target.empty()) {
      const HttpResponse answer = house_.call("GET", target);
      EXPECT_EQ(answer.status, 200) << answer.body;
      EXPECT_THAT(answer.body, Not(HasSubstr("secret")));
      const auto added = flight.add(answer.body);
      EXPECT_TRUE(added) << added.error().message;
      const std::string next(header(answer.headers, "X-Freshet-Next"));
      target = next.empty() ? "" : "/queues/QueueTable/recording?place=" + next;
    }
    return flight;
  }

  static Result<lab::Recording> recording_of(const lab::Flight& flight, WallTime start) {
    std::string text;
    flight.write_fixture(start, [&](const std::string& line) {
      text += line;
      return true;
    });
    const auto fixture = read_fixture(text, "saved");
    if (!fixture) return fail(fixture.error());
    return lab::read_recording(*fixture);
  }

  static lab::TraceOutcome simulate(const lab::Recording& recording) {
    const auto policy = lab::recorded_policy(recording, {});
    EXPECT_TRUE(policy) << policy.error().message;
    auto outcome = lab::run_trace(recording, lab::scenario_of(recording, 0), *policy, {}, 1);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return *outcome;
  }

  static void expect_within_5_percent(uint64_t simulated, uint64_t real, const char* what) {
    EXPECT_NEAR(static_cast<double>(simulated), static_cast<double>(real), 0.05 * static_cast<double>(real)) << what;
  }
};

TEST_F(RecordingOfADaemon, IsPlayedByTheLabAndComesToTheSame) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  load(10);
  ASSERT_EQ(house_.call("POST", "/queues/QueueTable/policy", R"({"RATE_LIMIT": "20"})").status, 200);
  load(10);
  const lab::Flight flight = fetch();
  const auto recording = recording_of(flight, flight.from());
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->policy.at("CONCURRENCY"), "8");
  ASSERT_EQ(recording->policy_changes.size(), 1u);
  EXPECT_EQ(recording->policy_changes[0].policy.at("RATE_LIMIT"), "20");
  EXPECT_NEAR(std::chrono::duration<double>(recording->policy_changes[0].at).count(), 10, 0.5);

  // As the daemon's own counts have it.
  const std::string stats = house_.call("GET", "/queues/QueueTable/stats").body;
  EXPECT_EQ(recording->real.tasks, 1'200u);
  EXPECT_THAT(stats, HasSubstr("\"->PENDING\":1200"));
  EXPECT_THAT(stats, HasSubstr("\"TAKEN->SUCCESS\":" + std::to_string(recording->real.done)));
  EXPECT_THAT(stats, HasSubstr("\"shedTotal\":" + std::to_string(recording->real.shed)));
  EXPECT_GT(recording->real.in_time, 500u);
  EXPECT_GT(recording->real.shed, 300u);

  const lab::TraceOutcome outcome = simulate(*recording);
  EXPECT_EQ(outcome.tasks, recording->real.tasks);
  expect_within_5_percent(outcome.done, recording->real.done, "done");
  expect_within_5_percent(outcome.in_time, recording->real.in_time, "in time");
  expect_within_5_percent(outcome.shed, recording->real.shed, "shed");
  ASSERT_TRUE(house_.stop());
}

TEST_F(RecordingOfADaemon, ItsLastSecondsArePlayedWithWhatWaitedThen) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  load(20);
  const lab::Flight flight = fetch("?from=-15000");
  EXPECT_NEAR(static_cast<double>((flight.to() - flight.from()).count()), 15'000, 100);
  const auto recording = recording_of(flight, flight.to() - std::chrono::seconds(10));
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_NEAR(std::chrono::duration<double>(recording->length).count(), 10, 0.2);
  EXPECT_GT(recording->real.tasks, 610u) << "those that waited at its start, too";
  const lab::TraceOutcome outcome = simulate(*recording);
  expect_within_5_percent(outcome.done, recording->real.done, "done");
  expect_within_5_percent(outcome.in_time, recording->real.in_time, "in time");
  expect_within_5_percent(outcome.shed, recording->real.shed, "shed");
  ASSERT_TRUE(house_.stop());
}

TEST_F(RecordingOfADaemon, HasTheTasksThatWaitedAllTheTime) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  const auto post = [&](const std::string& what, const std::string& body) {
    ASSERT_EQ(house_.call("POST", "/queues/QueueTable/" + what, body).status, 200);
  };
  post("pause", "{}");
  post("tasks", R"({"taskId": "old", "payload": 1, "group": "g"})");
  post("tasks", R"({"taskId": "delayed", "payload": 1, "delayMs": 600000})");
  house_.pass(seconds(10));
  const lab::Flight flight = fetch("?from=-1000");
  std::string text;
  flight.write_fixture(flight.from(), [&](const std::string& line) {
    text += line;
    return true;
  });
  const auto fixture = read_fixture(text, "saved");
  ASSERT_TRUE(fixture) << fixture.error().message << text;
  ASSERT_EQ(fixture->snapshot.size(), 2u) << text;
  EXPECT_EQ(fixture->snapshot[0].string_or("group"), "g");
  EXPECT_EQ(fixture->snapshot[1].string_or("taskStatus"), "DELAYED");
  ASSERT_TRUE(house_.stop());
}

// Its start after `from` does not describe it, and at the end it does not wait any more.
TEST_F(RecordingOfADaemon, HasATaskThatCameShortlyBeforeTheAskedTime) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  const auto post = [&](const std::string& what, const std::string& body) {
    ASSERT_EQ(house_.call("POST", "/queues/QueueTable/" + what, body).status, 200);
  };
  post("pause", "{}");
  post("tasks", R"({"taskId": "young", "payload": 1, "group": "g"})");
  house_.pass(seconds(5));
  post("cancel", R"({"taskIds": ["young"]})");
  house_.pass(milliseconds(500));
  const lab::Flight flight = fetch("?from=-1000");
  std::string text;
  flight.write_fixture(flight.from(), [&](const std::string& line) {
    text += line;
    return true;
  });
  const auto fixture = read_fixture(text, "saved");
  ASSERT_TRUE(fixture) << fixture.error().message << text;
  ASSERT_EQ(fixture->snapshot.size(), 1u) << text;
  EXPECT_EQ(fixture->snapshot[0].string_or("group"), "g");
  // A place that only a longer recording has.
  const HttpResponse beyond = house_.call("GET", "/queues/QueueTable/recording?place=0.0.4000000000000.9999.0");
  EXPECT_EQ(beyond.status, 400) << beyond.body;
  EXPECT_THAT(beyond.body, HasSubstr("started anew"));
  const HttpResponse far =
      house_.call("GET", "/queues/QueueTable/recording?from=9300000000000&to=-9223372036854775808");
  EXPECT_EQ(far.status, 200) << far.body;
  ASSERT_TRUE(house_.stop());
}

TEST_F(RecordingOfADaemon, RefusesWhatItDoesNotUnderstand) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  const auto refused = [&](const std::string& path, int status, const std::string& why) {
    const HttpResponse answer = house_.call("GET", path);
    EXPECT_EQ(answer.status, status) << path << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(why));
  };
  refused("/queues/Nowhere/recording", 404, "there is no queue 'Nowhere'; of this daemon's queues there is QueueTable");
  refused("/queues/QueueTable/recording?since=1", 400, "there are from and to");
  refused("/queues/QueueTable/recording?from=noon", 400, "'from' must be epoch milliseconds");
  for (const char* place : {"", "1", "1.2.3.4", "1.2.3.4.x", "1.2.3.TAKEN.0.", "1.2.3.PENDING.x."}) {
    refused("/queues/QueueTable/recording?place=" + std::string(place), 400, "X-Freshet-Next");
  }
  refused("/queues/QueueTable/recording?place=1.2.3.PENDING.0.zz", 400, "cursor");
  EXPECT_EQ(house_.call("POST", "/queues/QueueTable/recording", "{}").status, 405);
  ASSERT_TRUE(house_.stop());
}

TEST(RecordingOff, ADaemonWithoutARecorderSaysSo) {
  DaemonOptions options = options_of_recording();
  options.recording_bytes = 0;
  House house(all_modules(), options);
  ASSERT_TRUE(house.start()) << testing::PrintToString(house.log.lines);
  const HttpResponse answer = house.call("GET", "/queues/QueueTable/recording");
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.body, HasSubstr("it was started with --recording-bytes 0"));
  ASSERT_TRUE(house.stop());
}

}  // namespace
}  // namespace freshet
