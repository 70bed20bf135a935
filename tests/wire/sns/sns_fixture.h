// The SNS protocol over a whole runtime in simulation.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/invoke/world.h"
#include "wire/sns/sns_route.h"

namespace freshet {

using Fields = std::vector<std::pair<std::string, std::string>>;

class SnsTest : public testing::Test {
 protected:
  SnsTest() { make_route(); }

  void make_route() { route_ = make_sns_route(*world_.runtime); }
  // The daemon starts again on its data, after a loss of power.
  void restart() {
    world_.must(world_.tables->durable());
    world_.power_loss();
    make_route();
  }

  static std::string encode(const Fields& fields) {
    constexpr char kHex[] = "0123456789ABCDEF";
    std::string body;
    const auto append = [&](const std::string& text) {
      for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        body += '%';
        body += kHex[byte >> 4];
        body += kHex[byte & 15];
      }
    };
    for (const auto& [name, value] : fields) {
      if (!body.empty()) body += '&';
      append(name);
      body += '=';
      append(value);
    }
    return body;
  }
  HttpResponse send(HttpRequest request) {
    EXPECT_TRUE(route_->matches(request)) << request.target;
    auto exchange = route_->accept(std::move(request));
    Async<void> work = exchange->run();
    EXPECT_TRUE(world_.sim.run_until([&] { return work.is_ready(); }, seconds(10)));
    return exchange->respond();
  }
  HttpResponse post(const std::string& action, Fields fields) {
    fields.emplace_back("Action", action);
    fields.emplace_back("Version", "2010-03-31");
    return send({"POST",
                 "/",
                 {{"Host", "127.0.0.1:7070"}, {"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}},
                 encode(fields)});
  }
  // The answer of a request that must succeed.
  std::string ok(const std::string& action, Fields fields = {}) {
    const HttpResponse response = post(action, std::move(fields));
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.content_type, "text/xml");
    return response.body;
  }
  // "STATUS Code: message" of a request that must fail.
  std::string error(const std::string& action, Fields fields = {}) {
    const HttpResponse response = post(action, std::move(fields));
    EXPECT_EQ(within(response.body, "RequestId"), header(response.headers, "x-amzn-RequestId"));
    return std::to_string(response.status) + " " + within(response.body, "Code") + ": " +
           within(response.body, "Message");
  }
  // The text of the first element of that name.
  static std::string within(const std::string& xml, const std::string& name) {
    const size_t begin = xml.find("<" + name + ">");
    if (begin == std::string::npos) return "";
    const size_t from = begin + name.size() + 2;
    return xml.substr(from, xml.find("</" + name + ">", from) - from);
  }
  // The value of an attribute in an answer.
  static std::string attribute(const std::string& xml, const std::string& name) {
    const std::string key = "<key>" + name + "</key><value>";
    const size_t begin = xml.find(key);
    if (begin == std::string::npos) return "(none)";
    const size_t from = begin + key.size();
    return xml.substr(from, xml.find("</value>", from) - from);
  }
  static size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }

  const std::string arn_ = "arn:aws:sns:us-east-1:000000000000:News";
  RuntimeWorld world_;
  std::unique_ptr<Route> route_;
};

}  // namespace freshet
