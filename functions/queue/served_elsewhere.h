// The error for requests to a queue that another daemon serves.
#pragma once

#include <string>

#include "base/result.h"

namespace freshet {

inline Error served_elsewhere(const std::string& table) {
  return {ErrorCode::kUnavailable, "queue '" + table + "' is served by another daemon", nullptr};
}

}  // namespace freshet
