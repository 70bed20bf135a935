// Which new tasks are refused, and how fast tasks leave.
#include "functions/queue/policy/admission.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

TEST(DrainRate, IsTheMeanOfTheLastTenSeconds) {
  DrainRate rate;
  EXPECT_EQ(rate.rate(boot_at(0)), 0);
  rate.left(100, boot_at(100));
  EXPECT_EQ(rate.rate(boot_at(200)), 100);
  EXPECT_EQ(rate.rate(boot_at(1200)), 50);
  EXPECT_EQ(rate.rate(boot_at(9999)), 10);
  EXPECT_EQ(rate.rate(boot_at(10'000)), 0);
  rate.left(20, boot_at(100'000));
  EXPECT_EQ(rate.rate(boot_at(100'000)), 2);
}

std::optional<milliseconds> after(const std::optional<Refusal>& refusal) {
  return refusal ? std::optional(refusal->after) : std::nullopt;
}

TEST(Admission, RefusesBeyondTheBoundAndKeepsAShareForCriticalTasks) {
  AdmissionSettings settings;
  const auto refused = [&](int priority, uint64_t waiting, double rate) {
    return after(refused_for(settings, priority, TaskRoom{waiting, 0}, TaskRoom{1, 0}, {rate, 0}));
  };
  EXPECT_FALSE(refused(0, 1'000'000, 0));
  settings.max_waiting = 100;
  settings.reserved_share = 0.25;
  EXPECT_FALSE(refused(0, 74, 10));
  EXPECT_EQ(refused(0, 75, 1), milliseconds(1000));
  EXPECT_EQ(refused(0, 84, 2), milliseconds(5000));
  EXPECT_EQ(refused(0, 75, 1e6), milliseconds(100));
  EXPECT_EQ(refused(0, 75, 0), milliseconds(60'000));
  EXPECT_FALSE(refused(settings.critical_priority, 99, 1));
  EXPECT_TRUE(refused(settings.critical_priority, 100, 1));
}

TEST(Admission, BoundsBytesInTheSameWay) {
  AdmissionSettings settings;
  settings.max_waiting_bytes = 10'000;
  settings.reserved_share = 0.2;
  const auto refused = [&](int priority, uint64_t waiting, uint64_t size, double rate) {
    return refused_for(settings, priority, TaskRoom{5, waiting}, TaskRoom{1, size}, {1, rate});
  };
  EXPECT_FALSE(refused(0, 7'000, 1'000, 1)) << "exactly what others may use";
  EXPECT_EQ(refused(0, 7'001, 1'000, 1)->reason, "max-waiting-bytes");
  EXPECT_EQ(refused(0, 8'000, 1'000, 500)->after, milliseconds(2000));
  EXPECT_FALSE(refused(settings.critical_priority, 9'000, 1'000, 1));
  EXPECT_TRUE(refused(settings.critical_priority, 9'001, 1'000, 1));
  EXPECT_FALSE(refused(0, 20'000, 0, 1)) << "what needs no room is not refused";
}

TEST(Admission, OfTwoBoundsTheOneThatTakesLongerIsNamed) {
  AdmissionSettings settings;
  settings.max_waiting = 10;
  settings.max_waiting_bytes = 1'000;
  settings.reserved_share = 0;
  const TaskRoom there{10, 1'000};
  EXPECT_EQ(refused_for(settings, 0, there, {1, 100}, {1, 10})->reason, "max-waiting-bytes");
  EXPECT_EQ(refused_for(settings, 0, there, {1, 100}, {1, 10})->after, milliseconds(10'000));
  EXPECT_EQ(refused_for(settings, 0, there, {1, 100}, {0.1, 1000})->reason, "max-waiting");
}

}  // namespace
}  // namespace freshet
