// Reading a recording of a queue as a trace for `freshet simulate`.
#include "app/lab/trace.h"

#include <gtest/gtest.h>

#include "app/lab/figures.h"
#include "app/lab/model.h"

namespace freshet::lab {
namespace {

constexpr int64_t kStart = 1'800'000'000'000;

ItemRef task(const std::string& id, const std::string& status, int64_t deadline = 0) {
  Item item{{"taskId", Value(id)}, {"taskStatus", Value(status)}, {"taskCreated", Value::number(kStart)}};
  if (deadline > 0) item.set("deadline", Value::number(kStart + deadline));
  return ItemRef::encode(item);
}

class Tape {
 public:
  Fixture fixture;

  void insert(int64_t at, const ItemRef& after) { add(ChangeRecord::Kind::kInsert, at, {}, after); }
  void modify(int64_t at, const ItemRef& before, const ItemRef& after) {
    add(ChangeRecord::Kind::kModify, at, before, after);
  }
  // A whole life: comes at `at`, is taken at `taken` and done at `done`.
  void life(const std::string& id, int64_t at, int64_t taken, int64_t done, int64_t deadline) {
    insert(at, task(id, "PENDING", deadline));
    modify(taken, task(id, "PENDING", deadline), task(id, "TAKEN", deadline));
    modify(done, task(id, "TAKEN", deadline), task(id, "SUCCESS", deadline));
  }

