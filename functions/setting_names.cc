#include "functions/setting_names.h"

#include <algorithm>
#include <cctype>

#include "functions/settings.h"
#include "runtime/deploy/diagnostics.h"

namespace freshet {

namespace {

// "rate-limit" as "RATE_LIMIT".
std::string in_capitals(std::string_view name) {
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return c == '-' || c == ' ' ? '_' : static_cast<char>(std::toupper(c)); });
  return out;
}

}  // namespace

std::string nearest_setting(std::string_view name, const std::vector<std::string>& known) {
  const std::string wanted = in_capitals(name);
  const auto first_of_table = [&](const auto& fits) {
    for (const SettingHelp& row : setting_table()) {
      const bool is_known = std::find(known.begin(), known.end(), row.name) != known.end();
      if (is_known && fits(row.name)) return " (did you mean '" + std::string(row.name) + "'?)";
    }
    return std::string();
  };
  if (wanted.size() < 3) return did_you_mean(wanted, known);
  auto begun = first_of_table([&](std::string_view one) { return one.starts_with(wanted + "_"); });
  if (!begun.empty()) return begun;
  auto near = did_you_mean(wanted, known);
  if (!near.empty()) return near;
  return first_of_table([&](std::string_view one) { return one.starts_with(wanted) || one.ends_with("_" + wanted); });
}

}  // namespace freshet
