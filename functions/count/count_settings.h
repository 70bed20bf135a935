// The settings of count_states, parsed and checked. The table of them all is in docs/settings.md.
#pragma once

#include <string>

#include "base/result.h"
#include "runtime/invoke/function.h"

namespace freshet {

struct CountSettings {
  std::string metrics_table;
  std::string attribute = "taskStatus";
};

Result<CountSettings> count_settings(const Environment& environment);

}  // namespace freshet
