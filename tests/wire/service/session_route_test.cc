#include "wire/service/session_route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/auth/session_cookie.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kCookie = "freshet-session-7070";

class Lines final : public LogSink {
 public:
  void write(LogLevel, std::string_view line) override { text += std::string(line) + "\n"; }
  std::string text;
};

class SessionRouteTest : public testing::Test {
 protected:
  HttpResponse ask(const std::string& method, const std::string& body = "", HttpHeaders headers = {}) {
    HttpRequest request{method, "/session", std::move(headers), body};
    request.headers.emplace_back("Content-Type", "application/json");
    request.headers.emplace_back("Host", "localhost:7070");  // A header of that name in `headers` comes first.
    request.peer = std::make_shared<const std::string>("127.0.0.1:4711");
    EXPECT_TRUE(route_->matches(request));
    auto exchange = route_->accept(std::move(request));
    auto work = exchange->run();
    EXPECT_TRUE(work.is_ready());
    return exchange->respond();
  }
  // As the gate lets the request of a session through.
  HttpResponse ask_as(const std::string& key, const std::string& value, const std::string& method) {
    return ask(method, "",
               {{"Cookie", std::string(kCookie) + "=" + value}, {"Authorization", session_authorization(key)}});
  }
  static std::string value_in(const HttpResponse& response) {
    const std::string_view cookie = header(response.headers, "Set-Cookie");
    const size_t from = kCookie.size() + 1;
    return cookie.size() > from ? std::string(cookie.substr(from, cookie.find(';') - from)) : std::string();
  }
  void make(std::string refusal = "", bool tls = false) {
    route_ = make_session_route(
        {sessions_, std::string(kCookie), tls, std::move(refusal), EventLog(clock_, lines_, LogLevel::kInfo)});
  }
  void SetUp() override { make(); }

  SimClock clock_{WallTime(milliseconds(1'790'000'000'000))};
  Lines lines_;
  std::shared_ptr<Sessions> sessions_ = std::make_shared<Sessions>(
      *Credentials::parse("[r]\naws_access_key_id = READER\naws_secret_access_key = sesame\nfreshet_role = read\n",
                          "k"),
      clock_);
  std::unique_ptr<Route> route_;
};

constexpr const char* kRight = R"({"accessKeyId":"READER","secretAccessKey":"sesame"})";

TEST_F(SessionRouteTest, SignsInLooksAndSignsOut) {
  const HttpResponse in = ask("POST", kRight);
  EXPECT_EQ(in.status, 200);
  const std::string who =
      "{\"signedInBy\":\"session\",\"accessKeyId\":\"READER\",\"role\":\"read\",\"until\":1790003600000}\n";
  EXPECT_EQ(in.body, who);
  EXPECT_EQ(header(in.headers, "Cache-Control"), "no-store");
  const std::string value = value_in(in);
  EXPECT_EQ(value.size(), 64u);
  EXPECT_THAT(in.body, Not(HasSubstr(value)));
  EXPECT_EQ(header(in.headers, "Set-Cookie"), set_session_cookie(kCookie, value, false));
  EXPECT_EQ(ask_as("READER", value, "GET").body, who);
  const HttpResponse out = ask_as("READER", value, "DELETE");
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(header(out.headers, "Set-Cookie"), remove_session_cookie(kCookie, false));
  EXPECT_EQ(ask_as("READER", value, "GET").status, 403);
  EXPECT_EQ(sessions_->size(), 0u);
  EXPECT_THAT(lines_.text, HasSubstr(R"("event":"SIGNED_IN","key":"READER","role":"read","from":"127.0.0.1")"));
  EXPECT_THAT(lines_.text, HasSubstr(R"("event":"SIGNED_OUT","key":"READER","from":"127.0.0.1")"));
  EXPECT_THAT(lines_.text, Not(HasSubstr(value)));
  EXPECT_THAT(lines_.text, Not(HasSubstr("sesame")));
}

TEST_F(SessionRouteTest, AProxyWithoutTlsIsNoPlaceToSignIn) {
  const HttpHeaders clear = {{"Host", "dash.example.com"}, {"Origin", "http://dash.example.com"}};
  EXPECT_EQ(ask("POST", kRight, clear).status, 403);
  EXPECT_THAT(ask("POST", kRight, clear).body, HasSubstr("HTTPS"));
  EXPECT_EQ(sessions_->size(), 0u);
  const HttpHeaders sealed = {{"Host", "dash.example.com"}, {"Origin", "https://dash.example.com"}};
  EXPECT_THAT(std::string(header(ask("POST", kRight, sealed).headers, "Set-Cookie")), HasSubstr("; Secure"));
}

