// freshet serve: what is asked of it, the queue that it means, the template that stands for it, what it prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "app/cli/serve_choices.h"
#include "app/cli/serve_welcome.h"
#include "app/daemon/plan.h"
#include "functions/late.h"
#include "tests/sim/source_dir.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;

ServeChoices to_handler() {
  ServeChoices choices;
  choices.name = "emails";
  choices.to = "http://127.0.0.1:8000/send";
  return choices;
}

std::string error_of(const ServeChoices& choices) {
  const auto queue = queue_of(choices);
  return queue ? "no error" : queue.error().message;
}

Result<Deployment> deployed(const std::string& text, const std::string& name = "served.yaml") {
  TemplateOptions options;
  options.path = name;
  options.text = text;
  return read_deployment(options);
}

TEST(Serve, WhatNobodyChoosesIsAsInTheShippedTemplate) {
  const auto queue = queue_of(to_handler());
  ASSERT_TRUE(queue) << queue.error().message;
  const auto served = deployed(template_of(*queue, "x"));
  ASSERT_TRUE(served) << served.error().message;
  EXPECT_TRUE(served->warnings.empty()) << served->warnings[0].to_string();
  TemplateOptions options;
  options.path = source_dir() + "/config/lifo.yaml";
  options.parameters = {"TaskRunner=http://127.0.0.1:8000/send"};
  auto shipped = read_deployment(options);
  ASSERT_TRUE(shipped) << shipped.error().message;

  ASSERT_EQ(served->tables.size(), 1u);
  EXPECT_EQ(served->tables[0].name, "emails");
  shipped->tables[0].name = "emails";
  EXPECT_EQ(served->tables[0], shipped->tables[0]);
  EXPECT_EQ(served->queues, std::vector<std::string>{"emails"});
  std::erase_if(shipped->functions, [](const auto& function) { return function.handler == "create_tasks"; });
  ASSERT_EQ(served->functions.size(), shipped->functions.size());
  for (size_t i = 0; i < served->functions.size(); ++i) {
    FunctionDefinition& ours = shipped->functions[i];
    if (ours.environment.contains("QUEUE_TABLE")) ours.environment["QUEUE_TABLE"] = "emails";
    Environment expected = ours.environment;
    FunctionDefinition theirs = served->functions[i];
    if (ours.handler == "process_tasks") {
      EXPECT_EQ(theirs.environment["KEEP_MS"], "3600000,DEAD=604800000");
      theirs.environment.erase("KEEP_MS");
      expected.erase("KEEP_MS");
      const Environment late = with_late(theirs.environment);
      const auto a = process_settings(late), b = process_settings(with_late(expected));
      ASSERT_TRUE(a && b);
      EXPECT_EQ(policy_environment(a->queue), policy_environment(b->queue));
      EXPECT_EQ(a->runner.url, b->runner.url);
      EXPECT_EQ(a->runner.timeout, b->runner.timeout);
      theirs.environment = expected;
    }
    ours.environment = expected;
    EXPECT_EQ(theirs, ours) << theirs.name;
  }
  std::erase_if(shipped->subscriptions, [](const auto& one) { return one.id.find("Create") != std::string::npos; });
  EXPECT_EQ(served->subscriptions, shipped->subscriptions);
  ASSERT_EQ(served->mappings.size(), 1u);
  shipped->mappings[0].table = "emails";
  EXPECT_EQ(served->mappings[0], shipped->mappings[0]);
  EXPECT_EQ(served->topics.size(), shipped->topics.size());
}

