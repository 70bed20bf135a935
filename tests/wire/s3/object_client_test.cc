#include "wire/s3/object_client.h"

#include <gtest/gtest.h>

#include "base/crypto.h"
#include "runtime/loop/sim_loop.h"
#include "tests/runtime/fakes.h"
#include "wire/auth/credentials.h"
#include "wire/auth/sigv4.h"

namespace freshet {
namespace {

class ObjectClientTest : public ::testing::Test {
 protected:
  Result<void> put(std::string body) {
    auto running = client->put(target, "a/b/T/name.jsonl", std::move(body));
    scheduler.run_until_idle(seconds(1));
    EXPECT_TRUE(running.is_ready());
    return running.take();
  }

  SimClock clock{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop scheduler{clock};
  FakeHttp http;
  std::unique_ptr<ObjectStore> client = make_object_client(http, scheduler);
  ObjectTarget target{"http://127.0.0.1:9000", "bucket", "eu-central-1", "AKID", "secret", seconds(7)};
};

TEST_F(ObjectClientTest, PutsASignedObject) {
  const std::string body(3'000'000, 'x');
  const auto put_it = put(body);
  ASSERT_TRUE(put_it) << put_it.error().message;
  EXPECT_EQ(http.urls.at(0), "http://127.0.0.1:9000/bucket/a/b/T/name.jsonl");
  EXPECT_EQ(http.timeouts.at(0), seconds(7));
  const HttpRequest& request = http.requests.at(0);
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.target, "/bucket/a/b/T/name.jsonl");
  EXPECT_EQ(request.body, body);
  EXPECT_EQ(header(request.headers, "Host"), "127.0.0.1:9000");
  EXPECT_EQ(header(request.headers, "X-Amz-Content-Sha256"), sha256_hex(body));
  const auto keys = Credentials::parse("[a]\naws_access_key_id = AKID\naws_secret_access_key = secret\n", "keys");
  ASSERT_TRUE(keys);
  const auto fault = check_signature(request, *keys, {"eu-central-1", "s3"}, clock.wall());
  EXPECT_FALSE(fault) << fault->message;
}

TEST_F(ObjectClientTest, SaysWhyItWasRefused) {
  HttpResponse refused;
  refused.status = 403;
  refused.body = "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>Not you.</Message></Error>";
  http.answers.push_back(refused);
  EXPECT_EQ(put("x").error().message,
            "PUT of a/b/T/name.jsonl into bucket bucket was answered with 403: AccessDenied: Not you.");
  refused.body = "<html>nonsense";
  http.answers.push_back(refused);
  EXPECT_EQ(put("x").error().message, "PUT of a/b/T/name.jsonl into bucket bucket was answered with 403");
  http.answers.push_back(fail(ErrorCode::kUnavailable, "nobody is there"));
  EXPECT_EQ(put("x").error().message, "nobody is there");
  target.endpoint = "gopher://x";
  EXPECT_FALSE(put("x"));
}

}  // namespace
}  // namespace freshet
