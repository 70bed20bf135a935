// Files that are deleted bit by bit.
#include "tables/log/trash.h"

#include <gtest/gtest.h>

#include "tests/sim/sim_files.h"

namespace freshet {
namespace {

struct TrashTest : ::testing::Test {
  static constexpr uint64_t kSmall = 4096;
  static constexpr uint64_t kLarge = 8u << 20;

  TrashTest() { EXPECT_TRUE(files.create_directories("data")); }
  void throw_away(const std::string& path, uint64_t bytes) {
    auto file = files.open(path, OpenMode::kCreate);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->preallocate(bytes));
    ASSERT_TRUE(trash.take(path, bytes));
  }

  SimFiles files{1};
  Trash trash{files, "data"};
};

TEST_F(TrashTest, SpaceThatCameBackCountsAlthoughTheNextFileCannotBeOpened) {
  throw_away("data/small", kSmall);
  throw_away("data/large", kLarge);
  files.fail_calls(ErrorCode::kUnavailable,
                   [](const std::string& call) { return call.starts_with("open data/trash-large"); });
  auto freed = trash.step();
  ASSERT_TRUE(freed) << freed.error().message;
  EXPECT_EQ(*freed, kSmall);
  EXPECT_FALSE(trash.step()) << "nothing came back";
  files.fail_calls(ErrorCode::kIo, nullptr);
  uint64_t rest = 0;
  while (!trash.empty()) {
    freed = trash.step();
    ASSERT_TRUE(freed) << freed.error().message;
    rest += *freed;
  }
  EXPECT_EQ(rest, kLarge);
}

}  // namespace
}  // namespace freshet
