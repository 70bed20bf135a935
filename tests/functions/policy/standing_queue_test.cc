// When a queue stands.
#include "functions/queue/policy/standing_queue.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

bool take_finds_it_stand(StandingQueue& queue, BootTime now, nanoseconds service) {
  queue.take_begins(now, service);
  return queue.stands(now, service);
}

TEST(StandingQueue, StandsOnceNeitherEmptyNorYoungForAnInterval) {
  StandingQueue queue;
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(0), kServiceUnknown));
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(99), kServiceUnknown));
  queue.empty(boot_at(99));
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(198), kServiceUnknown));
  queue.took_oldest(milliseconds(4), boot_at(198));  // Young.
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(297), kServiceUnknown));
  queue.took_oldest(milliseconds(5), boot_at(297));  // Not young.
  EXPECT_TRUE(take_finds_it_stand(queue, boot_at(298), kServiceUnknown));
}

TEST(StandingQueue, StandsUntilItIsEmptyHoweverYoungItsTasks) {
  StandingQueue queue;
  queue.empty(boot_at(0));
  ASSERT_TRUE(take_finds_it_stand(queue, boot_at(100), kServiceUnknown));
  queue.took_oldest(milliseconds(1), boot_at(150));
  EXPECT_TRUE(take_finds_it_stand(queue, boot_at(151), kServiceUnknown));
  queue.empty(boot_at(160));
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(161), kServiceUnknown));
}

TEST(StandingQueue, LongTasksGiveItLonger) {
  StandingQueue queue;
  queue.empty(boot_at(0));
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(399), milliseconds(200)));
  EXPECT_TRUE(take_finds_it_stand(queue, boot_at(400), milliseconds(200)));
  EXPECT_TRUE(take_finds_it_stand(queue, boot_at(401), milliseconds(900))) << "once it stands it stands";
  EXPECT_EQ(StandingQueue::interval(milliseconds(1)), StandingQueue::kInterval);
}

TEST(StandingQueue, AQuestionChangesNothing) {
  StandingQueue queue;
  EXPECT_FALSE(queue.stands(boot_at(0), kServiceUnknown));
  EXPECT_FALSE(take_finds_it_stand(queue, boot_at(100), kServiceUnknown)) << "that is the first take";
  EXPECT_TRUE(queue.stands(boot_at(200), kServiceUnknown));
  queue.took_oldest(milliseconds(4), boot_at(200));
  EXPECT_FALSE(queue.stands(boot_at(201), kServiceUnknown)) << "no take has found it standing";
}

}  // namespace
}  // namespace freshet
