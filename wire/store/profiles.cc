#include "wire/store/profiles.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

namespace freshet::remote {

namespace {

using Members = std::map<std::string, std::string>;

// Words between single spaces: "profile work".
std::string single_spaced(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

// The members of a section. Those of other tools are among them, but no nested ones, which are indented below a member
// without a value.
Members members_of(const std::string& text, const std::string& section) {
  Members out;
  bool inside = false;
  bool nested = false;
  std::istringstream lines(text);
  for (std::string whole; std::getline(lines, whole);) {
    const std::string line = trimmed(whole);
    const bool indented = whole.starts_with(' ') || whole.starts_with('\t');
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    if (line.starts_with('[')) {
      inside = single_spaced(line.substr(1, line.find(']') - 1)) == section;
      nested = false;
      continue;
    }
    const size_t equals = line.find('=');
    if (!inside || (nested && indented) || equals == std::string::npos) continue;
    std::string value = trimmed(std::string_view(line).substr(equals + 1));
    nested = value.empty();
    out.insert_or_assign(trimmed(std::string_view(line).substr(0, equals)), std::move(value));
  }
  return out;
}

std::string member(const Members& members, const std::string& name) {
  const auto found = members.find(name);
  return found == members.end() ? std::string() : found->second;
}

std::optional<AccessKey> key_in(const Members& members) {
  AccessKey key;
  key.id = member(members, "aws_access_key_id");
  key.secret = member(members, "aws_secret_access_key");
  key.token = member(members, "aws_session_token");
  return key.id.empty() || key.secret.empty() ? std::nullopt : std::optional(key);
}

Members of_credentials(const KeyPlaces& places, const Profiles& profiles) {
  const auto text = places.file(profiles.credentials_file());
  return text ? members_of(*text, profiles.name()) : Members();
}

// Its sections are [profile NAME]; that of the default one may also be [default].
Members of_config(const KeyPlaces& places, const Profiles& profiles) {
  const auto text = places.file(profiles.config_file());
  if (!text) return {};
  const std::string name = profiles.name();
  Members members = members_of(*text, "profile " + name);
  return members.empty() && name == "default" ? members_of(*text, name) : members;
}

}  // namespace

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

KeyPlaces own_places() {
  KeyPlaces places;
  places.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  places.file = [](const std::string& path) -> std::optional<std::string> {
    std::ifstream in(path);
    if (!in) return std::nullopt;
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  };
  return places;
}

std::string Profiles::variable(const char* name) const {
  return places_.environment(name).value_or(std::string());
}

std::string Profiles::name() const {
  const std::string name = variable("AWS_PROFILE");
  return name.empty() ? "default" : name;
}

std::string Profiles::path(const char* variable_name, const char* in_home) const {
  const std::string path = variable(variable_name);
  return path.empty() ? variable("HOME") + in_home : path;
}

std::string Profiles::credentials_file() const {
  return path("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
}

std::string Profiles::config_file() const {
  return path("AWS_CONFIG_FILE", "/.aws/config");
}

std::optional<AccessKey> Profiles::key() const {
  auto key = key_in(of_credentials(places_, *this));
  return key ? key : key_in(of_config(places_, *this));
}

std::string Profiles::region() const {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (auto region = variable(name); !region.empty()) return region;
  }
  auto region = member(of_credentials(places_, *this), "region");
  return region.empty() ? member(of_config(places_, *this), "region") : region;
}

}  // namespace freshet::remote
