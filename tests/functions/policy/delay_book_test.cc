// Delays while the wall clock is set.
#include "functions/queue/policy/delay_book.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(DelayBook, KnowsStepsFromDrift) {
  DelayBook book;
  WallTime wall{milliseconds(1'800'000'000'000)};
  BootTime boot{};
  EXPECT_FALSE(book.look(wall, boot));
  for (int i = 0; i < 100; ++i) {
    boot += seconds(1);
    wall += milliseconds(1'900);
    EXPECT_FALSE(book.look(wall, boot)) << "however far it gets in small steps";
  }
  boot += seconds(1);
  wall += milliseconds(2'001);
  EXPECT_TRUE(book.look(wall, boot));
  EXPECT_FALSE(book.look(wall, boot));
  EXPECT_EQ(book.before_step(), milliseconds(1'800'000'000'000 + 90'000));
  EXPECT_TRUE(book.look(wall - seconds(5), boot));
}

TEST(DelayBook, TimesAreBounded) {
  const BootTime now = BootTime{} + seconds(100);
  EXPECT_EQ(DelayBook::due_by(milliseconds(1'000'000), 1'105'000, now), now + seconds(5));
  EXPECT_EQ(DelayBook::due_by(milliseconds(1'000'000), 5, now), now);
  EXPECT_EQ(DelayBook::due_by(milliseconds(1'000'000), INT64_MIN, now), now);
  EXPECT_EQ(DelayBook::due_by(milliseconds(1'000'000), INT64_MAX, now), now + std::chrono::hours(24 * 366));
  DelayBook book;
  for (size_t i = 0; i < DelayBook::kMost; ++i) ASSERT_TRUE(book.add(std::to_string(i), 1, now));
  EXPECT_FALSE(book.add("one more", 1, now));
  EXPECT_TRUE(book.add("7", 1, now)) << "it is known";
  EXPECT_EQ(book.due(now, 3).size(), 3u);
  book.postpone("7", now + seconds(1));
  EXPECT_EQ(book.due_of("7"), now + seconds(1));
  EXPECT_TRUE(book.times("7", 1));
  EXPECT_FALSE(book.times("7", 2));
  book.forget("7");
  EXPECT_EQ(book.due_of("7"), BootTime::max());
  EXPECT_EQ(book.next_due(), now);
}

}  // namespace
}  // namespace freshet
