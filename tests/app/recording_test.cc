// The flight recorder of a whole daemon, in simulated time: its recording is played by the lab and comes to the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/daemon/recording_place.h"
#include "app/lab/flight.h"
#include "app/lab/trace_run.h"
#include "functions/queue/attributes.h"
#include "functions/queue/flight_recorder.h"
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

// Without its pauses, much more would be done in time.
TEST_F(RecordingOfADaemon, IsPlayedWithItsPauses) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  const auto post = [&](const std::string& what, const std::string& body) {
    ASSERT_EQ(house_.call("POST", "/queues/QueueTable/" + what, body).status, 200);
  };
  post("pause", R"({"group": "loud"})");
  load(5);
  post("pause", R"({"reason": "downstream", "forMs": 6000})");
  load(10);
  post("resume", R"({"group": "loud"})");
  load(5);
  const lab::Flight flight = fetch();
  auto recording = recording_of(flight, flight.from());
  ASSERT_TRUE(recording) << recording.error().message;
  ASSERT_EQ(recording->pauses.size(), 4u);
  EXPECT_EQ(recording->pauses[0].name, "loud");
  EXPECT_EQ(recording->pauses[1].of, Pause::Of::kQueue);
  EXPECT_TRUE(recording->pauses[1].paused);
  EXPECT_NEAR(std::chrono::duration<double>(recording->pauses[2].at - recording->pauses[1].at).count(), 6, 0.5);
  EXPECT_FALSE(recording->pauses[3].paused);
  const lab::TraceOutcome outcome = simulate(*recording);
  expect_within_5_percent(outcome.done, recording->real.done, "done");
  expect_within_5_percent(outcome.in_time, recording->real.in_time, "in time");
  expect_within_5_percent(outcome.shed, recording->real.shed, "shed");
  recording->pauses.clear();
  EXPECT_GT(simulate(*recording).done, outcome.done + outcome.done / 10);
  // A part that begins in a pause.
  const auto part = recording_of(flight, flight.from() + std::chrono::seconds(8));
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(part->pauses.front().at, nanoseconds(0));
  EXPECT_EQ(part->pauses.size(), 4u);
  expect_within_5_percent(simulate(*part).in_time, part->real.in_time, "in time, of a part");
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

TEST_F(RecordingOfADaemon, HasATaskThatEndedWhileItWasFetched) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  const auto post = [&](const std::string& what, const std::string& body) {
    ASSERT_EQ(house_.call("POST", "/queues/QueueTable/" + what, body).status, 200);
  };
  post("pause", "{}");
  post("tasks", R"({"taskId": "old", "payload": 1, "group": "g"})");
  house_.pass(seconds(40));
  lab::Flight flight;
  const HttpResponse first = house_.call("GET", "/queues/QueueTable/recording?from=-1000");
  ASSERT_TRUE(flight.add(first.body));
  house_.pass(milliseconds(200));
  post("cancel", R"({"taskIds": ["old"]})");
  post("tasks", R"({"taskId": "late", "payload": 1})");
  house_.pass(milliseconds(200));
  std::string next(header(first.headers, "X-Freshet-Next"));
  while (!next.empty()) {
    const HttpResponse answer = house_.call("GET", "/queues/QueueTable/recording?place=" + next);
    ASSERT_EQ(answer.status, 200) << answer.body;
    ASSERT_TRUE(flight.add(answer.body));
    next = header(answer.headers, "X-Freshet-Next");
  }
  const Fixture fixture = flight.fixture(flight.from());
  ASSERT_EQ(fixture.snapshot.size(), 1u);
  EXPECT_EQ(fixture.snapshot[0].string_or("group"), "g");
  EXPECT_TRUE(fixture.records.empty()) << "what came after the end";
  ASSERT_TRUE(house_.stop());
}

// The wall clock shows the time of the change a second time.
TEST_F(RecordingOfADaemon, AClockThatIsSetBackMovesNoPolicyAndNoPause) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  const auto post = [&](const std::string& what, const std::string& body) {
    ASSERT_EQ(house_.call("POST", "/queues/QueueTable/" + what, body).status, 200);
  };
  house_.pass(seconds(10));
  post("policy", R"({"RATE_LIMIT": "20"})");
  post("pause", R"({"group": "g"})");
  house_.pass(seconds(2));
  house_.step_wall(-seconds(5));
  house_.pass(seconds(8));
  const lab::Flight flight = fetch();
  const Fixture fixture = flight.fixture(flight.from());
  ASSERT_EQ(fixture.policy_changes.size(), 1u);
  ASSERT_EQ(fixture.pauses.size(), 1u);
  for (const WallTime at : {fixture.policy_changes[0].at, fixture.pauses[0].at}) {
    EXPECT_NEAR(static_cast<double>((flight.to() - at).count()), 10'000, 300);
  }
  ASSERT_TRUE(house_.stop());
}

