#include "wire/http/host_check.h"

#include <algorithm>

namespace freshet {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

bool is_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// 127.a.b.c, each part up to 255.
bool is_loopback_v4(std::string_view name) {
  int parts = 0;
  while (true) {
    const size_t dot = name.find('.');
    const std::string_view part = name.substr(0, dot);
    if (part.empty() || part.size() > 3 || !is_digits(part) || std::stoi(std::string(part)) > 255) return false;
    if (parts == 0 && part != "127") return false;
    ++parts;
    if (dot == std::string_view::npos) return parts == 4;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace

HostCheck::HostCheck(std::vector<std::string> names) : names_(std::move(names)) {
  for (std::string& name : names_) name = lower(name);
}

bool HostCheck::allows(std::string_view host) const {
  std::string_view name = host;
  if (name.starts_with('[')) {
    const size_t end = name.find(']');
    if (end == std::string_view::npos) return false;
    const std::string_view rest = name.substr(end + 1);
    if (!rest.empty() && (rest[0] != ':' || !is_digits(rest.substr(1)))) return false;
    name = name.substr(1, end - 1);
    if (name == "::1") return true;
  } else if (const size_t colon = name.find(':'); colon != std::string_view::npos) {
    if (!is_digits(name.substr(colon + 1))) return false;
    name = name.substr(0, colon);
  }
  if (name == "127.0.0.1" || name == "localhost" || is_loopback_v4(name)) return true;
  const std::string folded = lower(name);
  if (folded == "localhost" || folded.ends_with(".localhost")) return true;
  return std::any_of(names_.begin(), names_.end(), [&](const std::string& allowed) {
    if (!allowed.starts_with("*.")) return folded == allowed;
    const std::string_view suffix = std::string_view(allowed).substr(1);
    return folded.size() > suffix.size() && folded.ends_with(suffix);
  });
}

bool HostCheck::allows_origin(std::string_view origin) const {
  constexpr std::string_view kSeparator = "://";
  const size_t scheme = origin.find(kSeparator);
  return scheme != std::string_view::npos && allows(origin.substr(scheme + kSeparator.size()));
}

}  // namespace freshet
