#include "base/url.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(Url, TakesApart) {
  const auto url = parse_url("http://[::1]:8080?q=1#frag");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, 8080);
  EXPECT_EQ(url->host_header, "[::1]:8080");
  EXPECT_EQ(url->target, "/?q=1");
  EXPECT_EQ(parse_url("http://example.com")->target, "/");
  EXPECT_EQ(parse_url("http://example.com")->port, 80);
  EXPECT_FALSE(parse_url("http://example.com")->tls);
  EXPECT_TRUE(parse_url("https://example.com")->tls);
  EXPECT_EQ(parse_url("https://example.com/")->port, 443);
  EXPECT_EQ(parse_url("https://example.com:8443/")->port, 8443);
  for (const char* bad : {"",
                          "example.com",
                          "ftp://x",
                          "http://",
                          "http://:80",
                          "https://",
                          "https:/a",
                          "http://a:0",
                          "http://a:65536",
                          "http://a:",
                          "http://a:/x",
                          "http://a:8x/",
                          "http://a:-1",
                          "http://a:+1",
                          "http:///x",
                          "http://[]:80",
                          "http://[::1]80",
                          "http://u@a",
                          "http://a/b c",
                          "http://a/\r\nX: y",
                          "http://[::1",
                          "http://a b/"}) {
    EXPECT_FALSE(parse_url(bad)) << bad;
  }
}

}  // namespace
}  // namespace freshet
