// Where the access keys for a remote store are found, and when they are fetched again.
#include "wire/store/access_keys.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/loop/sim_loop.h"
#include "tests/runtime/fakes.h"

namespace freshet::remote {
namespace {

class AccessKeys : public testing::Test {
 protected:
  AccessKeySource& source() {
    if (!source_) {
      KeyPlaces places;
      places.environment = [this](const std::string& name) { return find(environment, name); };
      places.file = [this](const std::string& path) { return find(files, path); };
      source_ = keys_from(std::move(places), http, loop);
    }
    return *source_;
  }
  template <class T>
  T wait(Async<T> work) {
    loop.run_until([&] { return work.is_ready(); }, seconds(60));
    EXPECT_TRUE(work.is_ready());
    return work.take();
  }
  Result<AccessKey> current() { return wait(source().current()); }
  // The ids that four calls get at the same time.
  std::string ids() {
    std::vector<Async<Result<AccessKey>>> calls;
    for (int i = 0; i < 4; ++i) calls.push_back(source().current());
    std::string out;
    for (auto& call : calls) {
      const auto key = wait(std::move(call));
      out += key ? key->id : "-";
    }
    return out;
  }
  void is_refused() { source().refused(*current()); }
  std::string id() {
    const auto key = current();
    return key ? key->id + " " + key->secret + " " + key->token : key.error().message;
  }

  using Texts = std::map<std::string, std::string>;
  static std::optional<std::string> find(const Texts& texts, const std::string& name) {
    const auto found = texts.find(name);
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  }
  void answer(const std::string& body) {
    HttpResponse response;
    response.body = body;
    http.answers.push_back(response);
  }

  Texts environment{{"HOME", "/users/me"}, {"AWS_EC2_METADATA_DISABLED", "true"}};
  Texts files;
  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};  // 2027-01-15T08:00:00Z
  SimLoop loop{clock};
  FakeHttp http{loop};