TEST(Serve, EachOptionIsASetting) {
  ServeChoices choices = to_handler();
  choices.rate = "1140/m";
  choices.concurrency = "adaptive";
  choices.deadline = "5s";
  choices.keep = "10m,DEAD=2d";
  choices.late = "useless";
  choices.attempts = 3;
  choices.timeout = "30s";
  choices.settings = {"MAX_WAITING=1000", "BACKOFF_BASE_MS=10"};
  const auto queue = queue_of(choices);
  ASSERT_TRUE(queue) << queue.error().message;
  const Environment& settings = queue->settings;
  EXPECT_EQ(settings.at("RATE_LIMIT"), "19");
  EXPECT_EQ(settings.at("CONCURRENCY"), "adaptive");
  EXPECT_EQ(settings.at("DEFAULT_DEADLINE_MS"), "5000");
  EXPECT_EQ(settings.at("DEFAULT_TTL_S"), "0") << "the deadline says how long it is worth doing";
  EXPECT_EQ(settings.at("KEEP_MS"), "600000,DEAD=172800000");
  EXPECT_EQ(settings.at("MAX_ATTEMPTS"), "3");
  EXPECT_EQ(settings.at("TASK_TIMEOUT_MS"), "30000");
  EXPECT_EQ(settings.at("MAX_WAITING"), "1000");
  const auto read = settings_of(*queue);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->queue.order, Order::kDeadline);
  const std::string text = template_of(*queue, command_of(choices));
  EXPECT_THAT(text, HasSubstr("LATE: 'useless'  # ORDER=deadline DEADLINE_MARGIN=off REFUSE_LATE=off\n"));
  EXPECT_THAT(text, HasSubstr("# What `freshet serve emails --to http://127.0.0.1:8000/send --rate 1140/m "
                              "--concurrency adaptive --deadline 5s --late useless --keep 10m,DEAD=2d --attempts 3 "
                              "--timeout 30s --set MAX_WAITING=1000 --set BACKOFF_BASE_MS=10` stands for.\n"));
  const auto planned = deployed(text);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_TRUE(planned->warnings.empty()) << planned->warnings[0].to_string();
}

TEST(Serve, AnOrderWinsOverLate) {
  ServeChoices choices = to_handler();
  choices.late = "useless";
  choices.order = "fifo";
  const auto queue = queue_of(choices);
  ASSERT_TRUE(queue);
  EXPECT_EQ(settings_of(*queue)->queue.order, Order::kOldestFirst);
}

TEST(Serve, LateIsFineWaitsForEver) {
  ServeChoices choices = to_handler();
  choices.late = "fine";
  EXPECT_EQ(queue_of(choices)->settings.at("DEFAULT_TTL_S"), "0");
}

TEST(Serve, ExactlyOneDoesTheWork) {
  ServeChoices choices;
  choices.name = "emails";
  EXPECT_THAT(error_of(choices), HasSubstr("say who does the work: --to URL"));
  choices.pull = true;
  EXPECT_EQ(error_of(choices), "no error");
  choices.exec = "true";
  EXPECT_THAT(error_of(choices), HasSubstr("--exec and --pull contradict each other"));
  choices.to = "http://127.0.0.1:8000/";
  EXPECT_THAT(error_of(choices), HasSubstr("--to and --exec contradict each other"));
}

TEST(Serve, WorkersThatPullDecideHowManyTheyHave) {
  ServeChoices choices;
  choices.name = "renders";
  choices.pull = true;
  choices.timeout = "5m";
  const auto queue = queue_of(choices);
  ASSERT_TRUE(queue) << queue.error().message;
  EXPECT_EQ(queue->settings.at("LEASE_MS"), "300000");
  choices.rate = "3";
  const auto limited = queue_of(choices);
  ASSERT_TRUE(limited) << limited.error().message;
  EXPECT_EQ(limited->settings.at("RATE_LIMIT"), "3") << "takes keep to it, too";
  EXPECT_THAT(welcome_text(*limited, {}), HasSubstr("workers take tasks, each for 5m, 3 starts a second, 5 attempts"));
  choices.concurrency = "3";
  EXPECT_THAT(error_of(choices), HasSubstr("--concurrency and --pull contradict each other"));
}

TEST(Serve, ARate) {
  EXPECT_EQ(wrong_rate("0.5"), "");
  EXPECT_EQ(wrong_rate("19/s"), "");
  EXPECT_EQ(wrong_rate("adaptive"), "");
  EXPECT_EQ(wrong_rate("0"), "'0' would start nothing: to stop a queue that runs, use freshet pause NAME");
  EXPECT_THAT(wrong_rate("0/m"), HasSubstr("freshet pause NAME"));
  for (const char* text : {"", "-1", "fast", "nan", "inf", "1e3", "19 s", "19/d", "19/s/s", "/s"}) {
    EXPECT_THAT(wrong_rate(text), HasSubstr("is not a rate: write starts a second")) << text;
  }
  EXPECT_THAT(wrong_rate("99999999999"), HasSubstr("out of range"));
}

