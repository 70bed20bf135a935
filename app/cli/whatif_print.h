// Formats the comparison of `freshet whatif`. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/lab/whatif.h"
#include "base/terminal.h"

namespace freshet::cli {

struct ComparedQueue {
  std::string queue;
  Environment policy;  // In force at the beginning of the recording.
  std::vector<lab::Alternative> alternatives;
  std::vector<std::string> assumptions;
  uint64_t seed = 1;
  int resamples = 0;
  lab::WhatIf result;
};

// docs/task-api.md, "What if". The best policies come first.
nlohmann::ordered_json whatif_json(const ComparedQueue& compared);
// The same for people. Lines are not wrapped.
std::string whatif_text(const ComparedQueue& compared, const Screen& screen);

}  // namespace freshet::cli
