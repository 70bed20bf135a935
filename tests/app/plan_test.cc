// What the daemon refuses before anything is opened.
#include "app/daemon/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(DaemonPlanTest, ABoundThatTheLargestItemsDoNotFitIntoIsRefused) {
  DaemonOptions options;
  options.max_data_bytes = (13u << 20) - 1;
  const auto refused = plan_daemon(options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("--max-data-bytes 13631487: at least 13MiB"));
  options.max_data_bytes = 13u << 20;
  EXPECT_TRUE(plan_daemon(options));
  options.max_data_bytes = 0;
  EXPECT_TRUE(plan_daemon(options));
}

}  // namespace
}  // namespace freshet