TEST(Serve, HowLongWhatHasEndedStays) {
  EXPECT_EQ(wrong_keep("1h"), "");
  EXPECT_EQ(wrong_keep("SUCCESS=10m,DEAD=7d"), "");
  EXPECT_THAT(wrong_keep("1"), HasSubstr("has no unit"));
  EXPECT_EQ(wrong_keep("DONE=1h"),
            "'DONE' is no state in which tasks end (SUCCESS, FAILURE, DEAD, SHED, CANCELLED); write a duration for all "
            "ended tasks, like 1h, or by outcome, like SUCCESS=10m,DEAD=7d");
  EXPECT_NE(wrong_keep("1h,"), "");
  EXPECT_NE(wrong_keep(""), "");
  EXPECT_THAT(wrong_keep("400d"), HasSubstr("out of range"));
}

TEST(Serve, WhatIsWrongIsNamed) {
  ServeChoices choices = to_handler();
  choices.to = "127.0.0.1:8000/send";
  EXPECT_THAT(error_of(choices), HasSubstr("did you mean http://127.0.0.1:8000/send?"));
  choices = to_handler();
  choices.name = "my emails";
  EXPECT_THAT(error_of(choices), HasSubstr("'my emails' cannot name a queue: it must have 3 to 255 letters"));
  choices.name = "freshet.emails";
  EXPECT_THAT(error_of(choices), HasSubstr("names that start with 'freshet.'"));
  choices = to_handler();
  choices.concurrency = "0";
  EXPECT_EQ(error_of(choices), "--concurrency is '0': it must be 'adaptive' or a whole number from 1 to 100000");
}

TEST(Serve, AProgramThatCannotBeRunIsNamed) {
  ServeChoices choices;
  choices.name = "emails";
  choices.exec = "a\nb";
  EXPECT_THAT(error_of(choices), HasSubstr("control character"));
  choices.exec = "a\xff";
  EXPECT_EQ(error_of(choices), "an option is not UTF-8 text");
  choices.exec = "\"a";
  EXPECT_EQ(error_of(choices), "--exec '\"a': it must name a program, with each quotation mark closed");
  choices.exec = "sh -c 'echo no'";
  EXPECT_EQ(error_of(choices),
            "--exec: sh -c 'echo no': an argument with blanks stands in double quotes, like --exec 'sh -c \"cat\"'");
  choices.exec = "sh -c \"echo 'no'\"";
  EXPECT_EQ(error_of(choices), "no error");
  choices.exec = "";
  EXPECT_EQ(error_of(choices), "--exec '': it must name a program, with each quotation mark closed");
}

TEST(Serve, AProgramThatIsNotThereIsNamedAsItsOption) {
  const auto missing = [](const char* exec) {
    ServeChoices choices;
    choices.name = "emails";
    choices.exec = exec;
    return missing_program(choices).value_or("there");
  };
  EXPECT_EQ(
      missing("no-such-program-of-ours -x"),
      "--exec: program 'no-such-program-of-ours' was not found in PATH: install it, or write its path, like --exec "
      "./no-such-program-of-ours");
  EXPECT_EQ(missing("/no/such/program"),
            "--exec: '/no/such/program': No such file or directory: name a program that is there and may be executed");
  EXPECT_EQ(missing("/etc/passwd"),
            "--exec: '/etc/passwd' may not be executed: name a program that is there and may be executed");
  EXPECT_EQ(missing("sh -c true"), "there");
  EXPECT_FALSE(missing_program(to_handler()));
}

