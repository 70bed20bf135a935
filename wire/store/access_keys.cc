#include "wire/store/access_keys.h"

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "tables/value/json_reader.h"

namespace freshet::remote {

namespace {

constexpr seconds kFetchedBefore{300};   // Keys are fetched again that long before they expire.
constexpr milliseconds kPatience{1000};  // The SDKs' timeout for these endpoints.

class FixedKey final : public AccessKeySource {
 public:
  explicit FixedKey(AccessKey key) : key_(std::move(key)) {}
  Async<Result<AccessKey>> current() override { return Result<AccessKey>(key_); }
  void refused() override {}

 private:
  const AccessKey key_;
};

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

// The key in [profile] of a credentials file. Members that other tools put there are passed over.
std::optional<AccessKey> key_of_profile(const std::string& text, const std::string& profile) {
  AccessKey key;
  bool inside = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line = trimmed(line);
    if (line.starts_with('[')) {
      inside = line.ends_with(']') && trimmed(std::string_view(line).substr(1, line.size() - 2)) == profile;
      continue;
    }
    const size_t equals = line.find('=');
    if (!inside || line.starts_with('#') || line.starts_with(';') || equals == std::string::npos) continue;
    const std::string name = trimmed(std::string_view(line).substr(0, equals));
    std::string value = trimmed(std::string_view(line).substr(equals + 1));
    if (name == "aws_access_key_id") key.id = std::move(value);
    if (name == "aws_secret_access_key") key.secret = std::move(value);
    if (name == "aws_session_token") key.token = std::move(value);
  }
  return key.id.empty() || key.secret.empty() ? std::nullopt : std::optional(key);
}

// "2026-11-28T13:00:00Z", also with a fraction, which is cut off.
std::optional<WallTime> time_of(const std::string& text) {
  std::tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || !text.ends_with('Z')) return std::nullopt;
  return WallTime(seconds(timegm(&parts)));
}

struct Fetched {
  AccessKey key;
  std::optional<WallTime> expires;
};

// {"AccessKeyId":...,"SecretAccessKey":...,"Token":...,"Expiration":"2026-11-28T13:00:00Z"}
std::optional<Fetched> fetched_in(const std::string& body) {
  JsonDocument document;
  const auto json = document.parse(body);
  if (!json) return std::nullopt;
  const auto text = [&](const char* name) {
    const auto member = json->find(name);
    return member ? std::string(member->text()) : std::string();
  };
  Fetched out;
  out.key.id = text("AccessKeyId");
  out.key.secret = text("SecretAccessKey");
  out.key.token = text("Token");
  out.expires = time_of(text("Expiration"));
  return out.key.id.empty() || out.key.secret.empty() ? std::nullopt : std::optional(out);
}

class KeyChain final : public AccessKeySource {
 public:
  KeyChain(KeyPlaces places, HttpClient& http, const Clock& clock)
      : places_(std::move(places)), http_(http), clock_(clock) {}

  Async<Result<AccessKey>> current() override {
    if (known_ && !is_due()) co_return known_->key;
    auto fetched = co_await look();
    if (fetched) known_ = std::move(*fetched);
    const bool holds = known_ && (!known_->expires || clock_.wall() < *known_->expires);
    if (!holds) co_return fail(ErrorCode::kAccessDenied, nowhere());
    co_return known_->key;
  }

  void refused() override { known_.reset(); }

 private:
  bool is_due() const { return known_->expires && clock_.wall() + kFetchedBefore >= *known_->expires; }

  std::string variable(const char* name) const { return places_.environment(name).value_or(std::string()); }

  Async<std::optional<Fetched>> look() {
    if (auto key = of_environment()) co_return Fetched{std::move(*key), std::nullopt};
    if (auto key = of_file()) co_return Fetched{std::move(*key), std::nullopt};
    auto of_container = co_await look_in_container();
    if (of_container) co_return of_container;
    auto of_instance = co_await look_at_instance();
    co_return of_instance;
  }

  std::optional<AccessKey> of_environment() const {
    AccessKey key;
    key.id = variable("AWS_ACCESS_KEY_ID");
    key.secret = variable("AWS_SECRET_ACCESS_KEY");
    key.token = variable("AWS_SESSION_TOKEN");
    return key.id.empty() || key.secret.empty() ? std::nullopt : std::optional(key);
  }

  std::string profile() const {
    const std::string name = variable("AWS_PROFILE");
    return name.empty() ? "default" : name;
  }

  std::string credentials_file() const {
    const std::string path = variable("AWS_SHARED_CREDENTIALS_FILE");
    return path.empty() ? variable("HOME") + "/.aws/credentials" : path;
  }

  std::optional<AccessKey> of_file() const {
    const auto text = places_.file(credentials_file());
    return text ? key_of_profile(*text, profile()) : std::nullopt;
  }

  Async<std::optional<Fetched>> look_in_container() {
    std::string url = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (const auto path = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); !path.empty()) {
      url = "http://169.254.170.2" + path;
    }
    if (url.empty()) co_return std::nullopt;
    HttpHeaders headers;
    std::string token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    if (const auto path = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !path.empty()) {
      token = trimmed(places_.file(path).value_or(std::string()));
    }
    if (!token.empty()) headers.emplace_back("Authorization", token);
    auto body = co_await ask("GET", std::move(url), std::move(headers));
    co_return body ? fetched_in(*body) : std::nullopt;
  }

  // Version 2 of the instance's metadata service: a token first.
  Async<std::optional<Fetched>> look_at_instance() {
    if (variable("AWS_EC2_METADATA_DISABLED") == "true") co_return std::nullopt;
    std::string base = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    if (base.empty()) base = "http://169.254.169.254";
    if (base.ends_with('/')) base.pop_back();
    HttpHeaders wanted;
    wanted.emplace_back("X-aws-ec2-metadata-token-ttl-seconds", "21600");
    auto token = co_await ask("PUT", base + "/latest/api/token", std::move(wanted));
    if (!token) co_return std::nullopt;
    HttpHeaders headers;
    headers.emplace_back("X-aws-ec2-metadata-token", *token);
    const std::string place = base + "/latest/meta-data/iam/security-credentials/";
    auto role = co_await ask("GET", place, headers);
    if (!role) co_return std::nullopt;
    const std::string name = trimmed(role->substr(0, role->find('\n')));
    auto body = co_await ask("GET", place + name, std::move(headers));
    co_return body ? fetched_in(*body) : std::nullopt;
  }

  Async<std::optional<std::string>> ask(const char* method, std::string url, HttpHeaders headers) {
    HttpRequest request;
    request.method = method;
    request.headers = std::move(headers);
    auto answer = co_await http_.send(std::move(url), std::move(request), kPatience);
    if (!answer || answer->status != 200) co_return std::nullopt;
    co_return std::move(answer->body);
  }

  std::string nowhere() const {
    return "no access key: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, nor the profile '" + profile() +
           "' in " + credentials_file() + ", nor the endpoint of a container or an instance has one";
  }

  const KeyPlaces places_;
  HttpClient& http_;
  const Clock& clock_;
  std::optional<Fetched> known_;
};

}  // namespace

std::unique_ptr<AccessKeySource> fixed_key(AccessKey key) {
  return std::make_unique<FixedKey>(std::move(key));
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

std::unique_ptr<AccessKeySource> keys_from(KeyPlaces places, HttpClient& http, const Clock& clock) {
  return std::make_unique<KeyChain>(std::move(places), http, clock);
}

}  // namespace freshet::remote
