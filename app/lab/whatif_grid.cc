#include "app/lab/whatif_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"

namespace freshet::lab {

std::string setting_of(const Environment& policy, const std::string& name, const std::string& fallback) {
  const auto setting = policy.find(name);
  return setting == policy.end() ? fallback : setting->second;
}

double setting_number(const Environment& policy, const std::string& name) {
  const std::string text = setting_of(policy, name);
  double number = 0;
  return read_number_in(text, number) ? number : 0;
}

std::string name_of(const Environment& set, const std::string& otherwise) {
  if (set.empty()) return otherwise;
  std::string out;
  for (const auto& [name, value] : set) out += (out.empty() ? "" : " ") + name + "=" + value;
  return out;
}

std::vector<Environment> usual_alternatives(const Environment& policy) {
  std::vector<Environment> out;
  const auto add = [&](const Environment& wanted) {
    Environment set;
    for (const auto& [name, value] : wanted) {
      const std::string fallback = name == "ORDER" ? "lifo" : "off";
      if (setting_of(policy, name, fallback) != value) set[name] = value;
    }
    if (!set.empty() && std::find(out.begin(), out.end(), set) == out.end()) out.push_back(std::move(set));
  };
  add({{"ORDER", "lifo"}, {"DEADLINE_MARGIN", "off"}});
  add({{"ORDER", "lifo"}, {"DEADLINE_MARGIN", "p90"}});
  add({{"ORDER", "fifo"}, {"DEADLINE_MARGIN", "off"}});
  add({{"ORDER", "fifo"}, {"DEADLINE_MARGIN", "p90"}});
  add({{"ORDER", "adaptive"}, {"DEADLINE_MARGIN", "yield"}});
  add({{"ORDER", "deadline"}});
  add({{"REFUSE_LATE", setting_of(policy, "REFUSE_LATE", "off") == "on" ? "off" : "on"}});
  add({{"CONCURRENCY", "adaptive"}});
  if (const double slots = setting_number(policy, "CONCURRENCY"); slots >= 4) {
    add({{"CONCURRENCY", std::to_string(static_cast<int64_t>(slots / 2))}});
  }
  if (const double limit = setting_number(policy, "RATE_LIMIT"); limit > 0)
    add({{"RATE_LIMIT", fmt::format("{:.4g}", limit * 0.8)}});
  return out;
}

}  // namespace freshet::lab
