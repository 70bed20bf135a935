// When a learnt limit is written down.
#include "functions/queue/policy/kept_rate.h"

#include <gtest/gtest.h>

#include "tests/functions/policy/facts.h"

namespace freshet {
namespace {

TEST(KeptRate, AMoveOfMoreThanATwentiethIsWorthAWrite) {
  KeptRate kept;
  EXPECT_TRUE(kept.has_moved({100, 0, 0})) << "nothing is written yet";
  kept.kept({100, 4, 200});
  EXPECT_FALSE(kept.has_moved({100, 4, 200}));
  EXPECT_FALSE(kept.has_moved({104.9, 4, 190.1}));
  EXPECT_TRUE(kept.has_moved({105.1, 4, 200}));
  EXPECT_TRUE(kept.has_moved({94.9, 4, 200}));
  EXPECT_TRUE(kept.has_moved({100, 5, 200})) << "calls under way are few: each counts";
  EXPECT_TRUE(kept.has_moved({100, 4, 210.1}));
  EXPECT_TRUE(kept.has_moved({100, 4, 0}));
  kept.lost();
  EXPECT_TRUE(kept.has_moved({100, 4, 200})) << "nobody knows what is stored";
}

TEST(KeptRate, SmallStepsAddUp) {
  KeptRate kept;
  kept.kept({100, 0, 0});
  EXPECT_FALSE(kept.has_moved({103, 0, 0}));
  EXPECT_TRUE(kept.has_moved({106, 0, 0})) << "from what was written, not from the last look";
}

TEST(KeptRate, ALookComesEveryFewSeconds) {
  KeptRate kept;
  EXPECT_LE(kept.next_look(), boot_at(0)) << "the first one at once";
  kept.looked(boot_at(1000));
  EXPECT_EQ(kept.next_look(), boot_at(1000) + KeptRate::kEach);
}

}  // namespace
}  // namespace freshet
