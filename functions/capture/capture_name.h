// Names of the files with captured changes. They sort by time: first by the stream (its label is the time when it was
// switched on), on an engine then by the shard, then by number. Pure functions.
//
//   2026-11-21T00-08-52.709_100000000000000000001-100000000000000000042.jsonl    finished: from the one to the other
//   2026-11-21T00-08-52.709_100000000000000000043.jsonl.part                     open: all before this one is written
//   LABEL_SHARD_NUMBER-NUMBER.jsonl, LABEL_SHARD_NUMBER.jsonl.part               the same for a shard of an engine
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace freshet {

// A record's number as it is in names: decimal digits, as many for each record of a stream, so that texts compare as
// the numbers do. Empty: none, which is below all others.
using CaptureNumber = std::string;

// An engine's numbers have up to so many digits, and in names exactly so many.
inline constexpr size_t kShardDigits = 40;

// Records with one order: all of a stream or, on an engine, those of one shard.
struct CaptureSeries {
  std::string label;  // As in names: see label_in_names(), series_of_shard().
  std::string shard;  // As in names; empty on the embedded store.
  auto operator<=>(const CaptureSeries&) const = default;
  bool is_shard() const { return !shard.empty(); }
};

struct CaptureName {
  CaptureSeries series;
  CaptureNumber first;
  std::optional<CaptureNumber> last;  // Set for finished files.
};

std::string label_in_names(std::string_view stream_label);
// A byte that is no ASCII letter, digit, hyphen or dot is written ~XX, in hexadecimal.
CaptureSeries series_of_shard(std::string_view stream_label, std::string_view shard);

// An engine's number as it is in names; empty if it is none.
CaptureNumber shard_number_in_names(std::string_view number);
// The next higher and the next lower number. Empty above a number of nines. There is none below a number of zeros.
CaptureNumber number_after(CaptureNumber number);
CaptureNumber number_before(CaptureNumber number);

std::string to_string(const CaptureName& name);
std::optional<CaptureName> parse_capture_name(std::string_view name);  // Empty for any other file.

}  // namespace freshet
