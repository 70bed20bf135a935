// The roles of access keys, and the table of what each may do.
#include "wire/auth/roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "tests/sim/source_dir.h"
#include "wire/api/calls.h"
#include "wire/auth/canonical.h"
#include "wire/auth/signature_gate.h"
#include "wire/auth/sigv4.h"

namespace freshet {
namespace {

using testing::HasSubstr;

const WallTime kSignedAt = *sigv4::parse_timestamp("20150830T123600Z");

HttpRequest own(const std::string& method, const std::string& target) {
  return {method, target, {{"Host", "h"}}, ""};
}
HttpRequest item_store(const std::string& target) {
  return {"POST", "/", {{"Host", "h"}, {"X-Amz-Target", target}}, "{}"};
}
HttpRequest topic(const std::string& action) {
  return {"POST", "/", {{"Host", "h"}, {"Content-Type", "application/x-www-form-urlencoded"}}, "Action=" + action};
}

std::string text_of(const std::string& file) {
  std::ifstream in(source_dir() + "/" + file);
  std::stringstream all;
  all << in.rdbuf();
  EXPECT_FALSE(all.str().empty()) << file;
  return all.str();
}

// Returns what the first group of the pattern finds in the file, in its order.
std::vector<std::string> found(const std::string& file, const std::string& pattern) {
  const std::string text = text_of(file);
  const std::regex expression(pattern);
  std::vector<std::string> out;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), expression); at != std::sregex_iterator(); ++at) {
    out.push_back((*at)[1]);
  }
  EXPECT_GT(out.size(), 2u) << file << ": the pattern finds no routes any more: " << pattern;
  return out;
}

// Reads the routes where they are defined: one that is added without a line in the table fails here.
TEST(StrongestKey, IsTheFirstOfTheFileWithTheHighestRole) {
  const auto keys = Credentials::parse(
      "[a]\naws_access_key_id=W\naws_secret_access_key=s\nfreshet_role=work\n"
      "[b]\naws_access_key_id=NEW\naws_secret_access_key=s\nfreshet_role=operate\n"
      "[c]\naws_access_key_id=A-OLD\naws_secret_access_key=s\nfreshet_role=operate\n",
      "keys");
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(keys->strongest().id, "NEW");
  EXPECT_EQ(keys->first().id, "W");
}

TEST(Roles, EveryRouteIsInTheTable) {
  for (const auto& name : found("wire/dynamodb/route.cc", R"re(\{"(\w+)", parse_)re")) {
    EXPECT_TRUE(role_in_table(item_store("DynamoDB_20120810." + name))) << name;
  }
  for (const auto& name : found("wire/dynamodb/stream_operations.cc", R"re(\{"(\w+)", parse_)re")) {
    EXPECT_TRUE(role_in_table(item_store("DynamoDBStreams_20120810." + name))) << name;
  }
  for (const auto& name : found("wire/sns/sns_route.cc", R"re(\{"(\w+)", parse_)re")) {
    EXPECT_TRUE(role_in_table(topic(name))) << name;
  }
}

// A call of our own API has its role in the table of calls; a path that only looks like one has none.
TEST(Roles, CallsOfOurOwnHaveTheRoleOfTheirLine) {
  for (const ApiLine& line : api_lines()) {
    std::string path(line.path);
    for (size_t at = path.find('{'); at != std::string::npos; at = path.find('{')) {
      path.replace(at, path.find('}') - at + 1, "x");
    }
    EXPECT_EQ(role_in_table(own(std::string(line.method), path)), line.role) << line.method << " " << path;
    EXPECT_EQ(role_in_table(own("PATCH", path)), std::nullopt) << path;
  }
  EXPECT_EQ(role_needed(own("POST", "/priority/Q/dequeue")), Role::kWork);
  EXPECT_EQ(role_needed(own("GET", "/queues/Q/nothing")), Role::kRead) << "a reader gets 404 there";
}

TEST(Roles, WhatIsNotInTheTableNeedsAdmin) {
  for (const auto& request : {own("POST", "/queues/Q/brand-new"), own("POST", "/new"), own("PUT", "/queues/Q/tasks"),
                              own("POST", "/queues"), own("POST", "/queues/Q/tasks/more"), own("GET", "/queue"),
                              own("DELETE", "/queues/Q/tasks/t"), own("GET", "/%"), item_store("DynamoDB_20120810.New"),
                              topic("New"), own("GET", "/2015-03-31/functions"), own("GET", "/2015-03-31/functions/f"),
                              own("POST", "/2015-03-31/functions"), own("PUT", "/2015-03-31/functions/f/code")}) {
    EXPECT_EQ(role_needed(request), Role::kAdmin) << request.method << " " << request.target;
  }
  HttpRequest packed = topic("ListTopics");
  EXPECT_EQ(role_needed(packed), Role::kRead);
  packed.headers.emplace_back("Content-Encoding", "gzip");
  EXPECT_EQ(role_needed(packed), Role::kAdmin) << "what the route will see is not what stands here";
}

