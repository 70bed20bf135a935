// The options of `freshet run`: words of the command line, and the options file.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <fstream>

#include "app/cli/commands.h"
#include "app/cli/options_file.h"
#include "app/daemon/options.h"

namespace freshet::cli {
namespace {

using Words = std::vector<std::string>;

class OptionsTest : public testing::Test {
 protected:
  // Parses the words as `freshet run` does; the error's text, or nothing.
  std::string parse(Words words) {
    options = {};
    CLI::App app;
    CLI::App* run = app.add_subcommand("run");
    add_run_options(*run, options);
    run->callback([&] {
      if (!file_.empty()) apply_options_file(*run, file_);
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
    file_ = testing::TempDir() + "freshet_options_" + std::to_string(getpid());
    std::ofstream(file_, std::ios::binary) << text;
  }
  void TearDown() override {
    if (!file_.empty()) unlink(file_.c_str());
    unsetenv("FRESHET_DATA");
  }

  DaemonOptions options;
  std::string file_;
};

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

TEST_F(OptionsTest, WhatIsWrongInTheFileIsNamedWithItsLine) {
  const auto error_of = [this](const std::string& text) {
    file(text);
    const std::string error = parse({});
    return error.rfind(file_, 0) == 0 ? error.substr(file_.size()) : "elsewhere: " + error;
  };
  EXPECT_EQ(error_of("data = x\ndatum = y"), ":2: 'datum' is no option of 'freshet run'");
  EXPECT_EQ(error_of("help = 1"), ":1: 'help' is no option of 'freshet run'");
  EXPECT_EQ(error_of("--data = 1"), ":1: '--data' is no option of 'freshet run'");
  EXPECT_EQ(error_of("\njust words"), ":2: 'just words' is not of the form NAME = VALUE");
  EXPECT_EQ(error_of("data = x\ndata = y"), ":2: 'data' is given twice");
  EXPECT_EQ(error_of("data = x\nio-threads = 65").substr(0, 4), ":2: ");
  EXPECT_EQ(error_of("segment-bytes = many").substr(0, 4), ":1: ");
  file_ = "/nowhere/at/all";
  EXPECT_EQ(parse({}), "--config: cannot read '/nowhere/at/all'");
  file_ = "/";
  EXPECT_EQ(parse({}), "--config: cannot read '/'");
}

}  // namespace
}  // namespace freshet::cli
