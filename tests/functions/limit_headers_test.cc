#include "functions/runners/limit_headers.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

const WallTime kNow{milliseconds(1'700'000'000'000)};

LimitHints hints(HttpHeaders headers) {
  return limit_hints(headers, kNow);
}

TEST(LimitHeaders, RetryAfterIsSecondsOrADate) {
  EXPECT_EQ(hints({{"retry-after", "7"}}).retry_after, milliseconds(7'000));
  EXPECT_EQ(hints({{"Retry-After", "Tue, 14 Nov 2023 22:13:30 GMT"}}).retry_after, milliseconds(10'000));
  EXPECT_EQ(hints({{"Retry-After", "soon"}}).retry_after, std::nullopt);
}

TEST(LimitHeaders, TheDraftsStructuredForm) {
  const auto one = hints({{"RateLimit-Policy", R"("burst";q=100;w=60,"daily";q=1000;w=86400)"},
                          {"RateLimit", R"("burst";r=50;t=30, "daily";r=7;t=4000)"}});
  EXPECT_EQ(one.limit, 1000) << "of the one that has the least left";
  EXPECT_EQ(one.window, milliseconds(86'400'000));
  EXPECT_EQ(one.remaining, 7);
  EXPECT_EQ(one.reset, milliseconds(4'000'000));
  EXPECT_FALSE(one.concurrent);
  const auto at_a_time =
      hints({{"RateLimit-Policy", R"("default";q=8;qu="concurrent-requests")"}, {"RateLimit", R"("default";r=3)"}});
  EXPECT_TRUE(at_a_time.concurrent);
  EXPECT_EQ(at_a_time.limit, 8);
  EXPECT_EQ(at_a_time.remaining, 3);
}

TEST(LimitHeaders, TheDraftsEarlierForms) {
  const auto seven = hints({{"RateLimit", "limit=100, remaining=49, reset=50"}, {"RateLimit-Policy", "100;w=60"}});
  EXPECT_EQ(seven.limit, 100);
  EXPECT_EQ(seven.remaining, 49);
  EXPECT_EQ(seven.reset, milliseconds(50'000));
  EXPECT_EQ(seven.window, milliseconds(60'000));
  const auto three = hints({{"RateLimit-Limit", "20, 20;w=1"}, {"RateLimit-Remaining", "4"}, {"RateLimit-Reset", "1"}});
  EXPECT_EQ(three.limit, 20);
  EXPECT_EQ(three.window, milliseconds(1'000));
  EXPECT_EQ(three.remaining, 4);
  EXPECT_EQ(three.reset, milliseconds(1'000));
}

TEST(LimitHeaders, OfManyServicesWithAResetOfAnyKind) {
  const auto reset = [](const char* text) { return hints({{"X-RateLimit-Reset", text}}).reset; };
  EXPECT_EQ(reset("12"), milliseconds(12'000));
  EXPECT_EQ(reset("0.5"), milliseconds(500));
  EXPECT_EQ(reset("1700000030"), milliseconds(30'000));
  EXPECT_EQ(reset("1700000030500"), milliseconds(30'500));
  EXPECT_EQ(reset("1600000000"), milliseconds(0)) << "it has passed";
  EXPECT_EQ(reset("-3"), std::nullopt);
  EXPECT_EQ(hints({{"x-rate-limit-limit", "900"}, {"x-rate-limit-remaining", "899"}}).limit, 900);
}

TEST(LimitHeaders, NonsenseIsLeftOut) {
  for (const char* text :
       {"", ";", ",", "\"", "\"a", "=", "limit=", ";;r=", "\"a\";r=-1;t=x", "r=1e999", "nan;r=nan"}) {
    const auto one = hints({{"RateLimit", text},
                            {"RateLimit-Policy", text},
                            {"RateLimit-Limit", text},
                            {"X-RateLimit-Reset", text},
                            {"X-RateLimit-Remaining", text}});
    EXPECT_EQ(one.limit, std::nullopt) << text;
    EXPECT_EQ(one.remaining, std::nullopt) << text;
    EXPECT_EQ(one.reset, std::nullopt) << text;
  }
  EXPECT_EQ(hints({{"Content-Type", "text/plain"}}).limit, std::nullopt);
}

}  // namespace
}  // namespace freshet
