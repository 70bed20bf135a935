// The limits of each key or group, and the cost of a task: KEY_RATE_LIMIT and related settings. A value.
#pragma once

#include "runtime/invoke/function.h"

namespace freshet {

class SettingReader;

struct LimitSettings {
  double rate = 0;           // Starts (or cost) per second for each; 0: no limit.
  bool learnt = false;       // KEY_RATE_LIMIT=adaptive, instead of `rate`.
  int burst = 0;             // The burst (in tasks, or in cost); 0: one, or 20 ms worth of the rate if that is more.
  int concurrency = 0;       // The most tasks in work for each; 0: no limit.
  bool by_key = false;       // True: for each key. False: for each group.
  bool counts_cost = false;  // True: rates count the cost of tasks, as does RATE_LIMIT. False: they count tasks.
  double default_cost = 1;   // The cost of a task that names none.

  bool has_rate() const { return rate > 0 || learnt; }
  bool any() const { return has_rate() || concurrency > 0; }
  double tokens_at_once() const;  // The burst as the capacity of a bucket.
  bool operator==(const LimitSettings&) const = default;
};

// `has_rate`: RATE_LIMIT is set.
void read_limits(SettingReader& reader, bool has_rate, LimitSettings& out);
// The same settings as variables, only those that apply.
void add_limits(const LimitSettings& limits, bool has_rate, Environment& out);
// Removes from `all` the settings that no longer apply after `changes`.
void drop_limits(const Environment& changes, Environment& all);

}  // namespace freshet
