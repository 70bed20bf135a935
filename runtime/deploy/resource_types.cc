#include "runtime/deploy/resource_types.h"

namespace freshet {
namespace {

using Support = ResourceType::Support;

constexpr std::string_view kTableArn = "arn:aws:dynamodb:{region}:{account}:table/{name}";
// A stream's label is made with the table; `latest` means the current one.
constexpr std::string_view kStreamArn = "arn:aws:dynamodb:{region}:{account}:table/{name}/stream/latest";
constexpr std::string_view kTopicArn = "arn:aws:sns:{region}:{account}:{name}";
constexpr std::string_view kFunctionArn = "arn:aws:lambda:{region}:{account}:function:{name}";

const std::vector<ResourceType>& table() {
  static const std::vector<ResourceType> types{
      {"AWS::DynamoDB::Table", "TableName", "{name}", {{"Arn", kTableArn}, {"StreamArn", kStreamArn}}},
      {"AWS::Serverless::SimpleTable", "TableName", "{name}", {{"Arn", kTableArn}}},
      {"AWS::SNS::Topic", "TopicName", kTopicArn, {{"TopicArn", kTopicArn}, {"TopicName", "{name}"}}},
      {"AWS::SNS::Subscription", "", "{name}", {{"Arn", "{name}"}}},
      {"AWS::Serverless::Function", "FunctionName", "{name}", {{"Arn", kFunctionArn}}},
      {"AWS::Lambda::Function", "FunctionName", "{name}", {{"Arn", kFunctionArn}}},
      {"AWS::Lambda::EventSourceMapping",
       "",
       "{name}",
       {{"Id", "{name}"}, {"EventSourceMappingArn", "arn:aws:lambda:{region}:{account}:event-source-mapping:{name}"}}},
      {"AWS::Lambda::EventInvokeConfig", "", "{name}", {}},
      {"AWS::Events::Rule", "Name", "{name}", {{"Arn", "arn:aws:events:{region}:{account}:rule/{name}"}}},
      {"AWS::IAM::Role",
       "RoleName",
       "{name}",
       {{"Arn", "arn:aws:iam::{account}:role/{name}"}, {"RoleId", "{name}"}},
       Support::kNoEffect,
       "access is not checked by role"},
      {"AWS::KMS::Key",
       "",
       "{name}",
       {{"Arn", "arn:aws:kms:{region}:{account}:key/{name}"}, {"KeyId", "{name}"}},
       Support::kNoEffect,
       "nothing is encrypted at rest"},
      {"AWS::Logs::LogGroup",
       "LogGroupName",
       "{name}",
       {{"Arn", "arn:aws:logs:{region}:{account}:log-group:{name}:*"}},
       Support::kNoEffect,
       "logs go to the daemon's own"},
      {"AWS::Lambda::Permission", "", "{name}", {}, Support::kNoEffect, "access is not checked by policy"},
      {"AWS::SNS::TopicPolicy", "", "{name}", {}, Support::kNoEffect, "access is not checked by policy"},
      {"AWS::CloudWatch::Alarm",
       "AlarmName",
       "{name}",
       {{"Arn", "arn:aws:cloudwatch:{region}:{account}:alarm:{name}"}},
       Support::kNoEffect,
       "watch /metrics instead"},
  };
  return types;
}

// Whole families without an effect on how tasks are processed.
const std::vector<ResourceType>& families() {
  static const std::vector<ResourceType> types{
      {"AWS::IAM::", "", "{name}", {}, Support::kNoEffect, "access is not checked by policy"},
      {"AWS::KMS::", "", "{name}", {}, Support::kNoEffect, "nothing is encrypted at rest"},
      {"AWS::Logs::", "", "{name}", {}, Support::kNoEffect, "logs go to the daemon's own"},
      {"AWS::CloudWatch::", "", "{name}", {}, Support::kNoEffect, "watch /metrics instead"},
      {"AWS::XRay::", "", "{name}", {}, Support::kNoEffect, "there is no tracing service"},
      {"AWS::ApplicationAutoScaling::", "", "{name}", {}, Support::kNoEffect, "capacity is not provisioned"},
  };
  return types;
}

}  // namespace

const ResourceType* find_resource_type(std::string_view type) {
  for (const ResourceType& known : table()) {
    if (known.type == type) return &known;
  }
  for (const ResourceType& family : families()) {
    if (type.starts_with(family.type)) return &family;
  }
  return nullptr;
}

std::vector<std::string> supported_types() {
  std::vector<std::string> out;
  for (const ResourceType& known : table()) {
    if (known.support == Support::kFull) out.emplace_back(known.type);
  }
  return out;
}

}  // namespace freshet
