// The story of `freshet demo limits`, the figures that are drawn from it, and how they are shown.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/demo/figures.h"
#include "app/demo/queue_client.h"
#include "app/demo/report.h"
#include "app/demo/story.h"

namespace freshet::demo {
namespace {

Story short_story() {
  Story story;
  story.length = seconds(60);
  return story;
}

TEST(DemoStory, TheSameSeedGivesTheSameTasksAndAnotherSeedOthers) {
  Story story = short_story();
  const auto tasks = tasks_of(story);
  const auto same = tasks_of(story);
  ASSERT_EQ(tasks.size(), same.size());
  EXPECT_TRUE(std::equal(tasks.begin(), tasks.end(), same.begin(),
                         [](const auto& one, const auto& two) { return one.at == two.at; }));
  story.seed = 2;
  EXPECT_NE(tasks_of(story).front().at, tasks.front().at);
}

TEST(DemoStory, TenTimesAsMuchArrivesAsTheLimitAllowsAndOneTenantIsAThousandTimesLouder) {
  Story story = short_story();
  story.length = seconds(600);  // Enough for a steady share of the quiet tenant.
  const auto tasks = tasks_of(story);
  EXPECT_NEAR(static_cast<double>(tasks.size()), 200 * 600, 2000);
  const auto quiet = std::count_if(tasks.begin(), tasks.end(), [](const auto& task) { return task.quiet; });
  EXPECT_NEAR(static_cast<double>(quiet), 120, 40);
  EXPECT_TRUE(
      std::is_sorted(tasks.begin(), tasks.end(), [](const auto& one, const auto& two) { return one.at < two.at; }));
}

Shown shown_run() {
  Shown shown;
  shown.story = short_story();
  shown.tasks = tasks_of(shown.story);
  demo::Run run;
  run.name = "Freshet <1>";
  for (const auto end : possible_ends(shown.story, shown.tasks)) {
    run.calls.push_back({run.calls.size(), end - shown.story.service, true, end});
  }
  run.created = shown.tasks.size();
  run.states = {{"SHED", run.created}};
  run.shed = {{"deadline", run.created}};
  run.explained = {"Its deadline <b> had passed"};
  run.has_books = true;
  shown.runs.push_back(run);
  return shown;
}

// 20 s of 20/s, 10/s and 40/s each: 1,400 calls, and the 20 that the bucket holds at first.
TEST(DemoStory, AsMuchIsPossibleAsTheLimitAllows) {
  const Story story = short_story();
  const auto ends = possible_ends(story, tasks_of(story));
  EXPECT_NEAR(static_cast<double>(ends.size()), 1400, 25);
  EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
  EXPECT_LE(ends.back(), story.length);
}

// It makes the calls later that it did not make while it looked for the limit: that is why the page shows curves above
// "possible", and says so.
TEST(DemoStory, AQueueThatFindsAHigherLimitLateIsAbovePossibleForAWhileButNeverInSum) {
  const Story story = short_story();
  const auto tasks = tasks_of(story);
  const auto possible = possible_ends(story, tasks);
  const auto limiter = lab::make_limiter(story.limiter());
  const nanoseconds rise = story.length / 3 * 2;
  std::vector<nanoseconds> ends;
  for (nanoseconds now{0}; now + story.service <= story.length; now += milliseconds(1)) {
    const bool looks = now > rise && now < rise + seconds(4);
    const bool paced = ends.empty() || now - ends.back() >= milliseconds(100) - story.service;
    if ((!looks || paced) && limiter->ask(now).granted) ends.push_back(now + story.service);
  }
  const auto by = [](const std::vector<nanoseconds>& all, nanoseconds time) {
    return std::upper_bound(all.begin(), all.end(), time) - all.begin();
  };
  const auto behind = [&](nanoseconds time) { return by(possible, time) - by(ends, time); };
  for (nanoseconds time = seconds(1); time < story.length; time += milliseconds(100)) {
    EXPECT_GE(behind(time), -1) << time.count();
  }
  EXPECT_GT(behind(rise + seconds(4)) - behind(rise + seconds(7)), 30) << "it does not catch up";
  EXPECT_NE(html_report(shown_run()).find("but never in sum"), std::string::npos);
}

TEST(DemoStory, TheLimitIsThatOfItsTime) {
  const Story story = short_story();
  EXPECT_EQ(story.limit_at(nanoseconds(0)), 20);
  EXPECT_EQ(story.limit_at(seconds(20) - milliseconds(1)), 20);
  EXPECT_EQ(story.limit_at(seconds(20)), 10);
  EXPECT_EQ(story.limit_at(seconds(60)), 40);
}

TEST(DemoStory, InOrderOfArrivalHardlyAnythingIsInTime) {
  const Story story = short_story();
  const auto tasks = tasks_of(story);
  EXPECT_LT(fifo_ends(story, tasks).size() * 3, possible_ends(story, tasks).size());
  // Without overload every task is in time.
  const std::vector<StoryTask> few = {{seconds(1), seconds(2), false}, {seconds(2), seconds(2), false}};
  EXPECT_EQ(fifo_ends(story, few), (std::vector<nanoseconds>{seconds(1) + story.service, seconds(2) + story.service}));
}

TEST(DemoStory, NothingIsPossibleForTasksThatHaveNoTime) {
  const Story story = short_story();
  auto tasks = tasks_of(story);
  for (auto& task : tasks) task.patience = story.service / 2;
  EXPECT_TRUE(possible_ends(story, tasks).empty());
}

TEST(DemoFigures, CountWhatTheApiSaw) {
  const Story story = short_story();
  const std::vector<StoryTask> tasks = {
      {seconds(1), seconds(2), false}, {seconds(1), seconds(2), true}, {seconds(2), seconds(30), false}};
  demo::Run run;
  run.calls = {
      {0, seconds(1), false, {}},                   // Refused,
      {0, seconds(2), true, milliseconds(2050)},    // then in time,
      {0, seconds(2), true, milliseconds(2060)},    // and done again.
      {1, seconds(4), true, milliseconds(4050)},    // Late.
      {2, seconds(5), true, nanoseconds(0)},        // Its caller hung up.
      {2, seconds(59), true, milliseconds(60'050)}  // It ends after the run.
  };
  const Figures figures = figures_of(story, tasks, run);
  EXPECT_EQ(figures.calls, 6u);
  EXPECT_EQ(figures.refused, 1u);
  EXPECT_EQ(figures.done, 2u);
  EXPECT_EQ(figures.in_time, 1u);
  EXPECT_EQ(figures.repeated, 1u);
  EXPECT_EQ(figures.quiet, 1u);
  EXPECT_EQ(figures.quiet_in_time, 0u);
  EXPECT_EQ(figures.impatient_in_time, 1u);
  EXPECT_DOUBLE_EQ(figures.age_p50, 1);
  EXPECT_EQ(ends_in_time(tasks, run, story), std::vector<nanoseconds>{milliseconds(2050)});
  const auto rates = rates_over_time({milliseconds(2050), milliseconds(2060)}, story, seconds(5));
  ASSERT_EQ(rates.size(), 12u);
  EXPECT_DOUBLE_EQ(rates[0].first, 2.5);
  EXPECT_DOUBLE_EQ(rates[0].second, 0.4);
  EXPECT_DOUBLE_EQ(rates[1].second, 0);
}

TEST(DemoFigures, BooksThatDoNotAddUpAreSeen) {
  demo::Run run;
  EXPECT_FALSE(run.books_balance());  // None were read.
  run.has_books = true;
  run.created = 3;
  run.states = {{"SUCCESS", 1}, {"SHED", 2}};
  EXPECT_TRUE(run.books_balance());
  run.created = 4;
  EXPECT_FALSE(run.books_balance());
}

TEST(DemoClient, SendsTheTasksWithTheirDeadlines) {
  const std::vector<StoryTask> tasks = {{seconds(1), seconds(2), false}, {milliseconds(1500), seconds(30), true}};
  EXPECT_EQ(
      creation(tasks, 0, 2, WallTime(seconds(100))),
      R"({"tasks":[{"taskId":"0","deadline":103000,"group":"loud"},{"taskId":"1","deadline":131500,"group":"quiet"}]})");
}

TEST(DemoClient, ReadsWhatBecameOfThem) {
  const auto answer = creation_answer(
      R"({"results":[{"taskId":"0","created":true},{"taskId":"1","created":false},{"error":{"code":"TooMany","message":""}}]})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->accepted, 2u);
  EXPECT_EQ(answer->refused.at("TooMany"), 1u);
  for (const char* wrong : {"", "[]", "{}", R"({"results":3})", R"({"results":[3]})"}) {
    EXPECT_FALSE(creation_answer(wrong)) << wrong;
  }
}

TEST(DemoReport, SaysWhatCameOfIt) {
  Shown shown = shown_run();
  const std::string text = text_report(shown);
  EXPECT_NE(text.find("(adds up)"), std::string::npos) << text;
  EXPECT_NE(text.find("Its deadline"), std::string::npos) << text;
  shown.runs[0].created += 1;
  EXPECT_NE(text_report(shown).find("DOES NOT ADD UP"), std::string::npos);
}

TEST(DemoReport, AShortRunSaysThatItShowsTheSearchForTheLimit) {
  Shown shown = shown_run();
  shown.story.length = seconds(20);
  EXPECT_NE(text_report(shown).find("mostly how long it takes to learn the limit"), std::string::npos);
  EXPECT_NE(html_report(shown).find("mostly how long it takes to learn the limit"), std::string::npos);
  shown.story.length = seconds(60);
  EXPECT_EQ(text_report(shown).find("mostly how long it takes to learn the limit"), std::string::npos);
}

TEST(DemoReport, TheTasksThatHadNoAnswerAtTheEndAreNamed) {
  Shown shown = shown_run();
  EXPECT_EQ(text_report(shown).find("had no answer yet"), std::string::npos);
  shown.runs[0].created -= 4;
  shown.runs[0].states = {{"SHED", shown.runs[0].created}};
  EXPECT_NE(text_report(shown).find("4 more were about to be created at the end"), std::string::npos);
  const std::string page = html_report(shown);
  EXPECT_NE(page.find("Each of " + std::to_string(shown.tasks.size()) + " tasks"), std::string::npos) << page;
  EXPECT_NE(page.find("no answer yet"), std::string::npos);
}

TEST(DemoReport, ABarOfAShareIsThatShareOfTheWholeBar) {
  Shown shown = shown_run();
  auto& calls = shown.runs[0].calls;
  const size_t refused = calls.size() / 10;
  for (size_t i = 0; i < refused; ++i) calls[i].granted = false;
  const std::string page = html_report(shown);
  const size_t bar = page.find("width:", page.find("Calls that the API refused"));
  EXPECT_NEAR(std::stod(page.substr(bar + 6)), 100.0 * static_cast<double>(refused) / static_cast<double>(calls.size()),
              0.01);
}

TEST(DemoReport, ThePageHasFivePlotsAndNoMarkupOfOthers) {
  const std::string page = html_report(shown_run());
  size_t plots = 0;
  for (size_t at = page.find("<figure"); at != std::string::npos; at = page.find("<figure", at + 1)) ++plots;
  EXPECT_EQ(plots, 5u);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("<1>"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
}

}  // namespace
}  // namespace freshet::demo
