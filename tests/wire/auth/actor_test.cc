// The sender of a request, for the audit log.
#include "wire/auth/actor.h"

#include <gtest/gtest.h>

#include "wire/auth/session_cookie.h"

#include <memory>
#include <string>

namespace freshet {
namespace {

HttpRequest from(const std::string& peer) {
  HttpRequest request;
  request.method = "POST";
  request.target = "/queues/Q/pause";
  request.peer = std::make_shared<const std::string>(peer);
  request.number = 1;
  return request;
}

TEST(Actor, TheKeyThatTheGateHasCheckedSaysWho) {
  for (const std::string& checked : {signature_authorization("AKID"), session_authorization("AKID")}) {
    HttpRequest request = from("10.0.0.7:4711");
    request.target += "?X-Amz-Credential=OTHER%2F20261124%2Fus-east-1%2Ffreshet%2Faws4_request";
    request.headers.emplace_back("authorization", checked);
    EXPECT_EQ(actor_of(request, true).who, "AKID");
    EXPECT_EQ(actor_of(request, true).from, "10.0.0.7:4711");
  }
}

// A signature that nobody has checked says nothing.
TEST(Actor, WithoutSignaturesOnlyTheAddressCounts) {
  HttpRequest request = from("10.0.0.7:4711");
  request.headers.emplace_back("Authorization", "AWS4-HMAC-SHA256 Credential=ADMIN/20261124/x/y/aws4_request");
  EXPECT_EQ(actor_of(request, false).who, "unsigned");
  for (const char* local : {"127.0.0.1:4711", "127.8.0.1:4711", "[::1]:4711", "[::ffff:127.0.0.1]:4711"}) {
    EXPECT_EQ(actor_of(from(local), false).who, "local") << local;
  }
}

TEST(Actor, TheIdIsThatOfTheAnswer) {
  HttpRequest request = from("127.0.0.1:4711");
  EXPECT_EQ(actor_of(request, false).request.size(), 16u);
  request.headers.emplace_back("x-request-id", "mine-17");
  EXPECT_EQ(actor_of(request, false).request, "mine-17");
  HttpRequest broken = from("127.0.0.1:4711");
  broken.headers.emplace_back("x-request-id", "not one of ours");
  EXPECT_EQ(actor_of(broken, false).request.size(), 16u);
}

}  // namespace
}  // namespace freshet
