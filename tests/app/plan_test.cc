// The plan of a daemon: warnings about the template.
#include "app/daemon/plan.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "base/text_file.h"
#include "tests/sim/source_dir.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

std::string warnings(std::string file, std::vector<std::string> settings = {}, std::vector<std::string> queues = {}) {
  DaemonOptions options;
  options.queues = std::move(queues);
  options.deploy.path = source_dir() + "/config/" + file;
  options.deploy.settings = std::move(settings);
  const auto plan = plan_daemon(options);
  if (!plan) return plan.error().message;
  std::string out;
  for (const auto& warning : plan->deployment.warnings) {
    out += warning.resource + "." + warning.property + ": " + warning.message + "\n";
  }
  return out;
}

TEST(DaemonPlanTest, ATimeoutThatMayEndTasksInWorkIsAWarning) {
  EXPECT_EQ(warnings("lifo.yaml", {"ProcessTasksFunction.TASK_TIMEOUT_MS=7200000"}), "");
  EXPECT_EQ(warnings("lifo-sample.yaml"), "") << "59 s and 60 s are within its 120 s";
  EXPECT_EQ(
      warnings("lifo-sample.yaml", {"ProcessTasksFunction.TASK_TIMEOUT_MS=61500"}),
      "ProcessTasksFunction.Timeout: it ends tasks in work after 120 s as failed: make it at least MAX_ACTIVE_MS + "
      "TASK_TIMEOUT_MS, 121 s\n");
  EXPECT_EQ(warnings("lifo-sample.yaml",
                     {"ProcessTasksFunction.TASK_TIMEOUT_MS=61500", "ProcessTasksFunction.TASK_RUNNER=none"}),
            "");
}

class KeyFiles : public ::testing::Test {
 protected:
  KeyFiles() {
    options.fleet = true;
    options.store = "dynamodb";
    options.endpoints = {"http://127.0.0.1:1"};
    options.data = kMemoryDirectory;
  }
  static std::string file(const std::string& name, const std::string& key, const std::string& role) {
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string path = ::testing::TempDir() + "/" + test + "-" + name;
    std::ofstream(path) << "[k]\naws_access_key_id=" << key << "\naws_secret_access_key=s\nfreshet_role=" << role
                        << "\n";
    ::chmod(path.c_str(), 0600);
    return path;
  }
  DaemonOptions options;
};

TEST_F(KeyFiles, MembersHaveKeysOfTheirOwn) {
  options.credentials = file("clients", "CLIENT", "work");
  options.member_credentials = file("members", "MEMBER", "operate");
  const auto plan = plan_daemon(options);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->member_credentials->strongest().id, "MEMBER");
  EXPECT_FALSE(plan->credentials->find("MEMBER")) << "nobody signs in to the dashboard with it";
  EXPECT_TRUE(plan->all_credentials->find("MEMBER"));
  EXPECT_TRUE(plan->all_credentials->find("CLIENT"));
  const size_t warnings = plan->warnings.size();
  options.member_credentials = file("members", "MEMBER", "work");
  EXPECT_EQ(plan_daemon(options)->warnings.size(), warnings + 1);
}

TEST_F(KeyFiles, MembersHaveTheKeysOfClientsOtherwise) {
  options.credentials = file("clients", "CLIENT", "work");
  const auto plan = plan_daemon(options);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->member_credentials->strongest().id, "CLIENT");
}

TEST_F(KeyFiles, WhatMakesNoSenseIsRefused) {
  const auto why = [this] {
    const auto plan = plan_daemon(options);
    return plan ? std::string() : plan.error().message;
  };
  options.member_credentials = file("members", "SAME", "operate");
  EXPECT_EQ(why(), "--member-credentials needs --credentials: without it, requests need no signature");
  options.credentials = file("clients", "SAME", "work");
  EXPECT_EQ(why(),
            "--credentials and --member-credentials: the key SAME is in both files with another secret, session token "
            "or role");
  options.credentials = file("clients", "SAME", "operate");
  EXPECT_EQ(why(), "") << "while the key moves from one file to the other";
  options.fleet = false;
  EXPECT_EQ(why(), "--member-credentials needs --fleet");
}

// The line in which the template defines it.
TEST(DaemonPlanTest, AWarningNamesTheLine) {
  DaemonOptions options;
  options.deploy.path = source_dir() + "/config/lifo-sample.yaml";
  options.deploy.settings = {"ProcessTasksFunction.TASK_TIMEOUT_MS=61500"};
  const auto plan = plan_daemon(options);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->deployment.warnings.size(), 1u);
  const std::string text = read_text_file(options.deploy.path).value();
  const size_t at = text.find("\n  ProcessTasksFunction:");
  ASSERT_NE(at, std::string::npos);
  const auto line = std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n') + 2;
  EXPECT_EQ(plan->deployment.warnings[0].line, line);
}

// The sample application as it was published: it takes its tasks by itself.
TEST(DaemonPlanTest, ATableThatLooksLikeAQueueGetsAHint) {
  const std::string hint =
      "QueueTable.: it looks like a queue of tasks and is none: a task that is TAKEN when its program or the daemon "
      "ends stays TAKEN. --queue QueueTable (or Metadata: {Freshet: {Queue: true}}) gives it leases, stats and "
      "explain; see docs/templates.md, \"Tables that look like queues\"\n";
  const std::string sample = "../tests/apps/lifo_sample/template.yaml";
  EXPECT_NE(warnings(sample).find(hint), std::string::npos) << warnings(sample);
  EXPECT_EQ(warnings(sample, {}, {"QueueTable"}).find("looks like"), std::string::npos);
  EXPECT_EQ(warnings("lifo-sample.yaml"), "") << "it marks its table";
  EXPECT_EQ(warnings("functions.yaml").find("looks like"), std::string::npos);

  DaemonOptions options;
  options.deploy.path = source_dir() + "/config/" + sample;
  const auto text = read_text_file(options.deploy.path);
  ASSERT_TRUE(text);
  const auto deployed = plan_deployment_of(options.deploy, *text, {});
  ASSERT_TRUE(deployed) << deployed.error().message;
  const auto& all = deployed->deployment.warnings;
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const auto& one) {
                            return one.resource == "QueueTable" && one.message.starts_with("it looks like");
                          }),
            1)
      << "a template that comes while the daemon runs gets it, too";
}

}  // namespace
}  // namespace freshet
