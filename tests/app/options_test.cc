// The options of `freshet run`: words of the command line, and the options file.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <fstream>

#include "app/cli/commands.h"
#include "app/cli/options_file.h"
#include "app/daemon/options.h"
#include "app/daemon/plan.h"
#include "tests/sim/source_dir.h"

namespace freshet::cli {
namespace {

using Words = std::vector<std::string>;

class OptionsTest : public testing::Test {
 protected:
  // Parses the words as `freshet run` does; the error's text, or nothing.
  std::string parse(Words words) {
    options = {};
    CLI::App app;
    Command run = Command(app).add_subcommand("run", "");
    add_run_options(run, options);
    run.callback([&] {
      split_environment_lists(run);
      if (!file_.empty()) apply_options_file(run, file_);
    });
    words.insert(words.begin(), "run");
    std::reverse(words.begin(), words.end());
    try {
      app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return {};
  }
  void file(const std::string& text) {
    file_ = written_ = testing::TempDir() + "freshet_options_" + std::to_string(getpid());
    std::ofstream(file_, std::ios::binary) << text;
  }
  void TearDown() override {
    if (!written_.empty()) unlink(written_.c_str());
    for (const char* name : {"FRESHET_DATA", "FRESHET_SET", "FRESHET_PARAMETER", "FRESHET_QUEUES", "FRESHET_REGION"}) {
      unsetenv(name);
    }
  }

  DaemonOptions options;
  std::string file_;     // That parse() applies.
  std::string written_;  // To be removed.
};

TEST_F(OptionsTest, AnAddressBeyondLoopbackNeedsAccessKeys) {
  EXPECT_EQ(
      parse_listen("0.0.0.0:7070").error().message,
      "--listen '0.0.0.0:7070': an address beyond loopback needs --credentials FILE, the access keys that requests "
      "are signed with; without it, listen on 127.0.0.1");
  EXPECT_EQ(parse_listen("127.0.0.1").error().message,
            "--listen '127.0.0.1': the port is missing (like 127.0.0.1:7070; port 0 picks a free one)");
  EXPECT_EQ(parse_listen("7071").error().message,
            "--listen '7071': the address is missing; did you mean 127.0.0.1:7071?");
  EXPECT_TRUE(parse_listen("0.0.0.0:7070", true));
}

TEST(ListOption, HasNoEmptyMembers) {
  const auto parse = [](Words words, std::vector<double>& loads) -> std::string {
    CLI::App app;
    Command(app).add_list("--load", loads, "");
    std::reverse(words.begin(), words.end());
    try {
      app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return {};
  };
  std::vector<double> loads{1};
  EXPECT_EQ(parse({}, loads), "");
  EXPECT_EQ(loads, (std::vector<double>{1})) << "the default";
  EXPECT_EQ(parse({"--load", "2,10", "--load=0.5"}, loads), "");
  EXPECT_EQ(loads, (std::vector<double>{2, 10, 0.5}));
  EXPECT_EQ(parse({"--load", "2", "3"}, loads), "");
  EXPECT_EQ(loads, (std::vector<double>{2, 3}));
  for (const char* wrong : {"2,,3", ",", "2,", ",2"}) {
    EXPECT_EQ(parse({"--load", wrong}, loads),
              "--load: '" + std::string(wrong) + "' has an empty member: write it like A,B");
  }
  EXPECT_EQ(parse({"--load", "2,x"}, loads), "--load: 'x' is not a number");
}

TEST(WordOption, TakesCapitalsOrNotAndNamesTheNearest) {
  std::string state;
  const auto parse = [&](const std::string& word) -> std::string {
    CLI::App app;
    Command(app).add_option("--state", state, "").one_of({"PENDING", "DEAD"});
    try {
      app.parse(std::vector<std::string>{word, "--state"});
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(parse("pending"), "");
  EXPECT_EQ(state, "PENDING");
  EXPECT_EQ(parse("PENDNG"), "--state: 'PENDNG' is none of PENDING, DEAD (did you mean 'PENDING'?)");
}

TEST_F(OptionsTest, RepeatableOptionsTakeOneWordEach) {
  EXPECT_EQ(parse({"--set", "A.B=1", "--parameter", "P=1", "--queue", "Q", "--allowed-host", "h", "--set=A.C=[x,y]",
                   "--queue", "R", "t.yaml"}),
            "");
  EXPECT_EQ(options.deploy.path, "t.yaml");
  EXPECT_EQ(options.deploy.settings, (Words{"A.B=1", "A.C=[x,y]"}));
  EXPECT_EQ(options.deploy.parameters, Words{"P=1"});
  EXPECT_EQ(options.queues, (Words{"Q", "R"}));
  EXPECT_EQ(options.allowed_hosts, Words{"h"});
  EXPECT_NE(parse({"t.yaml", "--set", "A.B=1", "A.C=2"}), "") << "a second template";
}

TEST_F(OptionsTest, TheCommandLineWinsThenTheEnvironmentThenTheFile) {
  file(
      "# comment\r\n\n template = t.yaml \r\ndata = from-file\nlisten=127.0.0.1:1\nmax-data-bytes = 2MiB\n"
      "set = A.RUN=exec:/bin/x --n=\"two words\" # kept\nset = A.C=2\nready-file = \" r \"\nqueue = Q\ndrain-ms = 7");
  setenv("FRESHET_DATA", "from-env", 1);
  ASSERT_EQ(parse({"--listen", "127.0.0.1:2", "--queue", "R"}), "");
  EXPECT_EQ(options.deploy.path, "t.yaml");
  EXPECT_EQ(options.data, "from-env");
  EXPECT_EQ(options.listen, "127.0.0.1:2");
  EXPECT_EQ(options.max_data_bytes, 2u << 20);
  EXPECT_EQ(options.deploy.settings, (Words{"A.RUN=exec:/bin/x --n=\"two words\" # kept", "A.C=2"}));
  EXPECT_EQ(options.ready_file, " r ");
  EXPECT_EQ(options.queues, Words{"R"});
  EXPECT_EQ(options.drain_ms, 7);
}

TEST_F(OptionsTest, AListInTheEnvironmentHasAValueALine) {
  setenv("FRESHET_SET", "A.RUN=exec:/bin/x a,b\n\n  A.C=2\r\n", 1);
  setenv("FRESHET_PARAMETER", "P=1", 1);
  setenv("FRESHET_QUEUES", "\n", 1);
  file("parameter = P=2\nqueue = Q\n");
  ASSERT_EQ(parse({}), "");
  EXPECT_EQ(options.deploy.settings, (Words{"A.RUN=exec:/bin/x a,b", "A.C=2"}));
  EXPECT_EQ(options.deploy.parameters, Words{"P=1"});
  EXPECT_EQ(options.queues, Words{"Q"});
  ASSERT_EQ(parse({"--set", "A.TEXT=two\nlines"}), "");
  EXPECT_EQ(options.deploy.settings, Words{"A.TEXT=two\nlines"}) << "one word is one value";
}

TEST_F(OptionsTest, AccountAndRegionAreChecked) {
  ASSERT_EQ(parse({}), "");
  EXPECT_EQ(options.deploy.account.id, "000000000000");
  EXPECT_EQ(options.deploy.account.region, "us-east-1");
  setenv("FRESHET_REGION", "eu-central-1", 1);
  ASSERT_EQ(parse({"--account", "123456789012"}), "");
  EXPECT_EQ(options.deploy.account.id, "123456789012");
  EXPECT_EQ(options.deploy.account.region, "eu-central-1");
  EXPECT_NE(parse({"--account", "12345678901"}).find("12 digits"), std::string::npos);
  EXPECT_NE(parse({"--region", "eu:central"}).find("not a region"), std::string::npos);
}

TEST_F(OptionsTest, TracesMayGoToAnEndpointBehindTls) {
  for (const char* good : {"http://127.0.0.1:4318/v1/traces", "https://collector.example/v1/traces"}) {
    EXPECT_EQ(parse({"--trace-endpoint", good}), "") << good;
    EXPECT_EQ(options.trace_endpoint, good);
  }
  for (const char* bad :
       {"collector.example:4318", "ftp://collector.example", "http://", "http://a:0/", "https://a b/"}) {
    EXPECT_NE(parse({"--trace-endpoint", bad}), "") << bad;
  }
}

TEST_F(OptionsTest, MetricsGoToAnEndpointAtAnInterval) {
  EXPECT_EQ(parse({"--metrics-endpoint", "http://127.0.0.1:4318/v1/metrics", "--metrics-interval", "2s"}), "");
  EXPECT_EQ(options.metrics_endpoint, "http://127.0.0.1:4318/v1/metrics");
  EXPECT_EQ(options.metrics_interval, "2s");
  EXPECT_NE(parse({"--metrics-endpoint", "collector:4318"}), "");
  for (const char* bad : {"2", "0s", "25h", "soon"}) EXPECT_NE(parse({"--metrics-interval", bad}), "") << bad;
}

TEST_F(OptionsTest, ArnsOfATemplateHaveAccountAndRegion) {
  ASSERT_EQ(parse({source_dir() + "/config/lifo.yaml", "--account", "123456789012", "--region", "eu-central-1"}), "");
  const auto deployment = read_deployment(options.deploy);
  ASSERT_TRUE(deployment) << deployment.error().message;
  std::string topics;
  for (const auto& function : deployment->functions) {
    for (const auto& [name, value] : function.environment) topics += name.ends_with("_ARN") ? value + "\n" : "";
  }
  EXPECT_NE(topics.find("arn:aws:sns:eu-central-1:123456789012:"), std::string::npos) << topics;
  EXPECT_EQ(topics.find("000000000000"), std::string::npos) << topics;
}

TEST_F(OptionsTest, WhatIsWrongInTheFileIsNamedWithItsLine) {
  const auto error_of = [this](const std::string& text) {
    file(text);
    const std::string error = parse({});
    return error.rfind(file_, 0) == 0 ? error.substr(file_.size()) : "elsewhere: " + error;
  };
  EXPECT_EQ(error_of("data = x\nzebra = y"), ":2: 'zebra' is no option of 'freshet run'");
  EXPECT_EQ(error_of("listn = y"), ":1: 'listn' is no option of 'freshet run' (did you mean 'listen'?)");
  const std::string as_template = error_of("AWSTemplateFormatVersion: '2010-09-09'");
  EXPECT_NE(as_template.find("; a template is named without --config, as in freshet run "), std::string::npos)
      << as_template;
  EXPECT_EQ(error_of("help = 1"), ":1: 'help' is no option of 'freshet run'");
  EXPECT_EQ(error_of("--data = 1"), ":1: '--data' is no option of 'freshet run'");
  EXPECT_EQ(error_of("\njust words"), ":2: 'just words' is not of the form NAME = VALUE");
  EXPECT_EQ(error_of("data = x\ndata = y"), ":2: 'data' is given twice");
  EXPECT_EQ(error_of("data = x\nio-threads = 65").substr(0, 4), ":2: ");
  EXPECT_EQ(error_of("segment-bytes = many").substr(0, 4), ":1: ");
  file_ = "/nowhere/at/all";
  EXPECT_EQ(parse({}), "--config: cannot read '/nowhere/at/all': No such file or directory");
  file_ = "/";
  EXPECT_EQ(parse({}), "--config: cannot read '/': Is a directory");
}

}  // namespace
}  // namespace freshet::cli
