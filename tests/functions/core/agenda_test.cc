// The agenda as a part by itself: no store, no loop.
#include "functions/queue/core/agenda.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

const BootTime kNow(milliseconds(1000));
constexpr milliseconds kSecond{1000};

TEST(Agenda, TheTimerIsSetAnewOnlyForWhatComesEarlier) {
  Agenda agenda;
  EXPECT_FALSE(agenda.hurry(kNow, kNow)) << "it has not begun";
  agenda.begin();
  EXPECT_TRUE(agenda.hurry(kNow + kSecond, kNow)) << "no timer is set";
  EXPECT_TRUE(agenda.arm(kNow + kSecond));
  EXPECT_FALSE(agenda.arm(kNow + kSecond)) << "it is set to that";
  EXPECT_FALSE(agenda.hurry(kNow + 2 * kSecond, kNow));
  EXPECT_TRUE(agenda.hurry(kNow, kNow));
  agenda.fired();
  EXPECT_TRUE(agenda.arm(kNow + kSecond)) << "it has fired, and has to be set again";
  agenda.end();
  EXPECT_FALSE(agenda.hurry(kNow, kNow));
}

TEST(Agenda, DuringATickAnotherRoundDoesWhatIsDueNow) {
  Agenda agenda;
  agenda.begin();
  agenda.tick_began();
  agenda.round_began();
  EXPECT_FALSE(agenda.hurry(kNow + kSecond, kNow)) << "the end of the tick sets the timer";
  EXPECT_FALSE(agenda.goes_on());
  EXPECT_FALSE(agenda.hurry(kNow, kNow));
  EXPECT_TRUE(agenda.goes_on());
  EXPECT_FALSE(agenda.hurry(kNow + kSecond, kNow));
  EXPECT_TRUE(agenda.goes_on()) << "what is due now is not forgotten";
  agenda.round_began();
  EXPECT_FALSE(agenda.goes_on());
  agenda.tick_ended();
  EXPECT_FALSE(agenda.is_ticking());
}

TEST(Agenda, StartIsPublishedOnceAtTheEarliestTime) {
  Agenda agenda;
  EXPECT_FALSE(agenda.start_is_planned());
  EXPECT_FALSE(agenda.take_start(kNow));
  EXPECT_TRUE(agenda.start_by(kNow + kSecond));
  EXPECT_FALSE(agenda.start_by(kNow + 2 * kSecond)) << "it comes earlier anyway";
  EXPECT_TRUE(agenda.start_by(kNow));
  EXPECT_TRUE(agenda.take_start(kNow));
  EXPECT_FALSE(agenda.take_start(kNow)) << "once";
}

TEST(Agenda, ALookAroundIsNeverPutOff) {
  Agenda agenda;
  EXPECT_FALSE(agenda.look_is_due(kNow));
  agenda.look_began(kNow, kSecond);
  agenda.look_by(kNow + 5 * kSecond);
  EXPECT_EQ(agenda.look_due(), kNow + kSecond);
  agenda.look_by(kNow);
  EXPECT_TRUE(agenda.look_is_due(kNow));
}

TEST(Agenda, ASearchOfTheWholeTableRestsAMultipleOfItsTime) {
  Agenda agenda;
  EXPECT_TRUE(agenda.may_search(kNow));
  EXPECT_FALSE(agenda.may_search(kNow)) << "one at a time";
  agenda.search_ended(kNow, kNow + milliseconds(1));
  EXPECT_FALSE(agenda.may_search(kNow + 59 * kSecond));
  EXPECT_TRUE(agenda.may_search(kNow + 61 * kSecond));
  const auto ended = kNow + 71 * kSecond;  // Ten seconds.
  agenda.search_ended(kNow + 61 * kSecond, ended);
  EXPECT_FALSE(agenda.may_search(ended + 999 * kSecond));
  EXPECT_TRUE(agenda.may_search(ended + 1000 * kSecond));
}

TEST(Agenda, ProcessorsAreCounted) {
  Agenda agenda;
  EXPECT_FALSE(agenda.has_processor());
  agenda.processor_began();
  agenda.processor_began();
  agenda.processor_ended();
  EXPECT_TRUE(agenda.has_processor());
  agenda.processor_ended();
  EXPECT_FALSE(agenda.has_processor());
}

}  // namespace
}  // namespace freshet
