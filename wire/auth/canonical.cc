#include "wire/auth/canonical.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/crypto.h"

namespace freshet::sigv4 {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Text that is not an escape is kept unchanged.
std::string decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

void append_encoded(std::string& out, std::string_view text, bool keep_slashes) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~' || (keep_slashes && c == '/');
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
}

std::string canonical_query(const QueryMembers& query) {
  std::vector<std::string> members;
  for (const auto& [name, value] : query) {
    if (name == "X-Amz-Signature") continue;
    std::string& member = members.emplace_back();
    append_encoded(member, name, false);
    member += '=';
    append_encoded(member, value, false);
  }
  // By name, then by value.
  std::sort(members.begin(), members.end(), [](const std::string& a, const std::string& b) {
    const auto split_at = [](const std::string& text) {
      const size_t equals = text.find('=');
      return std::pair(std::string_view(text).substr(0, equals), std::string_view(text).substr(equals + 1));
    };
    return split_at(a) < split_at(b);
  });
  std::string out;
  for (const std::string& member : members) {
    if (!out.empty()) out += '&';
    out += member;
  }
  return out;
}

// Trims the ends, and replaces several blanks within by one.
void append_trimmed(std::string& out, std::string_view value) {
  bool blank = false;
  bool begun = false;
  for (const char c : value) {
    if (c == ' ' || c == '\t') {
      blank = true;
      continue;
    }
    if (blank && begun) out += ' ';
    blank = false;
    begun = true;
    out += c;
  }
}

bool is_named(std::string_view name, std::string_view lower_name) {
  return name.size() == lower_name.size() &&
         std::equal(name.begin(), name.end(), lower_name.begin(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b; });
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

QueryMembers parse_query(std::string_view target) {
  QueryMembers query;
  const size_t mark = target.find('?');
  if (mark == std::string_view::npos || mark + 1 == target.size()) return query;
  for (const std::string& member : split(target.substr(mark + 1), '&')) {
    if (member.empty()) continue;
    const size_t equals = std::min(member.find('='), member.size());
    const std::string_view view = member;
    query.emplace_back(decode(view.substr(0, equals)),
                       equals < member.size() ? decode(view.substr(equals + 1)) : std::string());
  }
  return query;
}

const std::string* find_member(const QueryMembers& query, std::string_view name) {
  const auto found = std::find_if(query.begin(), query.end(), [&](const auto& member) { return member.first == name; });
  return found == query.end() ? nullptr : &found->second;
}

std::string canonical_request(const HttpRequest& request, const QueryMembers& query,
                              const std::vector<std::string>& headers, const std::string& body_hash, PathForm form) {
  std::string out = request.method + "\n";
  const std::string_view path = path_of(request.target);
  if (form == PathForm::kAsSent) {
    out += path;
  } else {
    append_encoded(out, path, true);
  }
  out += '\n';
  out += canonical_query(query);
  out += '\n';
  std::string names;
  for (const std::string& wanted : headers) {
    out += wanted + ":";
    bool first = true;
    for (const auto& [name, value] : request.headers) {
      if (!is_named(name, wanted)) continue;
      if (!std::exchange(first, false)) out += ',';
      append_trimmed(out, value);
    }
    out += '\n';
    if (!names.empty()) names += ';';
    names += wanted;
  }
  out += "\n" + names + "\n" + body_hash;
  return out;
}

std::string scope_text(std::string_view date, std::string_view region, std::string_view service) {
  std::string out(date);
  for (const std::string_view part : {region, service, kTerminator}) {
    out += '/';
    out += part;
  }
  return out;
}

std::string string_to_sign(std::string_view timestamp, std::string_view scope, const std::string& canonical) {
  std::string out(kAlgorithm);
  for (const std::string_view part : {timestamp, scope}) {
    out += '\n';
    out += part;
  }
  return out + "\n" + sha256_hex(canonical);
}

std::string signature_of(const AccessKey& key, std::string_view date, std::string_view region, std::string_view service,
                         const std::string& to_sign) {
  std::string derived = "AWS4" + key.secret;
  for (const std::string_view part : {date, region, service, kTerminator}) derived = hmac_sha256(derived, part);
  return to_hex(hmac_sha256(derived, to_sign));
}

std::string format_timestamp(WallTime at) {
  const time_t time = epoch_s(at);
  tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text;
  return std::string(text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts));
}

std::optional<WallTime> parse_timestamp(std::string_view text) {
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return std::nullopt;
  const auto number = [&](size_t at, size_t size) {
    int value = 0;
    for (const char c : text.substr(at, size)) {
      if (c < '0' || c > '9') return -1;
      value = value * 10 + (c - '0');
    }
    return value;
  };
  const int year = number(0, 4), month = number(4, 2), day = number(6, 2);
  const int hour = number(9, 2), minute = number(11, 2), second = number(13, 2);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) + seconds(second);
}

std::optional<WallTime> parse_http_date(std::string_view text) {
  tm parts{};
  const std::string copy(text);
  const char* end = ::strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return WallTime(seconds(::timegm(&parts)));
}

}  // namespace freshet::sigv4
