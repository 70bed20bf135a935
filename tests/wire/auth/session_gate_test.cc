// Requests that come with the cookie of a session, at the gate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "wire/auth/actor.h"
#include "wire/auth/canonical.h"
#include "wire/auth/session_cookie.h"
#include "wire/auth/signature_gate.h"
#include "wire/auth/sigv4.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

const WallTime kGateNow = *sigv4::parse_timestamp("20150830T123600Z");
constexpr const char* kOwnPage = "http://localhost:7070";

Credentials gate_keys() {
  return *Credentials::parse(
      "[a]\naws_access_key_id = ADMIN\naws_secret_access_key = top\n"
      "[r]\naws_access_key_id = READER\naws_secret_access_key = look\nfreshet_role = read\n",
      "keys");
}

class SessionGate : public testing::Test {
 protected:
  explicit SessionGate(bool tls = false)
      : sessions_(std::make_shared<Sessions>(gate_keys(), clock_)),
        cookie_(session_cookie_name(7070, tls)),
        gate_(make_signature_gate({gate_keys(), "us-east-1", false, 7, {sessions_, cookie_, {"queue.example"}, tls}},
                                  clock_)),
        admin_(sessions_->begin({"ADMIN", "top", ""}, "127.0.0.1")->value),
        reader_(sessions_->begin({"READER", "look", ""}, "127.0.0.1")->value) {}

  HttpRequest request(const std::string& method, const std::string& target, const std::string& value,
                      const HttpHeaders& more = {}) const {
    HttpRequest out{method, target, {{"Host", "localhost:7070"}}, method == "GET" ? "" : "{}"};
    if (!value.empty()) out.headers.emplace_back("Cookie", "theme=dark; " + cookie_ + "=" + value);
    out.headers.insert(out.headers.end(), more.begin(), more.end());
    return out;
  }
  // "" if it is accepted, else status and body.
  std::string refusal(HttpRequest one) const {
    const auto refused = gate_->admit(one);
    return refused ? std::to_string(refused->status) + " " + refused->body : "";
  }

  SimClock clock_{kGateNow};
  const std::shared_ptr<Sessions> sessions_;
  const std::string cookie_;
  const std::unique_ptr<RequestGate> gate_;
  const std::string admin_;
  const std::string reader_;
};

class TlsSessionGate : public SessionGate {
 protected:
  TlsSessionGate() : SessionGate(true) {}
};

TEST_F(SessionGate, ACookieStandsForItsKey) {
  HttpRequest read = request("GET", "/queues", reader_);
  EXPECT_EQ(gate_->admit(read), nullptr);
  EXPECT_EQ(actor_of(read, true).who, "READER");
  HttpRequest pause = request("POST", "/queues/Q/pause", admin_, {{"Origin", kOwnPage}});
  EXPECT_EQ(gate_->admit(pause), nullptr);
  EXPECT_EQ(actor_of(pause, true).who, "ADMIN");
  HttpRequest item =
      request("POST", "/", admin_, {{"Origin", kOwnPage}, {"X-Amz-Target", "DynamoDB_20120810.UpdateItem"}});
  EXPECT_EQ(refusal(item), "");
}

TEST_F(SessionGate, TheRoleOfTheKeyHolds) {
  const HttpHeaders own = {{"Origin", kOwnPage}};
  const std::string refused = refusal(request("POST", "/queues/Q/pause", reader_, own));
  EXPECT_THAT(refused, HasSubstr("403 "));
  EXPECT_THAT(refused, HasSubstr("AccessDeniedException"));
  EXPECT_THAT(refused, HasSubstr("the key READER has the role read; this request needs the role operate"));
  EXPECT_THAT(refusal(request("POST", "/queues/Q/tasks", reader_, own)), HasSubstr("needs the role work"));
  EXPECT_THAT(refusal(request("POST", "/deploy", reader_, own)), HasSubstr("needs the role admin"));
  EXPECT_EQ(refusal(request("DELETE", "/session", reader_, own)), "") << "everybody may sign out";
}

TEST_F(SessionGate, AChangeMustComeFromTheDaemonsOwnPage) {
  const auto pause = [&](const HttpHeaders& more) { return refusal(request("POST", "/queues/Q/pause", admin_, more)); };
  EXPECT_EQ(pause({{"Origin", kOwnPage}}), "");
  EXPECT_EQ(pause({{"Sec-Fetch-Site", "same-origin"}}), "");
  EXPECT_EQ(pause({{"Origin", kOwnPage}, {"Sec-Fetch-Site", "same-origin"}}), "");
  EXPECT_THAT(pause({}), HasSubstr("must say that it is of the daemon's own page"));
  EXPECT_THAT(pause({{"Sec-Fetch-Site", "none"}}), HasSubstr("must say"));
  for (const char* origin : {"http://localhost:7071", "https://localhost:7070", "http://evil.example", "null",
                             "http://127.0.0.1:7070", "http://localhost:7070.evil.example", ""}) {
    EXPECT_THAT(pause({{"Origin", origin}}), HasSubstr("is of another origin")) << origin;
    EXPECT_THAT(pause({{"Origin", kOwnPage}, {"oRIGIN", origin}}), HasSubstr("is of another origin")) << origin;
  }
  for (const char* site : {"cross-site", "same-site"}) {
    EXPECT_THAT(pause({{"Sec-Fetch-Site", site}}), HasSubstr("is of another origin"));
    EXPECT_THAT(pause({{"Origin", kOwnPage}, {"Sec-Fetch-Site", site}}), HasSubstr("is of another origin"));
  }
}

