#include "wire/auth/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crypto.h"
#include "wire/auth/canonical.h"
#include "wire/auth/signature_gate.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const WallTime kNow = *sigv4::parse_timestamp("20150830T123600Z");
const SignatureScope kDynamo{"us-east-1", "dynamodb"};

Credentials keys() {
  return *Credentials::parse(
      "[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\n"
      "[temporary]\naws_access_key_id=ASIA\naws_secret_access_key=s\naws_session_token=the token\n",
      "keys");
}

// "Name: message", or "" for a good request.
std::string check(const HttpRequest& request, const SignatureScope& scope = kDynamo, WallTime now = kNow) {
  const auto fault = check_signature(request, keys(), scope, now);
  return fault ? std::string(fault->name) + ": " + fault->message : "";
}

HttpRequest request() {
  return {"POST", "/", {{"Host", "127.0.0.1:7070"}, {"X-Amz-Target", "DynamoDB_20120810.ListTables"}}, "{}"};
}
HttpRequest signed_request(const std::string& key = "AKIDEXAMPLE", SignatureScope scope = kDynamo, WallTime at = kNow) {
  HttpRequest r = request();
  sign_request(r, *keys().find(key), scope, at);
  return r;
}
std::string& value(HttpRequest& r, const std::string& name) {
  for (auto& [n, v] : r.headers) {
    if (n == name) return v;
  }
  return r.headers.emplace_back(name, "").second;
}
void replace(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, from.size(), to);
}

