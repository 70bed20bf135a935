#include "functions/settings.h"
#include "tests/sim/source_dir.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace freshet {
namespace {

std::string error_of(const Environment& environment) {
  auto settings = process_settings(environment);
  return settings ? "" : settings.error().message;
}

TEST(Settings, DefaultsAreThoseOfTheTable) {
  auto settings = process_settings({{"QUEUE_TABLE", "QueueTable"}});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->queue_table, "QueueTable");
  EXPECT_EQ(settings->runner.kind, RunnerKind::kNone) << "work must not become SUCCESS undone";
  EXPECT_EQ(settings->queue.runner, RunnerKind::kNone);
  EXPECT_EQ(settings->queue.work.concurrency, 1);
  EXPECT_EQ(settings->queue.work.page_limit, 0);
  EXPECT_EQ(settings->max_active, milliseconds(60'000));
  EXPECT_EQ(settings->queue.max_attempts, 5);
  EXPECT_EQ(settings->queue.order, Order::kNewestFirst);
  EXPECT_FALSE(settings->queue.default_ttl);
  EXPECT_EQ(settings->queue.deadline_margin, DeadlineMargin::kOff);
}

TEST(Settings, ReadsWhatIsSet) {
  auto settings = process_settings({{"QUEUE_TABLE", "Q"},
                                    {"TRIGGER_TOPIC_ARN", "arn:t"},
                                    {"TASK_RUNNER", "http://127.0.0.1:1/work"},
                                    {"CONCURRENCY", "32"},
                                    {"ORDER", "fifo"},
                                    {"DEFAULT_TTL_S", "3600"},
                                    {"BACKOFF_FACTOR", "1.5"},
                                    {"ON_FAILURE", "fail"},
                                    {"DEADLINE_MARGIN", "p90"},
                                    {"BOUNCE_DELAY_MS", "0"}});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->trigger_topic, "arn:t");
  EXPECT_EQ(settings->queue.start_topic, "arn:t");
  EXPECT_EQ(settings->runner.kind, RunnerSettings::Kind::kHttp);
  EXPECT_EQ(settings->queue.runner, RunnerKind::kHttp);
  EXPECT_EQ(settings->runner.url, "http://127.0.0.1:1/work");
  EXPECT_EQ(settings->runner.retry_after, milliseconds(0));
  EXPECT_EQ(settings->queue.work.concurrency, 32);
  EXPECT_EQ(settings->queue.order, Order::kOldestFirst);
  EXPECT_EQ(settings->queue.default_ttl, milliseconds(3'600'000));
  EXPECT_EQ(settings->queue.backoff.factor, 1.5);
  EXPECT_FALSE(settings->queue.retry_failures);
  EXPECT_EQ(settings->queue.deadline_margin, DeadlineMargin::kP90);
}

TEST(Settings, WrongValuesSayWhatWouldBeRight) {
  EXPECT_EQ(error_of({}), "QUEUE_TABLE is not set: it must be the name of the queue's table");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"CONCURRENCY", "0"}}),
            "CONCURRENCY is '0': it must be 'adaptive' or a whole number from 1 to 100000");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"CONCURRENCY", "3x"}}),
            "CONCURRENCY is '3x': it must be 'adaptive' or a whole number from 1 to 100000");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"ORDER", "newest"}}),
            "ORDER is 'newest': it must be 'lifo', 'fifo', 'adaptive' or 'deadline'");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"CRITICAL_PRIORITY", "10"}}),
            "RESERVED_SHARE and CRITICAL_PRIORITY have no effect without MAX_WAITING or MAX_WAITING_BYTES: set one of "
            "these, too");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"DEADLINE_MARGIN", "p99"}}),
            "DEADLINE_MARGIN is 'p99': it must be 'off', 'p90' or 'yield'");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"BACKOFF_JITTER", "1.5"}}),
            "BACKOFF_JITTER is '1.5': it must be a number from 0 to 1");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"BACKOFF_JITTER", "nan"}}),
            "BACKOFF_JITTER is 'nan': it must be a number from 0 to 1");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"TASK_RUNNER", "ftp://x"}}),
            "TASK_RUNNER is 'ftp://x': it must be none, fake, http[s]://HOST:PORT/PATH, function:NAME or exec:PROGRAM "
            "ARGUMENTS");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"LEASE_MS", "99999999999999999999"}}),
            "LEASE_MS is '99999999999999999999': it must be a whole number from 10 to 31622400000");
}

