#include "wire/auth/credentials.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/text_file.h"

namespace freshet {

namespace {

constexpr size_t kMaxKeyId = 128;

std::string_view trimmed_line(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\r')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool is_key_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxKeyId && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

constexpr Role kRoles[] = {Role::kRead, Role::kWork, Role::kOperate, Role::kAdmin};

struct Section {
  AccessKey key;
  size_t line = 0;
};

}  // namespace

Result<Credentials> Credentials::parse(std::string_view text, const std::string& name) {
  std::vector<Section> sections;
  size_t number = 0;
  const auto wrong = [&](size_t line, const std::string& why) {
    return invalid(name + ":" + std::to_string(line) + ": " + why);
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      if (line.back() != ']') return wrong(number, "the section's name does not end with ']'");
      sections.push_back({{}, number});
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return wrong(number, "expected NAME = VALUE");
    if (sections.empty()) return wrong(number, "expected a section first, like [default]");
    const std::string_view member = trimmed_line(line.substr(0, equals));
    const std::string value(trimmed_line(line.substr(equals + 1)));
    AccessKey& key = sections.back().key;
    if (member == "aws_access_key_id") key.id = value;
    if (member == "aws_secret_access_key") key.secret = value;
    if (member == "aws_session_token") key.token = value;
    if (member == "freshet_role") {
      const auto* role =
          std::find_if(std::begin(kRoles), std::end(kRoles), [&](Role r) { return role_name(r) == value; });
      if (role == std::end(kRoles)) return wrong(number, "freshet_role must be read, work, operate or admin");
      key.role = *role;
    }
  }
  Credentials credentials;
  for (Section& section : sections) {
    AccessKey& key = section.key;
    if (key.id.empty() && key.secret.empty()) continue;  // A section with settings for another purpose.
    if (!is_key_id(key.id)) return wrong(section.line, "aws_access_key_id must be 1 to 128 letters, digits, _ or -");
    if (key.secret.empty()) return wrong(section.line, "aws_secret_access_key is missing");
    if (credentials.keys_.contains(key.id)) return wrong(section.line, "the key " + key.id + " is there twice");
    credentials.in_order_.push_back(key.id);
    credentials.keys_.emplace(credentials.in_order_.back(), std::move(key));
  }
  if (credentials.keys_.empty()) return invalid(name + ": there is no aws_access_key_id in it");
  return credentials;
}

Result<Credentials> Credentials::read(const std::string& path) {
  const auto text = read_text_file(path);
  struct stat about {};
  if (!text || ::stat(path.c_str(), &about) != 0) {
    return invalid("the credentials file: " + (text ? std::strerror(errno) : text.error().message));
  }
  if ((about.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return invalid("the credentials file '" + path + "' can be read or written by everybody: chmod 600 it");
  }
  return parse(*text, path);
}

Result<Credentials> Credentials::and_of(const Credentials& other) const {
  Credentials both = *this;
  for (const std::string& id : other.in_order_) {
    const AccessKey& key = other.keys_.at(id);
    const auto [known, is_new] = both.keys_.try_emplace(id, key);
    if (is_new) both.in_order_.push_back(id);
    if (known->second != key) {
      return invalid("the key " + id + " is in both files with another secret, session token or role");
    }
  }
  return both;
}

const AccessKey* Credentials::find(std::string_view id) const {
  const auto found = keys_.find(id);
  return found == keys_.end() ? nullptr : &found->second;
}

const AccessKey& Credentials::strongest() const {
  const AccessKey* best = &first();
  for (const std::string& id : in_order_) {
    const AccessKey& key = keys_.at(id);
    if (key.role > best->role) best = &key;
  }
  return *best;
}

}  // namespace freshet