// The worked example of AWS's documentation ("Signature Version 4 signing process").
TEST(SigV4, TheExampleOfTheDocumentationIsSignedAsItIsThere) {
  HttpRequest r{"GET",
                "/?Action=ListUsers&Version=2010-05-08",
                {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}, {"Host", "iam.amazonaws.com"}},
                ""};
  sign_request(r, keys().first(), {"us-east-1", "iam"}, kNow);
  EXPECT_EQ(header(r.headers, "Authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
            "SignedHeaders=content-type;host;x-amz-date, "
            "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
  EXPECT_EQ(check(r, {"us-east-1", "iam"}), "");
}

TEST(SigV4, WhatIsSignedIsLetInAndWhatIsChangedIsNot) {
  EXPECT_EQ(check(signed_request()), "");
  EXPECT_EQ(check(signed_request("ASIA")), "");
  HttpRequest r = signed_request();
  r.body = "{ }";
  EXPECT_THAT(check(r), StartsWith("InvalidSignatureException: The request signature we calculated does not match"));
  r = signed_request();
  value(r, "X-Amz-Target") = "DynamoDB_20120810.DeleteTable";
  EXPECT_THAT(check(r), HasSubstr("x-amz-target:DynamoDB_20120810.DeleteTable"));  // The message shows the text that
                                                                                   // should have been signed.
  r = signed_request();
  value(r, "Host") = "other";
  EXPECT_THAT(check(r), StartsWith("InvalidSignatureException"));
  r = signed_request();
  r.target = "/?x=1";
  EXPECT_THAT(check(r), StartsWith("InvalidSignatureException"));
  r = signed_request();
  r.method = "PUT";
  EXPECT_THAT(check(r), StartsWith("InvalidSignatureException"));
  r = signed_request();
  std::string& authorization = value(r, "Authorization");
  authorization.back() = authorization.back() == '0' ? '1' : '0';
  EXPECT_THAT(check(r), StartsWith("InvalidSignatureException"));
  authorization.pop_back();
  EXPECT_THAT(check(r), StartsWith("InvalidSignatureException"));
}

TEST(SigV4, PathsQueriesAndBlanksAreSignedInTheCanonicalForm) {
  HttpRequest r{"GET",
                "/queues/My%20Queue/tasks?b=2&a=x%20y&aa=1&c",
                {{"Host", "h"}, {"X-Amz-Note", "  two   words "}, {"X-Amz-Note", "more"}},
                ""};
  sign_request(r, keys().first(), {"anywhere", "freshet"}, kNow);
  EXPECT_EQ(check(r, {}), "");
  r.target = "/queues/My%20Queue/tasks?c=&aa=1&a=x%20y&b=2";  // Another order, the same query.
  EXPECT_EQ(check(r, {}), "");
  value(r, "X-Amz-Note") = "two words";
  EXPECT_EQ(check(r, {}), "");
  value(r, "X-Amz-Note") = "two word s";
  EXPECT_NE(check(r, {}), "");
  // Clients that do not encode the path once more, as curl.
  const std::string canonical =
      sigv4::canonical_request(r, sigv4::parse_query(r.target), {"host"}, sha256_hex(""), sigv4::PathForm::kAsSent);
  EXPECT_THAT(canonical, StartsWith("GET\n/queues/My%20Queue/tasks\na=x%20y&aa=1&b=2&c=\nhost:h\n\nhost\n"));
  const std::string scope = sigv4::scope_text("20150830", "r", "s");
  const std::string signature = sigv4::signature_of(keys().first(), "20150830", "r", "s",
                                                    sigv4::string_to_sign("20150830T123600Z", scope, canonical));
  r.headers = {{"Host", "h"},
               {"X-Amz-Date", "20150830T123600Z"},
               {"Authorization",
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" + scope + ",SignedHeaders=host,Signature=" + signature}};
  EXPECT_EQ(check(r, {}), "");
}

// Parts that the canonical form leaves open are refused: they could be changed without breaking the signature.
TEST(SigV4, QueriesAndPathsMeanOneThingOnly) {
  const auto signed_get = [&](const std::string& target, sigv4::PathForm form = sigv4::PathForm::kEncodedAgain) {
    HttpRequest r{"GET", target, {{"Host", "h"}, {"X-Amz-Date", "20150830T123600Z"}}, ""};
    const std::string canonical =
        sigv4::canonical_request(r, sigv4::parse_query(r.target), {"host"}, sha256_hex(""), form);
    const std::string scope = sigv4::scope_text("20150830", "r", "s");
    const std::string signature = sigv4::signature_of(keys().first(), "20150830", "r", "s",
                                                      sigv4::string_to_sign("20150830T123600Z", scope, canonical));
    value(r, "Authorization") =
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" + scope + ",SignedHeaders=host,Signature=" + signature;
    return r;
  };
  EXPECT_EQ(check(signed_get("/record?table=a"), {}), "");
  EXPECT_EQ(check(signed_get("/record?table=a&table=b"), {}),
            "InvalidSignatureException: The query names 'table' twice.");
  EXPECT_EQ(check(signed_get("/q?cursor=A%2BB"), {}), "");
  EXPECT_EQ(check(signed_get("/q?cursor=A+B"), {}),
            "InvalidSignatureException: A '+' in the query must be sent as %2B, and a blank as %20.");
  HttpRequest r = signed_get("/tasks/a%20b");
  EXPECT_EQ(check(r, {}), "");
  r.target = "/tasks/a%2520b";  // As sent, what the other is encoded again.
  EXPECT_THAT(check(r, {}), StartsWith("InvalidSignatureException: The request signature we calculated"));
  EXPECT_EQ(check(signed_get("/tasks/a%2520b"), {}), "");
  EXPECT_EQ(check(signed_get("/tasks/a%20b", sigv4::PathForm::kAsSent), {}), "");
}

TEST(SigV4, HeadersAreSignedOnceEach) {
  const std::string refused =
      "InvalidSignatureException: SignedHeaders must name headers of the request, each once, in ascending order.";
  HttpRequest r = signed_request();
  value(r, "X") = std::string(16'000, '\x80');
  const auto with = [&](const std::string& names) {
    value(r, "Authorization") =
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/dynamodb/aws4_request, SignedHeaders=" + names +
        ", Signature=0";
    return check(r);
  };
  EXPECT_EQ(with("host;x;x;x-amz-target"), refused);
  EXPECT_EQ(with("host;x-amz-target;x"), refused);
  EXPECT_EQ(with("a;b;c;d;e;f;g;host;x-amz-target"), refused);
  const std::string answer = with("host;x;x-amz-target");
  EXPECT_THAT(answer, StartsWith("InvalidSignatureException: The request signature we calculated"));
  EXPECT_LT(answer.size(), 10'000u) << "what should have been signed is shown in part";
}

TEST(SigV4, EachWayToFailHasItsName) {
  EXPECT_EQ(check(request()), "MissingAuthenticationTokenException: Request is missing Authentication Token");
  HttpRequest r = request();
  value(r, "Authorization") = "Basic dTpw";
  EXPECT_THAT(check(r), StartsWith("MissingAuthenticationTokenException"));
  value(r, "Authorization") = "AWS4-HMAC-SHA256 Credential=a";
  EXPECT_EQ(check(r),
            "IncompleteSignatureException: Authorization header requires 'Signature' parameter. Authorization header "
            "requires 'SignedHeaders' parameter. Authorization header requires existence of either a 'X-Amz-Date' or a "
            "'Date' header. Authorization=AWS4-HMAC-SHA256 Credential=a");
  value(r, "Authorization") = "AWS4-HMAC-SHA256 Credential, Signature=b";
  EXPECT_THAT(check(r), HasSubstr("'Credential' not a valid key=value pair (missing equal-sign)"));
  const std::string all = "Signature=b, SignedHeaders=host;x-amz-target, Credential=";
  const auto with = [&](const std::string& authorization, const std::string& date = "20150830T123600Z") {
    value(r, "Authorization") = authorization;
    value(r, "X-Amz-Date") = date;
    return check(r);
  };
  EXPECT_EQ(with("AWS4-HMAC-SHA256 " + all + "a", "2015"),
            "IncompleteSignatureException: Date must be in ISO-8601 'basic format'. Got '2015'. See "
            "http://en.wikipedia.org/wiki/ISO_8601");
  EXPECT_EQ(with("AWS4-HMAC-SHA256 Signature=b, SignedHeaders=x-amz-target, Credential=a"),
            "InvalidSignatureException: 'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.");
  EXPECT_EQ(with("AWS4-HMAC-SHA256 Signature=b, SignedHeaders=Host, Credential=a"),
            "InvalidSignatureException: 'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.");
  EXPECT_EQ(with("AWS4-HMAC-SHA25 " + all + "a"),
            "IncompleteSignatureException: Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for "
            "now). ");
  EXPECT_EQ(with("AWS4-HMAC-SHA256 " + all + "a/b/c/d"),
            "IncompleteSignatureException: Credential must have exactly 5 slash-delimited elements, e.g. "
            "keyid/date/region/service/term, got 'a/b/c/d'");
  EXPECT_EQ(with("AWS4-HMAC-SHA256 " + all + "a/b/c/d/e"),
            "InvalidSignatureException: Credential should be scoped to a valid region, not 'c'. Credential should be "
            "scoped to correct service: 'dynamodb'. Credential should be scoped with a valid terminator: "
            "'aws4_request', not 'e'. Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
            "from HTTP: 'b' != '20150830', from '20150830T123600Z'.");
  EXPECT_EQ(with("AWS4-HMAC-SHA256 " + all + "a/20150830/us-east-1/dynamodb/aws4_request"),
            "UnrecognizedClientException: The security token included in the request is invalid.");
  EXPECT_THAT(with("AWS4-HMAC-SHA256 " + all + "AKIDEXAMPLE/20150830/us-east-1/dynamodb/aws4_request"),
              StartsWith("InvalidSignatureException: The request signature we calculated"));
  r.target = "/?X-Amz-Algorithm=AWS4-HMAC-SHA256";
  EXPECT_EQ(check(r),
            "InvalidSignatureException: Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as "
            "HTTP header.");
}

TEST(SigV4, TokensOfTemporaryKeysAreChecked) {
  const auto token_of = [](const std::string& key, const std::string& token) {
    AccessKey changed = *keys().find(key);
    changed.token = token;
    HttpRequest r = request();
    sign_request(r, changed, kDynamo, kNow);
    return check(r);
  };
  const std::string unknown = "UnrecognizedClientException: The security token included in the request is invalid.";
  EXPECT_EQ(token_of("ASIA", "the token"), "");
  EXPECT_EQ(token_of("ASIA", "another"), unknown);
  EXPECT_EQ(token_of("ASIA", ""), unknown);
  EXPECT_EQ(token_of("AKIDEXAMPLE", "the token"), unknown);
}

TEST(SigV4, ASignatureIsGoodForAQuarterOfAnHourEitherWay) {
  const HttpRequest r = signed_request();
  EXPECT_EQ(check(r, kDynamo, kNow + seconds(900)), "");
  EXPECT_EQ(check(r, kDynamo, kNow - seconds(900)), "");
  EXPECT_EQ(check(r, kDynamo, kNow + seconds(901)),
            "InvalidSignatureException: Signature expired: 20150830T123600Z is now earlier than 20150830T123601Z "
            "(20150830T125101Z - 15 min.)");
  EXPECT_EQ(check(r, kDynamo, kNow - seconds(901)),
            "InvalidSignatureException: Signature not yet current: 20150830T123600Z is still later than "
            "20150830T123559Z (20150830T122059Z + 15 min.)");
}

TEST(SigV4, PresignedRequestsLiveAsLongAsTheySay) {
  const auto presigned = [](const std::string& expires) {
    HttpRequest r = request();
    r.target =
        "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20150830%2Fus-east-1%2Fdynamodb%2F"
        "aws4_request&X-Amz-Date=20150830T123600Z&X-Amz-SignedHeaders=host%3Bx-amz-target" +
        expires;
    const std::string canonical = sigv4::canonical_request(r, sigv4::parse_query(r.target), {"host", "x-amz-target"},
                                                           sha256_hex("{}"), sigv4::PathForm::kAsSent);
    const std::string to_sign =
        sigv4::string_to_sign("20150830T123600Z", sigv4::scope_text("20150830", "us-east-1", "dynamodb"), canonical);
    r.target += "&X-Amz-Signature=" + sigv4::signature_of(keys().first(), "20150830", "us-east-1", "dynamodb", to_sign);
    return r;
  };
  EXPECT_EQ(check(presigned("")), "");
  EXPECT_EQ(check(presigned(""), kDynamo, kNow + seconds(900)), "");
  EXPECT_NE(check(presigned(""), kDynamo, kNow + seconds(901)), "");
  EXPECT_EQ(check(presigned("&X-Amz-Expires=60"), kDynamo, kNow + seconds(60)), "");
  EXPECT_EQ(check(presigned("&X-Amz-Expires=60"), kDynamo, kNow + seconds(61)),
            "InvalidSignatureException: Signature expired: 20150830T123600Z is now earlier than 20150830T123601Z "
            "(20150830T123701Z - 1 min.)");
  EXPECT_EQ(check(presigned("&X-Amz-Expires=604800"), kDynamo, kNow + kMaxPresigned), "");
  EXPECT_NE(check(presigned("&X-Amz-Expires=604800"), kDynamo, kNow - seconds(901)), "");
  for (const char* bad : {"0", "604801", "-1", "x", "99999999999999999999"}) {
    EXPECT_THAT(check(presigned("&X-Amz-Expires=" + std::string(bad))), StartsWith("IncompleteSignatureException"))
        << bad;
  }
  HttpRequest changed = presigned("");
  replace(changed.target, "dynamodb%2F", "dynamoDB%2F");
  EXPECT_THAT(check(changed), HasSubstr("scoped to correct service"));
  HttpRequest bare = request();
  bare.target = "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20150830T123600Z";
  EXPECT_EQ(check(bare),
            "IncompleteSignatureException: AWS query-string parameters must include 'X-Amz-Credential'. AWS "
            "query-string parameters must include 'X-Amz-Signature'. AWS query-string parameters must include "
            "'X-Amz-SignedHeaders'. Re-examine the query-string parameters.");
}

TEST(SigV4, AnHttpDateIsGoodToo) {
  HttpRequest r = request();
  r.headers.emplace_back("Date", "Sun, 30 Aug 2015 12:36:00 GMT");
  const std::string canonical =
      sigv4::canonical_request(r, {}, {"date", "host", "x-amz-target"}, sha256_hex("{}"), sigv4::PathForm::kAsSent);
  const std::string scope = sigv4::scope_text("20150830", "us-east-1", "dynamodb");
  r.headers.emplace_back("Authorization",
                         "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" + scope +
                             ", SignedHeaders=date;host;x-amz-target, Signature=" +
                             sigv4::signature_of(keys().first(), "20150830", "us-east-1", "dynamodb",
                                                 sigv4::string_to_sign("20150830T123600Z", scope, canonical)));
  EXPECT_EQ(check(r), "");
}

TEST(SigV4, OddBytesAreOnlyRefused) {
  for (const std::string authorization : {"AWS4-", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 ",
                                          "AWS4-HMAC-SHA256 =", "AWS4-HMAC-SHA256 ,,,=,", "AWS4-\xff\xfe ="}) {
    HttpRequest r = request();
    value(r, "Authorization") = authorization;
    EXPECT_NE(check(r), "");
  }
  for (const char* target :
       {"/?X-Amz-Algorithm", "/?X-Amz-Algorithm=%", "/?&&=&X-Amz-Algorithm=%zz&%", "/?X-Amz-Algorithm="}) {
    HttpRequest r = request();
    r.target = target;
    EXPECT_NE(check(r), "") << target;
  }
  for (const char* date :
       {"99999999T999999Z", "20150830T126000Z", "20150230T120000Z", "20150830T1236000", "-0150830T123600Z"}) {
    EXPECT_FALSE(sigv4::parse_timestamp(date)) << date;
  }
}

std::unique_ptr<HttpResponse> refusal_of(const RequestGate& gate, HttpRequest request) {
  return gate.admit(request);
}

TEST(SignatureGate, AnswersAsTheProtocolDoes) {
  SimClock clock(kNow);
  const auto gate = make_signature_gate({keys(), "us-east-1", false, 7}, clock);
  EXPECT_EQ(refusal_of(*gate, signed_request()), nullptr);
  const auto refused = refusal_of(*gate, request());
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->status, 400);
  EXPECT_EQ(refused->body, R"({"__type":"com.amazon.coral.service#MissingAuthenticationTokenException",)"
                           R"("message":"Request is missing Authentication Token"})");
  EXPECT_EQ(header(refused->headers, "x-amzn-RequestId").size(), 52u);
  EXPECT_FALSE(header(refused->headers, "x-amz-crc32").empty());
  EXPECT_EQ(refusal_of(*gate, signed_request("AKIDEXAMPLE", {"eu-west-1", "dynamodb"}))->status, 400);
  for (const char* open : {"/", "/healthz", "/readyz", "/?x=1"}) {
    EXPECT_EQ(refusal_of(*gate, {"GET", open, {{"Host", "h"}}, ""}), nullptr) << open;
  }
  for (const char* closed : {"/metrics", "/queues/Q/tasks", "/record"}) {
    const auto answer = refusal_of(*gate, {"GET", closed, {{"Host", "h"}}, ""});
    ASSERT_NE(answer, nullptr) << closed;
    EXPECT_EQ(answer->status, 403);
    EXPECT_NE(answer->body.find("Commands of freshet sign with --credentials FILE"), std::string::npos) << answer->body;
    EXPECT_NE(answer->body.find("--aws-sigv4 aws:amz:us-east-1:freshet"), std::string::npos) << answer->body;
  }
  HttpRequest task{"POST", "/queues/Q/tasks", {{"Host", "h"}}, "{}"};
  sign_request(task, keys().first(), {"anywhere", "freshet"}, kNow);
  EXPECT_EQ(refusal_of(*gate, task), nullptr);
  EXPECT_EQ(refusal_of(*make_signature_gate({keys(), "", true, 7}, clock), {"GET", "/metrics", {}, ""}), nullptr);
  const auto open_gate = make_signature_gate({keys(), "", true, 7}, clock);
  EXPECT_EQ(refusal_of(*open_gate, {"GET", "/queues/Q/backlog", {}, ""}), nullptr);
  for (const char* closed : {"/queues/Q/stats", "/queues/backlog", "/queues//backlog", "/queues/Q/tasks/backlog",
                             "/queues/Q/backlog/", "/priority/Q/backlog"}) {
    EXPECT_NE(refusal_of(*open_gate, {"GET", closed, {}, ""}), nullptr) << closed;
  }
  EXPECT_NE(refusal_of(*open_gate, {"POST", "/queues/Q/backlog", {}, ""}), nullptr);
  EXPECT_NE(refusal_of(*make_signature_gate({keys(), "", false, 7}, clock), {"GET", "/queues/Q/backlog", {}, ""}),
            nullptr);
}

// All that can be said without the body: it may be long, and not be there yet.
TEST(SignatureGate, LooksAtHeads) {
  SimClock clock(kNow);
  const auto gate = make_signature_gate({keys(), "us-east-1", true, 7}, clock);
  HttpRequest good = signed_request();
  good.body.clear();
  EXPECT_EQ(gate->head_refusal(good), nullptr);
  EXPECT_NE(refusal_of(*gate, good), nullptr);
  const auto refused = [&](const HttpRequest& head, std::string_view name) {
    const auto answer = gate->head_refusal(head);
    return answer && answer->body.find(name) != std::string::npos;
  };
  EXPECT_TRUE(refused(request(), "MissingAuthenticationTokenException"));
  EXPECT_TRUE(refused(signed_request("AKIDEXAMPLE", {"eu-west-1", "dynamodb"}), "InvalidSignatureException"));
  EXPECT_TRUE(
      refused(signed_request("AKIDEXAMPLE", kDynamo, kNow - kSignatureWindow - seconds(1)), "Signature expired"));
  for (const char* open : {"/", "/healthz", "/metrics"}) {
    EXPECT_TRUE(refused({"GET", open, {{"Host", "h"}}, ""}, "MissingAuthenticationTokenException")) << open;
  }
  HttpRequest stranger = signed_request();
  replace(value(stranger, "Authorization"), "AKIDEXAMPLE", "AKIDNOBODY");
  EXPECT_TRUE(refused(stranger, "UnrecognizedClientException"));
}

TEST(Credentials, AreReadFromTheFormOfAwsTools) {
  const auto good = Credentials::parse(
      "# comment\n\n[a]\r\naws_access_key_id=A\r\naws_secret_access_key = x=y \n"
      "region = eu-west-1\n; other\n[profile b]\nrole_arn = arn\n[c]\n"
      "aws_access_key_id=C\naws_secret_access_key=z",
      "f");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->size(), 2u);
  EXPECT_EQ(good->first().id, "A");
  EXPECT_EQ(good->find("A")->secret, "x=y");
  EXPECT_EQ(good->find("B"), nullptr);
  const auto error = [](const std::string& text) { return Credentials::parse(text, "f").error().message; };
  EXPECT_EQ(error(""), "f: there is no aws_access_key_id in it");
  EXPECT_EQ(error("a = b"), "f:1: expected a section first, like [default]");
  EXPECT_EQ(error("[a"), "f:1: the section's name does not end with ']'");
  EXPECT_EQ(error("[a]\nsecret"), "f:2: expected NAME = VALUE");
  EXPECT_EQ(error("\n[a]\naws_access_key_id=A"), "f:2: aws_secret_access_key is missing");
  EXPECT_EQ(error("[a]\naws_secret_access_key=A"), "f:1: aws_access_key_id must be 1 to 128 letters, digits, _ or -");
  const std::string a = "[a]\naws_access_key_id=A\naws_secret_access_key=hidden\n";
  EXPECT_EQ(error(a + a), "f:4: the key A is there twice");
  EXPECT_THAT(Credentials::read("/nothing/here").error().message, HasSubstr("No such file"));
}

}  // namespace
}  // namespace freshet
