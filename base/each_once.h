// Drops texts that a list has a second time.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace freshet {

// The texts in their order, each once.
inline std::vector<std::string> each_once(const std::vector<std::string>& texts) {
  std::set<std::string_view> seen;
  std::vector<std::string> out;
  for (const auto& text : texts) {
    if (seen.insert(text).second) out.push_back(text);
  }
  return out;
}

}  // namespace freshet
