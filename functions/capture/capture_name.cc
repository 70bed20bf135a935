#include "functions/capture/capture_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "streams/stream_event.h"

namespace freshet {
namespace {

constexpr std::string_view kFinished = ".jsonl";
constexpr std::string_view kOpen = ".jsonl.part";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_plain_in_names(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.';
}

// Other texts have the same form only if they are the same.
std::string plain_in_names(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_plain_in_names(c)) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "~{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

CaptureNumber number_in(std::string_view text, bool of_shard) {
  if (of_shard) return shard_number_in_names(text);
  const auto sequence = parse_sequence_number(text);
  return sequence ? sequence_number(*sequence) : CaptureNumber();
}

}  // namespace

std::string label_in_names(std::string_view stream_label) {
  std::string out(stream_label);
  std::replace(out.begin(), out.end(), ':', '-');
  return out;
}

CaptureSeries series_of_shard(std::string_view stream_label, std::string_view shard) {
  return {plain_in_names(label_in_names(stream_label)), plain_in_names(shard)};
}

CaptureNumber shard_number_in_names(std::string_view number) {
  if (number.empty() || !std::all_of(number.begin(), number.end(), is_digit)) return {};
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  // There are two behind each number: the name of an open file has the next one.
  const bool is_last = number.size() == kShardDigits && number.find_first_not_of('9') >= kShardDigits - 1;
  if (number.size() > kShardDigits || is_last) return {};
  return std::string(kShardDigits - number.size(), '0').append(number);
}

CaptureNumber number_after(CaptureNumber number) {
  const size_t at = number.find_last_not_of('9');
  if (at == std::string::npos) return {};
  ++number[at];
  std::fill(number.begin() + static_cast<ptrdiff_t>(at) + 1, number.end(), '0');
  return number;
}

CaptureNumber number_before(CaptureNumber number) {
  const size_t at = number.find_last_not_of('0');
  if (at == std::string::npos) return {};
  --number[at];
  std::fill(number.begin() + static_cast<ptrdiff_t>(at) + 1, number.end(), '9');
  return number;
}

std::string to_string(const CaptureName& name) {
  std::string out = name.series.label + "_";
  if (name.series.is_shard()) out.append(name.series.shard).append("_");
  out += name.first;
  if (!name.last) return out.append(kOpen);
  return out.append("-").append(*name.last).append(kFinished);
}

std::optional<CaptureName> parse_capture_name(std::string_view name) {
  const bool open = name.ends_with(kOpen);
  if (!open && !name.ends_with(kFinished)) return std::nullopt;
  const size_t blank = name.find('_');
  if (blank == std::string_view::npos || blank == 0) return std::nullopt;
  CaptureName out;
  out.series.label = name.substr(0, blank);
  std::string_view numbers = name.substr(blank + 1);
  numbers.remove_suffix(open ? kOpen.size() : kFinished.size());
  if (const size_t second = numbers.find('_'); second != std::string_view::npos) {
    if (second == 0) return std::nullopt;
    out.series.shard = numbers.substr(0, second);
    numbers.remove_prefix(second + 1);
  }
  const size_t hyphen = numbers.find('-');
  if (open != (hyphen == std::string_view::npos)) return std::nullopt;
  out.first = number_in(numbers.substr(0, hyphen), out.series.is_shard());
  if (!open) out.last = number_in(numbers.substr(hyphen + 1), out.series.is_shard());
  // A name that to_string() would not make is somebody else's.
  const bool is_whole = !out.first.empty() && (!out.last || !out.last->empty());
  if (!is_whole || to_string(out) != name) return std::nullopt;
  return out;
}

}  // namespace freshet
