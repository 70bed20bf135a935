// Comparing other policies over a recording: windows, what chance might have made of them, shares with their
// intervals, regret, and a budget that skips whole windows.
#include "app/lab/whatif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "app/lab/product.h"
#include "app/lab/whatif_grid.h"
#include "app/lab/windows.h"
#include "tests/sim/held_memory.h"

namespace freshet::lab {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// 100 s: a task each 100 ms with `patience`, started at once and done after 50 ms, except those that come from 40 s to
// 50 s: they wait until 50 s.
Recording steady(milliseconds patience) {
  Recording out;
  out.start = WallTime(milliseconds(1'800'000'000'000));
  out.length = seconds(100);
  out.policy = {{"CONCURRENCY", "2"}, {"ORDER", "lifo"}};
  for (size_t i = 0; i < 1000; ++i) {
    const nanoseconds at = milliseconds(100 * i);
    out.trace.arrivals.push_back({at, deadline_ms(at, patience)});
    out.trace.tasks.emplace_back().group = std::to_string(i);
    const nanoseconds began = at >= seconds(40) && at < seconds(50) ? nanoseconds(seconds(50)) : at;
    out.calls.push_back({began, milliseconds(50)});
    out.waits.push_back({at, i, true});
    out.waits.push_back({began, i, false});
    out.done.push_back(began + milliseconds(50));
  }
  std::stable_sort(out.waits.begin(), out.waits.end(),
                   [](const TraceWait& a, const TraceWait& b) { return a.at < b.at; });
  std::stable_sort(out.calls.begin(), out.calls.end(),
                   [](const TraceCall& a, const TraceCall& b) { return a.began < b.began; });
  for (const TraceCall& call : out.calls) {
    out.trace.services.push_back(call.took);
    out.trace.failed.push_back(false);
    out.trace.cost_ratios.push_back(1);
  }
  out.real.tasks = out.real.done = 1000;
  out.real.most_in_work = 100;
  return out;
}

TEST(Windows, LieBehindEachOtherAsLateAsPossible) {
  const auto windows = windows_of(steady(seconds(8)), seconds(20), std::chrono::hours(1));
  // A task's fate is known after 8 s at most, so the last 8 s count for no window.
  ASSERT_EQ(windows.size(), 4u);
  EXPECT_EQ(windows[0].from, seconds(12));
  EXPECT_EQ(windows[0].begins, seconds(4));
  EXPECT_EQ(windows[3].to, seconds(92));
  EXPECT_EQ(windows[3].ends, seconds(100));
  for (size_t i = 1; i < windows.size(); ++i) {
    EXPECT_EQ(windows[i].from, windows[i - 1].to);
    EXPECT_EQ(windows[i].begins, windows[i].from - seconds(8));
  }
}

TEST(Windows, OfAShortRecordingAreOneAndOfItsEndAsManyAsAskedFor) {
  const auto one = windows_of(steady(seconds(2)), seconds(3600), std::chrono::hours(1));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].from, seconds(0));
  EXPECT_EQ(one[0].to, seconds(98));
  const auto end = windows_of(steady(seconds(2)), seconds(10), seconds(30));
  ASSERT_EQ(end.size(), 3u);
  EXPECT_EQ(end[0].from, seconds(68));
}

