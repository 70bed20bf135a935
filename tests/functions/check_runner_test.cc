// A task runner that cannot be started is named where the template is read, and nothing is refused for it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "functions/check_function.h"

namespace freshet {
namespace {

std::vector<FunctionFault> faults_of(const std::string& runner) {
  FunctionDefinition function;
  function.name = "Process";
  function.handler = "process_tasks";
  function.environment = {{"QUEUE_TABLE", "QueueTable"}, {"TASK_RUNNER", runner}};
  Deployment deployment;
  deployment.tables.emplace_back().name = "QueueTable";
  return check_function(function, deployment);
}

TEST(CheckRunner, AProgramThatIsNotThereIsAWarning) {
  const auto faults = faults_of("exec:/nope --now");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_TRUE(faults[0].warning);
  EXPECT_EQ(faults[0].property, "Environment.Variables.TASK_RUNNER");
  EXPECT_TRUE(faults[0].message.starts_with("'/nope': No such file or directory: until that is mended, every attempt"))
      << faults[0].message;
  EXPECT_NE(faults[0].message.find("write exec:PROGRAM"), std::string::npos) << faults[0].message;
}

TEST(CheckRunner, AProgramIsLookedForInThePath) {
  EXPECT_TRUE(faults_of("exec:sh -c true").empty());
  EXPECT_TRUE(faults_of("exec:/bin/sh -c true").empty());
  const auto faults = faults_of("exec:no-such-program-of-ours");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].message.find("program 'no-such-program-of-ours' was not found in the daemon's PATH"),
            std::string::npos);
}

TEST(CheckRunner, WhatMayNotBeExecutedIsAWarning) {
  const auto folder = std::filesystem::path(::testing::TempDir());
  const auto file = folder / "check-runner-test.txt";
  std::ofstream(file) << "text";
  ASSERT_EQ(faults_of("exec:" + file.string()).size(), 1u);
  EXPECT_NE(faults_of("exec:" + file.string())[0].message.find("may not be executed"), std::string::npos);
  EXPECT_EQ(faults_of("exec:" + folder.string()).size(), 1u) << "a folder";
  std::filesystem::remove(file);
}

TEST(CheckRunner, OtherRunnersAreNotLookedAt) {
  for (const char* runner : {"none", "fake", "http://127.0.0.1:9/", "nonsense"}) EXPECT_TRUE(faults_of(runner).empty());
}

std::vector<FunctionFault> faults_of_table(const char* handler, const Environment& environment) {
  FunctionDefinition function;
  function.handler = handler;
  function.environment = environment;
  Deployment deployment;
  deployment.tables.emplace_back().name = "QueueTable";
  return check_function(function, deployment);
}

TEST(CheckQueueTable, OneThatIsMissingIsAWarning) {
  for (const char* handler : {"process_tasks", "create_tasks"}) {
    EXPECT_TRUE(faults_of_table(handler, {{"QUEUE_TABLE", "QueueTable"}}).empty());
    const auto none = faults_of_table(handler, {});
    ASSERT_EQ(none.size(), 1u) << handler;
    EXPECT_TRUE(none[0].warning);
    EXPECT_EQ(none[0].property, "Environment.Variables.QUEUE_TABLE");
    EXPECT_TRUE(none[0].message.starts_with("it is missing")) << none[0].message;
    const auto other = faults_of_table(handler, {{"QUEUE_TABLE", "Queue"}});
    ASSERT_EQ(other.size(), 1u);
    EXPECT_TRUE(other[0].warning);
    EXPECT_TRUE(other[0].message.starts_with("the template has no table 'Queue' (it has QueueTable)"))
        << other[0].message;
  }
}

}  // namespace
}  // namespace freshet