TEST_F(SessionRouteTest, SaysWhatIsWrongWithASignIn) {
  const std::pair<const char*, int> wrong[] = {
      {R"({"accessKeyId":"READER","secretAccessKey":"wrong"})", 403},
      {R"({"accessKeyId":"NOBODY","secretAccessKey":"sesame"})", 403},
      {R"({"accessKeyId":"READER"})", 400},
      {R"({"secretAccessKey":"sesame"})", 400},
      {R"({"accessKeyId":"READER","secretAccessKey":7})", 400},
      {R"({"accessKeyId":"READER","secretAccessKey":"sesame","remember":true})", 400},
      {R"(["READER","sesame"])", 400},
      {"sesame", 400},
      {"", 400},
  };
  for (const auto& [body, status] : wrong) {
    const HttpResponse response = ask("POST", body);
    EXPECT_EQ(response.status, status) << body;
    EXPECT_THAT(response.body, HasSubstr(R"({"error":{"code":)")) << body;
    EXPECT_THAT(response.body, Not(HasSubstr("sesame"))) << "a refusal is logged";
    EXPECT_EQ(header(response.headers, "Set-Cookie"), "");
  }
  EXPECT_THAT(lines_.text, HasSubstr(R"("event":"SIGN_IN_REFUSED","key":"READER","from":"127.0.0.1")"));
  EXPECT_THAT(lines_.text, HasSubstr(R"("event":"SIGN_IN_REFUSED","key":"unknown","from":"127.0.0.1")"));
  EXPECT_THAT(lines_.text, Not(HasSubstr("NOBODY"))) << "it may be a secret in the wrong field";
  HttpRequest form{"POST", "/session", {{"Content-Type", "text/plain"}, {"Host", "localhost:7070"}}, kRight};
  auto exchange = route_->accept(form);
  auto work = exchange->run();
  EXPECT_EQ(exchange->respond().status, 415) << "what a form of another page can send";
}

TEST_F(SessionRouteTest, WrongTriesGet429) {
  HttpResponse last;
  for (int i = 0; i <= WrongTries::kAtOnce; ++i) last = ask("POST", R"({"accessKeyId":"A","secretAccessKey":"b"})");
  EXPECT_EQ(last.status, 429);
  EXPECT_EQ(header(last.headers, "Retry-After"), "6");
  EXPECT_EQ(ask("POST", kRight).status, 429);
}

TEST_F(SessionRouteTest, ANewSessionEndsTheOneOfTheSameBrowser) {
  const std::string first = value_in(ask("POST", kRight));
  const std::string second = value_in(ask("POST", kRight, {{"Cookie", std::string(kCookie) + "=" + first}}));
  EXPECT_FALSE(sessions_->use(first));
  EXPECT_TRUE(sessions_->use(second));
  const std::string wrong = R"({"accessKeyId":"READER","secretAccessKey":"wrong"})";
  EXPECT_EQ(ask("POST", wrong, {{"Cookie", std::string(kCookie) + "=" + second}}).status, 403);
  EXPECT_TRUE(sessions_->use(second)) << "a wrong try ends nothing";
}

TEST_F(SessionRouteTest, SignersAreToldWhoTheyAreToo) {
  const HttpHeaders signature = {{"Authorization", "AWS4-HMAC-SHA256 Credential=READER/20260101/x/y/aws4_request"}};
  EXPECT_EQ(ask("GET", "", signature).body,
            "{\"signedInBy\":\"signature\",\"accessKeyId\":\"READER\",\"role\":\"read\"}\n");
  EXPECT_EQ(ask("DELETE", "", signature).status, 400);
}

TEST_F(SessionRouteTest, BeyondLoopbackItNeedsTls) {
  make("signing in needs HTTPS here");
  const HttpResponse refused = ask("POST", kRight);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("signing in needs HTTPS here"));
  EXPECT_EQ(sessions_->size(), 0u);
}

TEST_F(SessionRouteTest, TheCookieIsSecureWhereTheBrowserCameByHttps) {
  EXPECT_THAT(header(ask("POST", kRight, {{"Origin", "https://queue.example"}}).headers, "Set-Cookie"),
              HasSubstr("; Secure"));
  EXPECT_THAT(header(ask("POST", kRight, {{"Origin", "http://localhost:7070"}}).headers, "Set-Cookie"),
              Not(HasSubstr("Secure")));
  make("", true);
  EXPECT_THAT(header(ask("POST", kRight).headers, "Set-Cookie"), HasSubstr("; Secure"));
}

TEST_F(SessionRouteTest, WithoutKeysNobodyHasToSignIn) {
  route_ = make_session_route({nullptr, std::string(kCookie), false, "", EventLog(clock_, lines_, LogLevel::kInfo)});
  EXPECT_EQ(ask("GET").body, "{\"signedInBy\":\"nothing\",\"role\":\"admin\"}\n");
  EXPECT_EQ(ask("POST", kRight).status, 400);
  EXPECT_EQ(ask("DELETE").status, 400);
  EXPECT_EQ(header(ask("PUT").headers, "Allow"), "GET, HEAD, POST, DELETE");
}

}  // namespace
}  // namespace freshet