TEST(Windows, HaveWhatWaitedAtTheirBeginning) {
  const Recording recording = steady(seconds(3));
  // Begins at 45 s: what came from 40 s on waits.
  const WindowCutter cutter(recording, {{seconds(45), seconds(48), seconds(58), seconds(61)}});
  const WindowLoad load = cutter.cut(0);
  ASSERT_EQ(load.waiting, 50u);
  EXPECT_EQ(load.load.trace.tasks[0].group, "400");
  EXPECT_EQ(load.load.trace.arrivals[0].at, seconds(0));
  EXPECT_EQ(load.load.trace.arrivals[0].deadline_ms, -2'000) << "40 s + 3 s, from 45 s on";
  EXPECT_EQ(load.load.trace.tasks[50].group, "450");
  EXPECT_EQ(load.load.trace.arrivals.size(), 50u + 160u);
  EXPECT_EQ(cutter.size_of(0), load.load.trace.arrivals.size());
  EXPECT_EQ(load.tasks, 100u);
  EXPECT_EQ(load.in_time, 100u) << "those that came at 48 s waited for 2 s";
  EXPECT_EQ(load.load.policy.at("ORDER"), "lifo");
}

// An hour in which many tasks wait, in windows of five seconds.
TEST(Windows, TheirMemoryIsThatOfTheTasksHoweverManyWindowsThereAre) {
  constexpr size_t kTasks = 50'000;
  Recording recording;
  recording.length = std::chrono::hours(1);
  for (size_t i = 0; i < kTasks; ++i) {
    recording.trace.arrivals.push_back({milliseconds(i), deadline_ms(nanoseconds(0), std::chrono::hours(2))});
    recording.trace.tasks.emplace_back();
    recording.waits.push_back({milliseconds(i), i, true});
    recording.done.push_back(kNeverDone);
  }
  const int64_t before = held_memory();
  const WindowCutter cutter(recording, windows_of(recording, seconds(5), std::chrono::hours(1)));
  EXPECT_GT(cutter.windows().size(), 500u);
  EXPECT_LT(held_memory(), before + (1 << 20));
  EXPECT_EQ(cutter.cut(cutter.windows().size() - 1).waiting, kTasks);
}

TEST(Windows, SayWhatTheyWillHaveBeforeTheyAreCut) {
  Recording recording = steady(seconds(3));
  recording.waiting = 30;
  for (size_t i = 0; i < recording.calls.size(); ++i) {
    recording.calls[i].refused = recording.calls[i].began < seconds(20);
  }
  const WindowCutter cutter(recording, windows_of(recording, seconds(5), std::chrono::hours(1)));
  ASSERT_GT(cutter.windows().size(), 10u);
  size_t without_calls = 0;
  for (size_t i = 0; i < cutter.windows().size(); ++i) {
    const WindowLoad load = cutter.cut(i);
    EXPECT_EQ(cutter.size_of(i), load.load.trace.arrivals.size()) << i;
    EXPECT_EQ(cutter.counted(i), load.tasks) << i;
    const auto& refused = load.load.trace.refused;
    EXPECT_EQ(cutter.has_calls(i), std::find(refused.begin(), refused.end(), false) != refused.end()) << i;
    without_calls += cutter.has_calls(i) ? 0 : 1;
  }
  EXPECT_GT(without_calls, 0u);
}

TEST(Windows, APolicyThatChangesIsThatOfTheirTime) {
  Recording recording = steady(seconds(3));
  recording.policy_changes = {{seconds(20), {{"ORDER", "fifo"}}}, {seconds(55), {{"ORDER", "deadline"}}}};
  const WindowCutter cutter(recording, {{seconds(45), seconds(48), seconds(58), seconds(61)}});
  const WindowLoad load = cutter.cut(0);
  EXPECT_EQ(load.load.policy.at("ORDER"), "fifo");
  ASSERT_EQ(load.load.policy_changes.size(), 1u);
  EXPECT_EQ(load.load.policy_changes[0].at, seconds(10));
}

TEST(Windows, AreDrawnAgainByTheirSeedAlone) {
  Recording recording = steady(seconds(3));
  for (size_t i = 0; i < recording.calls.size(); ++i) recording.calls[i].took = milliseconds(i);
  const WindowCutter cutter(recording, {{seconds(0), seconds(5), seconds(95), seconds(100)}});
  const WindowLoad load = cutter.cut(0);
  const auto drawn = [&](uint64_t seed) {
    Random random(seed);
    return resampled(load, random).load.trace;
  };
  const Trace first = drawn(1);
  EXPECT_EQ(first.services, drawn(1).services);
  EXPECT_NE(first.services, drawn(2).services);
  EXPECT_EQ(first.services.size(), load.load.trace.services.size());
  // A call comes from the calls around it, an arrival from the seconds around it.
  for (size_t i = 0; i < first.services.size(); ++i) {
    const auto was = std::chrono::duration_cast<milliseconds>(first.services[i]).count();
    EXPECT_LE(std::abs(was - static_cast<int64_t>(i)), 150) << i;
  }
  std::set<std::string> groups;
  for (size_t i = 0; i < first.arrivals.size(); ++i) {
    const auto was = std::stoi(first.tasks[i].group);
    EXPECT_LE(std::abs(100 * was - first.arrivals[i].at / milliseconds(1)), 5'900) << i;
    EXPECT_EQ(milliseconds(first.arrivals[i].deadline_ms) - first.arrivals[i].at, seconds(3));
    groups.insert(first.tasks[i].group);
    EXPECT_LE(first.arrivals[i > 0 ? i - 1 : 0].at, first.arrivals[i].at);
  }
  EXPECT_LT(groups.size(), 800u) << "some came twice, others not at all";
}

WindowPlays plays_of(std::vector<std::vector<uint64_t>> in_time, std::vector<uint64_t> clairvoyant, uint64_t recorded,
                     uint64_t tasks = 100) {
  WindowPlays out;
  for (const auto& row : in_time) {
    auto& plays = out.policies.emplace_back();
    for (const uint64_t count : row) plays.push_back({tasks, count});
  }
  for (const uint64_t count : clairvoyant) out.clairvoyant.push_back({tasks, count});
  out.recorded = {tasks, recorded};
  return out;
}

TEST(WhatIfFigures, RegretIsWhatTheBestKnownDoesMore) {
  // In the second window an alternative does better than the clairvoyant's model.
  const auto figures = figures_of({plays_of({{50}, {60}}, {80}, 50), plays_of({{50}, {90}}, {80}, 50, 300)});
  ASSERT_EQ(figures.policies.size(), 2u);
  EXPECT_DOUBLE_EQ(figures.policies[0].windows[0].regret.value, 30);
  EXPECT_DOUBLE_EQ(figures.policies[1].windows[0].regret.value, 20);
  EXPECT_DOUBLE_EQ(figures.best_known.windows[0].share.value, 80);
  EXPECT_NEAR(figures.best_known.windows[1].share.value, 30, 1e-9);
  EXPECT_NEAR(figures.policies[1].windows[1].regret.value, 0, 1e-9);
  // All windows together: task by task.
  EXPECT_NEAR(figures.policies[0].all.share.value, 25, 1e-9);
  EXPECT_NEAR(figures.best_known.all.share.value, 100 * 170.0 / 400, 1e-9);
  EXPECT_EQ(figures.policies[0].all.in_time, 100u);
  EXPECT_EQ(figures.recorded.tasks, 400u);
}

TEST(WhatIfFigures, AnIntervalIsThatOfAFurtherLoad) {
  // The deviation of the plays 48, 50 and 52 is 2; the 95th percentile of Student's distribution for two degrees is
  // 2.92, and two loads differ by the square root of 2 more than that.
  const auto figures = figures_of({plays_of({{49, 48, 50, 52}, {80, 80, 80, 80}}, {90, 90, 90, 90}, 49)});
  const Bounds& share = figures.policies[0].all.share;
  EXPECT_DOUBLE_EQ(share.value, 49);
  EXPECT_NEAR(share.high - share.value, 2.92 * 2 * std::sqrt(2.0), 0.01);
  EXPECT_NEAR(share.value - share.low, share.high - share.value, 1e-9);
  const Bounds& sure = figures.policies[1].all.share;
  EXPECT_DOUBLE_EQ(sure.low, 80);
  EXPECT_DOUBLE_EQ(sure.high, 80);
}

TEST(WhatIfFigures, AnIntervalIsWiderByHowFarThePlayWasFromTheRecording) {
  const auto figures = figures_of({plays_of({{50, 50, 50}, {80, 80, 80}}, {99, 99, 99}, 47)});
  EXPECT_DOUBLE_EQ(figures.policies[1].all.share.low, 77);
  EXPECT_DOUBLE_EQ(figures.policies[1].all.share.high, 83);
  // A difference of two plays is not wider.
  EXPECT_DOUBLE_EQ(figures.policies[1].all.regret.low, 19);
  const auto bounded = figures_of({plays_of({{2, 2, 2}, {99, 99, 99}}, {100, 100, 100}, 40)});
  EXPECT_DOUBLE_EQ(bounded.policies[0].all.share.low, 0);
  EXPECT_DOUBLE_EQ(bounded.policies[1].all.share.high, 100);
}

TEST(WhatIfFigures, MoreWindowsKnowMore) {
  const WindowPlays one = plays_of({{50, 40, 50, 60}}, {90, 90, 90, 90}, 50);
  const Bounds few = figures_of({one}).policies[0].all.share;
  const Bounds many = figures_of({one, one, one, one, one, one, one, one}).policies[0].all.share;
  EXPECT_LT(many.high - many.low, (few.high - few.low) / 2.5);
}

TEST(WhatIf, WindowsAreTakenSoThatTheFirstOnesAreSpread) {
  EXPECT_THAT(spread_order(1), ElementsAre(0));
  EXPECT_THAT(spread_order(8), ElementsAre(7, 3, 5, 1, 6, 2, 4, 0));
  const auto odd = spread_order(11);
  EXPECT_EQ(std::set<size_t>(odd.begin(), odd.end()).size(), 11u);
  EXPECT_EQ(odd[0], 10u);
}

TEST(WhatIf, TheUsualAlternativesDifferFromThePolicy) {
  const Environment policy{{"ORDER", "fifo"}, {"DEADLINE_MARGIN", "p90"}, {"CONCURRENCY", "8"}, {"RATE_LIMIT", "50"}};
  const auto all = usual_alternatives(policy);
  std::set<std::string> names;
  for (const auto& one : all) names.insert(name_of(one));
  EXPECT_EQ(names.size(), all.size());
  EXPECT_THAT(names, Contains("DEADLINE_MARGIN=off ORDER=lifo"));
  EXPECT_THAT(names, Contains("ORDER=lifo")) << "with the margin that there is";
  EXPECT_THAT(names, Contains("ORDER=deadline"));
  EXPECT_THAT(names, Contains("CONCURRENCY=4"));
  EXPECT_THAT(names, Contains("RATE_LIMIT=40"));
  EXPECT_THAT(names, Not(Contains("")));
  EXPECT_THAT(names, Not(Contains("ORDER=fifo")));
}

// A minute of 60 tasks a second where 40 can be done, each worth doing for 2 s, as a daemon would have recorded it.
Recording overloaded(const Environment& policy) {
  Random random(7);
  Trace load;
  const auto draw = [&random](double mean_ns) {
    return nanoseconds(1 + static_cast<int64_t>(exponential(random) * mean_ns));
  };
  for (nanoseconds now{0}; now < seconds(60); now += draw(1e9 / 60)) {
    load.arrivals.push_back({now, deadline_ms(now, seconds(2))});
    load.tasks.emplace_back();
  }
  for (int i = 0; i < 4000; ++i) load.services.push_back(draw(100e6));
  Scenario scenario;
  scenario.trace = &load;
  scenario.slots = 1000;
  scenario.mean = milliseconds(100);
  Ledger ledger(scenario, 1);
  ProductSetup setup;
  setup.settings = *with_policy(QueueSettings(), policy);
  setup.records = true;
  const auto end = run_product(setup, 1, ledger);
  EXPECT_TRUE(end) << end.error().message;
  const auto fixture = read_fixture(end->recording, "load.jsonl");
  EXPECT_TRUE(fixture) << fixture.error().message;
  auto recording = read_recording(*fixture);
  EXPECT_TRUE(recording) << recording.error().message;
  return std::move(*recording);
}

std::vector<Alternative> alternatives(std::vector<Environment> sets) {
  std::vector<Alternative> out;
  for (auto& set : sets) {
    std::string name = name_of(set);
    out.push_back({std::move(name), std::move(set)});
  }
  return out;
}

WhatIfOptions options_of_test() {
  WhatIfOptions out;
  out.window = seconds(10);
  out.resamples = 2;
  out.cpu_time = [] { return nanoseconds(0); };
  return out;
}

TEST(WhatIf, SaysWhatAnotherOrderWouldHaveDone) {
  const Recording fifo = overloaded({{"CONCURRENCY", "4"}, {"ORDER", "fifo"}});
  const auto result = what_if(fifo, alternatives({{{"ORDER", "lifo"}}, {{"ORDER", "deadline"}}}), options_of_test());
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_GE(result->played.size(), 5u);
  EXPECT_EQ(result->window, seconds(10));
  EXPECT_TRUE(result->skipped.empty());
  const auto& policies = result->figures.policies;
  const auto recorded = result->figures.recorded;
  const double share = 100.0 * static_cast<double>(recorded.in_time) / static_cast<double>(recorded.tasks);
  EXPECT_NEAR(policies[0].all.share.value, share, 5);
  EXPECT_GT(policies[1].all.share.value, policies[0].all.share.value + 10) << "newest first";
  // The same load came to that when it was played under that policy from its beginning to its end.
  const Recording lifo = overloaded({{"CONCURRENCY", "4"}, {"ORDER", "lifo"}});
  const double came_to = 100.0 * static_cast<double>(lifo.real.in_time) / static_cast<double>(lifo.real.tasks);
  EXPECT_NEAR(policies[1].all.share.value, came_to, 5);
  for (const auto& policy : policies) {
    EXPECT_GE(policy.all.regret.value, 0);
    EXPECT_LE(policy.all.share.low, policy.all.share.value);
    EXPECT_LE(policy.all.share.value, result->figures.best_known.all.share.value + 1e-9);
  }
}

TEST(WhatIf, TheSameSeedGivesTheSameIntervals) {
  const Recording recording = overloaded({{"CONCURRENCY", "4"}, {"ORDER", "fifo"}});
  const auto high = [&](uint64_t seed) {
    WhatIfOptions options = options_of_test();
    options.window = options.last = seconds(5);
    options.seed = seed;
    const auto result = what_if(recording, alternatives({{{"ORDER", "lifo"}}}), options);
    EXPECT_TRUE(result) << result.error().message;
    return result->figures.policies[1].all.share.high;
  };
  EXPECT_EQ(high(1), high(1));
  EXPECT_NE(high(1), high(2));
}

TEST(WhatIf, SkipsWholeWindowsForWhichTheBudgetDoesNotDo) {
  const Recording recording = overloaded({{"CONCURRENCY", "4"}});
  WhatIfOptions options = options_of_test();
  // Each look at the clock costs a second: two for each window, and those that are asked for before it.
  int looks = 0;
  options.cpu_time = [&] { return seconds(looks++); };
  options.budget = seconds(15);
  const auto result = what_if(recording, alternatives({{{"ORDER", "fifo"}}}), options);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_FALSE(result->played.empty());
  ASSERT_FALSE(result->skipped.empty());
  milliseconds skipped{0};
  for (const auto& one : result->skipped) {
    EXPECT_THAT(one.why, HasSubstr("the budget of 15 s of CPU time is used up"));
    skipped += one.to - one.from;
  }
  const auto played = result->window * static_cast<int64_t>(result->played.size());
  EXPECT_EQ(played + skipped, result->to - result->from) << "each window was either played or skipped";
  EXPECT_EQ(result->figures.policies[1].windows.size(), result->played.size());
  uint64_t tasks = 0;
  for (const auto& window : result->figures.policies[1].windows) tasks += window.tasks;
  EXPECT_EQ(tasks, result->figures.recorded.tasks) << "every task of a window that was played";

  looks = 0;
  options.budget = milliseconds(1);
  Recording longer = recording;
  longer.length += seconds(60);  // No task comes in its last window. That is not why.
  const auto none = what_if(longer, alternatives({{{"ORDER", "fifo"}}}), options);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("the budget of 0.001 s of CPU time is used up"));
  EXPECT_THAT(none.error().message, HasSubstr("compare fewer settings"));
  EXPECT_THAT(none.error().message, HasSubstr("allow more CPU time (--budget, or budgetMs)"));
}

TEST(WhatIf, WhatWasSpentBeforeTheComparisonIsOfTheBudget) {
  const Recording recording = overloaded({{"CONCURRENCY", "4"}});
  WhatIfOptions options = options_of_test();
  options.cpu_time = [] { return seconds(9); };
  ASSERT_TRUE(what_if(recording, {}, options));
  options.cpu_time = [] { return seconds(11); };
  const auto none = what_if(recording, {}, options);
  ASSERT_FALSE(none) << "reading the recording took longer than that";
  EXPECT_THAT(none.error().message, HasSubstr("the budget of 10 s of CPU time is used up"));
  EXPECT_THAT(none.error().message, HasSubstr("Reading the recording alone took 11 s of it"));
  EXPECT_THAT(none.error().message, HasSubstr("allow more CPU time (--budget, or budgetMs)"));
  EXPECT_THAT(none.error().message, Not(HasSubstr("compare fewer settings"))) << "that would not help";
}

TEST(WhatIf, SkipsWindowsToEndInTimeOnABusyMachine) {
  const Recording recording = overloaded({{"CONCURRENCY", "4"}});
  WhatIfOptions options = options_of_test();
  int looks = 0;
  options.cpu_time = [&] { return milliseconds(100 * looks++); };
  options.budget = std::chrono::hours(1);
  // The process gets a tenth of a core.
  options.wall_time = [&] { return seconds(looks); };
  options.within = seconds(15);
  const auto result = what_if(recording, {}, options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(result->played.empty());
  ASSERT_FALSE(result->skipped.empty());
  for (const auto& one : result->skipped) {
    EXPECT_EQ(one.why, "the machine was too busy to play it within 15 s");
  }
  options.within.reset();
  const auto all = what_if(recording, {}, options);
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->skipped.empty());
}

TEST(WhatIf, TimeThatPassedBeforeTheComparisonSaysNothingAboutTheMachine) {
  const Recording recording = overloaded({{"CONCURRENCY", "4"}});
  WhatIfOptions options = options_of_test();
  int looks = 0;
  options.cpu_time = [&] { return milliseconds(looks++); };
  options.budget = std::chrono::hours(1);
  // The process waited 10 s for its input. Since then it has had a whole core.
  options.wall_time = [&] { return seconds(10) + milliseconds(looks); };
  options.within = seconds(15);
  const auto result = what_if(recording, {}, options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->skipped.empty()) << result->skipped[0].why;
}

TEST(WhatIf, TheCostOfACutIsNotThatOfEachPlay) {
  const Recording recording = steady(seconds(3));
  if (!sees_held_memory()) GTEST_SKIP() << "a sanitizer hides what is held";
  const int64_t before = held_memory();
  int64_t a_cut = 0;
  {
    const WindowCutter cutter(recording, windows_of(recording, seconds(60), std::chrono::hours(1)));
    const int64_t uncut = held_memory();
    const WindowLoad window = cutter.cut(0);
    a_cut = held_memory() - uncut;
  }
  ASSERT_GT(a_cut, 50'000);
  // A clock that goes on by what is held: a cut takes its time, and a play none.
  WhatIfOptions options = options_of_test();
  options.window.reset();
  options.cpu_time = [&] { return nanoseconds(held_memory() - before); };
  options.budget = nanoseconds(6 * a_cut + 100'000);
  const auto result = what_if(recording, {}, options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->window, seconds(60)) << "four windows of three plays each would take twelve cuts";
}

TEST(WhatIf, ARecordingOfWhichNothingCanBeComparedIsNamedByItsTime) {
  Recording recording = steady(seconds(3));
  for (TraceCall& call : recording.calls) call.refused = true;
  const auto none = what_if(recording, {}, options_of_test());
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("nothing can be compared of the 90 s from 2027-01-15T08:00:07"));
  EXPECT_THAT(none.error().message, HasSubstr("no call ended"));
}

TEST(WhatIf, ShortensTheWindowsThatItChoosesToTheBudget) {
  const Recording recording = overloaded({{"CONCURRENCY", "4"}});
  WhatIfOptions options = options_of_test();
  options.window.reset();
  int looks = 0;
  options.cpu_time = [&] { return milliseconds(300 * looks++); };
  options.budget = seconds(4);
  const auto result = what_if(recording, alternatives({{{"ORDER", "fifo"}}}), options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_LT(result->window, seconds(58));
}

// Nine of ten calls were refused. Under another order the same calls are refused again.
TEST(WhatIf, RefusalsOfTheDownstreamAreThoseThatWereRecorded) {
  Recording recording = steady(seconds(3));
  for (size_t i = 0; i < recording.calls.size(); ++i) recording.calls[i].refused = i % 10 != 0;
  const auto with = what_if(recording, alternatives({{{"ORDER", "fifo"}}}), options_of_test());
  ASSERT_TRUE(with) << with.error().message;
  const auto without = what_if(steady(seconds(3)), alternatives({{{"ORDER", "fifo"}}}), options_of_test());
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_GT(without->figures.policies[1].all.share.value, 99);
  EXPECT_LT(with->figures.policies[1].all.share.value, 70);
}

TEST(WhatIf, TheBestKnownKeepsToARateLimit) {
  Recording recording = steady(seconds(3));
  recording.policy["RATE_LIMIT"] = "5";
  const auto limited = what_if(recording, {}, options_of_test());
  ASSERT_TRUE(limited) << limited.error().message;
  // Ten tasks come a second, and five may start.
  EXPECT_NEAR(limited->figures.best_known.all.share.value, 50, 5);
  recording.policy["RATE_LIMIT"] = "0";
  const auto free = what_if(recording, {}, options_of_test());
  ASSERT_TRUE(free) << free.error().message;
  EXPECT_GT(free->figures.best_known.all.share.value, 99);
}

TEST(WhatIf, WrongSettingsAreRefusedByName) {
  const Recording recording = steady(seconds(3));
  const auto unknown = what_if(recording, alternatives({{{"ODER", "fifo"}}}), options_of_test());
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("ODER"));
  const auto lease = what_if(recording, alternatives({{{"LEASE_MS", "50"}}}), options_of_test());
  ASSERT_FALSE(lease);
  EXPECT_THAT(lease.error().message, HasSubstr("LEASE_MS cannot be simulated"));
}

TEST(WhatIf, AssumptionsSayThatMoreCallsAtOnceAreNotKnown) {
  const Recording recording = steady(seconds(3));
  const WhatIfOptions options = options_of_test();
  EXPECT_EQ(assumptions_of(recording, alternatives({{{"ORDER", "fifo"}}}), options, seconds(10)).size(), 1u);
  const auto more = assumptions_of(recording, alternatives({{{"CONCURRENCY", "200"}}}), options, seconds(10));
  ASSERT_EQ(more.size(), 2u);
  EXPECT_THAT(more[0], HasSubstr("times and refusals would have been the same"));
  EXPECT_THAT(more[1], HasSubstr("never had more than 100 calls under way"));
  Recording limited = steady(seconds(3));
  limited.policy["RATE_LIMIT"] = "adaptive";
  limited.policy_changes = {{seconds(5), {{"KEY_CONCURRENCY", "2"}, {"RATE_COUNTS", "cost"}}}};
  const auto beyond = assumptions_of(limited, {}, options, seconds(10));
  ASSERT_EQ(beyond.size(), 2u);
  EXPECT_EQ(beyond[1],
            "The best known does not keep to limits that are learnt, for each group or key, so it may do more than any "
            "policy could.");
  limited.real.refused = 7;
  const auto learning = assumptions_of(limited, {}, options, seconds(10));
  ASSERT_EQ(learning.size(), 3u);
  EXPECT_THAT(learning[1], HasSubstr("A limit that is learnt learns from refusals"));
  EXPECT_THAT(learning[1], HasSubstr("(--downstream, or downstream in the API)"));
  limited.policy["RATE_LIMIT"] = "0";
  EXPECT_EQ(assumptions_of(limited, alternatives({{{"RATE_LIMIT", "adaptive"}}}), options, seconds(10)).size(), 3u);
  WhatIfOptions told = options;
  told.downstream.limiter.emplace();
  limited.policy["RATE_LIMIT"] = "adaptive";
  EXPECT_EQ(assumptions_of(limited, {}, told, seconds(10)).size(), 2u) << "it learns from that limiter";
  limited.policy = {{"RATE_LIMIT", "5"}, {"KEY_CONCURRENCY", "0"}, {"KEY_RATE_LIMIT", "0"}};
  limited.policy_changes.clear();
  EXPECT_EQ(assumptions_of(limited, {}, options, seconds(10)).size(), 1u);
  const auto patient = assumptions_of(steady(seconds(30)), alternatives({{{"ORDER", "fifo"}}}), options, seconds(10));
  ASSERT_EQ(patient.size(), 2u);
  EXPECT_THAT(patient[1], HasSubstr("play longer windows (--window, or windowMs in the API)"));
}

}  // namespace
}  // namespace freshet::lab
