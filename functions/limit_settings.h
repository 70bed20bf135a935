// The limits of each key or group, and what a task costs: KEY_RATE_LIMIT and its kin. A value.
#pragma once

#include "runtime/invoke/function.h"

namespace freshet {

class SettingReader;

struct LimitSettings {
  double rate = 0;           // Starts (or cost) a second of each; 0: no limit.
  bool learnt = false;       // KEY_RATE_LIMIT=adaptive, in place of `rate`.
  int burst = 0;             // The burst (in tasks, or in cost); 0: one, or 20 ms worth of the rate if that is more.
  int concurrency = 0;       // Tasks in work of each; 0: no limit.
  bool by_key = false;       // True: for each key. False: for each group.
  bool counts_cost = false;  // Rates count what tasks cost; RATE_LIMIT, too. Else tasks.
  double default_cost = 1;   // The cost of a task that names none.

  bool has_rate() const { return rate > 0 || learnt; }
  bool any() const { return has_rate() || concurrency > 0; }
  double tokens_at_once() const;  // The burst, as a bucket has it.
  bool operator==(const LimitSettings&) const = default;
};

// `has_rate`: there is a RATE_LIMIT.
void read_limits(SettingReader& reader, bool has_rate, LimitSettings& out);
// The same settings as variables. Only those that apply.
void add_limits(const LimitSettings& limits, bool has_rate, Environment& out);
// Takes those out of `all` that do not apply any more when it is changed so.
void drop_limits(const Environment& changes, Environment& all);

}  // namespace freshet