TEST(Settings, AUnitThatIsNotMeantIsNamed) {
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"LEASE_MS", "5s"}}),
            "LEASE_MS is '5s': it is a number of milliseconds without a unit: write 5000");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"DEFAULT_TTL_S", "2m"}}),
            "DEFAULT_TTL_S is '2m': it is a number of seconds without a unit: write 120");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"LEASE_MS", "5x"}}),
            "LEASE_MS is '5x': it must be a whole number from 10 to 31622400000");
  EXPECT_EQ(error_of({{"QUEUE_TABLE", "Q"}, {"RATE_LIMIT", "600/m"}}),
            "RATE_LIMIT is '600/m': it is a number of starts a second, like 19 or 0.5, or 'adaptive'");
}

TEST(Settings, ContradictionsAreRefused) {
  const auto error = [](Environment environment) {
    environment["QUEUE_TABLE"] = "Q";
    return error_of(environment);
  };
  EXPECT_EQ(error({{"MAX_WAITING_BYTES", "100"}}),
            "MAX_WAITING_BYTES is '100': it must be 0 (no bound) or a whole number from 1024 to 1125899906842624");
  EXPECT_EQ(error({{"MAX_WAITING_BYTES", "0"}}), "");
  EXPECT_EQ(error({{"MAX_WAITING_BYTES", "1024"}, {"RESERVED_SHARE", "0.5"}}), "");
  EXPECT_NE(error({{"MAX_WAITING", "10"}, {"RESERVED_SHARE", "1"}}), "") << "nothing for others";
  EXPECT_EQ(error({{"REFUSE_LATE", "yes"}}), "REFUSE_LATE is 'yes': it must be 'on' or 'off'");
  EXPECT_EQ(error({{"CONCURRENCY_MAX", "4"}}),
            "CONCURRENCY_MIN and CONCURRENCY_MAX have no effect without CONCURRENCY=adaptive: set that, too");
  EXPECT_EQ(error({{"CONCURRENCY", "adaptive"}, {"CONCURRENCY_MIN", "20"}, {"CONCURRENCY_MAX", "10"}}),
            "CONCURRENCY_MIN is 20, above CONCURRENCY_MAX, which is 10: it must be at most that");
  EXPECT_EQ(error({{"CONCURRENCY", "adaptive"}, {"PAGE_LIMIT", "10"}}),
            "PAGE_LIMIT starts whole pages, so that CONCURRENCY=adaptive decides nothing: set one of the two");
  EXPECT_EQ(error({{"BACKOFF_BASE_MS", "500000"}}),
            "BACKOFF_BASE_MS is 500000, above BACKOFF_MAX_MS, which is 300000: it must be at most that");
  EXPECT_EQ(error({{"CONCURRENCY", "adaptive"}, {"CONCURRENCY_MIN", "2"}, {"RATE_LIMIT", "5"}}), "");
  EXPECT_EQ(error({{"RATE_BURST", "5"}}), "RATE_BURST has no effect without RATE_LIMIT: set that, too");
  EXPECT_EQ(error({{"RATE_LIMIT", "adaptive"}, {"RATE_BURST", "5"}}),
            "RATE_BURST is for a fixed RATE_LIMIT; RATE_LIMIT=adaptive learns the burst: set one of the two");
  EXPECT_EQ(error({{"RATE_LIMIT", "adaptive"}, {"RATE_MIN", "5"}, {"RATE_MAX", "2.5"}}),
            "RATE_MIN is 5, above RATE_MAX, which is 2.5: it must be at most that");
  EXPECT_EQ(error({{"RATE_LIMIT", "20"}, {"RATE_MAX", "30"}}),
            "RATE_MIN and RATE_MAX have no effect without RATE_LIMIT=adaptive: set that, too");
  EXPECT_EQ(error({{"RATE_LIMIT", "adaptive"}, {"RATE_MIN", "0"}}),
            "RATE_MIN is '0': it must be a number from 0.001 to 1000000000");
  EXPECT_EQ(error({{"RATE_LIMIT", "adaptive"}, {"RATE_MAX", "fast"}}),
            "RATE_MAX is 'fast': it must be a number from 0.001 to 1000000000");
  EXPECT_EQ(error({{"RATE_LIMIT", "adaptive"}, {"CONCURRENCY", "adaptive"}, {"RATE_MIN", "2"}}), "");
  EXPECT_EQ(error({{"RATE_LIMIT", "0.5"}, {"RATE_BURST", "5"}}), "");
}

