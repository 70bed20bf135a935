// Names of the files with captured changes. They sort by time: first by the stream (its label is the time when it was
// switched on), then by sequence number. Pure functions.
//
//   2026-11-21T00-08-52.709_100000000000000000001-100000000000000000042.jsonl    finished: from the one to the other
//   2026-11-21T00-08-52.709_100000000000000000043.jsonl.part                     open: all before this one is written
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace freshet {

struct CaptureName {
  std::string label;  // As in names: see label_in_names().
  uint64_t first = 0;
  std::optional<uint64_t> last;  // Set for finished files.
};

std::string label_in_names(std::string_view stream_label);
std::string to_string(const CaptureName& name);
std::optional<CaptureName> parse_capture_name(std::string_view name);  // Empty for any other file.

}  // namespace freshet
