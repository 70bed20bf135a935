#include "wire/http/host_check.h"

#include <algorithm>
#include <optional>

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

bool is_loopback(std::string_view name) {
  if (name == "127.0.0.1" || name == "localhost" || name == "::1" || is_loopback_v4(name)) return true;
  const std::string folded = lower(name);
  return folded == "localhost" || folded.ends_with(".localhost");
}

// The name or address of a Host header, without brackets and port; nothing if it is malformed.
std::optional<std::string_view> name_in(std::string_view host) {
  if (!host.starts_with('[')) {
    const size_t colon = host.find(':');
    if (colon != std::string_view::npos && !is_digits(host.substr(colon + 1))) return std::nullopt;
    return host.substr(0, colon);
  }
  const size_t end = host.find(']');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view rest = host.substr(end + 1);
  if (!rest.empty() && (rest[0] != ':' || !is_digits(rest.substr(1)))) return std::nullopt;
  return host.substr(1, end - 1);
}

// The same host in one spelling: lower case, without the port that the scheme has anyway.
std::string plain_host(std::string_view host, bool tls) {
  const std::string_view port = tls ? ":443" : ":80";
  if (host.ends_with(port)) host.remove_suffix(port.size());
  return lower(host);
}

constexpr std::string_view kSeparator = "://";

}  // namespace

HostCheck::HostCheck(std::vector<std::string> names) : names_(std::move(names)) {
  for (std::string& name : names_) name = lower(name);
}

bool HostCheck::is_listed(std::string_view name) const {
  const std::string folded = lower(name);
  return std::any_of(names_.begin(), names_.end(), [&](const std::string& allowed) {
    if (!allowed.starts_with("*.")) return folded == allowed;
    const std::string_view suffix = std::string_view(allowed).substr(1);
    return folded.size() > suffix.size() && folded.ends_with(suffix);
  });
}

bool HostCheck::allows(std::string_view host) const {
  const auto name = name_in(host);
  return name && (is_loopback(*name) || is_listed(*name));
}

bool HostCheck::allows_origin(std::string_view origin) const {
  const size_t scheme = origin.find(kSeparator);
  return scheme != std::string_view::npos && allows(origin.substr(scheme + kSeparator.size()));
}

bool HostCheck::is_own_origin(std::string_view origin, std::string_view host, bool tls) const {
  const size_t end = origin.find(kSeparator);
  if (end == std::string_view::npos) return false;
  const std::string scheme = lower(origin.substr(0, end));
  const auto name = name_in(host);
  if (!name || (scheme != "http" && scheme != "https")) return false;
  const bool page_tls = scheme == "https";
  const bool by_proxy = page_tls && !tls && !is_loopback(*name) && is_listed(*name);
  if (page_tls != tls && !by_proxy) return false;
  return plain_host(origin.substr(end + kSeparator.size()), page_tls) == plain_host(host, page_tls);
}

std::string HostCheck::proxy_advice(std::string_view origin, std::string_view host, bool tls) {
  if (tls || !lower(origin).starts_with("https://")) return {};
  return ". If a proxy in front of this server speaks TLS, the proxy must pass the browser's Host header on unchanged "
         "(this request has '" +
         std::string(host) + "'), and --allowed-host must name that host, which may not be a loopback name";
}

}  // namespace freshet
