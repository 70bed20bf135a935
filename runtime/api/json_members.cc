#include "runtime/api/json_members.h"

#include <vector>

#include "base/there_are.h"
#include "runtime/deploy/diagnostics.h"

namespace freshet {

std::string not_known(std::string_view name, std::span<const std::string_view> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  return "is not known" + did_you_mean(name, names) + "; " + there_are(names, names.size());
}

}  // namespace freshet
