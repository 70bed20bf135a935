#include "functions/limit_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "functions/setting_reader.h"
#include "runtime/api/task_cost.h"

namespace freshet {

double LimitSettings::tokens_at_once() const {
  constexpr double kAtOnce = 0.02;  // Seconds of the rate.
  return burst > 0 ? burst : std::max(kAtOnce * rate, 1.0);
}

void read_limits(SettingReader& reader, bool has_rate, LimitSettings& out) {
  const auto* rate = reader.find("KEY_RATE_LIMIT");
  out.learnt = rate != nullptr && *rate == "adaptive";
  if (!out.learnt) reader.real("KEY_RATE_LIMIT", out.rate, 0, 1e9, "'adaptive' or ");
  reader.whole("KEY_RATE_BURST", out.burst, 0, 1'000'000'000);
  reader.whole("KEY_CONCURRENCY", out.concurrency, 0, 1'000'000);
  reader.choice("LIMIT_BY", "key", "group", out.by_key);
  reader.choice("RATE_COUNTS", "cost", "tasks", out.counts_cost);
  reader.real("DEFAULT_COST", out.default_cost, kLeastCost, kMostCost);
  if (out.burst > 0 && out.learnt) {
    reader.report(
        "KEY_RATE_BURST is for a fixed KEY_RATE_LIMIT; KEY_RATE_LIMIT=adaptive learns the burst: set one of the two");
  } else if (out.burst > 0 && out.rate == 0) {
    reader.report("KEY_RATE_BURST has no effect without KEY_RATE_LIMIT: set that, too");
  }
  if (reader.find("LIMIT_BY") && !out.any()) {
    reader.report("LIMIT_BY has no effect without KEY_RATE_LIMIT or KEY_CONCURRENCY: set one of these, too");
  }
  if (out.counts_cost && !out.has_rate() && !has_rate) {
    reader.report("RATE_COUNTS has no effect without RATE_LIMIT or KEY_RATE_LIMIT: set one of these, too");
  }
}

void add_limits(const LimitSettings& limits, bool has_rate, Environment& out) {
  out["KEY_RATE_LIMIT"] = limits.learnt ? "adaptive" : fmt::format("{}", limits.rate);
  out["KEY_CONCURRENCY"] = std::to_string(limits.concurrency);
  out["DEFAULT_COST"] = fmt::format("{}", limits.default_cost);
  if (limits.rate > 0) out["KEY_RATE_BURST"] = std::to_string(limits.burst);
  if (limits.any()) out["LIMIT_BY"] = limits.by_key ? "key" : "group";
  if (limits.has_rate() || has_rate) out["RATE_COUNTS"] = limits.counts_cost ? "cost" : "tasks";
}

void drop_limits(const Environment& changes, Environment& all) {
  const auto is_zero = [&](const char* name) {
    const auto change = changes.find(name);
    return (change == changes.end() ? all[name] : change->second) == "0";
  };
  const auto rate = changes.find("KEY_RATE_LIMIT");
  if (is_zero("KEY_RATE_LIMIT") || (rate != changes.end() && rate->second == "adaptive")) all.erase("KEY_RATE_BURST");
  if (is_zero("KEY_RATE_LIMIT") && is_zero("KEY_CONCURRENCY")) all.erase("LIMIT_BY");
  if (is_zero("KEY_RATE_LIMIT") && is_zero("RATE_LIMIT")) all.erase("RATE_COUNTS");
}

}  // namespace freshet
