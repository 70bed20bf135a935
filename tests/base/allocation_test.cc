// Sizes of blocks against the allocator's own word, where it is jemalloc; and the count of an allocator that counts.
#include "base/allocation.h"

#include <gtest/gtest.h>

#include <set>

extern "C" __attribute__((weak)) size_t nallocx(size_t bytes, int flags);

namespace freshet {
namespace {

TEST(Allocation, KnowsWhatABlockTakes) {
  if (!nallocx) GTEST_SKIP() << "this build has another allocator";
  for (size_t bytes = 1; bytes < 20'000; ++bytes) ASSERT_EQ(allocated_bytes(bytes), nallocx(bytes, 0)) << bytes;
  for (size_t bytes = 20'000; bytes < (size_t{1} << 33); bytes += bytes / 7) {
    for (const size_t near : {bytes - 1, bytes, bytes + 1, std::bit_ceil(bytes), std::bit_ceil(bytes) + 1}) {
      ASSERT_EQ(allocated_bytes(near), nallocx(near, 0)) << near;
    }
  }
}

TEST(Allocation, CountsWhatAContainerHolds) {
  size_t bytes = 0;
  {
    std::set<int, std::less<int>, CountingAllocator<int>> set{CountingAllocator<int>(bytes)};
    EXPECT_EQ(bytes, 0u);
    for (int i = 0; i < 100; ++i) set.insert(i);
    EXPECT_EQ(bytes, 100 * allocated_bytes(40));
    set.erase(50);
    EXPECT_EQ(bytes, 99 * allocated_bytes(40));
    auto moved = std::move(set);
    EXPECT_EQ(bytes, 99 * allocated_bytes(40));
  }
  EXPECT_EQ(bytes, 0u);
}

TEST(Allocation, OfNothingIsNothing) {
  EXPECT_EQ(allocated_bytes(0), 0u);
}

}  // namespace
}  // namespace freshet
