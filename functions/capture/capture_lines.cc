#include "functions/capture/capture_lines.h"

#include <algorithm>
#include <string>
#include <utility>

#include "streams/stream_event.h"
#include "tables/value/json_reader.h"

namespace freshet {
namespace {

// Empty if the line is no record.
std::string number_text(JsonDocument& document, std::string_view line) {
  const auto record = document.parse(line);
  if (!record) return {};
  const auto change = record->find("dynamodb");
  if (!change) return {};
  const auto number = change->string_or("SequenceNumber");
  return number ? std::string(*number) : std::string();
}

}  // namespace

bool SequenceGaps::has(uint64_t sequence) const {
  const auto found = std::lower_bound(gaps_.begin(), gaps_.end(), sequence,
                                      [](const auto& gap, uint64_t wanted) { return gap.second < wanted; });
  return found != gaps_.end() && found->first <= sequence;
}

GoodLines good_lines(std::string_view text, bool of_shard) {
  GoodLines good;
  JsonDocument document;
  uint64_t last = 0;
  while (good.bytes < text.size()) {
    const size_t end = text.find('\n', good.bytes);
    if (end == std::string_view::npos) break;
    const std::string number = number_text(document, text.substr(good.bytes, end - good.bytes));
    const uint64_t sequence = of_shard ? 0 : parse_sequence_number(number).value_or(0);
    CaptureNumber named = sequence > 0 ? sequence_number(sequence) : CaptureNumber();
    if (of_shard) named = shard_number_in_names(number);
    if (named.empty() || named <= good.last) break;
    if (good.first.empty()) good.first = named;
    if (last > 0) good.gaps.add(last, sequence);
    last = sequence;
    good.last = std::move(named);
    good.bytes = end + 1;
  }
  return good;
}

}  // namespace freshet