 private:
  void add(ChangeRecord::Kind kind, int64_t at, ItemRef before, ItemRef after) {
    ChangeRecord record;
    record.sequence = fixture.records.size() + 1;
    record.kind = kind;
    record.at = WallTime(milliseconds(kStart + at));
    record.before = std::move(before);
    record.after = std::move(after);
    fixture.records.push_back(std::move(record));
  }
};

TEST(Trace, HoldsArrivalsServiceTimesAndWhatBecameOfThem) {
  Tape tape;
  tape.life("a", 0, 10, 110, 200);
  tape.life("b", 120, 130, 330, 250);
  tape.insert(340, task("c", "PENDING", 400));
  tape.modify(400, task("c", "PENDING", 400), task("c", "SHED", 400));
  const auto recording = read_recording(tape.fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  ASSERT_EQ(recording->trace.arrivals.size(), 3u);
  EXPECT_EQ(recording->trace.arrivals[1].at, milliseconds(120));
  EXPECT_EQ(recording->trace.arrivals[1].deadline_ms, 250);
  EXPECT_EQ(recording->trace.services, (std::vector<nanoseconds>{milliseconds(100), milliseconds(200)}));
  EXPECT_EQ(recording->real.done, 2u);
  EXPECT_EQ(recording->real.in_time, 1u);
  EXPECT_EQ(recording->real.shed, 1u);
  EXPECT_EQ(recording->real.most_in_work, 1);
  EXPECT_EQ(recording->length, milliseconds(400));
}

TEST(Trace, FailedCallsAndThoseGivenBackAreToldApart) {
  const auto attempt = [](const std::string& id, const std::string& status, int attempts) {
    Item item = task(id, status).decode();
    item.set("attempt", Value::number(attempts));
    return ItemRef::encode(item);
  };
  Tape tape;
  tape.life("done", 0, 10, 20, 0);
  tape.insert(30, task("a", "PENDING"));
  tape.modify(40, task("a", "PENDING"), attempt("a", "TAKEN", 1));
  tape.modify(50, attempt("a", "TAKEN", 1), attempt("a", "DELAYED", 0));
  tape.modify(60, attempt("a", "DELAYED", 0), attempt("a", "TAKEN", 1));
  tape.modify(90, attempt("a", "TAKEN", 1), attempt("a", "DELAYED", 1));
  tape.fixture.header.policy = {{"RATE_LIMIT", "19"}};
  const auto recording = read_recording(tape.fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->real.refused, 1u);
  EXPECT_EQ(recording->real.failed, 1u);
  EXPECT_EQ(recording->trace.services, (std::vector<nanoseconds>{milliseconds(10), milliseconds(30)}));
  EXPECT_EQ(recording->trace.failed, (std::vector<bool>{false, true}));
  EXPECT_EQ(recording->policy.at("RATE_LIMIT"), "19");
}

TEST(Trace, ATaskThatNamesNoCostHasTheOneOfItsTime) {
  Tape tape;
  tape.fixture.header.policy = {{"DEFAULT_COST", "2"}};
  for (int i = 0; i < 4; ++i) tape.life("a" + std::to_string(i), i * 100, i * 100 + 10, i * 100 + 20, 0);
  const auto change = [&](int64_t at, const char* cost) {
    tape.fixture.policy_changes.push_back({WallTime(milliseconds(kStart + at)), {{"DEFAULT_COST", cost}}});
  };
  change(100, "3");
  change(150, "5");
  change(250, "2");
  const auto recording = read_recording(tape.fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  std::vector<std::optional<double>> costs;
  for (const auto& task : recording->trace.tasks) costs.push_back(task.cost);
  EXPECT_EQ(costs, (std::vector<std::optional<double>>{std::nullopt, 3, 5, std::nullopt}));
}

TEST(Trace, AChangeOfThePolicyInAnotherAgeIsRefused) {
  for (const int64_t days : {367, 4'000'000}) {
    Tape tape;
    tape.life("a", 0, 10, 20, 0);
    tape.fixture.header.policy = {{"RATE_LIMIT", "19"}};
    tape.fixture.policy_changes = {{WallTime(milliseconds(kStart + days * 86'400'000)), {{"RATE_LIMIT", "5"}}}};
    const auto recording = read_recording(tape.fixture);
    ASSERT_FALSE(recording) << days << " days later";
    EXPECT_NE(recording.error().message.find("more than 366 days after the first change"), std::string::npos)
        << recording.error().message;
  }
}

TEST(Trace, ADelayOfAgesEndsAfterTheTrace) {
  Tape tape;
  tape.life("a", 0, 10, 20, 0);
  Item late = task("b", "DELAYED").decode();
  late.set("notBefore", Value::number(int64_t{9'000'000'000'000'000'000}));
  tape.insert(30, ItemRef::encode(late));
  const auto recording = read_recording(tape.fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_GT(recording->trace.tasks.at(1).delay, std::chrono::hours(24 * 366));
}

TEST(Trace, WhatWaitedAtTheStartComesFirst) {
  Tape tape;
  tape.fixture.snapshot.push_back(task("old", "PENDING").decode());
  tape.fixture.snapshot.push_back(task("ended", "SUCCESS").decode());
  tape.modify(5, task("old", "PENDING"), task("old", "TAKEN"));
  tape.modify(25, task("old", "TAKEN"), task("old", "SUCCESS"));
  const auto recording = read_recording(tape.fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  ASSERT_EQ(recording->trace.arrivals.size(), 1u);
  EXPECT_EQ(recording->trace.services[0], milliseconds(20));
}

TEST(Trace, HolesAreRefusedWithWhatIsMissing) {
  const auto error_of = [](const Tape& tape) {
    auto recording = read_recording(tape.fixture);
    return recording ? std::string() : recording.error().message;
  };
  Tape empty;
  EXPECT_EQ(error_of(empty), "the trace holds no changes: nothing happened while it was recorded");
  Tape gap;
  gap.life("a", 0, 10, 20, 0);
  gap.fixture.records[2].sequence = 6;
  EXPECT_EQ(error_of(gap), "the trace has a hole: changes 3 to 5 are missing");
  Tape stranger;
  stranger.modify(0, task("x", "PENDING"), task("x", "TAKEN"));
  EXPECT_EQ(error_of(stranger), "the trace has a hole: change 1 is of task 'x', which never came");
  Tape twice;
  twice.life("a", 0, 10, 20, 0);
  twice.fixture.records[2].sequence = 2;
  EXPECT_EQ(error_of(twice), "the trace has change 2 twice");
  Tape untaken;
  untaken.life("a", 0, 10, 20, 0);
  untaken.insert(30, task("b", "PENDING"));
  untaken.modify(40, task("b", "TAKEN"), task("b", "SUCCESS"));
  EXPECT_EQ(error_of(untaken), "the trace has a hole: in change 5 task 'b' was TAKEN, and it was PENDING before");
  Tape again;
  again.life("a", 0, 10, 20, 0);
  again.insert(30, task("a", "PENDING"));
  EXPECT_EQ(error_of(again), "the trace has a hole: in change 4 task 'a' comes, and it was SUCCESS before");
  Tape ages;
  ages.life("a", 0, 10, 20, 0);
  ages.insert(int64_t{367} * 24 * 3600 * 1000, task("b", "PENDING"));
  EXPECT_EQ(error_of(ages), "change 4 is more than 366 days after the first one");
  Tape back;
  back.life("a", 0, 10, 20, 0);
  back.insert(-int64_t{367} * 24 * 3600 * 1000, task("b", "PENDING"));
  EXPECT_EQ(error_of(back), "change 4 is more than 366 days before the first one");
  Tape idle;
  idle.insert(0, task("a", "PENDING"));
  EXPECT_EQ(
      error_of(idle),
      "the trace holds no task that was done, so how long a call takes is not known: record for longer, while tasks "
      "are done");
}

TEST(Trace, RunsUnderAnotherPolicy) {
  Tape tape;
  for (int i = 0; i < 20; ++i) tape.insert(i, task("t" + std::to_string(i), "PENDING", 1000 + i));
  for (int i = 0; i < 5; ++i) {
    const auto id = "t" + std::to_string(i);
    tape.modify(100 + i * 100, task(id, "PENDING"), task(id, "TAKEN"));
    tape.modify(200 + i * 100, task(id, "TAKEN"), task(id, "SUCCESS"));
  }
  const auto recording = read_recording(tape.fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  Scenario scenario;
  scenario.trace = &recording->trace;
  scenario.slots = 1;
  scenario.mean = milliseconds(100);
  scenario.duration = seconds(5);
  Ledger ledger(scenario, 1);
  run_model(*policy_of("lifo-ttl"), 1, ledger);
  uint64_t in_time = 0;
  for (const auto& job : ledger.jobs()) in_time += job.in_time();
  EXPECT_EQ(in_time, 10u) << "ten calls of 100 ms end before the deadlines";
}

TEST(Trace, WhatIsWrongIsNamedByItsLine) {
  const std::string header =
      R"({"freshet":"fixture","version":1,"table":"QueueTable","partitionKey":{"name":"taskId","type":"S"},)"
      R"("start":"2026-01-01T00:00:00.000Z"})"
      "\n";
  const auto said = [&](const std::string& lines) {
    auto fixture = read_fixture(header + lines, "load.jsonl");
    EXPECT_TRUE(fixture) << fixture.error().message;
    auto recording = read_recording(*fixture);
    return recording ? std::string() : recording.error().message;
  };
  const auto modify = [](const std::string& status) {
    return R"({"eventName":"MODIFY","dynamodb":{"ApproximateCreationDateTime":1767225601,"NewImage":{"taskId":{"S":"a"},)"
           R"("taskStatus":{"S":")" +
           status + R"("}}}})" + "\n";
  };
  EXPECT_EQ(said(""), "load.jsonl: the trace holds no changes: nothing happened while it was recorded");
  EXPECT_EQ(said("# a comment\n" + modify("TAKEN")),
            "load.jsonl:3: the trace has a hole: change 1 is of task 'a', which never came");
  EXPECT_EQ(said(modify("SUCCESS") + modify("Taken")).substr(0, 60),
            "load.jsonl:3: taskStatus 'Taken' is no state (did you mean '");
}

}  // namespace
}  // namespace freshet::lab