// Every number that decides what becomes of tasks, written in ways that nobody can mean.
TEST(Settings, NumbersAreWrittenPlainly) {
  struct Number {
    const char* name;
    const char* right;
    bool whole;
    Environment beside;
  };
  const Environment bound{{"MAX_WAITING", "10"}};
  const Environment adaptive{{"CONCURRENCY", "adaptive"}};
  const std::vector<Number> numbers = {
      {"CONCURRENCY", "'adaptive' or a whole number from 1 to 100000", true, {}},
      {"CONCURRENCY_MIN", "a whole number from 1 to 100000", true, adaptive},
      {"CONCURRENCY_MAX", "a whole number from 1 to 100000", true, adaptive},
      {"PAGE_LIMIT", "a whole number from 0 to 1000", true, {}},
      {"RATE_LIMIT", "'adaptive' or a number from 0 to 1000000000", false, {}},
      {"RATE_MIN", "a number from 0.001 to 1000000000", false, {{"RATE_LIMIT", "adaptive"}}},
      {"RATE_MAX", "a number from 0.001 to 1000000000", false, {{"RATE_LIMIT", "adaptive"}}},
      {"KEY_RATE_LIMIT", "'adaptive' or a number from 0 to 1000000000", false, {}},
      {"KEY_RATE_BURST", "a whole number from 0 to 1000000000", true, {{"KEY_RATE_LIMIT", "1"}}},
      {"KEY_CONCURRENCY", "a whole number from 0 to 1000000", true, {}},
      {"DEFAULT_COST", "a number from 0.000001 to 1000000000", false, {}},
      {"DEFAULT_DEADLINE_MS", "a whole number from 0 to 31622400000", true, {}},
      {"MAX_WAITING", "a whole number from 0 to 1000000000", true, {}},
      {"MAX_WAITING_BYTES", "0 (no bound) or a whole number from 1024 to 1125899906842624", true, {}},
      {"RESERVED_SHARE", "a number from 0 to 0.9", false, bound},
      {"CRITICAL_PRIORITY", "a whole number from -100 to 100", true, bound},
      {"LEASE_MS", "a whole number from 10 to 31622400000", true, {}},
      {"MAX_ATTEMPTS", "a whole number from 1 to 1000000", true, {}},
      {"BACKOFF_BASE_MS", "a whole number from 0 to 31622400000", true, {}},
      {"BACKOFF_MAX_MS", "a whole number from 0 to 31622400000", true, {}},
      {"BACKOFF_FACTOR", "a number from 1 to 100", false, {}},
      {"BACKOFF_JITTER", "a number from 0 to 1", false, {}},
      {"DEFAULT_TTL_S", "a whole number from 0 to 31622400", true, {}},
      {"PRIORITY_AGING_S", "a whole number from 0 to 31622400", true, {}},
  };
  std::set<std::string> seen{"ORDER", "ON_FAILURE", "DEADLINE_MARGIN", "REFUSE_LATE", "KEEP_MS"};
  for (const auto& number : numbers) {
    seen.insert(number.name);
    std::vector<std::string> wrongs = {"",    "00",   "007",   "-0",  "+5",  " 5",
                                       "5 ",  "0x10", "1e400", "5.",  "1,5", "-1000",
                                       "1_0", "five", "nan",   "inf", "1e-", "99999999999999999999"};
    if (number.whole) wrongs.insert(wrongs.end(), {"1e3", "0.5", "5.0"});
    for (const auto& wrong : wrongs) {
      if (!number.whole && wrong == "5.") continue;  // Five, however it looks.
      Environment environment = number.beside;
      environment["QUEUE_TABLE"] = "Q";
      environment[number.name] = wrong;
      EXPECT_EQ(error_of(environment), std::string(number.name) + " is '" + wrong + "': it must be " + number.right);
    }
  }
  QueueSettings all;
  all.admission.max_waiting = 1;
  all.work.adaptive = true;
  for (const auto& [name, value] : policy_environment(all)) EXPECT_TRUE(seen.contains(name)) << name;
}

// A policy reads back as it was set, even if a number is very small.
TEST(Settings, APolicyReadsBackWhatItSays) {
  const Environment odd{{"RATE_LIMIT", "0.00001"},     {"BACKOFF_JITTER", "0.0000001"}, {"BACKOFF_FACTOR", "1.1"},
                        {"MAX_WAITING", "1000000000"}, {"RESERVED_SHARE", "0.3"},       {"CRITICAL_PRIORITY", "-100"},
                        {"DEFAULT_TTL_S", "31622400"}};
  const auto settings = with_policy(QueueSettings(), odd);
  ASSERT_TRUE(settings) << settings.error().message;
  const auto again = with_policy(*settings, {{"ORDER", "fifo"}});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->work.rate_limit, 0.00001);
  EXPECT_EQ(again->backoff.jitter, 0.0000001);
  EXPECT_EQ(again->admission.reserved_share, 0.3);
  EXPECT_EQ(again->default_ttl, seconds(31'622'400));
}