// The interpreter of a function is looked for before anything starts, as the program of --exec is.
TEST(Serve, AnInterpreterThatIsNotThereIsNamedWithItsOption) {
  const std::string file = ::testing::TempDir() + "serve-test.py";
  std::ofstream(file) << "def handler(event, context):\n    pass\n";
  ServeChoices choices;
  choices.name = "emails";
  choices.function = file;
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/no/such/folder", 1);
  const auto missing = missing_program(choices);
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(
      missing.value_or("there"),
      "--function: Runtime python3 needs python3, and PATH (/no/such/folder) has none. Install it (Debian: apt-get "
      "install python3), or add its folder to PATH, in the function's environment or the daemon's");
  std::filesystem::remove(file);
}

TEST(Serve, FurtherSettingsAreChecked) {
  const auto error = [](std::vector<std::string> settings, std::optional<std::string> rate = {}) {
    ServeChoices choices = to_handler();
    choices.settings = std::move(settings);
    choices.rate = std::move(rate);
    return error_of(choices);
  };
  EXPECT_THAT(error({"MAX_WAITNG=5"}), HasSubstr("is no setting of a queue (did you mean 'MAX_WAITING'?)"));
  EXPECT_THAT(error({"RATE=5"}), HasSubstr("is no setting of a queue (did you mean 'RATE_LIMIT'?)"));
  EXPECT_THAT(error({"MAX_WAITING"}), HasSubstr("must be VARIABLE=VALUE"));
  EXPECT_THAT(error({"RATE_LIMIT=5"}, "19"), HasSubstr("--set RATE_LIMIT and --rate contradict each other"));
  EXPECT_THAT(error({"LEASE_MS=50", "LEASE_MS=60"}), HasSubstr("given twice"));
  EXPECT_THAT(error({"QUEUE_TABLE=x"}), HasSubstr("freshet serve sets it itself"));
  EXPECT_THAT(error({"LEASE_MS=soon"}), HasSubstr("LEASE_MS is 'soon'"));
  EXPECT_EQ(error({"MAX_ATTEMPTS=7"}), "no error");
}

TEST(Serve, OnAnEngineOnlyATemplateOfTheUsersIsWarnedOfItsStream) {
  const auto queue = queue_of(to_handler());
  ASSERT_TRUE(queue) << queue.error().message;
  TemplateOptions options;
  options.path = "freshet serve emails";
  options.text = template_of(*queue, "x");
  options.reads_streams = false;
  const auto served = read_deployment(options);
  ASSERT_TRUE(served) << served.error().message;
  EXPECT_TRUE(served->mappings.empty());
  EXPECT_TRUE(served->warnings.empty()) << served->warnings[0].to_string();

  options.path = source_dir() + "/config/lifo.yaml";
  options.text.clear();
  options.parameters = {"TaskRunner=http://127.0.0.1:8000/send"};
  const auto of_user = read_deployment(options);
  ASSERT_TRUE(of_user) << of_user.error().message;
  EXPECT_TRUE(of_user->mappings.empty());
  ASSERT_EQ(of_user->warnings.size(), 1u);
  EXPECT_THAT(of_user->warnings[0].to_string(), HasSubstr("is not read on an engine"));
}

class ServeFunction : public testing::Test {
 protected:
  ServeFunction() : folder_(std::filesystem::path(testing::TempDir()) / "serve function's") {
    std::filesystem::create_directories(folder_);
    for (const char* file : {"send.py", "send.mjs", "send.rb"}) std::ofstream(folder_ / file) << "\n";
  }
  ~ServeFunction() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& file) const { return (folder_ / file).string(); }

  const std::filesystem::path folder_;
};

TEST_F(ServeFunction, AFileIsDeployedAsAFunctionThatDoesTheWork) {
  ServeChoices choices;
  choices.name = "emails";
  choices.function = path("send.py:main");
  choices.timeout = "1500ms";
  const auto queue = queue_of(choices);
  ASSERT_TRUE(queue) << queue.error().message;
  const auto planned = deployed(template_of(*queue, command_of(choices)));
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_TRUE(planned->warnings.empty()) << planned->warnings[0].to_string();
  ASSERT_EQ(planned->functions.size(), 3u);
  const FunctionDefinition& function = planned->functions[2];
  EXPECT_EQ(function.name, "HandlerFunction");
  EXPECT_EQ(function.handler, "send.main");
  EXPECT_EQ(function.code, folder_.string());
  EXPECT_EQ(function.timeout, seconds(2));
  EXPECT_EQ(queue->settings.at("TASK_RUNNER"), "function:HandlerFunction");
}

