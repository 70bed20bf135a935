#include "base/text_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace freshet {
namespace {

TEST(TextFile, IsReadWholeUpToItsBound) {
  const std::string path = testing::TempDir() + "freshet_text_" + std::to_string(getpid());
  std::ofstream(path) << "some\ntext";
  ASSERT_TRUE(read_text_file(path));
  EXPECT_EQ(*read_text_file(path), "some\ntext");
  ASSERT_EQ(truncate(path.c_str(), kMostTextBytes), 0);
  EXPECT_TRUE(read_text_file(path));
  ASSERT_EQ(truncate(path.c_str(), kMostTextBytes + 1), 0);
  const auto longer = read_text_file(path);
  unlink(path.c_str());
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ErrorCode::kRequestTooLarge);
  EXPECT_EQ(longer.error().message, "cannot read '" + path + "': it is longer than 64 MiB");
}

TEST(TextFile, OneWithoutAnEndIsRefused) {
  EXPECT_EQ(read_text_file("/dev/zero").error().code, ErrorCode::kRequestTooLarge);
}

TEST(TextFile, SaysWhyItCannotBeRead) {
  EXPECT_EQ(read_text_file("/no/such/file").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_text_file("/").error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace freshet
