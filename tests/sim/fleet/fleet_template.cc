#include "tests/sim/fleet/fleet_template.h"

#include <fstream>
#include <iterator>
#include <map>

#include "base/check.h"
#include "tests/sim/machine/sources.h"

namespace freshet::fleet_sim {

namespace {

// A table with a stream, and a function that a program serves.
constexpr const char* kMapping = R"(
  ChangedTable:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: @table
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
  WatchFunction:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: provided.al2023
      CodeUri: @code
      Handler: watch
      Timeout: 4
      MemorySize: 256
      Events:
        Change:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt ChangedTable.StreamArn
            StartingPosition: TRIM_HORIZON
            BatchSize: 10
            ParallelizationFactor: @lanes
)";

// A function that counts the states of that table's items.
constexpr const char* kCounts = R"(
  CountsTable:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: @metrics
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: counted, AttributeType: S}, {AttributeName: metric, AttributeType: S}]
      KeySchema: [{AttributeName: counted, KeyType: HASH}, {AttributeName: metric, KeyType: RANGE}]
  CountFunction:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: native
      Handler: count_states
      Timeout: 60
      Environment:
        Variables: {METRICS_TABLE: !Ref CountsTable, COUNT_ATTRIBUTE: state}
      Events:
        Change:
          Type: DynamoDB
          Properties: {Stream: !GetAtt ChangedTable.StreamArn, StartingPosition: TRIM_HORIZON, BatchSize: 20}
)";

constexpr const char* kOrders = R"(
  OrderTopic: {Type: AWS::SNS::Topic, Properties: {TopicName: @topic, FifoTopic: true}}
)";

constexpr const char* kSubscriber = R"(
  @function:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: @name
      Runtime: provided.al2023
      CodeUri: @code
      Handler: order
      Timeout: 4
      MemorySize: 256
      EventInvokeConfig: {MaximumEventAgeInSeconds: 21600, MaximumRetryAttempts: 2}
      Events:
        Ordered: {Type: SNS, Properties: {Topic: !Ref OrderTopic}}
)";

// A queue whose tasks are done by programs, on all members.
constexpr const char* kRuns = R"(
  RunTable:
    Type: AWS::DynamoDB::Table
    Metadata: {Freshet: {Queue: true}}
    Properties:
      TableName: @queue
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - {AttributeName: taskId, AttributeType: S}
        - {AttributeName: taskStatus, AttributeType: S}
        - {AttributeName: taskCreated, AttributeType: N}
      KeySchema: [{AttributeName: taskId, KeyType: HASH}]
      GlobalSecondaryIndexes:
        - IndexName: task-status-created-index
          KeySchema: [{AttributeName: taskStatus, KeyType: HASH}, {AttributeName: taskCreated, KeyType: RANGE}]
          Projection: {ProjectionType: ALL}
  RunTopic: {Type: AWS::SNS::Topic}
  RunTasksFunction:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: native
      Handler: process_tasks
      Timeout: 86400
      ReservedConcurrentExecutions: 1
      EventInvokeConfig: {MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 1}
      Environment:
        Variables:
          QUEUE_TABLE: !Ref RunTable
          TRIGGER_TOPIC_ARN: !Ref RunTopic
          TASK_RUNNER: exec:/bin/true work
          CONCURRENCY: @limit
          TASK_TIMEOUT_MS: @timeout
          LEASE_MS: 8000
          MAX_ATTEMPTS: 1000
          BACKOFF_BASE_MS: 10
          BACKOFF_MAX_MS: 500
          DEFAULT_TTL_S: 0
          PAGE_LIMIT: '0'
          MAX_ACTIVE_MS: @active
      Events:
        Start: {Type: SNS, Properties: {Topic: !Ref RunTopic}}
)";

std::string filled(std::string text, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    const size_t at = text.find("@" + name);
    FRESHET_CHECK(at != std::string::npos, "the template has that place");
    text.replace(at, name.size() + 1, value);
  }
  return text;
}

std::string resources_of(const FleetRunPlan& plan) {
  std::string out;
  if (plan.has_mapping) {
    out += filled(kMapping, {{"table", kChangedTable},
                             {"code", sim::sources() + "/tests/sim/machine/program/"},
                             {"lanes", std::to_string(plan.lanes)}});
  }
  if (plan.has_counts) out += filled(kCounts, {{"metrics", kCountsTable}});
  if (plan.has_topic) out += filled(kOrders, {{"topic", kTopic}});
  for (int i = 0; plan.has_topic && i < plan.subscribers; ++i) {
    out += filled(kSubscriber, {{"function", kSubscribers[i]},
                                {"name", kSubscribers[i]},
                                {"code", sim::sources() + "/tests/sim/machine/program/"}});
  }
  if (plan.has_runs) {
    out += filled(kRuns, {{"queue", kRunQueue},
                          {"limit", std::to_string(plan.run_limit)},
                          {"timeout", std::to_string(plan.run_timeout.count())},
                          {"active", std::to_string(plan.run_active.count())}});
  }
  return out;
}

}  // namespace

std::string template_of(const FleetRunPlan& plan) {
  const std::string further = resources_of(plan);
  if (further.empty()) return {};
  std::ifstream file(sim::sources() + "/config/lifo.yaml");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string resources = "\nResources:\n";
  const size_t at = text.find(resources);
  FRESHET_CHECK(at != std::string::npos, "the template has resources");
  return text.insert(at + resources.size(), further);
}

}  // namespace freshet::fleet_sim
