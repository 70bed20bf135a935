#include "functions/capture/capture_name.h"

#include <algorithm>

#include "streams/stream_event.h"

namespace freshet {
namespace {

constexpr std::string_view kFinished = ".jsonl";
constexpr std::string_view kOpen = ".jsonl.part";

}  // namespace

std::string label_in_names(std::string_view stream_label) {
  std::string out(stream_label);
  std::replace(out.begin(), out.end(), ':', '-');
  return out;
}

std::string to_string(const CaptureName& name) {
  std::string out = name.label + "_" + sequence_number(name.first);
  if (!name.last) return out.append(kOpen);
  return out.append("-").append(sequence_number(*name.last)).append(kFinished);
}

std::optional<CaptureName> parse_capture_name(std::string_view name) {
  const bool open = name.ends_with(kOpen);
  if (!open && !name.ends_with(kFinished)) return std::nullopt;
  const size_t blank = name.find('_');
  if (blank == std::string_view::npos || blank == 0) return std::nullopt;
  CaptureName out;
  out.label = name.substr(0, blank);
  std::string_view numbers = name.substr(blank + 1);
  numbers.remove_suffix(open ? kOpen.size() : kFinished.size());
  const size_t hyphen = numbers.find('-');
  if (open != (hyphen == std::string_view::npos)) return std::nullopt;
  const auto first = parse_sequence_number(numbers.substr(0, hyphen));
  if (!first) return std::nullopt;
  out.first = *first;
  if (!open) out.last = parse_sequence_number(numbers.substr(hyphen + 1));
  // A name that to_string() would not make is somebody else's.
  if ((!open && !out.last) || to_string(out) != name) return std::nullopt;
  return out;
}

}  // namespace freshet