TEST_F(RecordingOfADaemon, HasATaskFromBeforeTheClockWasSetBack) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  const auto post = [&](const std::string& what, const std::string& body) {
    ASSERT_EQ(house_.call("POST", "/queues/QueueTable/" + what, body).status, 200);
  };
  post("pause", "{}");
  post("tasks", R"({"taskId": "old", "payload": 1, "group": "g"})");
  house_.pass(seconds(5));
  house_.step_wall(-std::chrono::hours(1));
  house_.pass(seconds(45));
  post("tasks", R"({"taskId": "new", "payload": 1, "group": "h"})");
  house_.pass(seconds(2));
  const lab::Flight flight = fetch("?from=-3000");
  const Fixture fixture = flight.fixture(flight.from());
  ASSERT_EQ(fixture.snapshot.size(), 1u);
  EXPECT_EQ(fixture.snapshot[0].string_or("group"), "g");
  const int64_t created = int_of(ItemRef::encode(fixture.snapshot[0]), "taskCreated", 0);
  EXPECT_NEAR(static_cast<double>(epoch_ms(flight.to()) - created), 52'000, 1'500);
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
  const std::string next(header(house_.call("GET", "/queues/QueueTable/recording").headers, "X-Freshet-Next"));
  auto place = RecordingPlace::read(next);
  ASSERT_TRUE(place) << next;
  const auto refused = [&](const RecordingPlace& wrong) {
    const HttpResponse answer = house_.call("GET", "/queues/QueueTable/recording?place=" + wrong.text());
    EXPECT_EQ(answer.status, 409) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr("started anew"));
  };
  place->part = RecordingPlace::Part::kEvents;
  place->events = {9999, 0};
  refused(*place);
  place->events = {1, 0};
  ++place->run_ms;
  refused(*place);
  const HttpResponse far =
      house_.call("GET", "/queues/QueueTable/recording?from=9300000000000&to=-9223372036854775808");
  EXPECT_EQ(far.status, 200) << far.body;
  ASSERT_TRUE(house_.stop());
}

TEST_F(RecordingOfADaemon, ADaemonThatHasJustStartedSaysSinceWhenItKnows) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  house_.pass(milliseconds(300));
  const lab::Flight flight = fetch();
  EXPECT_LE(flight.events(), 1u) << "the limits at most";
  EXPECT_GE(flight.to() - flight.from(), milliseconds(300));
  EXPECT_LT(flight.to() - flight.from(), milliseconds(1'000)) << "not an hour";
  ASSERT_TRUE(house_.stop());
}

TEST_F(RecordingOfADaemon, ManyPoliciesComeInPieces) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  house_.pass(seconds(1));
  for (int rate = 1; rate <= 120; ++rate) {
    ASSERT_EQ(
        house_.call("POST", "/queues/QueueTable/policy", R"({"RATE_LIMIT": ")" + std::to_string(rate) + "\"}").status,
        200);
  }
  const HttpResponse first = house_.call("GET", "/queues/QueueTable/recording");
  EXPECT_EQ(first.body.find(R"("RATE_LIMIT":"51")"), std::string::npos);
  const lab::Flight flight = fetch();
  std::string text;
  flight.write_fixture(flight.from(), [&](const std::string& line) {
    text += line;
    return true;
  });
  const auto fixture = read_fixture(text, "saved");
  ASSERT_TRUE(fixture) << fixture.error().message;
  ASSERT_EQ(fixture->policy_changes.size(), 120u);
  for (int rate = 1; rate <= 120; ++rate) {
    EXPECT_EQ(fixture->policy_changes[static_cast<size_t>(rate - 1)].policy.at("RATE_LIMIT"), std::to_string(rate));
  }
  ASSERT_TRUE(house_.stop());
}

TEST_F(RecordingOfADaemon, PausesThatAreForgottenWhileAClientReadsAreNotMissedSilently) {
  ASSERT_TRUE(house_.start()) << testing::PrintToString(house_.log.lines);
  const auto post = [&](const std::string& what) {
    ASSERT_EQ(house_.call("POST", "/queues/QueueTable/" + what, R"({"group": "g"})").status, 200);
  };
  post("pause");
  post("resume");
  const HttpResponse first = house_.call("GET", "/queues/QueueTable/recording");
  auto place = RecordingPlace::read(header(first.headers, "X-Freshet-Next"));
  ASSERT_TRUE(place) << first.body;
  // As if the answer had ended before the pauses.
  place->part = RecordingPlace::Part::kPauses;
  place->number = 0;
  const std::string again = "/queues/QueueTable/recording?place=" + place->text();
  EXPECT_EQ(house_.call("GET", again).status, 200);
  for (int i = 0; i < 500; ++i) {
    post("pause");
    post("resume");
  }
  const HttpResponse gone = house_.call("GET", again);
  EXPECT_EQ(gone.status, 409) << gone.body;
  EXPECT_THAT(gone.body, HasSubstr("pauses of queue 'QueueTable' have been forgotten while the recording was read"));
  ASSERT_TRUE(house_.stop());
}