TEST_F(SessionGate, ARefusedPageByHttpsIsToldWhatAProxyNeeds) {
  const std::string advice = "If a proxy in front of this server speaks TLS, ";
  const HttpHeaders by_https = {{"Origin", "https://queue.example"}};
  const HttpHeaders by_http = {{"Origin", "http://queue.example"}};
  EXPECT_THAT(refusal(request("POST", "/session", "", by_https)), HasSubstr(advice));
  EXPECT_THAT(refusal(request("POST", "/queues/Q/pause", admin_, by_https)), HasSubstr(advice));
  EXPECT_THAT(refusal(request("POST", "/session", "", by_http)), Not(HasSubstr(advice)));
  EXPECT_THAT(refusal(request("POST", "/queues/Q/pause", admin_, by_http)), Not(HasSubstr(advice)));
}

TEST_F(SessionGate, AReadNeedsNoProofAndNoForeignPageMayMakeIt) {
  EXPECT_EQ(refusal(request("GET", "/queues", reader_)), "");
  EXPECT_EQ(refusal(request("HEAD", "/queues", reader_)), "");
  EXPECT_EQ(refusal(request("GET", "/queues", reader_, {{"Sec-Fetch-Site", "none"}})), "");
  EXPECT_THAT(refusal(request("GET", "/queues", reader_, {{"Sec-Fetch-Site", "same-site"}})), HasSubstr("403 "));
  EXPECT_THAT(refusal(request("GET", "/queues", reader_, {{"Origin", "http://localhost:1"}})), HasSubstr("403 "));
  EXPECT_THAT(refusal(request("GET", "/record?table=Q", admin_)), HasSubstr("must say")) << "a GET that changes";
  EXPECT_EQ(refusal(request("GET", "/record?table=Q", admin_, {{"Sec-Fetch-Site", "same-origin"}})), "");
}

TEST_F(SessionGate, ASessionThatIsOverIsSaidToBe) {
  EXPECT_THAT(refusal(request("GET", "/queues", std::string(64, 'a'))), HasSubstr("ExpiredTokenException"));
  sessions_->end(reader_);
  EXPECT_THAT(refusal(request("GET", "/queues", reader_)), HasSubstr("403 "));
  clock_.advance(std::chrono::hours(1));
  EXPECT_THAT(refusal(request("GET", "/queues", admin_)), HasSubstr("Sign in again"));
  EXPECT_THAT(refusal(request("GET", "/queues", "")), HasSubstr("MissingAuthenticationTokenException"));
}

TEST_F(SessionGate, WhatIsRefusedForItsOriginDoesNotKeepASessionAlive) {
  clock_.advance(std::chrono::minutes(50));
  EXPECT_NE(refusal(request("POST", "/queues/Q/pause", admin_, {{"Origin", "http://evil.example"}})), "");
  clock_.advance(std::chrono::minutes(10));
  EXPECT_THAT(refusal(request("GET", "/queues", admin_)), HasSubstr("ExpiredTokenException"));
}

TEST_F(SessionGate, ASignatureCountsBeforeACookie) {
  HttpRequest both = request("POST", "/queues/Q/pause", reader_);
  sign_request(both, *gate_keys().find("ADMIN"), {"us-east-1", "freshet"}, kGateNow);
  EXPECT_EQ(gate_->admit(both), nullptr) << "a signature needs no Origin, and ADMIN may";
  EXPECT_EQ(actor_of(both, true).who, "ADMIN");
  // A claim in the query that nothing proves.
  HttpRequest claim = request("POST", "/queues/Q/pause?X-Amz-Credential=READER%2F1", admin_, {{"Origin", kOwnPage}});
  EXPECT_EQ(gate_->admit(claim), nullptr);
  EXPECT_EQ(actor_of(claim, true).who, "ADMIN");
  // The audit log reads the header, so a client's own one may not stay beside the gate's.
  HttpRequest empty = request("POST", "/queues/Q/pause?X-Amz-Credential=READER%2F1", admin_,
                              {{"Authorization", ""}, {"Origin", kOwnPage}});
  EXPECT_EQ(gate_->admit(empty), nullptr);
  EXPECT_EQ(actor_of(empty, true).who, "ADMIN");
  const std::string presigned = "/queues/Q/pause?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=READER%2F1";
  EXPECT_NE(refusal(request("POST", presigned, admin_, {{"Origin", kOwnPage}})), "");
}

