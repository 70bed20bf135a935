#include "base/there_are.h"

#include <algorithm>

namespace freshet {

std::string there_are(const std::vector<std::string>& names, size_t most) {
  std::string out = names.size() == 1 ? "there is " : "there are ";
  for (size_t i = 0; i < std::min(names.size(), most); ++i) out += (i == 0 ? "" : ", ") + names[i];
  if (names.size() <= most) return out;
  const size_t left = names.size() - most;
  return out + " and " + std::to_string(left) + (left == 1 ? " other" : " others");
}

}  // namespace freshet
