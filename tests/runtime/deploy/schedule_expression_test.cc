#include "runtime/deploy/schedule_expression.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace freshet {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;

WallTime at(const char* text) {
  int y, mo, d, h, m, s;
  EXPECT_EQ(std::sscanf(text, "%d-%d-%dT%d:%d:%d", &y, &mo, &d, &h, &m, &s), 6) << text;
  using namespace std::chrono;
  return sys_days(year(y) / mo / d) + hours(h) + minutes(m) + seconds(s);
}

std::string show(std::optional<WallTime> t) {
  if (!t) return "never";
  std::chrono::year_month_day date(std::chrono::floor<days>(*t));
  auto rest = std::chrono::floor<seconds>(*t - std::chrono::floor<days>(*t)).count();
  char out[64];
  std::snprintf(out, sizeof out, "%04d-%02u-%02uT%02d:%02d:%02d", int(date.year()), unsigned(date.month()),
                unsigned(date.day()), int(rest / 3600), int(rest / 60 % 60), int(rest % 60));
  return out;
}

struct Fire {
  const char* expression;
  const char* after;
  const char* expected;
};

class Fires : public testing::TestWithParam<Fire> {};

TEST_P(Fires, Next) {
  auto parsed = ScheduleExpression::parse(GetParam().expression);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(show(parsed->next_fire(at(GetParam().after))), GetParam().expected) << GetParam().expression;
}

