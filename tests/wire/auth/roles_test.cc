// The roles of access keys, and the table of what each may do.
#include "wire/auth/roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "tests/sim/source_dir.h"
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
  const std::pair<const char*, const char*> posts[] = {{"queues", "wire/tasks/task_route.cc"},
                                                       {"priority", "wire/priority/priority_route.cc"},
                                                       {"filtered", "wire/filtered/filtered_route.cc"},
                                                       {"ordered", "wire/ordered/requests.cc"}};
  for (const auto& [root, file] : posts) {
    for (const auto& what : found(file, R"re((?:what|route) == "([\w-]+)"\))re")) {
      EXPECT_TRUE(role_in_table(own("POST", "/" + std::string(root) + "/Q/" + what))) << root << " " << what;
    }
    EXPECT_EQ(role_in_table(own("GET", "/" + std::string(root))), Role::kRead);
  }
  std::string simple;
  for (const char* file :
       {"app/daemon/modules/queue.cc", "app/daemon/modules/schedules.cc", "app/daemon/record_route.cc",
        "app/daemon/recent_log.cc", "wire/service/service_routes.cc", "wire/lambda/view_routes.cc"}) {
    simple += text_of(file);
  }
  const std::regex call("make_simple_route\\(\\s*\"(\\w+)\", \"(/\\w*)\"");
  int count = 0;
  for (auto at = std::sregex_iterator(simple.begin(), simple.end(), call); at != std::sregex_iterator();
       ++at, ++count) {
    EXPECT_TRUE(role_in_table(own((*at)[1], (*at)[2]))) << at->str();
  }
  EXPECT_GE(count, 10);
  EXPECT_TRUE(role_in_table(own("POST", "/deploy")));
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
    return gate->refusal(request);
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