// Settings that belong to a limit follow it.
TEST(Settings, ABurstGoesWithItsRate) {
  const auto settings = with_policy(QueueSettings(), {{"RATE_LIMIT", "5"}, {"RATE_BURST", "50"}});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->work.rate_burst, 50);
  EXPECT_EQ(policy_environment(*settings).at("RATE_BURST"), "50");
  const auto faster = with_policy(*settings, {{"RATE_LIMIT", "6"}});
  ASSERT_TRUE(faster) << faster.error().message;
  EXPECT_EQ(faster->work.rate_burst, 50);
  const auto none = with_policy(*settings, {{"RATE_LIMIT", "0"}});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(policy_environment(*none).contains("RATE_BURST"));
  EXPECT_FALSE(with_policy(*settings, {{"RATE_LIMIT", "0"}, {"RATE_BURST", "5"}}));
  const auto adaptive = with_policy(*settings, {{"RATE_LIMIT", "adaptive"}, {"RATE_MAX", "80"}});
  ASSERT_TRUE(adaptive) << adaptive.error().message;
  EXPECT_TRUE(adaptive->work.rate_adaptive);
  EXPECT_EQ(adaptive->work.rate_most, 80);
  EXPECT_EQ(policy_environment(*adaptive)["RATE_LIMIT"], "adaptive");
  const auto fixed = with_policy(*adaptive, {{"RATE_LIMIT", "7"}});
  ASSERT_TRUE(fixed) << fixed.error().message;
  EXPECT_FALSE(fixed->work.rate_adaptive);
  EXPECT_FALSE(with_policy(*adaptive, {{"RATE_BURST", "5"}}));
}

TEST(Settings, RunnersAreSplitIntoWords) {
  auto runner = parse_runner("exec:/bin/handle  --name \"two words\" \"\"");
  ASSERT_TRUE(runner) << runner.error().message;
  EXPECT_EQ(runner->argv, (std::vector<std::string>{"/bin/handle", "--name", "two words", ""}));
  EXPECT_EQ(parse_runner("exec: ").error().message, "TASK_RUNNER 'exec:' names no program");
  EXPECT_EQ(parse_runner("exec:a \"b").error().message,
            "TASK_RUNNER 'exec:a \"b' has a quotation mark that is not closed");
  EXPECT_EQ(parse_runner("http://").error().message, "TASK_RUNNER: not a usable URL: 'http://': it has no host");
  EXPECT_EQ(parse_runner("none")->kind, RunnerSettings::Kind::kNone);
  runner = parse_runner("function:Worker:live");
  ASSERT_TRUE(runner) << runner.error().message;
  EXPECT_EQ(runner->kind, RunnerSettings::Kind::kFunction);
  EXPECT_EQ(runner->function, "Worker:live");
  EXPECT_TRUE(parse_runner("function:arn:aws:lambda:eu-west-1:000000000000:function:Worker"));
  EXPECT_EQ(parse_runner("function:").error().message,
            "TASK_RUNNER is 'function:': behind function: must be the name of a function, NAME:ALIAS or its ARN");
}

TEST(Settings, TheUrlOfARunnerIsCheckedAtTheStart) {
  for (const char* good : {"http://127.0.0.1:8000/", "http://localhost", "http://a-b.example_c:1?x=1",
                           "http://[::1]:80", "http://h:65535/a#b", "https://example.com/"}) {
    auto runner = parse_runner(good);
    ASSERT_TRUE(runner) << runner.error().message;
    EXPECT_EQ(runner->url, good);
  }
  auto why = [](const std::string& url) {
    auto runner = parse_runner(url);
    return runner ? std::string("accepted") : runner.error().message;
  };
  EXPECT_EQ(why("https://"), "TASK_RUNNER: not a usable URL: 'https://': it has no host");
  EXPECT_EQ(why("http://h:65536"),
            "TASK_RUNNER: not a usable URL: 'http://h:65536': its port is not a number from 1 to 65535");
  EXPECT_EQ(why("http://user@h/"),
            "TASK_RUNNER: not a usable URL: 'http://user@h/': user names in a URL are not supported");
}

// docs/settings.md holds exactly the rows of setting_table().
TEST(Settings, AreDocumentedRowByRow) {
  std::ifstream file(source_dir() + "/docs/settings.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const auto& row : setting_table()) {
    std::string line = "| `" + std::string(row.name) + "` | " + std::string(row.value) + " | " +
                       std::string(row.fallback) + " | " + std::string(row.meaning) + " |\n";
    EXPECT_NE(text.str().find(line), std::string::npos) << "missing in docs/settings.md: " << line;
  }
}

}  // namespace
}  // namespace freshet
