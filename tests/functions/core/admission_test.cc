// Admission as a part by itself: no store, no loop.
#include "functions/queue/core/admission.h"

#include <gtest/gtest.h>

#include "runtime/api/retry_later.h"
#include "tests/functions/core/fixed.h"

namespace freshet {
namespace {

using fixed::kNow;
using fixed::kTable;

struct TestedAdmission {
  QueueSettings settings;
  Admission admission{kTable, settings};
};

TEST(AdmissionPart, TheBoundOfTasksRefusesAndSaysWhenToComeBack) {
  TestedAdmission t;
  EXPECT_FALSE(t.admission.beyond_bound(0, {1'000'000, 0}, {1, 0}, t.admission.rates(kNow))) << "there is no bound";
  t.settings.admission.max_waiting = 100;
  t.settings.admission.reserved_share = 0.1;
  EXPECT_FALSE(t.admission.beyond_bound(0, {89, 0}, {1, 0}, t.admission.rates(kNow)));
  EXPECT_FALSE(t.admission.beyond_bound(50, {99, 0}, {1, 0}, t.admission.rates(kNow)))
      << "critical tasks may use all of it";
  t.admission.left(50, 0, kNow);
  const auto refusal = t.admission.beyond_bound(0, {90, 0}, {1, 0}, t.admission.rates(kNow));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->after, milliseconds(100)) << "50 a second leave";
  EXPECT_EQ(t.admission.policy_of(*refusal), "MAX_WAITING=100");
  t.admission.refused(Admission::count_of(*refusal), 3);
  EXPECT_EQ(t.admission.refusals().tasks, 3u);
  const auto error = t.admission.full(*refusal, {90, 0}, 0, 0);
  EXPECT_EQ(error.code, ErrorCode::kTooManyRequests);
  EXPECT_EQ(
      error.message,
      "queue 'T' is full: 90 tasks wait and MAX_WAITING is 100, of which tasks of its priority may use 90; at the "
      "present rate there is room in 100 ms");
}

TEST(AdmissionPart, ATaskThatIsLargerThanTheBoundCanNeverWait) {
  TestedAdmission t;
  t.settings.admission.max_waiting_bytes = 1000;
  const auto refusal = t.admission.beyond_bound(0, {0, 0}, {1, 1200}, t.admission.rates(kNow));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(t.admission.full(*refusal, {0, 0}, 1200, 0).code, ErrorCode::kValidation);
  const auto later = t.admission.beyond_bound(0, {5, 800}, {1, 500}, t.admission.rates(kNow));
  ASSERT_TRUE(later);
  EXPECT_EQ(t.admission.full(*later, {5, 800}, 500, 0).code, ErrorCode::kTooManyRequests);
  t.admission.refused(Admission::count_of(*later), 1);
  EXPECT_EQ(t.admission.refusals().bytes, 1u);
  EXPECT_EQ(t.admission.policy_of(*later), "MAX_WAITING_BYTES=1000");
}

TEST(AdmissionPart, AReplacementTakesOnlyWhatItHasMore) {
  EXPECT_EQ(Admission::in_place_of(300, 500).bytes, 200u);
  EXPECT_EQ(Admission::in_place_of(500, 300).bytes, 0u);
  EXPECT_EQ(Admission::in_place_of(500, 300).tasks, 0u);
}

TEST(AdmissionPart, OldestFirstATaskWaitsForThoseBeforeItAndNewestFirstForASlot) {
  TestedAdmission t;
  t.admission.left(10, 0, kNow);
  t.admission.taken(5, kNow);
  EXPECT_EQ(t.admission.least_wait(true, 1000, true, kNow), nanoseconds(0)) << "somebody waits for work";
  EXPECT_TRUE(t.admission.goes_newest_first());
  EXPECT_EQ(t.admission.least_wait(true, 1000, false, kNow), milliseconds(200)) << "the next of five takes a second";
  t.settings.order = Order::kOldestFirst;
  EXPECT_FALSE(t.admission.goes_newest_first());
  EXPECT_EQ(t.admission.least_wait(false, 1000, false, kNow), seconds(100)) << "1000 leave, ten a second";
}

TEST(AdmissionPart, WhoIsRefusedAsLateIsToldWhy) {
  TestedAdmission t;
  const auto error = t.admission.late({milliseconds(1500), milliseconds(20)}, milliseconds(400));
  EXPECT_EQ(error.code, ErrorCode::kTooManyRequests);
  EXPECT_EQ(error.message,
            "the task would be too late: in queue 'T' it would wait for 1500 ms and take 20 ms at least; one with as "
            "much time may have a chance in 400 ms");
  const auto later = std::dynamic_pointer_cast<const RetryLater>(error.detail);
  ASSERT_TRUE(later);
}

}  // namespace
}  // namespace freshet
