#include "app/fleet/silent_owners.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

BootTime at(int64_t ms) {
  return BootTime(milliseconds(ms));
}

const OwnerSign kSign{7, "a", 2, 30};

TEST(SilentOwners, NobodyIsSilentAtFirst) {
  SilentOwners silent;
  EXPECT_FALSE(silent.is_silent("q", kSign, at(0)));
}

TEST(SilentOwners, ASilenceIsRememberedForSomeSeconds) {
  SilentOwners silent;
  silent.silent("q", kSign, at(1'000));
  EXPECT_TRUE(silent.is_silent("q", kSign, at(1'000)));
  EXPECT_TRUE(silent.is_silent("q", kSign, at(5'999)));
  EXPECT_FALSE(silent.is_silent("other", kSign, at(1'000)));
  EXPECT_FALSE(silent.is_silent("q", kSign, at(6'000)));
  EXPECT_FALSE(silent.is_silent("q", kSign, at(2'000))) << "it is forgotten";
}

TEST(SilentOwners, ASignOfLifeOrAnotherAssignmentEndsIt) {
  const OwnerSign others[] = {{8, "a", 2, 30}, {7, "b", 2, 30}, {7, "a", 3, 30}, {7, "a", 2, 31}, {}};
  for (const OwnerSign& other : others) {
    SilentOwners silent;
    silent.silent("q", kSign, at(0));
    EXPECT_FALSE(silent.is_silent("q", other, at(1)));
    EXPECT_FALSE(silent.is_silent("q", kSign, at(1))) << "it has given a sign";
  }
}

TEST(SilentOwners, AnAnswerEndsIt) {
  SilentOwners silent;
  silent.silent("q", kSign, at(0));
  silent.silent("p", kSign, at(0));
  silent.answered("q");
  EXPECT_FALSE(silent.is_silent("q", kSign, at(1)));
  EXPECT_TRUE(silent.is_silent("p", kSign, at(1)));
}

}  // namespace
}  // namespace freshet