TEST_F(ServeFunction, WhatIsNoFunctionIsNamed) {
  EXPECT_EQ(read_served_function(path("send.mjs"))->handler, "send.handler");
  EXPECT_THAT(read_served_function(path("send.rb")).error().message, HasSubstr("is no function: it must be FILE.py"));
  EXPECT_THAT(read_served_function(path("none.py")).error().message, HasSubstr("there is no file"));
  EXPECT_THAT(read_served_function(path("send.py:")).error().message, HasSubstr("names no function"));
  EXPECT_FALSE(read_served_function(folder_.string()));
}

TEST(ServeWelcome, FiveLinesThatSayWhatItDoesAndHowToUseIt) {
  ServeChoices choices = to_handler();
  choices.rate = "19";
  choices.deadline = "5s";
  const auto queue = queue_of(choices);
  ASSERT_TRUE(queue);
  ServeWelcome facts;
  facts.url = "http://127.0.0.1:7070";
  facts.data = "/srv/freshet-data/emails";
  EXPECT_EQ(
      welcome_text(*queue, facts),
      "emails: POST http://127.0.0.1:8000/send, 19 starts a second, 8 at once, 5 attempts. Every task that is "
      "acknowledged is on disk: /srv/freshet-data/emails\n"
      "next:  the newest (--late fades: ORDER=lifo DEADLINE_MARGIN=off REFUSE_LATE=off). A task is shed if it has "
      "not started 5s after its creation.\n"
      "put:   curl http://127.0.0.1:7070/queues/emails/tasks -d '{\"payload\": {\"to\": \"ada\"}}'\n"
      "   or: freshet put '{\"to\": \"ada\"}' --queue emails\n"
      "watch: freshet stats --watch 1 --queue emails\n");
}

TEST(ServeWelcome, OnAnEngineTheTasksAreThere) {
  ServeWelcome facts;
  facts.data = "/srv/freshet-data/emails";
  facts.engine = "http://db:8000";
  EXPECT_THAT(welcome_text(*queue_of(to_handler()), facts),
              HasSubstr("Every task that is acknowledged is kept by the engine: http://db:8000\n"));
}

TEST(ServeWelcome, AnOrderByDeadlineWithoutADeadlineIsTold) {
  ServeChoices choices = to_handler();
  choices.late = "useless";
  const std::string hint = "tasks that name no deadline come last";
  EXPECT_THAT(welcome_text(*queue_of(choices), {}), HasSubstr(hint));
  choices.deadline = "5s";
  EXPECT_THAT(welcome_text(*queue_of(choices), {}), testing::Not(HasSubstr(hint)));
  choices.late = "fine";
  choices.deadline.reset();
  EXPECT_THAT(welcome_text(*queue_of(choices), {}), testing::Not(HasSubstr("shed")));
}

TEST(ServeWelcome, AnotherAddressAndAccessKeysAreInTheCommands) {
  ServeChoices choices;
  choices.name = "renders";
  choices.pull = true;
  ServeWelcome facts;
  facts.url = "https://127.0.0.1:7443";
  facts.data = ":memory:";
  facts.region = "us-east-1";
  facts.credentials = "/etc/my keys";
  facts.ca = "cert.pem";
  const std::string text = welcome_text(*queue_of(choices), facts);
  EXPECT_THAT(text, HasSubstr("renders: workers take tasks, each for 1m, 5 attempts. Nothing is kept.\n"));
  EXPECT_THAT(text, HasSubstr("take:  curl --cacert cert.pem --aws-sigv4 aws:amz:us-east-1:freshet --user ID:SECRET "
                              "https://127.0.0.1:7443/queues/renders/take -d "));
  EXPECT_THAT(text,
              HasSubstr("--queue renders --url https://127.0.0.1:7443 --credentials '/etc/my keys' --ca cert.pem"));
}

TEST(ServeWelcome, AWordForAShell) {
  EXPECT_EQ(shell_word("http://a:1/b?"), "'http://a:1/b?'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("plain"), "plain");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace freshet::cli