 private:
  std::unique_ptr<AccessKeySource> source_;
};

TEST_F(AccessKeys, TheEnvironmentComesFirst) {
  environment["AWS_ACCESS_KEY_ID"] = "A";
  environment["AWS_SECRET_ACCESS_KEY"] = "s";
  environment["AWS_SESSION_TOKEN"] = "t";
  files["/users/me/.aws/credentials"] = "[default]\naws_access_key_id = B\naws_secret_access_key = s\n";
  EXPECT_EQ(id(), "A s t");
}

TEST_F(AccessKeys, ThenTheProfileInTheFile) {
  files["/users/me/.aws/credentials"] =
      "# mine\n[default]\naws_access_key_id = B\naws_secret_access_key = s1\n\n"
      "[ work ]\nregion = eu-west-1\naws_access_key_id=C\naws_secret_access_key= s2\naws_session_token=t2\n";
  EXPECT_EQ(id(), "B s1 ");
  environment["AWS_PROFILE"] = "work";
  EXPECT_EQ(id(), "B s1 ");  // Known keys that do not expire are kept.
  is_refused();
  EXPECT_EQ(id(), "C s2 t2");
}

TEST_F(AccessKeys, AContainersKeysAreFetchedAgainBeforeTheyExpire) {
  environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/credentials/1";
  environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "word";
  answer(R"({"AccessKeyId":"D","SecretAccessKey":"s","Token":"t","Expiration":"2027-01-15T09:00:00Z"})");
  EXPECT_EQ(id(), "D s t");
  EXPECT_EQ(http.urls.at(0), "http://169.254.170.2/v2/credentials/1");
  EXPECT_EQ(header(http.requests[0].headers, "Authorization"), "word");
  EXPECT_EQ(id(), "D s t");
  EXPECT_EQ(http.urls.size(), 1u);
  loop.run_for(std::chrono::minutes(56));
  answer(R"({"AccessKeyId":"E","SecretAccessKey":"s","Token":"t","Expiration":"2027-01-15T10:00:00Z"})");
  EXPECT_EQ(id(), "E s t");
}

TEST_F(AccessKeys, KeysThatCannotBeFetchedAgainHoldUntilTheyExpire) {
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:9/keys";
  answer(R"({"AccessKeyId":"D","SecretAccessKey":"s","Token":"t","Expiration":"2027-01-15T09:00:00Z"})");
  EXPECT_EQ(id(), "D s t");
  http.answer = [](const HttpRequest&) { return fail(ErrorCode::kUnavailable, "gone"); };
  loop.run_for(std::chrono::minutes(58));
  EXPECT_EQ(id(), "D s t");
  loop.run_for(std::chrono::minutes(3));
  EXPECT_EQ(id(),
            "no access key: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, nor a web identity token, nor the "
            "profile 'default' in /users/me/.aws/credentials or /users/me/.aws/config, nor the endpoint of a container "
            "or an instance has one");
}

constexpr const char* kKeyD = R"({"AccessKeyId":"D","SecretAccessKey":"s","Expiration":"2027-01-15T09:00:00Z"})";
constexpr const char* kKeyE = R"({"AccessKeyId":"E","SecretAccessKey":"s","Expiration":"2027-01-15T10:00:00Z"})";

TEST_F(AccessKeys, CallsAtTheSameTimeShareOneFetch) {
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:9/keys";
  http.duration = milliseconds(200);
  answer(kKeyD);
  EXPECT_EQ(ids(), "DDDD");
  EXPECT_EQ(http.urls.size(), 1u);
  is_refused();
  answer(kKeyE);
  EXPECT_EQ(ids(), "EEEE");
  EXPECT_EQ(http.urls.size(), 2u);
}

TEST_F(AccessKeys, AKeyIsUsedWhileTheNextOneIsFetched) {
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:9/keys";
  http.duration = milliseconds(900);
  answer(kKeyD);
  EXPECT_EQ(ids(), "DDDD");
  loop.run_for(std::chrono::minutes(56));
  answer(kKeyE);
  const BootTime asked = clock.boot();
  EXPECT_EQ(ids(), "DDDD");
  EXPECT_EQ(clock.boot(), asked);
  loop.run_for(seconds(1));
  EXPECT_EQ(ids(), "EEEE");
  EXPECT_EQ(http.urls.size(), 2u);
}

TEST_F(AccessKeys, AFetchThatFailsIsNotRepeatedWithEachCall) {
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:9/keys";
  answer(kKeyD);
  EXPECT_EQ(ids(), "DDDD");
  http.answer = [](const HttpRequest&) { return fail(ErrorCode::kUnavailable, "gone"); };
  loop.run_for(std::chrono::minutes(56));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(ids(), "DDDD");
  EXPECT_EQ(http.urls.size(), 2u);
  loop.run_for(seconds(11));
  EXPECT_EQ(ids(), "DDDD");
  EXPECT_EQ(http.urls.size(), 3u);
}

TEST_F(AccessKeys, ARefusedKeyIsKeptIfThereIsNoOther) {
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:9/keys";
  answer(kKeyD);
  is_refused();
  http.answer = [](const HttpRequest&) { return fail(ErrorCode::kUnavailable, "gone"); };
  EXPECT_EQ(ids(), "DDDD");
  answer(kKeyE);
  is_refused();
  EXPECT_EQ(ids(), "EEEE");
}

// Many requests are refused together, and some say so late.
TEST_F(AccessKeys, ALateRefusalDoesNotCountForTheNextKey) {
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:9/keys";
  answer(kKeyD);
  const auto old = *current();
  is_refused();
  answer(kKeyE);
  EXPECT_EQ(ids(), "EEEE");
  source().refused(old);
  EXPECT_EQ(ids(), "EEEE");
  EXPECT_EQ(http.urls.size(), 2u);
}

TEST_F(AccessKeys, TheConfigFileHasProfilesToo) {
  files["/users/me/.aws/config"] =
      "[default]\nregion = eu-west-1\n"
      "[profile work]\nregion=us-west-2\ns3 =\n  region = nowhere\naws_access_key_id = G\naws_secret_access_key = s\n";
  environment["AWS_PROFILE"] = "work";
  EXPECT_EQ(id(), "G s ");
  files["/users/me/.aws/credentials"] = "[work]\naws_access_key_id = H\naws_secret_access_key = s\n";
  is_refused();
  EXPECT_EQ(id(), "H s ") << "the credentials file wins";
}

TEST_F(AccessKeys, TheRegionIsThatOfTheEnvironmentOrTheProfile) {
  KeyPlaces places;
  places.environment = [this](const std::string& name) { return find(environment, name); };
  places.file = [this](const std::string& path) { return find(files, path); };
  const Profiles profiles(places);
  EXPECT_EQ(profiles.region(), "");
  environment["AWS_CONFIG_FILE"] = "/etc/aws";
  files["/etc/aws"] =
      "[default] # mine\nregion = eu-west-1\n[work]\nregion = no\n[profile  work]\nregion = us-west-2\n";
  EXPECT_EQ(profiles.region(), "eu-west-1");
  environment["AWS_PROFILE"] = "work";
  EXPECT_EQ(profiles.region(), "us-west-2");
  environment["AWS_DEFAULT_REGION"] = "eu-north-1";
  EXPECT_EQ(profiles.region(), "eu-north-1");
  environment["AWS_REGION"] = "eu-south-1";
  EXPECT_EQ(profiles.region(), "eu-south-1");
}

TEST_F(AccessKeys, AnInstancesRoleIsAskedForWithAToken) {
  environment.erase("AWS_EC2_METADATA_DISABLED");
  answer("token-1");
  answer("my-role\n");
  answer(R"({"AccessKeyId":"F","SecretAccessKey":"s","Token":"t","Expiration":"2027-01-15T14:00:00Z"})");
  EXPECT_EQ(id(), "F s t");
  ASSERT_EQ(http.urls.size(), 3u);
  EXPECT_EQ(http.requests[0].method, "PUT");
  EXPECT_EQ(http.urls[2], "http://169.254.169.254/latest/meta-data/iam/security-credentials/my-role");
  EXPECT_EQ(header(http.requests[2].headers, "X-aws-ec2-metadata-token"), "token-1");
}

TEST_F(AccessKeys, AWebIdentityTokenGivesTheKeysOfARole) {
  environment["AWS_ROLE_ARN"] = "arn:aws:iam::123456789012:role/r";
  environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  environment["AWS_REGION"] = "eu-west-1";
  files["/token"] = "a.b+c\n";
  files["/users/me/.aws/credentials"] = "[default]\naws_access_key_id = B\naws_secret_access_key = s\n";
  answer(
      "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><SessionToken>t</SessionToken>"
      "<SecretAccessKey>s</SecretAccessKey><Expiration>2027-01-15T09:00:00Z</Expiration><AccessKeyId>W</AccessKeyId>"
      "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
  EXPECT_EQ(id(), "W s t");
  EXPECT_EQ(http.urls.at(0), "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_EQ(http.requests[0].method, "POST");
  EXPECT_EQ(http.requests[0].body,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fr"
            "&RoleSessionName=freshet&WebIdentityToken=a.b%2Bc");
}

TEST_F(AccessKeys, ARefusedWebIdentityTokenIsSaidToBe) {
  environment["AWS_ROLE_ARN"] = "arn:aws:iam::123456789012:role/r";
  environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  HttpResponse refused;
  refused.status = 400;
  refused.body =
      "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>It is old</Message></Error></ErrorResponse>";
  http.answers.push_back(refused);
  EXPECT_EQ(id(),
            "no access key: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, nor a web identity token "
            "(https://sts.amazonaws.com/: 400 InvalidIdentityToken It is old), nor the "
            "profile 'default' in /users/me/.aws/credentials or /users/me/.aws/config, nor the endpoint of a container "
            "or an instance has one");
}

TEST_F(AccessKeys, BrokenAnswersAreNoKeys) {
  environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:9/keys";
  for (const char* body :
       {"", "[]", "{\"AccessKeyId\":\"D\"}", "<html>", "{\"AccessKeyId\":5,\"SecretAccessKey\":{}}"}) {
    answer(body);
    EXPECT_EQ(current().error().code, ErrorCode::kAccessDenied) << body;
  }
}

}  // namespace
}  // namespace freshet::remote
