// The downstream of the lab in real time, on a simulated clock.
#include <gtest/gtest.h>

#include "app/lab/real/contender.h"
#include "app/lab/real/handler.h"
#include "runtime/loop/sim_loop.h"

namespace freshet::lab {
namespace {

class LabHandler : public testing::Test {
 protected:
  LabHandler() {
    for (int i = 0; i < 5; ++i) ledger_.add({milliseconds(0), 250, false}, 0);
  }
  static Scenario scenario() {
    Scenario out;
    out.slots = 2;
    out.mean = milliseconds(100);
    out.service = Service::kConstant;
    return out;
  }
  Async<HttpResponse> call(int task) { return handler_.answer("{\"taskId\":\"" + std::to_string(task) + "\"}"); }
  const Job& job(size_t number) const { return ledger_.jobs()[number]; }

  const Scenario scenario_ = scenario();
  Ledger ledger_{scenario_, 1};
  SimClock clock_{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop sim_{clock_};
  Handler handler_{ledger_, sim_.loop()};
};

TEST_F(LabHandler, ServesAsManyAtOnceAsItHasSlots) {
  auto first = call(0), second = call(1), third = call(2);
  EXPECT_EQ(handler_.under_way(), 3);
  sim_.run_for(milliseconds(100));
  EXPECT_TRUE(first.is_ready() && second.is_ready());
  EXPECT_FALSE(third.is_ready());
  EXPECT_EQ(job(2).left, milliseconds(100)) << "begun when a slot was free";
  sim_.run_for(milliseconds(100));
  EXPECT_EQ(third.take().status, 200);
  EXPECT_EQ(job(2).end, milliseconds(200));
  EXPECT_EQ(handler_.counts().done, 3u);
  EXPECT_EQ(handler_.counts().most_at_once, 3);
}

TEST_F(LabHandler, ACallerThatHangsUpLeavesItsSlotAndItsPlace) {
  auto first = std::make_optional(call(0));
  auto second = call(1);
  auto third = std::make_optional(call(2));
  auto fourth = call(3);
  sim_.run_for(milliseconds(10));
  first.reset();  // The third is told that there is a slot, and hangs up before it looks.
  third.reset();
  sim_.run_for(milliseconds(100));
  EXPECT_TRUE(fourth.is_ready());
  EXPECT_EQ(job(3).left, milliseconds(10));
}

TEST_F(LabHandler, SaysWhatIsWrongAndTurnsAwayWhenClosed) {
  EXPECT_EQ(call(5).take().status, 400);
  EXPECT_EQ(handler_.answer("{").take().status, 400);
  EXPECT_EQ(handler_.answer(R"({"taskId":"1x"})").take().status, 400);
  auto begun = call(0);
  sim_.run_for(milliseconds(100));
  EXPECT_EQ(call(0).take().status, 200);
  EXPECT_EQ(handler_.counts().again, 1u) << "started once, whoever asks again";
  handler_.close();
  const auto later = call(1).take();
  EXPECT_EQ(later.status, 503);
  EXPECT_EQ(header(later.headers, "Retry-After"), "3600");
}

TEST(LabDaemon, PoliciesThatItDoesNotOfferAreRefused) {
  Scenario scenario;
  for (const auto& policy : policies()) {
    const auto settings = daemon_settings(policy, scenario);
    const bool offered = !policy.clairvoyant && policy.dropper == Dropper::kNone && policy.name != "edf-margin";
    EXPECT_EQ(settings.has_value(), offered) << policy.name;
    if (offered) continue;
    EXPECT_NE(settings.error().message.find("simulated time only"), std::string::npos);
  }
  EXPECT_EQ(*daemon_settings(*policy_of("freshet-bounded"), scenario),
            (std::vector<std::string>{"ORDER=lifo", "DEADLINE_MARGIN=off", "CONCURRENCY=16", "MAX_WAITING=80"}));
}

}  // namespace
}  // namespace freshet::lab
