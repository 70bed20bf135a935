#include "wire/store/access_keys.h"

#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tables/value/json_reader.h"

namespace freshet::remote {

namespace {

constexpr seconds kFetchedBefore{300};     // Keys are fetched again that long before they expire.
constexpr seconds kFetchedAgainAfter{10};  // At the earliest, while the old key holds.
constexpr milliseconds kPatience{1000};    // The SDKs' timeout for these endpoints.

class FixedKey final : public AccessKeySource {
 public:
  explicit FixedKey(AccessKey key) : key_(std::move(key)) {}
  Async<Result<AccessKey>> current() override { return Result<AccessKey>(key_); }
  void refused(const AccessKey&) override {}

 private:
  const AccessKey key_;
};

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

bool is_same(const AccessKey& one, const AccessKey& other) {
  return one.id == other.id && one.secret == other.secret && one.token == other.token;
}

class KeyChain final : public AccessKeySource {
 public:
  KeyChain(KeyPlaces places, HttpClient& http, Scheduler& scheduler)
      : places_(std::move(places)), http_(http), scheduler_(scheduler) {}

  Async<Result<AccessKey>> current() override {
    if (!is_fetching_ && is_due()) {
      is_fetching_ = true;
      scope_.spawn(fetch());
    }
    if (is_fetching_ && (is_refused_ || !holds())) {
      Promise<bool> fetched(scheduler_);
      waiting_.push_back(fetched);
      co_await fetched.future();
    }
    if (!holds()) co_return fail(ErrorCode::kAccessDenied, nowhere());
    co_return known_->key;
  }

  void refused(const AccessKey& key) override {
    if (known_ && is_same(known_->key, key)) is_refused_ = true;
  }

 private:
  const Clock& clock() const { return scheduler_.clock(); }
  bool holds() const { return known_ && (!known_->expires || clock().wall() < *known_->expires); }
  bool is_due() const {
    if (!holds() || is_refused_) return true;
    return known_->expires && clock().wall() + kFetchedBefore >= *known_->expires && clock().boot() >= not_before_;
  }

  // One at a time.
  Async<void> fetch() {
    auto fetched = co_await look();
    if (fetched) known_ = std::move(*fetched);
    is_fetching_ = is_refused_ = false;
    not_before_ = clock().boot() + kFetchedAgainAfter;
    for (const auto& one : std::exchange(waiting_, {})) one.set(true);
  }

  std::string variable(const char* name) const { return profiles_.variable(name); }

  Async<std::optional<Fetched>> look() {
    if (auto key = of_environment()) co_return Fetched{std::move(*key), std::nullopt};
    if (auto key = profiles_.key()) co_return Fetched{std::move(*key), std::nullopt};
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
    return "no access key: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, nor the profile '" + profiles_.name() +
           "' in " + profiles_.credentials_file() + " or " + profiles_.config_file() +
           ", nor the endpoint of a container or an instance has one";
  }

  const KeyPlaces places_;
  const Profiles profiles_{places_};
  HttpClient& http_;
  Scheduler& scheduler_;
  std::optional<Fetched> known_;
  bool is_refused_ = false;   // The store does not accept `known_`.
  bool is_fetching_ = false;  // One fetch is under way.
  BootTime not_before_{};     // When a key that still holds may be fetched again.
  std::vector<Promise<bool>> waiting_;
  Scope scope_;  // Last: its work uses the others.
};

}  // namespace

std::unique_ptr<AccessKeySource> fixed_key(AccessKey key) {
  return std::make_unique<FixedKey>(std::move(key));
}

std::unique_ptr<AccessKeySource> keys_from(KeyPlaces places, HttpClient& http, Scheduler& scheduler) {
  return std::make_unique<KeyChain>(std::move(places), http, scheduler);
}

}  // namespace freshet::remote
