#include "streams/arn.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

using namespace std::string_literals;

const Account kAccount;

TEST(Arn, NamesAreMadeAndReadBack) {
  EXPECT_EQ(table_arn(kAccount, "T"), "arn:aws:dynamodb:us-east-1:000000000000:table/T");
  EXPECT_EQ(table_name(table_arn(kAccount, "T")), "T");
  const std::string stream = stream_arn(kAccount, "T", "2026-11-21T00:08:52.709");
  EXPECT_EQ(stream, "arn:aws:dynamodb:us-east-1:000000000000:table/T/stream/2026-11-21T00:08:52.709");
  EXPECT_EQ(table_name(stream), "T");
  ASSERT_TRUE(parse_stream_arn(stream));
  EXPECT_EQ(parse_stream_arn(stream)->table, "T");
  EXPECT_EQ(parse_stream_arn(stream)->label, "2026-11-21T00:08:52.709");
  EXPECT_EQ(topic_name(topic_arn(kAccount, "News")), "News");
  EXPECT_EQ(function_name(function_arn(kAccount, "F")), "F");
  EXPECT_EQ(function_name(function_arn(kAccount, "F") + ":$LATEST"), "F");
  EXPECT_EQ(rule_arn({"eu-west-1", "1"}, "R"), "arn:aws:events:eu-west-1:1:rule/R");
}

TEST(Arn, PlainNamesPassAndOtherKindsAreNoName) {
  EXPECT_EQ(function_name("F"), "F");
  EXPECT_EQ(function_name("F:$LATEST"), "F");
  EXPECT_EQ(function_name("F:7"), "F:7");
  EXPECT_EQ(function_name(function_arn(kAccount, "F:live")), "F:live");
  EXPECT_EQ(plain_name("F:live"), "F");
  EXPECT_EQ(qualifier_of("F:live"), "live");
  EXPECT_EQ(plain_name("F"), "F");
  EXPECT_EQ(qualifier_of("F"), "");
  EXPECT_EQ(topic_name("News"), "News");
  EXPECT_EQ(table_name("T"), "T");
  EXPECT_EQ(function_name(topic_arn(kAccount, "News")), "");
  EXPECT_EQ(topic_name(function_arn(kAccount, "F")), "");
  EXPECT_EQ(topic_name(topic_arn(kAccount, "News") + ":some-subscription"), "");
  EXPECT_EQ(table_name(topic_arn(kAccount, "News")), "");
}

TEST(Arn, FunctionsAreNamedInSeveralForms) {
  const std::string arn = function_arn(kAccount, "F");
  for (const std::string& text : {std::string("F"), std::string("function:F"), "000000000000:function:F"s, arn}) {
    for (const char* qualifier : {"", "7", "live", "$LATEST"}) {
      const auto function = parse_function(*qualifier ? text + ":" + qualifier : text);
      ASSERT_TRUE(function) << text;
      EXPECT_EQ(function->name, "F") << text;
      EXPECT_EQ(function->qualifier, qualifier) << text;
    }
  }
  EXPECT_EQ(parse_function(arn)->region, "us-east-1");
  EXPECT_EQ(parse_function(arn)->account, "000000000000");
  EXPECT_EQ(parse_function("000000000000:function:F")->account, "000000000000");
  for (const char* text :
       {"", ":", "F:", ":1", "F:1:2", "12:function:F", "arn:aws:lambda:us-east-1:000000000000:layer:F",
        "arn:aws:sns:us-east-1:000000000000:F", "arn:aws:lambda:us-east-1:000000000000:function:"}) {
    EXPECT_FALSE(parse_function(text)) << text;
  }
}

TEST(Arn, WhatIsNoArnIsRefused) {
  for (const char* text :
       {"", "arn:", "arn:aws:sns", "arn:aws:sns:r:a", "arn:aws:sns:r:a:", "arn:aws::r:a:x", "x:a:b"}) {
    EXPECT_FALSE(parse_arn(text)) << text;
  }
  EXPECT_FALSE(parse_stream_arn("arn:aws:dynamodb:r:a:table/T"));
  EXPECT_FALSE(parse_stream_arn("arn:aws:dynamodb:r:a:table//stream/x"));
  EXPECT_FALSE(parse_stream_arn("arn:aws:dynamodb:r:a:table/T/stream/"));
}

}  // namespace
}  // namespace freshet
