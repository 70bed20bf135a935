// The agenda as a part by itself: no store, no loop.
#include "functions/queue/core/agenda.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

const BootTime kAgendaNow(milliseconds(1000));
constexpr milliseconds kSecond{1000};

TEST(Agenda, TheTimerIsSetAnewOnlyForWhatComesEarlier) {
  Agenda agenda;
  EXPECT_FALSE(agenda.hurry(kAgendaNow, kAgendaNow)) << "it has not begun";
  agenda.begin();
  EXPECT_TRUE(agenda.hurry(kAgendaNow + kSecond, kAgendaNow)) << "no timer is set";
  EXPECT_TRUE(agenda.arm(kAgendaNow + kSecond));
  EXPECT_FALSE(agenda.arm(kAgendaNow + kSecond)) << "it is set to that";
  EXPECT_FALSE(agenda.hurry(kAgendaNow + 2 * kSecond, kAgendaNow));
  EXPECT_TRUE(agenda.hurry(kAgendaNow, kAgendaNow));
  agenda.fired();
  EXPECT_TRUE(agenda.arm(kAgendaNow + kSecond)) << "it has fired, and has to be set again";
  agenda.end();
  EXPECT_FALSE(agenda.hurry(kAgendaNow, kAgendaNow));
}

TEST(Agenda, DuringATickAnotherRoundDoesWhatIsDueNow) {
  Agenda agenda;
  agenda.begin();
  agenda.tick_began();
  agenda.round_began();
  EXPECT_FALSE(agenda.hurry(kAgendaNow + kSecond, kAgendaNow)) << "the end of the tick sets the timer";
  EXPECT_FALSE(agenda.goes_on());
  EXPECT_FALSE(agenda.hurry(kAgendaNow, kAgendaNow));
  EXPECT_TRUE(agenda.goes_on());
  EXPECT_FALSE(agenda.hurry(kAgendaNow + kSecond, kAgendaNow));
  EXPECT_TRUE(agenda.goes_on()) << "what is due now is not forgotten";
  agenda.round_began();
  EXPECT_FALSE(agenda.goes_on());
  agenda.tick_ended();
  EXPECT_FALSE(agenda.is_ticking());
}

TEST(Agenda, StartIsPublishedOnceAtTheEarliestTime) {
  Agenda agenda;
  EXPECT_FALSE(agenda.start_is_planned());
  EXPECT_FALSE(agenda.take_start(kAgendaNow));
  EXPECT_TRUE(agenda.start_by(kAgendaNow + kSecond));
  EXPECT_FALSE(agenda.start_by(kAgendaNow + 2 * kSecond)) << "it comes earlier anyway";
  EXPECT_TRUE(agenda.start_by(kAgendaNow));
  EXPECT_TRUE(agenda.take_start(kAgendaNow));
  EXPECT_FALSE(agenda.take_start(kAgendaNow)) << "once";
}

TEST(Agenda, ALookAroundIsNeverPutOff) {
  Agenda agenda;
  EXPECT_FALSE(agenda.look_is_due(kAgendaNow));
  agenda.look_began(kAgendaNow, kSecond);
  agenda.look_by(kAgendaNow + 5 * kSecond);
  EXPECT_EQ(agenda.look_due(), kAgendaNow + kSecond);
  agenda.look_by(kAgendaNow);
  EXPECT_TRUE(agenda.look_is_due(kAgendaNow));
}

TEST(Agenda, ASearchOfTheWholeTableRestsAMultipleOfItsTime) {
  Agenda agenda;
  EXPECT_TRUE(agenda.may_search(kAgendaNow));
  EXPECT_FALSE(agenda.may_search(kAgendaNow)) << "one at a time";
  agenda.search_ended(kAgendaNow, kAgendaNow + milliseconds(1));
  EXPECT_FALSE(agenda.may_search(kAgendaNow + 59 * kSecond));
  EXPECT_TRUE(agenda.may_search(kAgendaNow + 61 * kSecond));
  const auto ended = kAgendaNow + 71 * kSecond;  // Ten seconds.
  agenda.search_ended(kAgendaNow + 61 * kSecond, ended);
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
