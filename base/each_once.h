// Removes duplicates from a list of texts.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace freshet {

// Returns each text once, in the order of first occurrence.
inline std::vector<std::string> each_once(const std::vector<std::string>& texts) {
  std::set<std::string_view> seen;
  std::vector<std::string> out;
  for (const auto& text : texts) {
    if (seen.insert(text).second) out.push_back(text);
  }
  return out;
}

}  // namespace freshet
