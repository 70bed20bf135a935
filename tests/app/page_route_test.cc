// The dashboard's files: which are there, how they are kept, what their headers allow.
#include "app/ui/page_route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/ui/assets.h"

namespace freshet::ui {
namespace {

using testing::HasSubstr;

HttpRequest get(const std::string& target, HttpHeaders headers = {}) {
  HttpRequest request;
  request.method = "GET";
  request.target = target;
  request.headers = std::move(headers);
  return request;
}

HttpResponse answer(HttpRequest request) {
  const auto route = make_page_route();
  EXPECT_TRUE(route->matches(request)) << request.target;
  return route->accept(std::move(request))->respond();
}

TEST(PageRoute, ThePageNamesItsFilesByTheHashOfAll) {
  const HttpResponse page = answer(get("/ui/"));
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("src=\"" + std::string(version()) + "/main.js\""));
  EXPECT_EQ(page.body.find("%FOLDER%"), std::string::npos);
  EXPECT_EQ(header(page.headers, "Cache-Control"), "no-cache");
}

TEST(PageRoute, EachFileIsThereUnderItsHashAndIsKeptForGood) {
  for (const Asset& asset : assets()) {
    const HttpResponse file = answer(get("/ui/" + std::string(version()) + "/" + std::string(asset.path)));
    EXPECT_EQ(file.status, 200) << asset.path;
    EXPECT_EQ(file.body, asset.body);
    EXPECT_THAT(std::string(header(file.headers, "Cache-Control")), HasSubstr("immutable"));
    EXPECT_EQ(header(file.headers, "X-Content-Type-Options"), "nosniff");
    EXPECT_THAT(std::string(header(file.headers, "Content-Security-Policy")), HasSubstr("frame-ancestors 'none'"));
  }
}

TEST(PageRoute, WhatTheBrowserHasIsNotSentAgain) {
  const HttpResponse first = answer(get("/ui/"));
  const HttpResponse again = answer(get("/ui/", {{"If-None-Match", std::string(header(first.headers, "ETag"))}}));
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(answer(get("/ui/", {{"If-None-Match", "\"of-another-release\""}})).status, 200);
}

TEST(PageRoute, LargeFilesAreCompressedForWhoTakesThat) {
  const std::string target = "/ui/" + std::string(version()) + "/vendor/uplot.js";
  const HttpResponse packed = answer(get(target, {{"Accept-Encoding", "gzip, br"}}));
  EXPECT_EQ(header(packed.headers, "Content-Encoding"), "gzip");
  EXPECT_LT(packed.body.size() * 2, answer(get(target)).body.size());
}

TEST(PageRoute, OfAnotherReleaseOrFolderNothingIsThere) {
  for (const char* target : {"/ui/0123456789abcdef/main.js", "/ui/main.js", "/ui/../etc/passwd", "/ui/%2e%2e/x"}) {
    EXPECT_EQ(answer(get(target)).status, 404) << target;
  }
  HttpRequest post = get("/ui/");
  post.method = "POST";
  EXPECT_EQ(answer(std::move(post)).status, 405);
}

TEST(PageRoute, OnlyABrowserIsSentFromTheRootToThePage) {
  const auto route = make_page_route();
  const HttpResponse sent = answer(get("/", {{"Accept", "text/html,*/*;q=0.8"}}));
  EXPECT_EQ(sent.status, 303);
  EXPECT_EQ(header(sent.headers, "Location"), "/ui/");
  EXPECT_EQ(answer(get("/ui")).status, 303);
  EXPECT_FALSE(route->matches(get("/")));
  EXPECT_FALSE(route->matches(get("/", {{"Accept", "application/json"}})));
  EXPECT_FALSE(route->matches(get("/uix")));
  HttpRequest post = get("/", {{"Accept", "text/html"}});
  post.method = "POST";
  EXPECT_FALSE(route->matches(post));
}

}  // namespace
}  // namespace freshet::ui
