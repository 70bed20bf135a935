// A short, seeded overload stress in simulated time: Freshet's queue, processor and store against the clairvoyant
// scheduler, and the lab's model against the real thing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/lab/experiment.h"
#include "app/lab/model.h"
#include "app/lab/plan.h"
#include "app/lab/product.h"

namespace freshet::lab {
namespace {

std::vector<Scenario> scenarios(Plan plan) {
  auto made = scenarios_of(plan);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : std::vector<Scenario>{};
}

std::vector<Policy> named(std::initializer_list<const char*> names) {
  std::vector<Policy> out;
  for (const char* name : names) out.push_back(*policy_of(name));
  return out;
}

// Compares with the clairvoyant, which is one of the policies. The runs check the books against the calls that the
// handler saw.
void expect_within_reach(Experiment& experiment) {
  experiment.first_seed = 7;
  experiment.seeds = 2;
  const auto cells = run(experiment);
  ASSERT_TRUE(cells) << cells.error().message;
  for (const auto& cell : *cells) {
    if (!cell.policy.product) continue;
    SCOPED_TRACE(cell.scenario.name());
    EXPECT_GE(cell.figures.at("ofClairvoyant").mean, 0.95);
    EXPECT_EQ(cell.figures.at("startsPastDeadline").mean, 0);
  }
}

TEST(Overload, GoodputStaysWithinReachOfTheClairvoyant) {
  Plan plan;
  plan.loads = {0.5, 0.8, 1, 1.5, 3, 10};
  plan.seconds = 12;
  Experiment experiment;
  experiment.scenarios = scenarios(plan);
  experiment.policies = named({"clairvoyant", "freshet-adaptive"});
  expect_within_reach(experiment);
}

TEST(Overload, NewestFirstWithoutAnySettingHoldsBeyondCapacity) {
  Plan plan;
  plan.loads = {2, 10};
  plan.seconds = 12;
  Experiment experiment;
  experiment.scenarios = scenarios(plan);
  experiment.policies = named({"clairvoyant", "freshet", "fifo", "fifo-codel"});
  experiment.first_seed = 7;
  experiment.seeds = 1;
  const auto cells = run(experiment);
  ASSERT_TRUE(cells) << cells.error().message;
  for (const auto& cell : *cells) {
    SCOPED_TRACE(cell.scenario.name() + ", " + cell.policy.name);
    const double share = cell.figures.at("ofClairvoyant").mean;
    if (cell.policy.product) {
      EXPECT_GE(share, 0.97);
    } else if (cell.policy.name == "fifo") {
      EXPECT_LE(share, 0.5) << "the lab would not show the difference";
    }
  }
}

// Deadlines of a third each, short, long and very long ones; and bursts. What newest first is worst at.
TEST(Overload, ByDeadlineGoodputStaysWithinReachWhateverTheDeadlines) {
  Plan mixed;
  mixed.loads = {0.8, 1, 1.2, 3};
  mixed.deadlines = {0};
  mixed.seconds = 12;
  Plan bursts;
  bursts.shapes = {"bursty"};
  bursts.loads = {1};
  bursts.seconds = 20;
  Experiment experiment;
  experiment.scenarios = scenarios(mixed);
  for (auto& one : scenarios(bursts)) experiment.scenarios.push_back(one);
  experiment.policies = named({"clairvoyant", "freshet-deadline"});
  expect_within_reach(experiment);
}

// Beyond those that would have been late had they never waited, at most a task in a hundred is; but for what a dozen
// seconds cannot show.
TEST(Overload, ByDeadlineHardlyMoreIsLateThanHadToBe) {
  Plan plan;
  plan.loads = {1, 2, 10};
  plan.deadlines = {3, 10};
  plan.seconds = 12;
  Experiment experiment;
  experiment.scenarios = scenarios(plan);
  experiment.policies = named({"freshet-deadline"});
  experiment.first_seed = 7;
  experiment.seeds = 2;
  const auto cells = run(experiment);
  ASSERT_TRUE(cells) << cells.error().message;
  for (const auto& cell : *cells) {
    SCOPED_TRACE(cell.scenario.name());
    EXPECT_LE(cell.figures.at("lateShare").mean - std::exp(-cell.scenario.deadline), 0.0125);
  }
}

// Nothing is shed without need: what has an hour, as by the default TTL, is done.
TEST(Overload, NothingIsShedBelowCapacityWithTheDefaultTtl) {
  Plan plan;
  plan.loads = {0.8};
  plan.deadlines = {36'000};
  plan.scales = {"16x100ms"};
  plan.seconds = 60;
  for (const auto& policy : named({"freshet", "freshet-margin", "freshet-adaptive", "freshet-deadline"})) {
    const auto scenario = scenarios(plan)[0];
    Ledger ledger(scenario, 11);
    const auto end = run_product(policy, 11, ledger);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(figures_of(ledger).values["shedShare"], 0) << policy.name;
  }
}

// Beside a flood a thousand times louder the quiet group's tasks take at most twice as long as alone.
TEST(Overload, AQuietGroupBesideAFloodHasItsShare) {
  Plan plan;
  plan.loads = {3};
  plan.groups = true;
  plan.seconds = 60;
  for (const auto& scenario : scenarios(plan)) {
    for (const auto* name : {"freshet", "freshet-adaptive"}) {
      SCOPED_TRACE(scenario.name() + ", " + name);
      std::array<std::vector<nanoseconds>, 2> times;
      for (const uint64_t seed : {31, 32, 33}) {
        for (const bool alone : {false, true}) {
          Scenario one = scenario;
          one.quiet_alone = alone;
          Ledger ledger(one, seed);
          const auto end = run_product(*policy_of(name), seed, ledger);
          ASSERT_TRUE(end) << end.error().message;
          for (const auto& job : ledger.jobs()) {
            if (!job.arrival.quiet) continue;
            EXPECT_EQ(job.fate, Job::Fate::kStarted);
            times[alone].push_back(job.end - job.arrival.at);
          }
          if (!alone) {
            EXPECT_GE(figures_of(ledger).values["jain"], 0.95);
          }
        }
      }
      for (auto& some : times) std::sort(some.begin(), some.end());
      ASSERT_EQ(times[0].size(), times[1].size());
      const size_t p99 = times[0].size() * 99 / 100;
      EXPECT_LE(times[0][p99], 2 * times[1][p99]);
    }
  }
}

// The model decides by the same policy objects; what it says of Freshet's policies is what the real queue does.
TEST(Overload, TheModelSaysWhatTheRealQueueDoes) {
  const std::pair<const char*, const char*> pairs[] = {{"lifo-ttl", "freshet"},
                                                       {"lifo-margin", "freshet-margin"},
                                                       {"adaptive-yield", "freshet-adaptive"},
                                                       {"deadline", "freshet-deadline"}};
  Plan plan;
  plan.loads = {0.8, 2};
  plan.deadlines = {10, 0};
  plan.seconds = 20;
  plan.scales = {"16x100ms"};
  for (const auto& scenario : scenarios(plan)) {
    for (const auto& [modelled, real] : pairs) {
      SCOPED_TRACE(scenario.name() + ", " + real);
      Ledger model(scenario, 5), product(scenario, 5);
      run_model(*policy_of(modelled), 5, model);
      const auto end = run_product(*policy_of(real), 5, product);
      ASSERT_TRUE(end) << end.error().message;
      EXPECT_NEAR(figures_of(model).values["goodput"], figures_of(product).values["goodput"], 0.01);
    }
  }
}

TEST(Overload, SameSeedSameRun) {
  Plan plan;
  plan.loads = {3};
  plan.seconds = 5;
  const auto scenario = scenarios(plan)[0];
  std::map<std::string, double> first;
  for (int i = 0; i < 2; ++i) {
    Ledger ledger(scenario, 3);
    ASSERT_TRUE(run_product(*policy_of("freshet-adaptive"), 3, ledger));
    auto values = figures_of(ledger).values;
    if (i == 0) {
      first = values;
    } else {
      EXPECT_EQ(values, first);
    }
  }
}

TEST(Overload, SenselessExperimentsAreRefusedWithTheReason) {
  const auto error_of = [](Plan plan) {
    auto made = scenarios_of(plan);
    return made ? std::string() : made.error().message;
  };
  Plan plan;
  plan.loads = {0};
  EXPECT_EQ(error_of(plan), "--load 0: it must be above 0 and at most 100 (times what the workers can do)");
  plan.loads = {std::nan("")};
  EXPECT_EQ(error_of(plan), "--load nan: it must be above 0 and at most 100 (times what the workers can do)");
  plan.loads = {1};
  plan.scales = {"16*100"};
  EXPECT_EQ(
      error_of(plan),
      "--scale '16*100' must be WORKERSxTIME: how many there are and the mean time of a task, as in 16x100ms, 1x1ms or "
      "4x500us");
  plan.scales = {"1x1ms"};
  plan.deadlines = {1};
  EXPECT_EQ(error_of(plan),
            "--deadline times the mean time of a task must be at least 2 ms, as deadlines are whole milliseconds");
  plan.deadlines = {10};
  plan.shapes = {"step"};
  plan.seconds = 20;
  EXPECT_EQ(error_of(plan), "--shape step needs a run of 40 s or more (--seconds)");
  plan.shapes = {"flood"};
  EXPECT_EQ(error_of(plan), "--shape 'flood' is none of poisson, bursty, step, stall");
  EXPECT_NE(policy_of("best").error().message.find("--policy 'best' is none of clairvoyant, fifo"), std::string::npos);
}

}  // namespace
}  // namespace freshet::lab
