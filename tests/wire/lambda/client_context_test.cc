// The client context of Invoke: from Base64 in the caller's header to JSON in that of the Runtime API.
#include "wire/lambda/client_context.h"

#include <gtest/gtest.h>

#include "tables/value/text.h"

namespace freshet::lambda {
namespace {

Result<std::string> of(std::string_view json) {
  std::string encoded;
  append_base64(encoded, json);
  return client_context(encoded);
}

TEST(ClientContextTest, BecomesAHeaderOfAsciiOnOneLine) {
  EXPECT_EQ(client_context("").value(), "");
  EXPECT_EQ(of(R"({"custom":{"a":1}})").value(), R"({"custom":{"a":1}})");
  EXPECT_EQ(of("{\n\t\"a\": 1\r\n}").value(), R"({  "a": 1  })");
  EXPECT_EQ(of("{\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\":1}").value(), R"({"\u00e9\u20ac\ud83d\ude00\u007f":1})");
  EXPECT_EQ(of(R"({"a":"line\nnext"})").value(), R"({"a":"line\nnext"})");
}

TEST(ClientContextTest, IsAnObjectOfAGoodLength) {
  const std::string wrong = "Client context must be a valid Base64-encoded JSON object.";
  for (const char* json : {"[]", "1", "{", "{} {}", "{\"\xff\":1}", "null"}) {
    ASSERT_FALSE(of(json)) << json;
    EXPECT_EQ(of(json).error().message, wrong);
  }
  EXPECT_EQ(client_context("{}").error().message, wrong) << "not in Base64";
  const std::string longest = R"({"a":")" + std::string(2679, 'x') + R"("})";  // 2,687 bytes: 3,584 encoded.
  EXPECT_FALSE(of(longest));
  EXPECT_EQ(of(longest).error().message, "Client context has 3584 bytes; at most 3583 are allowed");
  EXPECT_TRUE(of(longest.substr(0, 2600) + R"("})"));
}

}  // namespace
}  // namespace freshet::lambda
