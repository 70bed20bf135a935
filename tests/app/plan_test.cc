// What a daemon is to run: warnings about what the template says.
#include "app/daemon/plan.h"
#include "tests/sim/source_dir.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

std::string warnings(std::string file, std::vector<std::string> settings = {}) {
  DaemonOptions options;
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

}  // namespace
}  // namespace freshet
