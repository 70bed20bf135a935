#include "runtime/invoke/trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace freshet {

namespace {

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// "1-" SECONDS "-" ID.
bool is_root(std::string_view text) {
  constexpr size_t kTime = 2;
  constexpr size_t kId = kTime + 8 + 1;
  return text.size() == kId + 24 && text.starts_with("1-") && is_hex(text.substr(kTime, 8), 8) &&
         text[kId - 1] == '-' && is_hex(text.substr(kId), 24);
}

std::string_view field(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    std::string_view part = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(part.size() + 1, header.size()));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=') {
      return part.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

std::string trace_of(std::string_view caller, WallTime now, Random& random) {
  const std::string_view root = field(caller, "Root");
  if (!is_root(root)) {
    return fmt::format("Root=1-{:08x}-{:016x}{:08x};Parent={:016x};Sampled=1", static_cast<uint32_t>(epoch_s(now)),
                       random.next(), static_cast<uint32_t>(random.next()), random.next());
  }
  const std::string_view parent = field(caller, "Parent");
  return fmt::format("Root={};Parent={};Sampled={}", root,
                     is_hex(parent, 16) ? std::string(parent) : fmt::format("{:016x}", random.next()),
                     field(caller, "Sampled") == "0" ? "0" : "1");
}

TraceHeader parse_trace(std::string_view header) {
  const std::string_view root = field(header, "Root");
  const std::string_view parent = field(header, "Parent");
  return {std::string(is_root(root) ? root : std::string_view()),
          std::string(is_span_id(parent) ? parent : std::string_view())};
}

std::string trace_id_of_root(std::string_view root) {
  if (!is_root(root)) return {};
  std::string id(root.substr(2, 8));
  return id.append(root.substr(11));
}

std::string plain_trace(std::string_view header) {
  const TraceHeader said = parse_trace(header);
  if (said.root.empty()) return {};
  const std::string parent = said.parent.empty() ? std::string() : ";Parent=" + said.parent;
  return "Root=" + said.root + parent + (is_sampled(header) ? ";Sampled=1" : ";Sampled=0");
}

bool is_sampled(std::string_view header) {
  return field(header, "Sampled") != "0";
}

bool is_span_id(std::string_view text) {
  return is_hex(text, 16);
}

}  // namespace freshet