TEST(Roles, PathsAreReadAsTheRoutesReadThem) {
  EXPECT_EQ(role_needed(own("POST", "/queues/Q/t%61ke")), Role::kWork);
  EXPECT_EQ(role_needed(own("POST", "/queues/Q%2Ftasks/pause")), Role::kOperate);
  EXPECT_EQ(role_needed(own("POST", "/queues/Q/pause?x=/queues/Q/tasks")), Role::kOperate);
  EXPECT_EQ(role_needed(own("HEAD", "/record?table=Q")), Role::kOperate);
  EXPECT_EQ(role_needed(own("DELETE", "/queues/Q/jobs/7")), Role::kOperate);
  EXPECT_EQ(role_needed(own("POST", "/2015-03-31/functions/f/invocations")), Role::kWork);
}

TEST(Roles, TheGateHoldsEachKeyToItsRole) {
  std::string file;
  const Role roles[] = {Role::kRead, Role::kWork, Role::kOperate, Role::kAdmin};
  for (const Role role : roles) {
    const std::string name(role_name(role));
    file +=
        "[" + name + "]\naws_access_key_id = " + name + "\naws_secret_access_key = s\nfreshet_role = " + name + "\n";
  }
  const Credentials keys =
      *Credentials::parse(file + "[old]\naws_access_key_id = old\naws_secret_access_key = s\n", "keys");
  SimClock clock(kSignedAt);
  const auto gate = make_signature_gate({keys, "us-east-1", false, 7}, clock);
  const auto answer = [&](const std::string& key, HttpRequest request, const std::string& service) {
    sign_request(request, *keys.find(key), {"us-east-1", service}, kSignedAt);
    return gate->admit(request);
  };
  const std::tuple<HttpRequest, std::string, Role> requests[] = {
      {own("GET", "/queues/Q/tasks"), "freshet", Role::kRead},
      {own("POST", "/queues/Q/take"), "freshet", Role::kWork},
      {own("POST", "/queues/Q/pause"), "freshet", Role::kOperate},
      {own("POST", "/deploy"), "freshet", Role::kAdmin},
      {own("POST", "/nobody/knows"), "freshet", Role::kAdmin},
      {item_store("DynamoDB_20120810.Query"), "dynamodb", Role::kRead},
      {item_store("DynamoDB_20120810.PutItem"), "dynamodb", Role::kWork},
      {item_store("DynamoDB_20120810.DeleteTable"), "dynamodb", Role::kAdmin},
      {topic("ListTopics"), "sns", Role::kRead},
      {topic("Publish"), "sns", Role::kWork},
      {topic("DeleteTopic"), "sns", Role::kAdmin},
  };
  for (const auto& [request, service, needed] : requests) {
    for (const Role role : roles) {
      const auto refused = answer(std::string(role_name(role)), request, service);
      EXPECT_EQ(refused == nullptr, role >= needed) << role_name(role) << " " << request.target << request.body;
    }
    EXPECT_EQ(answer("old", request, service), nullptr) << "a key without a role may do everything";
  }
  const auto denied = answer("read", own("POST", "/queues/Q/take"), "freshet");
  EXPECT_EQ(denied->status, 403);
  EXPECT_THAT(denied->body, HasSubstr("AccessDeniedException"));
  EXPECT_THAT(denied->body, HasSubstr("the key read has the role read; this request needs the role work"));
  EXPECT_EQ(answer("read", item_store("DynamoDB_20120810.PutItem"), "dynamodb")->status, 400) << "as the service";
  EXPECT_THAT(answer("read", topic("Publish"), "sns")->body, HasSubstr("AuthorizationError"));
}

TEST(Roles, AnUnknownRoleIsRefusedWithItsLine) {
  const auto wrong =
      Credentials::parse("[a]\naws_access_key_id = A\naws_secret_access_key = s\nfreshet_role = reader\n", "keys");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "keys:4: freshet_role must be read, work, operate or admin");
}

}  // namespace
}  // namespace freshet
