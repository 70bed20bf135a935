#include "wire/auth/roles.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "wire/api/calls.h"
#include "wire/http/target.h"
#include "wire/sns/query_form.h"
#include "wire/sns/sns_route.h"

namespace freshet {
namespace {

struct Line {
  std::string_view name;
  Role role;
};

constexpr Role kRead = Role::kRead;
constexpr Role kWork = Role::kWork;
constexpr Role kOperate = Role::kOperate;
constexpr Role kAdmin = Role::kAdmin;

// Any PartiQL statement counts as a write. Writes of items reach the tables of queues, too.
constexpr Line kItemStore[] = {
    {"DynamoDB_20120810.GetItem", kRead},
    {"DynamoDB_20120810.BatchGetItem", kRead},
    {"DynamoDB_20120810.TransactGetItems", kRead},
    {"DynamoDB_20120810.Query", kRead},
    {"DynamoDB_20120810.Scan", kRead},
    {"DynamoDB_20120810.ListTables", kRead},
    {"DynamoDB_20120810.DescribeTable", kRead},
    {"DynamoDB_20120810.DescribeTimeToLive", kRead},
    {"DynamoDB_20120810.DescribeContinuousBackups", kRead},
    {"DynamoDB_20120810.DescribeLimits", kRead},
    {"DynamoDB_20120810.DescribeEndpoints", kRead},
    {"DynamoDB_20120810.DescribeBackup", kRead},
    {"DynamoDB_20120810.ListBackups", kRead},
    {"DynamoDB_20120810.ListTagsOfResource", kRead},
    {"DynamoDBStreams_20120810.ListStreams", kRead},
    {"DynamoDBStreams_20120810.DescribeStream", kRead},
    {"DynamoDBStreams_20120810.GetShardIterator", kRead},
    {"DynamoDBStreams_20120810.GetRecords", kRead},
    {"DynamoDB_20120810.PutItem", kWork},
    {"DynamoDB_20120810.UpdateItem", kWork},
    {"DynamoDB_20120810.DeleteItem", kWork},
    {"DynamoDB_20120810.BatchWriteItem", kWork},
    {"DynamoDB_20120810.TransactWriteItems", kWork},
    {"DynamoDB_20120810.ExecuteStatement", kWork},
    {"DynamoDB_20120810.BatchExecuteStatement", kWork},
    {"DynamoDB_20120810.ExecuteTransaction", kWork},
    {"DynamoDB_20120810.CreateTable", kAdmin},
    {"DynamoDB_20120810.DeleteTable", kAdmin},
    {"DynamoDB_20120810.UpdateTable", kAdmin},
    {"DynamoDB_20120810.UpdateTimeToLive", kAdmin},
    {"DynamoDB_20120810.UpdateContinuousBackups", kAdmin},
    {"DynamoDB_20120810.CreateBackup", kAdmin},
    {"DynamoDB_20120810.DeleteBackup", kAdmin},
    {"DynamoDB_20120810.RestoreTableFromBackup", kAdmin},
    {"DynamoDB_20120810.TagResource", kAdmin},
    {"DynamoDB_20120810.UntagResource", kAdmin},
};

constexpr Line kTopics[] = {
    {"ListTopics", kRead},
    {"GetTopicAttributes", kRead},
    {"ListSubscriptions", kRead},
    {"ListSubscriptionsByTopic", kRead},
    {"GetSubscriptionAttributes", kRead},
    {"ListTagsForResource", kRead},
    {"Publish", kWork},
    {"PublishBatch", kWork},
    {"CreateTopic", kAdmin},
    {"DeleteTopic", kAdmin},
    {"SetTopicAttributes", kAdmin},
    {"Subscribe", kAdmin},
    {"ConfirmSubscription", kAdmin},
    {"Unsubscribe", kAdmin},
    {"SetSubscriptionAttributes", kAdmin},
    {"TagResource", kAdmin},
    {"UntagResource", kAdmin},
};

template <size_t N>
std::optional<Role> find(const Line (&lines)[N], std::string_view name) {
  const auto* found = std::find_if(std::begin(lines), std::end(lines), [&](const Line& l) { return l.name == name; });
  if (found == std::end(lines)) return {};
  return found->role;
}

// The raw bytes of a compressed form may read as another action than the one that the route will see.
std::optional<Role> of_topics(const HttpRequest& request) {
  if (request.method != "POST" || !header(request.headers, "Content-Encoding").empty()) return {};
  const auto form = sns::QueryForm::parse(request.body);
  return form ? find(kTopics, form->text("Action")) : std::nullopt;
}

// A look at a function shows its environment, which holds passwords, so everything but a call is for kAdmin.
std::optional<Role> of_functions(const std::string& method, const std::vector<std::string>& path) {
  const bool invokes = method == "POST" && path.size() == 4 && path[0] == "2015-03-31" && path[1] == "functions" &&
                       path[3] == "invocations";
  return invokes ? kWork : kAdmin;
}

bool is_queue_root(std::string_view name) {
  return name == "queues" || name == "priority" || name == "filtered" || name == "ordered";
}

}  // namespace

std::optional<Role> role_in_table(const HttpRequest& request) {
  // Most requests of SDKs: nothing to decode.
  const bool is_post = request.method == "POST" && request.target == "/";
  const auto operation = is_post ? header(request.headers, "X-Amz-Target") : std::string_view();
  if (!operation.empty()) return find(kItemStore, operation);
  if (is_query_request(request)) return of_topics(request);
  const auto target = parse_target(request.target);
  if (!target) return {};
  const auto& path = target->segments;
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  if (path.empty()) {
    return method == "GET" ? kRead : find(kItemStore, header(request.headers, "X-Amz-Target"));
  }
  if (path[0].starts_with("20")) return of_functions(method, path);
  if (method == "GET" && path[0] == "ui") return kRead;
  if (const ApiLine* line = find_api_call(method, path)) return line->role;
  // The path does not exist: a key with the role `read` gets 404 like all others.
  if (method == "GET" && is_queue_root(path[0])) return kRead;
  return {};
}

Role role_needed(const HttpRequest& request) {
  return role_in_table(request).value_or(Role::kAdmin);
}

}  // namespace freshet