// The check takes the last one of two Credential members.
TEST_F(SessionGate, TheKeyThatWasCheckedIsTheOneThatIsNamed) {
  HttpRequest signed_by_admin = request("POST", "/queues/Q/pause", "");
  sign_request(signed_by_admin, *gate_keys().find("ADMIN"), {"us-east-1", "freshet"}, kGateNow);
  for (auto& [name, value] : signed_by_admin.headers) {
    if (name != "Authorization") continue;
    value.insert(value.find("Credential="), "Credential=READER/1, ");
  }
  ASSERT_EQ(gate_->admit(signed_by_admin), nullptr);
  EXPECT_EQ(actor_of(signed_by_admin, true).who, "ADMIN");
  HttpRequest plain = request("POST", "/queues/Q/pause", "");
  sign_request(plain, *gate_keys().find("ADMIN"), {"us-east-1", "freshet"}, kGateNow);
  ASSERT_EQ(gate_->admit(plain), nullptr);
  EXPECT_EQ(actor_of(plain, true).who, "ADMIN");
}

TEST_F(SessionGate, NobodyCanClaimASession) {
  const HttpHeaders claim = {{"Authorization", session_authorization("ADMIN")}};
  EXPECT_NE(refusal(request("GET", "/queues", "", claim)), "");
  EXPECT_NE(refusal(request("GET", "/queues", reader_, claim)), "");
  EXPECT_NE(refusal(request("GET", "/session", "", claim)), "");
  EXPECT_NE(refusal(request("DELETE", "/session", "", claim)), "");
}

TEST_F(SessionGate, SigningInIsOpenWithinBounds) {
  const auto sign_in = [&](const HttpHeaders& more) { return refusal(request("POST", "/session", "", more)); };
  EXPECT_EQ(sign_in({}), "") << "curl";
  EXPECT_EQ(sign_in({{"Origin", kOwnPage}, {"Sec-Fetch-Site", "same-origin"}}), "");
  EXPECT_THAT(sign_in({{"Origin", "http://localhost:7071"}}), HasSubstr("403 "));
  EXPECT_THAT(sign_in({{"Sec-Fetch-Site", "same-site"}}), HasSubstr("403 "));
  EXPECT_THAT(sign_in({{"Content-Encoding", "gzip"}}), HasSubstr("415 "));
  HttpRequest large = request("POST", "/session", "");
  large.body.assign(8193, ' ');
  EXPECT_THAT(refusal(large), HasSubstr("413 "));
  EXPECT_THAT(refusal(request("GET", "/session", "")), HasSubstr("403 "));
  EXPECT_THAT(refusal(request("POST", "/session/x", "")), HasSubstr("403 "));
}

// A head is looked at while its body arrives.
TEST_F(SessionGate, LooksAtHeads) {
  const auto head = [&](const HttpRequest& one) {
    const auto refused = gate_->head_refusal(one);
    return refused ? std::to_string(refused->status) : "";
  };
  EXPECT_EQ(head(request("POST", "/session", "", {{"Content-Length", "100000"}})), "413");
  EXPECT_EQ(head(request("POST", "/session", "", {{"Transfer-Encoding", "chunked"}})), "413");
  EXPECT_EQ(head(request("POST", "/session", "", {{"Content-Length", "90"}, {"Expect", "100-continue"}})), "");
  EXPECT_EQ(head(request("POST", "/queues/Q/tasks", admin_, {{"Origin", kOwnPage}})), "");
  EXPECT_EQ(head(request("POST", "/queues/Q/tasks", admin_)), "403");
  EXPECT_EQ(head(request("POST", "/queues/Q/tasks", reader_, {{"Origin", kOwnPage}})), "403");
  EXPECT_EQ(head(request("POST", "/queues/Q/tasks", std::string(64, 'a'), {{"Origin", kOwnPage}})), "403");
}

TEST_F(TlsSessionGate, NoProxyStandsInForTls) {
  EXPECT_THAT(refusal(request("POST", "/session", "", {{"Origin", "https://queue.example"}})), Not(HasSubstr("proxy")));
}

TEST_F(TlsSessionGate, TheOriginHasItsScheme) {
  EXPECT_EQ(refusal(request("POST", "/queues/Q/pause", admin_, {{"Origin", "https://localhost:7070"}})), "");
  EXPECT_THAT(refusal(request("POST", "/queues/Q/pause", admin_, {{"Origin", kOwnPage}})), HasSubstr("another origin"));
}

}  // namespace
}  // namespace freshet
