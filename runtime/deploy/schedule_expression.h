// Tells when a schedule fires: `rate(5 minutes)`, `cron(0 10 ? * MON-FRI *)`,
// `at(2026-11-21T00:08:52)`. Pure functions of an explicit now. All times are UTC. Source: Amazon
// EventBridge User Guide, "Cron expressions and rate expressions"; EventBridge Scheduler User Guide,
// "Schedule types".
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/result.h"

namespace freshet {

// `rate(N unit)`: minute(s), hour(s), day(s) as the service has them, and second(s), which only Freshet has.
struct RateSchedule {
  seconds period{60};
  bool operator==(const RateSchedule&) const = default;
};

// `at(yyyy-mm-ddThh:mm:ss)`: once.
struct OnceSchedule {
  WallTime at{};
  bool operator==(const OnceSchedule&) const = default;
};

// `cron(minutes hours day-of-month month day-of-week year)`. Exactly one of the two day fields is `?`.
struct CronSchedule {
  std::bitset<60> minutes;
  std::bitset<24> hours;
  std::bitset<13> months;        // 1..12.
  std::bitset<230> years;        // 1970 is 0.
  bool by_day_of_week = false;   // Which day field applies; the other is `?`.
  std::bitset<32> days;          // 1..31.
  std::bitset<32> near_days;     // nW: the weekday (Monday to Friday) of the month that is nearest to day n.
  bool last_day = false;         // L.
  bool last_weekday = false;     // LW.
  std::bitset<8> weekdays;       // 1 is Sunday .. 7 is Saturday.
  std::bitset<8> last_weekdays;  // nL: the last such day of the month.
  int nth_weekday = 0;           // n#k: the k-th such day of the month; 0 for none.
  int nth = 0;
  bool operator==(const CronSchedule&) const = default;
};

// A value type.
class ScheduleExpression {
 public:
  // kValidation that names the field, its value and a right one. Also refuses a cron expression that never fires (30
  // February).
  static Result<ScheduleExpression> parse(std::string_view text);

  // The first time strictly after `after`; empty if there is none. A rate counts from `start` (when the schedule was
  // made); the others ignore it.
  std::optional<WallTime> next_fire(WallTime after, WallTime start = WallTime{}) const;

  // An at(), which fires once.
  bool is_once() const { return std::holds_alternative<OnceSchedule>(schedule_); }

  const std::string& text() const { return text_; }
  bool operator==(const ScheduleExpression&) const = default;

 private:
  std::string text_;
  std::variant<RateSchedule, OnceSchedule, CronSchedule> schedule_;
};

}  // namespace freshet
