// The agenda as a part by itself: no store, no loop.
#include "functions/queue/core/agenda.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

const BootTime kBegin(milliseconds(1000));
constexpr milliseconds kSecond{1000};

TEST(Agenda, TheTimerIsSetAnewOnlyForWhatComesEarlier) {
  Agenda agenda;
  EXPECT_FALSE(agenda.hurry(kBegin, kBegin)) << "it has not begun";
  agenda.begin();
  EXPECT_TRUE(agenda.hurry(kBegin + kSecond, kBegin)) << "no timer is set";
  EXPECT_TRUE(agenda.arm(kBegin + kSecond));
  EXPECT_FALSE(agenda.arm(kBegin + kSecond)) << "it is set to that";
  EXPECT_FALSE(agenda.hurry(kBegin + 2 * kSecond, kBegin));
  EXPECT_TRUE(agenda.hurry(kBegin, kBegin));
  agenda.fired();
  EXPECT_TRUE(agenda.arm(kBegin + kSecond)) << "it has fired, and has to be set again";
  agenda.end();
  EXPECT_FALSE(agenda.hurry(kBegin, kBegin));
}

TEST(Agenda, DuringATickAnotherRoundDoesWhatIsDueNow) {
  Agenda agenda;
  agenda.begin();
  agenda.tick_began();
  agenda.round_began();
  EXPECT_FALSE(agenda.hurry(kBegin + kSecond, kBegin)) << "the end of the tick sets the timer";
  EXPECT_FALSE(agenda.goes_on());
  EXPECT_FALSE(agenda.hurry(kBegin, kBegin));
  EXPECT_TRUE(agenda.goes_on());
  EXPECT_FALSE(agenda.hurry(kBegin + kSecond, kBegin));
  EXPECT_TRUE(agenda.goes_on()) << "what is due now is not forgotten";
  agenda.round_began();
  EXPECT_FALSE(agenda.goes_on());
  agenda.tick_ended();
  EXPECT_FALSE(agenda.is_ticking());
}

TEST(Agenda, StartIsPublishedOnceAtTheEarliestTime) {
  Agenda agenda;
  EXPECT_FALSE(agenda.start_is_planned());
  EXPECT_FALSE(agenda.take_start(kBegin));
  EXPECT_TRUE(agenda.start_by(kBegin + kSecond));
  EXPECT_FALSE(agenda.start_by(kBegin + 2 * kSecond)) << "it comes earlier anyway";
  EXPECT_TRUE(agenda.start_by(kBegin));
  EXPECT_TRUE(agenda.take_start(kBegin));
  EXPECT_FALSE(agenda.take_start(kBegin)) << "once";
}

TEST(Agenda, ALookAroundIsNeverPutOff) {
  Agenda agenda;
  EXPECT_FALSE(agenda.look_is_due(kBegin));
  agenda.look_began(kBegin, kSecond);
  agenda.look_by(kBegin + 5 * kSecond);
  EXPECT_EQ(agenda.look_due(), kBegin + kSecond);
  agenda.look_by(kBegin);
  EXPECT_TRUE(agenda.look_is_due(kBegin));
}

TEST(Agenda, ASearchOfTheWholeTableRestsAMultipleOfItsTime) {
  Agenda agenda;
  EXPECT_TRUE(agenda.may_search(kBegin));
  EXPECT_FALSE(agenda.may_search(kBegin)) << "one at a time";
  agenda.search_ended(kBegin, kBegin + milliseconds(1));
  EXPECT_FALSE(agenda.may_search(kBegin + 59 * kSecond));
  EXPECT_TRUE(agenda.may_search(kBegin + 61 * kSecond));
  const auto ended = kBegin + 71 * kSecond;  // Ten seconds.
  agenda.search_ended(kBegin + 61 * kSecond, ended);
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
