// A recording, simulated under the policy that it holds, comes to what the recorded run came to: rate limits, limits by
// key, failures, the breaker and a limiter behind the queue included.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/lab/downstream_text.h"
#include "app/lab/product.h"
#include "app/lab/trace_run.h"

namespace freshet::lab {
namespace {

struct Conditions {
  Environment policy;
  const char* downstream = "none";
  bool refuses = false;  // It has to: nobody keeps to its limit from the start.
  int arrivals_a_second = 100;
  bool keyed = false;
  double failing = 0;  // Share of the calls.
  bool costs = false;  // Tasks say what they cost, and half of them turn out to cost twice as much.
  std::vector<std::pair<seconds, Environment>> changes = {};  // Changes of the policy, by time.
};

// 30 s of tasks that wait 5 s at most, and calls of 100 ms on average.
Trace load_of(const Conditions& run) {
  Random random(5);
  Trace out;
  const auto draw = [&random](double mean_ns) {
    return nanoseconds(1 + static_cast<int64_t>(exponential(random) * mean_ns));
  };
  for (nanoseconds now{0}; now < seconds(30); now += draw(1e9 / run.arrivals_a_second)) {
    Arrival arrival;
    arrival.at = now;
    arrival.deadline_ms = deadline_ms(now, seconds(5));
    out.arrivals.push_back(arrival);
    TraceTask task;
    if (run.costs) task.cost = 1 + static_cast<double>(random.below(9));
    if (run.keyed) task.group = "tenant-" + std::to_string(random.below(3));
    out.tasks.push_back(task);
  }
  for (int i = 0; i < 4000; ++i) {
    out.services.push_back(draw(100e6));
    if (run.costs) out.cost_ratios.push_back(random.below(2) == 0 ? 2 : 1);
    out.failed.push_back(random.unit() < run.failing);
  }
  return out;
}

// The recording that a daemon would have made.
Fixture recorded(const Conditions& run) {
  const Trace load = load_of(run);
  Scenario scenario;
  scenario.trace = &load;
  scenario.slots = 1000;
  scenario.mean = milliseconds(100);
  scenario.duration = seconds(30);
  Ledger ledger(scenario, 1);
  const auto downstream = parse_downstream(run.downstream);
  EXPECT_TRUE(downstream) << downstream.error().message;
  const auto settings = with_policy(QueueSettings(), run.policy);
  EXPECT_TRUE(settings) << settings.error().message;
  ProductSetup setup;
  setup.settings = *settings;
  for (const auto& [at, change] : run.changes) {
    const auto& before = setup.changes.empty() ? setup.settings : setup.changes.back().settings;
    setup.changes.push_back({at, *with_policy(before, change)});
  }
  setup.records = true;
  std::optional<LimiterEach> limiters;
  std::optional<LimitedDownstream> limited;
  if (downstream->limiter) {
    limiters.emplace(*downstream->limiter, caller_of(load, downstream->each));
    setup.downstream = &limited.emplace(*limiters, downstream->hints);
  }
  const auto end = run_product(setup, 1, ledger);
  EXPECT_TRUE(end) << end.error().message;
  auto fixture = read_fixture(end->recording, "load.jsonl");
  EXPECT_TRUE(fixture) << fixture.error().message;
  return std::move(*fixture);
}

Result<TraceOutcome> simulated(const Recording& recording, const Conditions& run, const Environment& changes = {}) {
  const auto policy = recorded_policy(recording, changes);
  if (!policy) return fail(policy.error());
  return run_trace(recording, scenario_of(recording, 0), *policy, *parse_downstream(run.downstream), 99);
}

void expect_near(double said, double was) {
  EXPECT_GE(said, 0.95 * was);
  EXPECT_LE(said, 1.05 * was);
}

class SimulateOf : public testing::TestWithParam<Conditions> {};

TEST_P(SimulateOf, ComesToWhatTheRecordedRunCameTo) {
  const auto fixture = recorded(GetParam());
  const auto recording = read_recording(fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  const auto& real = recording->real;
  ASSERT_GT(real.done, 100u);
  EXPECT_EQ(real.refused > 0, GetParam().refuses);
  EXPECT_EQ(real.failed > 0, GetParam().failing > 0);
  const auto outcome = simulated(*recording, GetParam());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->tasks, real.tasks);
  expect_near(static_cast<double>(outcome->done), static_cast<double>(real.done));
  expect_near(static_cast<double>(outcome->in_time), static_cast<double>(real.in_time));
  expect_near(static_cast<double>(outcome->shed), static_cast<double>(real.shed));
  // So the breaker opens as often.
  const auto refused = static_cast<double>(real.refused);
  EXPECT_NEAR(static_cast<double>(outcome->refused), refused, 0.15 * refused + 5);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, SimulateOf,
    testing::Values(
        Conditions{{{"CONCURRENCY", "4"}}},
        Conditions{{{"CONCURRENCY", "16"}, {"RATE_LIMIT", "19"}, {"RATE_BURST", "1"}}, "token-bucket 20/s burst 5"},
        Conditions{{{"CONCURRENCY", "16"}, {"RATE_LIMIT", "30"}, {"RATE_BURST", "10"}}},
        Conditions{{{"CONCURRENCY", "8"}}, "token-bucket 20/s burst 5", true},
        Conditions{{{"CONCURRENCY", "8"}}, "token-bucket 20/s burst 5 retry-after", true},
        Conditions{{{"CONCURRENCY", "64"}, {"RATE_LIMIT", "adaptive"}}, "window 20/s", true},
        Conditions{{{"CONCURRENCY", "16"}, {"LIMIT_BY", "group"}, {"KEY_RATE_LIMIT", "5"}}, "none", false, 100, true},
        Conditions{{{"CONCURRENCY", "16"}, {"LIMIT_BY", "group"}, {"KEY_RATE_LIMIT", "adaptive"}},
                   "token-bucket 10/s burst 2 each group",
                   true,
                   60,
                   true},
        Conditions{
            {{"CONCURRENCY", "16"}, {"RATE_LIMIT", "100"}, {"RATE_COUNTS", "cost"}}, "none", false, 60, false, 0, true},
        Conditions{
            {{"CONCURRENCY", "2"}, {"ORDER", "deadline"}, {"BACKOFF_BASE_MS", "200"}}, "none", false, 40, false, 0.2},
        Conditions{{{"CONCURRENCY", "16"}, {"LIMIT_BY", "group"}, {"KEY_CONCURRENCY", "1"}}, "none", false, 60, true},
        Conditions{{{"CONCURRENCY", "16"}, {"LIMIT_BY", "group"}, {"KEY_RATE_LIMIT", "8"}},
                   "token-bucket 5/s burst 2 each group retry-after",
                   true,
                   60,
                   true},
        Conditions{{{"CONCURRENCY", "16"}, {"LIMIT_BY", "group"}, {"KEY_RATE_LIMIT", "20"}, {"RATE_COUNTS", "cost"}},
                   "none",
                   false,
                   60,
                   true,
                   0,
                   true},
        Conditions{{{"CONCURRENCY", "16"}, {"RATE_LIMIT", "10"}},
                   "none",
                   false,
                   100,
                   false,
                   0,
                   false,
                   {{seconds(10), {{"RATE_LIMIT", "60"}}}, {seconds(20), {{"RATE_LIMIT", "0"}, {"CONCURRENCY", "2"}}}}},
        // The breaker opens, as the limiter refuses, and nothing is refused any more from 15 s on.
        Conditions{{{"CONCURRENCY", "8"}},
                   "token-bucket 20/s burst 5",
                   true,
                   100,
                   false,
                   0,
                   false,
                   {{seconds(15), {{"RATE_LIMIT", "15"}}}}}));

TEST(Simulate, ADownstreamMayLimitEachGroupByItself) {
  const Conditions run{
      {{"CONCURRENCY", "16"}, {"LIMIT_BY", "group"}, {"KEY_RATE_LIMIT", "4"}}, "none", false, 60, true};
  const auto fixture = recorded(run);
  const auto recording = *read_recording(fixture);
  const auto within = [&](const char* downstream) {
    Conditions behind = run;
    behind.downstream = downstream;
    return simulated(recording, behind)->refused;
  };
  // Three groups of four a second each.
  EXPECT_EQ(within("token-bucket 5/s each group"), 0u);
  EXPECT_GT(within("token-bucket 5/s"), 50u);
}

TEST(Simulate, PlaysTheChangesOfThePolicyAtTheirTimes) {
  const Conditions run{{{"CONCURRENCY", "16"}, {"RATE_LIMIT", "10"}}, "none", false, 100, false, 0, false,
                       {{seconds(15), {{"RATE_LIMIT", "60"}}}}};
  const auto fixture = recorded(run);
  auto recording = *read_recording(fixture);
  EXPECT_EQ(recording.policy.at("RATE_LIMIT"), "10");
  ASSERT_EQ(recording.policy_changes.size(), 1u);
  EXPECT_EQ(recording.policy_changes[0].policy.at("RATE_LIMIT"), "60");
  EXPECT_NEAR(static_cast<double>(recording.policy_changes[0].at.count()), 15e9, 0.2e9);
  // --set holds from the start to the end.
  const auto set = simulated(recording, run, {{"RATE_LIMIT", "10"}});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_NEAR(static_cast<double>(set->done), 10 * std::chrono::duration<double>(recording.length).count(), 15);
  // A simulation that misses the change is far off.
  recording.policy_changes.clear();
  const auto unnoticed = simulated(recording, run);
  EXPECT_LT(2 * unnoticed->done, recording.real.done);
}

TEST(Simulate, AStepThatCannotBePlayedIsRefused) {
  Recording recording;
  recording.policy_changes = {{seconds(1), {{"NEXT_YEARS_SETTING", "1"}}}};
  const auto refused = recorded_policy(recording, {});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with(
      "the recorded policy cannot be simulated: 'NEXT_YEARS_SETTING' is no setting"))
      << refused.error().message;
}

TEST(Simulate, ATaskThatNamesNoCostHasTheDefaultOfItsTime) {
  const auto fixture = recorded({{{"CONCURRENCY", "16"}, {"RATE_LIMIT", "20"}, {"RATE_COUNTS", "cost"}},
                                 "none",
                                 false,
                                 60,
                                 false,
                                 0,
                                 false,
                                 {{seconds(15), {{"DEFAULT_COST", "4"}}}}});
  const auto recording = *read_recording(fixture);
  EXPECT_EQ(recording.trace.default_cost, 1);
  EXPECT_EQ(recording.trace.tasks.front().cost, std::nullopt);
  EXPECT_EQ(recording.trace.tasks.back().cost, 4);
}

TEST(Simulate, WithoutTheLimiterItPromisesWhatIsNotPossible) {
  const Conditions run{{{"CONCURRENCY", "8"}}, "token-bucket 20/s burst 5"};
  const auto fixture = recorded(run);
  const auto recording = read_recording(fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_GT(simulated(*recording, Conditions{run.policy})->in_time, 2 * recording->real.in_time);
  const auto refused = check_downstream(*recording, false);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("calls back, as where a limiter answers 429 or 503: say what stood behind"),
            std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(check_downstream(*recording, true));
}

TEST(Simulate, ASettingChangesTheRecordedPolicy) {
  const Conditions run{{{"CONCURRENCY", "16"}, {"RATE_LIMIT", "19"}, {"RATE_BURST", "1"}}};
  const auto fixture = recorded(run);
  const auto recording = read_recording(fixture);
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->policy.at("RATE_LIMIT"), "19");
  const auto half = simulated(*recording, run, {{"RATE_LIMIT", "9.5"}});
  ASSERT_TRUE(half) << half.error().message;
  expect_near(static_cast<double>(half->in_time), static_cast<double>(recording->real.in_time) / 2);
}

TEST(Simulate, WhatItCannotSimulateIsRefusedByName) {
  Recording recording;
  const auto said = [&](const Environment& changes) { return recorded_policy(recording, changes).error().message; };
  EXPECT_EQ(said({{"LEASE_MS", "5000"}}),
            "LEASE_MS cannot be simulated: no worker dies in a simulation, so no lease ends");
  EXPECT_EQ(said({{"DEFAULT_DEADLINE_MS", "5000"}}),
            "DEFAULT_DEADLINE_MS cannot be simulated: the recorded tasks have their deadlines already");
  EXPECT_TRUE(said({{"TASK_RUNNER", "fake"}}).starts_with("'TASK_RUNNER' is no setting that can be changed here"));
  recording.policy = {{"NEXT_YEARS_SETTING", "1"}};
  EXPECT_TRUE(said({}).starts_with("the recorded policy cannot be simulated: 'NEXT_YEARS_SETTING' is no setting"));
}

TEST(Downstream, IsReadFromWhatAPersonWrites) {
  EXPECT_FALSE(parse_downstream("none")->limiter);
  const auto bucket = parse_downstream("token-bucket 20/s burst 5 retry-after");
  ASSERT_TRUE(bucket) << bucket.error().message;
  EXPECT_EQ(bucket->limiter->plan[0].rate, 20);
  EXPECT_EQ(bucket->limiter->burst_seconds, 0.25);
  EXPECT_EQ(bucket->hints.kind, HintKind::kRetryAfter);
  const auto window = parse_downstream("window 600/60s ratelimit");
  ASSERT_TRUE(window) << window.error().message;
  EXPECT_EQ(window->limiter->plan[0].rate, 10);
  EXPECT_EQ(window->limiter->window, seconds(60));
  EXPECT_EQ(parse_downstream("sliding 5000/h")->limiter->window, std::chrono::hours(1));
  EXPECT_EQ(parse_downstream("concurrency 8")->limiter->kind, LimiterKind::kConcurrency);
  EXPECT_EQ(parse_downstream("concurrency 8")->each, LimitedBy::kAll);
  const auto each = parse_downstream("token-bucket 5/s burst 2 each key retry-after");
  ASSERT_TRUE(each) << each.error().message;
  EXPECT_EQ(each->each, LimitedBy::kKey);
  EXPECT_EQ(each->hints.kind, HintKind::kRetryAfter);
  for (const char* text : {"", "bucket 20/s", "token-bucket", "token-bucket 20", "token-bucket 0/s",
                           "window 5/fortnight", "concurrency 8 burst 2", "token-bucket 20/s burst", "none at all",
                           "token-bucket -1/s", "token-bucket 5/s each", "token-bucket 5/s each tenant"}) {
    const auto wrong = parse_downstream(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_NE(wrong.error().message.find("write none, or 'token-bucket 20/s'"), std::string::npos);
  }
}

}  // namespace
}  // namespace freshet::lab
