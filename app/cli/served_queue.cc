#include "app/cli/served_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "functions/late.h"
#include "tables/definition.h"

namespace freshet::cli {
namespace {

// {0}: table, {1}: its attributes and indexes. A task takes the way that the head of config/lifo.yaml draws.
constexpr const char* kResources = R"(
Resources:
  QueueTable:
    Type: AWS::DynamoDB::Table
    Metadata:
      Freshet:
        Queue: true
    Properties:
      TableName: {0}
      BillingMode: PAY_PER_REQUEST
{1}      TimeToLiveSpecification: {{AttributeName: ttl, Enabled: true}}
      StreamSpecification: {{StreamViewType: KEYS_ONLY}}

  TriggerTopic:
    Type: AWS::SNS::Topic

  ProcessTasksTopic:
    Type: AWS::SNS::Topic

  TriggerFunction:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: native
      Handler: trigger
      Timeout: 5
      EventInvokeConfig: {{MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0}}
      Environment:
        Variables:
          PROCESS_TASKS_TOPIC_ARN: !Ref ProcessTasksTopic
      Events:
        NewTask:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt QueueTable.StreamArn
            StartingPosition: LATEST
            BatchSize: 1000
            MaximumBatchingWindowInSeconds: 0
            MaximumRecordAgeInSeconds: 120
            MaximumRetryAttempts: 0
            FilterCriteria:
              Filters:
                - Pattern: '{{"eventName": ["INSERT"]}}'
        TasksLeft:
          Type: SNS
          Properties:
            Topic: !Ref TriggerTopic

  ProcessTasksFunction:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: native
      Handler: process_tasks
      Timeout: 86400
      ReservedConcurrentExecutions: 1
      EventInvokeConfig: {{MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 1}}
      Events:
        Start:
          Type: SNS
          Properties:
            Topic: !Ref ProcessTasksTopic
      Environment:
        Variables:
          QUEUE_TABLE: !Ref QueueTable
          TRIGGER_TOPIC_ARN: !Ref TriggerTopic
)";

// {1} of the sample application, with the index that it reads, too.
constexpr const char* kSampleIndexes = R"(      AttributeDefinitions:
        - {AttributeName: taskId, AttributeType: S}
        - {AttributeName: taskStatus, AttributeType: S}
        - {AttributeName: taskCreated, AttributeType: N}
      KeySchema:
        - {AttributeName: taskId, KeyType: HASH}
      GlobalSecondaryIndexes:
        - IndexName: task-status-created-index
          KeySchema:
            - {AttributeName: taskStatus, KeyType: HASH}
            - {AttributeName: taskCreated, KeyType: RANGE}
          Projection: {ProjectionType: ALL}
)";

// {1} with LAYOUT=fleet: the queue makes the indexes that it needs.
constexpr const char* kNoIndexes = R"(      AttributeDefinitions:
        - {AttributeName: taskId, AttributeType: S}
      KeySchema:
        - {AttributeName: taskId, KeyType: HASH}
)";

// {0}: runtime, {1}: folder, {2}: handler, {3}: seconds.
constexpr const char* kFunction = R"(
  HandlerFunction:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: {0}
      CodeUri: {1}
      Handler: {2}
      Timeout: {3}
      MemorySize: 1024
)";

std::string yaml_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string comment_of(const std::string& variable, const std::string& value) {
  const LatePolicy* late = variable == "LATE" ? late_policy(value) : nullptr;
  return late == nullptr ? "" : "  # " + late->settings();
}

}  // namespace

Result<ServedFunction> read_served_function(const std::string& text) {
  namespace fs = std::filesystem;
  const size_t colon = text.rfind(':');
  const bool named = colon != std::string::npos && text.find('/', colon) == std::string::npos;
  const fs::path file = text.substr(0, named ? colon : std::string::npos);
  const std::string name = named ? text.substr(colon + 1) : "handler";
  const std::string kind = file.extension().string();
  ServedFunction function;
  if (kind == ".py") function.runtime = "python3";
  if (kind == ".mjs" || kind == ".js" || kind == ".cjs") function.runtime = "nodejs";
  if (function.runtime.empty()) {
    return invalid("'" + text +
                   "' is no function: it must be FILE.py[:FUNCTION] or FILE.mjs[:FUNCTION] (or .js, .cjs)");
  }
  if (name.empty()) return invalid("'" + text + "' names no function behind the colon");
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return invalid("there is no file '" + file.string() + "'");
  function.folder = fs::absolute(file).lexically_normal().parent_path().string();
  function.handler = file.stem().string() + "." + name;
  return function;
}

Result<void> check_queue_name(const std::string& name) {
  constexpr const char* kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  if (name.size() < 3 || name.size() > 255 || name.find_first_not_of(kAllowed) != std::string::npos) {
    return invalid("'" + name + "' cannot name a queue: it must have 3 to 255 letters, digits, '_', '-' and '.'");
  }
  if (name.starts_with(kSystemTablePrefix)) {
    return invalid("'" + name + "' cannot name a queue: names that start with '" + std::string(kSystemTablePrefix) +
                   "' are those of Freshet's own tables");
  }
  return {};
}

Result<ProcessSettings> settings_of(const ServedQueue& queue) {
  Environment environment = queue.settings;
  environment["QUEUE_TABLE"] = queue.name;
  return process_settings(environment);
}

std::string template_of(const ServedQueue& queue, const std::string& command) {
  std::string out = "# What `" + command + "` stands for.\n";
  out += "# docs/settings.md has all settings, docs/templates.md what else a template may hold.\n";
  // The resources come last, so that another one is appended by `cat >>`.
  out += "AWSTemplateFormatVersion: '2010-09-09'\nTransform: AWS::Serverless-2016-10-31\n\n";
  out += "Outputs:\n  Queue:\n    Value: !Ref QueueTable\n";
  const auto layout = queue.settings.find("LAYOUT");
  const bool has_own_index = layout != queue.settings.end() && layout->second == "fleet";
  out += fmt::format(kResources, yaml_quoted(queue.name), has_own_index ? kNoIndexes : kSampleIndexes);
  for (const auto& [variable, value] : queue.settings) {
    out += "          " + variable + ": " + yaml_quoted(value) + comment_of(variable, value) + '\n';
  }
  if (queue.function) {
    const auto settings = settings_of(queue);
    const auto timeout = settings ? settings->runner.timeout : RunnerSettings().timeout;
    const auto seconds = std::max<int64_t>(1, (timeout.count() + 999) / 1000);
    out += fmt::format(kFunction, queue.function->runtime, yaml_quoted(queue.function->folder),
                       yaml_quoted(queue.function->handler), seconds);
  }
  return out;
}

}  // namespace freshet::cli
