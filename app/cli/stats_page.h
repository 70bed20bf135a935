// The output of `freshet stats`, from an answer of GET /queues/NAME/stats.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/terminal.h"

namespace freshet::cli {

// For files and programs: two columns, names and counts, under a heading each. Scripts read this format: it stays.
std::string stats_lines(const nlohmann::ordered_json& stats);

// An earlier answer, and its age.
struct StatsBefore {
  const nlohmann::ordered_json& stats;
  double seconds = 0;
};

// For people. With an earlier answer it has the rates since then.
std::string stats_page(const nlohmann::ordered_json& stats, const Screen& screen,
                       const std::optional<StatsBefore>& before = {});

}  // namespace freshet::cli