// 2026-01-01 is a Thursday; February 2026 starts and ends on weekends' edges: 1 is a Sunday, 28 a Saturday.
INSTANTIATE_TEST_SUITE_P(
    Table, Fires,
    testing::Values(
        Fire{"rate(5 minutes)", "2026-01-01T00:00:00", "2026-01-01T00:05:00"},
        Fire{"rate(5 minutes)", "2026-01-01T00:04:59", "2026-01-01T00:05:00"},
        Fire{"rate(1 hour)", "2026-01-01T00:04:59", "2026-01-01T01:00:00"},
        Fire{"rate(1 day)", "2026-01-01T00:04:59", "2026-01-02T00:00:00"},
        Fire{"rate(15 seconds)", "2026-01-01T00:00:15", "2026-01-01T00:00:30"},
        Fire{"at(2026-11-21T00:08:52)", "2026-11-21T00:08:51", "2026-11-21T00:08:52"},
        Fire{"at(2026-11-21T00:08:52)", "2026-11-21T00:08:52", "never"},
        // Strictly after, on the minute.
        Fire{"cron(* * * * ? *)", "2026-01-01T00:00:00", "2026-01-01T00:01:00"},
        Fire{"cron(* * * * ? *)", "2026-01-01T00:00:59", "2026-01-01T00:01:00"},
        Fire{"cron(0 10 * * ? *)", "2026-01-01T09:59:59", "2026-01-01T10:00:00"},
        Fire{"cron(0 10 * * ? *)", "2026-01-01T10:00:00", "2026-01-02T10:00:00"},
        Fire{"cron(15 12 * * ? *)", "2026-12-31T12:15:00", "2027-01-01T12:15:00"},
        Fire{"cron(0 18 ? * MON-FRI *)", "2026-01-02T18:00:00", "2026-01-05T18:00:00"},
        Fire{"cron(0 8 1 * ? *)", "2026-01-01T08:00:00", "2026-02-01T08:00:00"},
        Fire{"cron(0/15 * * * ? *)", "2026-01-01T00:31:00", "2026-01-01T00:45:00"},
        Fire{"cron(*/20 * * * ? *)", "2026-01-01T00:40:00", "2026-01-01T01:00:00"},
        Fire{"cron(10-30/10 5 * * ? *)", "2026-01-01T05:20:00", "2026-01-01T05:30:00"},
        Fire{"cron(0/10 * ? * MON-FRI *)", "2026-01-02T23:50:00", "2026-01-05T00:00:00"},
        Fire{"cron(0/5 8-17 ? * 2-6 *)", "2026-01-02T17:55:00", "2026-01-05T08:00:00"},
        Fire{"cron(5,35 14 * * ? *)", "2026-01-01T14:05:00", "2026-01-01T14:35:00"},
        Fire{"cron(0 0 1 jan,JUL ? *)", "2026-01-01T00:00:00", "2026-07-01T00:00:00"},
        Fire{"cron(0 0 1 NOV-FEB ? *)", "2026-02-01T00:00:00", "2026-11-01T00:00:00"},
        Fire{"cron(0 0 ? * FRI-MON *)", "2026-01-05T00:00:00", "2026-01-09T00:00:00"},
        Fire{"cron(0 0 ? * L *)", "2026-01-01T00:00:00", "2026-01-03T00:00:00"},
        Fire{"cron(0 0 ? * * *)", "2026-01-01T00:00:00", "2026-01-02T00:00:00"},
        // L, W, LW, nL, n#k.
        Fire{"cron(0 0 L * ? *)", "2026-01-31T00:00:00", "2026-02-28T00:00:00"},
        Fire{"cron(0 0 L 2 ? *)", "2026-03-01T00:00:00", "2027-02-28T00:00:00"},
        Fire{"cron(0 0 L 2 ? 2028)", "2026-03-01T00:00:00", "2028-02-29T00:00:00"},
        Fire{"cron(0 0 1W * ? *)", "2026-01-31T00:00:00", "2026-02-02T00:00:00"},   // Sunday the 1st: Monday.
        Fire{"cron(0 0 1W * ? *)", "2026-07-31T00:00:00", "2026-08-03T00:00:00"},   // Saturday the 1st: not July.
        Fire{"cron(0 0 28W 2 ? *)", "2026-02-01T00:00:00", "2026-02-27T00:00:00"},  // Saturday: Friday.
        Fire{"cron(0 0 31W 5 ? *)", "2026-05-01T00:00:00", "2026-05-29T00:00:00"},  // Sunday the last: Friday.
        Fire{"cron(0 0 15W * ? *)", "2026-01-01T00:00:00", "2026-01-15T00:00:00"},
        Fire{"cron(0 0 LW * ? *)", "2026-02-01T00:00:00", "2026-02-27T00:00:00"},
        Fire{"cron(0 0 1,15W,L * ? *)", "2026-01-15T00:00:00", "2026-01-31T00:00:00"},
        Fire{"cron(0 0 ? * 5L *)", "2026-01-01T00:00:00", "2026-01-29T00:00:00"},
        Fire{"cron(0 0 ? * FRIL *)", "2026-01-30T00:00:00", "2026-02-27T00:00:00"},
        Fire{"cron(0 0 ? * 6#3 *)", "2026-01-01T00:00:00", "2026-01-16T00:00:00"},
        Fire{"cron(0 0 ? * THU#5 *)", "2026-01-30T00:00:00", "2026-04-30T00:00:00"},
        // Years and dates that seldom come.
        Fire{"cron(0 0 29 2 ? *)", "2026-01-01T00:00:00", "2028-02-29T00:00:00"},
        Fire{"cron(0 0 29 2 ? *)", "2096-03-01T00:00:00", "2104-02-29T00:00:00"},
        Fire{"cron(0 0 1 1 ? 2030-2040/5)", "2030-01-01T00:00:00", "2035-01-01T00:00:00"},
        Fire{"cron(0 0 1 1 ? 2020)", "2026-01-01T00:00:00", "never"},
        Fire{"cron(59 23 31 12 ? 2199)", "2199-12-31T23:58:59", "2199-12-31T23:59:00"},
        Fire{"cron(59 23 31 12 ? 2199)", "2199-12-31T23:59:00", "never"},
        Fire{"cron(0  0   1 1 ? 1970)", "1969-12-31T23:59:00", "1970-01-01T00:00:00"}));

TEST(ScheduleExpression, ARateCountsFromItsStart) {
  auto rate = ScheduleExpression::parse("rate(10 minutes)");
  ASSERT_TRUE(rate);
  WallTime start = at("2026-01-01T00:03:07");
  EXPECT_EQ(show(rate->next_fire(start, start)), "2026-01-01T00:13:07");
  EXPECT_EQ(show(rate->next_fire(start + minutes(10), start)), "2026-01-01T00:23:07");
  EXPECT_EQ(show(rate->next_fire(start - hours(5), start)), "2026-01-01T00:13:07");
}

TEST(ScheduleExpression, ExtremeTimesAreNoTrouble) {
  auto cron = ScheduleExpression::parse("cron(* * * * ? *)");
  ASSERT_TRUE(cron);
  EXPECT_EQ(show(cron->next_fire(WallTime::max())), "never");
  EXPECT_EQ(show(cron->next_fire(WallTime::min())), "1970-01-01T00:00:00");
}

