#include "functions/capture/capture_lines.h"

#include <algorithm>

#include "streams/stream_event.h"
#include "tables/value/json_reader.h"

namespace freshet {
namespace {

// 0 if the line is no record.
uint64_t sequence_of(JsonDocument& document, std::string_view line) {
  const auto record = document.parse(line);
  if (!record) return 0;
  const auto change = record->find("dynamodb");
  if (!change) return 0;
  const auto number = change->string_or("SequenceNumber");
  if (!number) return 0;
  return parse_sequence_number(*number).value_or(0);
}

}  // namespace

bool SequenceGaps::has(uint64_t sequence) const {
  const auto found = std::lower_bound(gaps_.begin(), gaps_.end(), sequence,
                                      [](const auto& gap, uint64_t wanted) { return gap.second < wanted; });
  return found != gaps_.end() && found->first <= sequence;
}

GoodLines good_lines(std::string_view text) {
  GoodLines good;
  JsonDocument document;
  while (good.bytes < text.size()) {
    const size_t end = text.find('\n', good.bytes);
    if (end == std::string_view::npos) break;
    const uint64_t sequence = sequence_of(document, text.substr(good.bytes, end - good.bytes));
    if (sequence <= good.last) break;
    if (good.first == 0) good.first = sequence;
    if (good.last > 0) good.gaps.add(good.last, sequence);
    good.last = sequence;
    good.bytes = end + 1;
  }
  return good;
}

}  // namespace freshet
