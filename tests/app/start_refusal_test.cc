#include "app/daemon/start_refusal.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

const Error kFull{ErrorCode::kThroughputExceeded, "Retry later.", {}};

DaemonOptions options_with(const std::string& data) {
  DaemonOptions options;
  options.data = data;
  options.segment_bytes = 4u << 20;
  return options;
}

TEST(StartRefusal, ANearlyFullDiskIsToldWithItsFolderAndWhatIsNeeded) {
  EmbeddedStats stats;
  stats.log_bytes_left = 12'345;
  const Error told = start_refusal(kFull, stats, options_with("some/folder"));
  EXPECT_EQ(told.code, ErrorCode::kThroughputExceeded);
  EXPECT_EQ(told.message,
            "no room for the template's tables in some/folder: the disk (or --max-data-bytes) leaves 12345 bytes, and "
            "tables are made while five segments of 4194304 bytes are left, more with many tasks in the store: free "
            "space there, or take smaller segments (--segment-bytes)");
}

TEST(StartRefusal, AllElseStaysAsItIs) {
  const Error other{ErrorCode::kValidation, "a template with a fault", {}};
  EXPECT_EQ(start_refusal(other, {}, options_with("some/folder")).message, other.message);
  EXPECT_EQ(start_refusal(kFull, {}, options_with(std::string(kMemoryDirectory))).message, kFull.message)
      << "there is no disk that could be full";
}

}  // namespace
}  // namespace freshet