TEST(ScheduleExpression, EveryFiringOfAYearIsFoundOnce) {
  auto cron = ScheduleExpression::parse("cron(0 12 ? * SAT,SUN *)");
  ASSERT_TRUE(cron);
  int count = 0;
  WallTime last = at("2027-01-01T00:00:00");
  for (auto t = cron->next_fire(at("2026-01-01T00:00:00")); t && *t < last; t = cron->next_fire(*t)) ++count;
  EXPECT_EQ(count, 104);
}

struct Wrong {
  const char* expression;
  const char* message;
};

class Refuses : public testing::TestWithParam<Wrong> {};

TEST_P(Refuses, WithAReason) {
  auto parsed = ScheduleExpression::parse(GetParam().expression);
  ASSERT_FALSE(parsed) << GetParam().expression;
  EXPECT_EQ(parsed.error().code, ErrorCode::kValidation);
  EXPECT_NE(parsed.error().message.find(GetParam().message), std::string::npos) << parsed.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Refuses,
    testing::Values(
        Wrong{"", "expected rate(5 minutes)"}, Wrong{"5 minutes", "expected rate(5 minutes)"},
        Wrong{"every(5 minutes)", "'every' is unknown"}, Wrong{"rate(5 minutes", "expected rate"},
        Wrong{"rate(0 minutes)", "positive whole number"}, Wrong{"rate(-1 minutes)", "positive"},
        Wrong{"rate(5)", "a unit"}, Wrong{"rate(1.5 hours)", "positive whole number"},
        Wrong{"rate(1 minutes)", "write rate(1 minute)"}, Wrong{"rate(2 hour)", "write rate(2 hours)"},
        Wrong{"rate(5 weeks)", "the unit 'weeks' is unknown"}, Wrong{"rate(99999999999 days)", "positive whole number"},
        Wrong{"at(2026-02-30T00:00:00)", "a time that exists"}, Wrong{"at(2026-02-20T24:00:00)", "a time that exists"},
        Wrong{"at(2026-02-20)", "yyyy-mm-dd"}, Wrong{"cron(0 10 * * ?)", "has 5 fields; it needs 6"},
        Wrong{"cron(0 10 * * * *)", "exactly one of day-of-month (*) and day-of-week (*)"},
        Wrong{"cron(0 10 ? * ? *)", "exactly one of day-of-month (?)"},
        Wrong{"cron(60 10 * * ? *)", "cron minutes '60': expected 0-59"},
        Wrong{"cron(0 24 * * ? *)", "cron hours '24': expected 0-23"},
        Wrong{"cron(0 0 0 * ? *)", "cron day-of-month '0': expected 1-31"},
        Wrong{"cron(0 0 1 13 ? *)", "cron month '13': expected 1-12 or JAN-DEC"},
        Wrong{"cron(0 0 ? * 8 *)", "cron day-of-week '8': expected 1-7 or SUN-SAT"},
        Wrong{"cron(0 0 1 * ? 1969)", "cron year '1969': expected 1970-2199"},
        Wrong{"cron(0 ? 1 * ? *)", "? is only for"}, Wrong{"cron(30-10 0 1 * ? *)", "runs backwards"},
        Wrong{"cron(0/0 0 1 * ? *)", "the step must be 1-59"}, Wrong{"cron(0/x 0 1 * ? *)", "the step"},
        Wrong{"cron(a 0 1 * ? *)", "cron minutes 'a'"}, Wrong{"cron(, 0 1 * ? *)", "cron minutes ''"},
        Wrong{"cron(0 0 L-3 * ? *)", "L stands alone"}, Wrong{"cron(0 0 32W * ? *)", "one day, 1-31"},
        Wrong{"cron(0 0 3#2 * ? *)", "# is only for day-of-week"}, Wrong{"cron(0 0 ? * 3#6 *)", "the occurrence 1-5"},
        Wrong{"cron(0 0 ? * 3#1,6#3 *)", "no list"}, Wrong{"cron(0 0 ? * 9L *)", "before L stands one day"},
        Wrong{"cron(0 0 30 2 ? *)", "never fires"}, Wrong{"cron(0 0 31 4,6 ? *)", "never fires"}));

}  // namespace
}  // namespace freshet