// Tasks with long keys, so that little memory is full soon.
TEST(RecordingInLittleMemory, EventsThatAreForgottenWhileAClientReadsAreNotMissedSilently) {
  DaemonOptions options = options_of_recording();
  options.recording_bytes = 64u << 10;
  House house(all_modules(), options);
  ASSERT_TRUE(house.start()) << testing::PrintToString(house.log.lines);
  const auto create = [&](int tasks) {
    for (int i = 0; i < tasks; ++i) {
      const std::string body =
          R"({"payload": 1, "delayMs": 600000, "key": ")" + std::to_string(i) + std::string(200, 'k') + "\"}";
      ASSERT_EQ(house.call("POST", "/queues/QueueTable/tasks", body).status, 200);
    }
  };
  create(200);
  const HttpResponse first = house.call("GET", "/queues/QueueTable/recording");
  auto place = RecordingPlace::read(header(first.headers, "X-Freshet-Next"));
  ASSERT_TRUE(place) << first.body;
  // As if the answer had ended with the first event.
  place->part = RecordingPlace::Part::kEvents;
  place->events = {1, 1};
  const std::string again = "/queues/QueueTable/recording?place=" + place->text();
  EXPECT_EQ(house.call("GET", again).status, 200);
  create(400);
  const HttpResponse gone = house.call("GET", again);
  EXPECT_EQ(gone.status, 409) << gone.body;
  EXPECT_THAT(gone.body, HasSubstr("have been forgotten while the recording was read"));
  EXPECT_THAT(house.call("GET", "/queues/QueueTable/recording").body, HasSubstr("\"forgot\":true"));
  ASSERT_TRUE(house.stop());
}

TEST(RecordingOfAQuietQueue, GoesOnWhenItsOldEventsAreForgotten) {
  DaemonOptions options = options_of_recording();
  options.deploy.settings.push_back("ProcessTasksFunction.DEFAULT_TTL_S=86400");
  House house(all_modules(), options);
  ASSERT_TRUE(house.start()) << testing::PrintToString(house.log.lines);
  const auto post = [&](const std::string& what, const std::string& body) {
    ASSERT_EQ(house.call("POST", "/queues/QueueTable/" + what, body).status, 200);
  };
  post("pause", "{}");
  for (int i = 0; i < 600; ++i) post("tasks", R"({"payload": 1})");
  house.pass_coarsely(FlightRecorder::kMostAge + FlightRecorder::kKeptBeyond - seconds(5));
  std::string next(header(house.call("GET", "/queues/QueueTable/recording").headers, "X-Freshet-Next"));
  // Not all of those that wait came yet, and the only events are forgotten now.
  while (RecordingPlace::read(next)->part != RecordingPlace::Part::kPending) {
    next = header(house.call("GET", "/queues/QueueTable/recording?place=" + next).headers, "X-Freshet-Next");
    ASSERT_FALSE(next.empty());
  }
  house.pass(seconds(10));
  EXPECT_THAT(house.call("GET", "/queues/QueueTable/recording").body, HasSubstr("\"forgot\":true"));
  size_t waiting = 0;
  while (!next.empty()) {
    const HttpResponse answer = house.call("GET", "/queues/QueueTable/recording?place=" + next);
    ASSERT_EQ(answer.status, 200) << answer.body;
    waiting += static_cast<size_t>(std::count(answer.body.begin(), answer.body.end(), '\n'));
    next = header(answer.headers, "X-Freshet-Next");
  }
  EXPECT_GT(waiting, 99u);
  ASSERT_TRUE(house.stop());
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
  for (const char* place : {"", "1", "1.2.3.4.events.6.7.8", "1.2.3.4.TAKEN.6.7.8.", "1.2.3.4.head.6.7.8.",
                            "1.2.3.4.PENDING.x.7.8.", "1.2.3.99999999999999.events.6.7.8."}) {
    refused("/queues/QueueTable/recording?place=" + std::string(place), 400, "X-Freshet-Next");
  }
  const HttpResponse first = house_.call("GET", "/queues/QueueTable/recording");
  auto place = RecordingPlace::read(header(first.headers, "X-Freshet-Next"));
  ASSERT_TRUE(place) << first.body;
  EXPECT_EQ(place->part, RecordingPlace::Part::kPending);
  place->cursor = "zz";
  refused("/queues/QueueTable/recording?place=" + place->text(), 400, "cursor");
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
