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

constexpr seconds kFetchedBefore{300};     // Keys are fetched again this long before they expire.
constexpr seconds kFetchedAgainAfter{10};  // The least time between two fetches while the old key is valid.
constexpr milliseconds kStsPatience{3000};
constexpr milliseconds kPatience{1000};  // The SDKs' timeout for these endpoints.

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

// For a form: all but letters, digits and "-._~" as %XX.
std::string form_encoded(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

// The text of the first element of that name; "" if there is none. Keys and times have no characters that XML escapes.
std::string element_in(const std::string& xml, const std::string& name) {
  const size_t begin = xml.find("<" + name + ">");
  const size_t end = xml.find("</" + name + ">");
  if (begin == std::string::npos || end == std::string::npos) return {};
  const size_t text = begin + name.size() + 2;
  return end < text ? std::string() : xml.substr(text, end - text);
}

// <AssumeRoleWithWebIdentityResponse>...<Credentials><AccessKeyId>...
std::optional<Fetched> assumed_in(const std::string& xml) {
  Fetched out;
  out.key.id = element_in(xml, "AccessKeyId");
  out.key.secret = element_in(xml, "SecretAccessKey");
  out.key.token = element_in(xml, "SessionToken");
  out.expires = time_of(element_in(xml, "Expiration"));
  return out.key.id.empty() || out.key.secret.empty() ? std::nullopt : std::optional(out);
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
    auto of_role = co_await look_with_web_identity();
    if (of_role) co_return of_role;
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

  std::string sts_url() const {
    std::string url = variable("AWS_ENDPOINT_URL_STS");
    if (!url.empty()) return url;
    const std::string region = profiles_.region();
    if (region.empty()) return "https://sts.amazonaws.com/";
    return "https://sts." + region + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn/" : "/");
  }

  // A pod of Kubernetes has a token in a file; STS gives the keys of a role for it.
  Async<std::optional<Fetched>> look_with_web_identity() {
    sts_said_.clear();
    const std::string role = variable("AWS_ROLE_ARN");
    const std::string path = variable("AWS_WEB_IDENTITY_TOKEN_FILE");
    if (role.empty() || path.empty()) co_return std::nullopt;
    std::string session = variable("AWS_ROLE_SESSION_NAME");
    if (session.empty()) session = "freshet";
    HttpRequest request;
    request.method = "POST";
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    request.body = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" + form_encoded(role) +
                   "&RoleSessionName=" + form_encoded(session) +
                   "&WebIdentityToken=" + form_encoded(trimmed(places_.file(path).value_or(std::string())));
    std::string url = sts_url();
    auto answer = co_await http_.send(std::move(url), std::move(request), kStsPatience);
    auto assumed = answer && answer->status == 200 ? assumed_in(answer->body) : std::nullopt;
    if (assumed) co_return assumed;
    sts_said_ = answer ? std::to_string(answer->status) + " " + element_in(answer->body, "Code") + " " +
                             element_in(answer->body, "Message")
                       : answer.error().message;
    co_return std::nullopt;
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
    const std::string web = sts_said_.empty() ? "" : " (" + sts_url() + ": " + trimmed(sts_said_) + ")";
    return "no access key: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, nor a web identity token" + web +
           ", nor the profile '" + profiles_.name() + "' in " + profiles_.credentials_file() + " or " +
           profiles_.config_file() + ", nor the endpoint of a container or an instance has one";
  }

  const KeyPlaces places_;
  const Profiles profiles_{places_};
  HttpClient& http_;
  Scheduler& scheduler_;
  std::optional<Fetched> known_;
  std::string sts_said_;      // The reason why STS gave no key for the web identity token, if there is such a token.
  bool is_refused_ = false;   // The store does not accept `known_`.
  bool is_fetching_ = false;  // True while a fetch is in flight.
  BootTime not_before_{};     // When a key that is still valid may be fetched again.
  std::vector<Promise<bool>> waiting_;
  Scope scope_;  // The last member: its work uses the others.
};

}  // namespace

std::unique_ptr<AccessKeySource> keys_from(KeyPlaces places, HttpClient& http, Scheduler& scheduler) {
  return std::make_unique<KeyChain>(std::move(places), http, scheduler);
}

}  // namespace freshet::remote
