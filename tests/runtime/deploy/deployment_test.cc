#include "runtime/deploy/deployment.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/runtime/deploy/deployment_text.h"

namespace freshet {
namespace {

TEST(Deployment, TheSampleIsWhatTheSampleAsksFor) {
  auto out = deploy(shipped("lifo-sample.yaml"));
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(warnings(*out), std::vector<std::string>{});

  TableDefinition queue;
  queue.name = "QueueTable";
  queue.keys.partition = {"taskId", Type::kString};
  queue.indexes = {{"task-status-created-index",
                    {{"taskStatus", Type::kString}, KeyAttribute{"taskCreated", Type::kNumber}},
                    false,
                    Projection::kAll,
                    {}}};
  queue.stream = StreamView::kKeysOnly;
  queue.ttl_attribute = "ttl";
  queue.books = BooksDefinition{};
  EXPECT_EQ(out->tables, std::vector<TableDefinition>{queue});
  EXPECT_EQ(out->queues, std::vector<std::string>{"QueueTable"});
  EXPECT_EQ(out->topics, (std::vector<TopicDefinition>{{"TriggerTopic"}, {"ProcessTasksTopic"}}));

  ASSERT_EQ(out->subscriptions.size(), 2u);
  EXPECT_EQ(out->subscriptions[0], (SubscriptionDefinition{"TriggerFunctionTriggerTopicEvent", "TriggerTopic", "lambda",
                                                           "TriggerFunction", ""}));
  EXPECT_EQ(out->subscriptions[1], (SubscriptionDefinition{"ProcessTasksFunctionProcessTasksTopicEvent",
                                                           "ProcessTasksTopic", "lambda", "ProcessTasksFunction", ""}));
  ASSERT_EQ(out->mappings.size(), 1u);
  MappingDefinition mapping;
  mapping.id = "TriggerFunctionQueueTableStream";
  mapping.table = "QueueTable";
  mapping.function = "TriggerFunction";
  mapping.batch_size = 10;
  mapping.batching_window = seconds(10);
  mapping.max_record_age = seconds(120);
  mapping.max_retries = 0;
  EXPECT_EQ(out->mappings[0], mapping);

  ASSERT_EQ(out->functions.size(), 3u);
  const FunctionDefinition& trigger = out->functions[1];
  EXPECT_EQ(trigger.name, "TriggerFunction");
  EXPECT_EQ(trigger.handler, "trigger");
  EXPECT_EQ(trigger.host, "native");
  EXPECT_EQ(trigger.timeout, seconds(5));
  EXPECT_FALSE(trigger.reserved_concurrency);
  EXPECT_EQ(trigger.async.max_event_age, seconds(60));
  EXPECT_EQ(trigger.async.max_retries, 0);
  EXPECT_EQ(trigger.environment.at("PROCESS_TASKS_TOPIC_ARN"), "arn:aws:sns:us-east-1:000000000000:ProcessTasksTopic");
  const FunctionDefinition& process = out->functions[2];
  EXPECT_EQ(process.timeout, seconds(120));
  EXPECT_EQ(process.reserved_concurrency, 1);
  EXPECT_EQ(process.async.max_retries, 1);
  EXPECT_EQ(process.environment.at("QUEUE_TABLE"), "QueueTable");
  EXPECT_EQ(process.environment.at("TRIGGER_TOPIC_ARN"), "arn:aws:sns:us-east-1:000000000000:TriggerTopic");
  EXPECT_EQ(process.environment.at("PAGE_LIMIT"), "10");
  EXPECT_EQ(process.environment.at("TASK_RUNNER"), "fake");
  ScheduleDefinition every_minute{"CreateTasksFunctionEveryMinute", "rate(1 minute)", "CreateTasksFunction", "", false};
  EXPECT_EQ(out->schedules, std::vector<ScheduleDefinition>{every_minute});
  every_minute.enabled = true;
  EXPECT_EQ(deploy(shipped("lifo-sample.yaml"), {}, {{"CreateTasks", "true"}})->schedules.at(0), every_minute);
}

TEST(Deployment, AFifoTopicIsOneByItsName) {
  auto out = deploy(R"(
Resources:
  Orders:
    Type: AWS::SNS::Topic
    Properties: {TopicName: orders.fifo, FifoTopic: true, ContentBasedDeduplication: true, FifoThroughputScope: MessageGroup}
  Secure:
    Type: AWS::SNS::Subscription
    Properties: {TopicArn: !Ref Orders, Protocol: https, Endpoint: 'https://example.com/hook'}
)");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->topics, (std::vector<TopicDefinition>{{"orders.fifo", true, true}}));
  EXPECT_EQ(out->subscriptions.at(0).protocol, "https");
  EXPECT_EQ(warnings(*out), std::vector<std::string>{});
}

// A fake runner would turn real work into SUCCESS.
TEST(Deployment, ShippedQueuesHaveNoRunnerUnlessOneIsNamed) {
  for (const char* name : {"lifo.yaml", "stream-functions.yaml"}) {
    DeploymentInput input;  // With any handlers.
    input.source.file = name;
    input.source.text = shipped(name);
    const auto out = resolve_deployment(input);
    ASSERT_TRUE(out) << out.error().message;
    for (const auto& function : out->functions) {
      if (function.handler != "process_tasks") continue;
      EXPECT_EQ(function.environment.at("TASK_RUNNER"), "none") << name;
    }
  }
}

TEST(Deployment, TheShippedQueueTakesParametersAndOverrides) {
  auto out = deploy(shipped("lifo.yaml"), {{"ProcessTasksFunction", "ORDER", "fifo"}},
                    {{"TaskRunner", "http://127.0.0.1:8000/"}, {"Concurrency", "16"}});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(warnings(*out), std::vector<std::string>{});
  ASSERT_EQ(out->functions.size(), 3u);
  const FunctionDefinition& process = out->functions[1];
  EXPECT_EQ(process.environment.at("TASK_RUNNER"), "http://127.0.0.1:8000/");
  EXPECT_EQ(process.environment.at("CONCURRENCY"), "16");
  EXPECT_EQ(process.environment.at("ORDER"), "fifo");
  EXPECT_EQ(process.environment.at("PAGE_LIMIT"), "0");
  EXPECT_EQ(out->mappings.at(0).batching_window, milliseconds(0));
  EXPECT_EQ(out->mappings.at(0).filters, std::vector<std::string>{R"({"eventName": ["INSERT"]})"});
  EXPECT_EQ(out->tables, deploy(shipped("lifo-sample.yaml"))->tables);
  EXPECT_EQ(out->outputs, (std::vector<Output>{{"Queue", "QueueTable",
                                                "The table that holds the tasks; its task API is "
                                                "/queues/QueueTable/"}}));
}

TEST(Deployment, ProgramsHaveTheirFolderBesideTheTemplate) {
  DeploymentInput input;
  input.source.file = source_dir() + "/config/functions.yaml";
  input.source.text = shipped("functions.yaml");
  auto out = resolve_deployment(input);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(warnings(*out), std::vector<std::string>{});
  ASSERT_EQ(out->functions.size(), 2u);
  const FunctionDefinition& greet = out->functions[0];
  EXPECT_EQ(greet.host, "process");
  EXPECT_EQ(greet.runtime, "python3.11");
  EXPECT_EQ(greet.handler, "app.handler");
  EXPECT_EQ(greet.code, source_dir() + "/config/functions/greet");
  EXPECT_EQ(greet.memory_mib, 256);
  EXPECT_EQ(greet.timeout, seconds(10));
  EXPECT_EQ(greet.environment, (Environment{{"TABLE", "Greetings"}}));
  EXPECT_EQ(out->functions[1].runtime, "nodejs20.x");
  EXPECT_EQ(out->functions[1].reserved_concurrency, 1);
}

TEST(Deployment, NamesWhatHasNoEffect) {
  auto out = deploy(kBase +
                    "      Tags: {a: b}\n"
                    "  T2: {Type: AWS::SNS::Topic, Properties: {Tags: [{Key: a, Value: b}],\n"
                    "    DisplayName: News}}\n"
                    "  C: {Type: AWS::Lambda::EventInvokeConfig, Properties: {FunctionName: !Ref F,\n"
                    "    Qualifier: live}}\n"
                    "  Sim: {Type: AWS::Serverless::SimpleTable, Properties: {Tags: {a: b}}}\n");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(
      warnings(*out),
      (std::vector<std::string>{
          "t.yaml:14: F.Properties.Tags: has no effect here: tags are not kept",
          "t.yaml:15: T2.Properties.Tags: has no effect here: tags are not kept",
          "t.yaml:16: T2.Properties.DisplayName: has no effect here: there is no e-mail or text message to show it",
          "t.yaml:18: C.Properties.Qualifier: has no effect here: a template deploys $LATEST; the Lambda API makes "
          "versions and aliases",
          "t.yaml:19: Sim.Properties.Tags: has no effect here: tags are not kept"}));
}

TEST(Deployment, ATableWithEverything) {
  auto out = deploy(
      "Resources:\n"
      "  Tab:\n"
      "    Type: AWS::DynamoDB::Table\n"
      "    Metadata: {Freshet: {Queue: {StatusAttribute: taskStatus, HeldStatus: TAKEN}, TtlInMilliseconds: true}}\n"
      "    Properties:\n"
      "      TableName: jobs\n"
      "      BillingMode: PROVISIONED\n"
      "      ProvisionedThroughput: {ReadCapacityUnits: 5, WriteCapacityUnits: 5}\n"
      "      AttributeDefinitions:\n"
      "        - {AttributeName: a, AttributeType: S}\n"
      "        - {AttributeName: b, AttributeType: N}\n"
      "        - {AttributeName: c, AttributeType: B}\n"
      "      KeySchema: [{AttributeName: b, KeyType: RANGE}, {AttributeName: a, KeyType: HASH}]\n"
      "      LocalSecondaryIndexes:\n"
      "        - IndexName: local\n"
      "          KeySchema: [{AttributeName: a, KeyType: HASH}, {AttributeName: c, KeyType: RANGE}]\n"
      "          Projection: {ProjectionType: INCLUDE, NonKeyAttributes: [x, y]}\n"
      "      GlobalSecondaryIndexes:\n"
      "        - IndexName: global\n"
      "          KeySchema: [{AttributeName: c, KeyType: HASH}]\n"
      "          Projection: {ProjectionType: KEYS_ONLY}\n"
      "      TimeToLiveSpecification: {AttributeName: expires, Enabled: 'true'}\n"
      "      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}\n"
      "      SSESpecification: {SSEEnabled: true}\n"
      "  Sim: {Type: AWS::Serverless::SimpleTable, Properties: {PrimaryKey: {Name: k, Type: Number}}}\n");
  ASSERT_TRUE(out) << out.error().message;
  TableDefinition table;
  table.name = "jobs";
  table.keys = {{"a", Type::kString}, KeyAttribute{"b", Type::kNumber}};
  table.indexes = {
      {"global", {{"c", Type::kBinary}, {}}, false, Projection::kKeysOnly, {}},
      {"local", {{"a", Type::kString}, KeyAttribute{"c", Type::kBinary}}, true, Projection::kInclude, {"x", "y"}}};
  table.stream = StreamView::kNewAndOldImages;
  table.ttl_attribute = "expires";
  table.ttl_in_milliseconds = true;
  table.books = BooksDefinition{"taskStatus", "TAKEN"};
  EXPECT_EQ(out->tables.at(0), table);
  EXPECT_EQ(out->tables.at(1).keys, (KeySchema{{"k", Type::kNumber}, {}}));
  EXPECT_EQ(warnings(*out),
            (std::vector<std::string>{
                "t.yaml:7: Tab.Properties.BillingMode: has no effect here: capacity is not provisioned",
                "t.yaml:8: Tab.Properties.ProvisionedThroughput: has no effect here: capacity is not provisioned",
                "t.yaml:24: Tab.Properties.SSESpecification: has no effect here: nothing is encrypted at rest"}));
}

TEST(Deployment, AFunctionWithEverything) {
  auto out = deploy(
      kBase +
      "      FunctionName: worker\n"
      "      Timeout: 30\n"
      "      ReservedConcurrentExecutions: 0\n"
      "      Environment: {Variables: {N: 1, S: '01', B: true, T: !Ref Tab}}\n"
      "      EventInvokeConfig:\n"
      "        MaximumEventAgeInSeconds: 120\n"
      "        MaximumRetryAttempts: 2\n"
      "        DestinationConfig:\n"
      "          OnSuccess: {Type: Lambda, Destination: !GetAtt G.Arn}\n"
      "          OnFailure: {Type: SNS, Destination: !Ref Topic}\n"
      "      Events:\n"
      "        Rows:\n"
      "          Type: DynamoDB\n"
      "          Properties:\n"
      "            Stream: !GetAtt Tab.StreamArn\n"
      "            StartingPosition: TRIM_HORIZON\n"
      "            MaximumRecordAgeInSeconds: -1\n"
      "            MaximumRetryAttempts: -1\n"
      "            BisectBatchOnFunctionError: true\n"
      "            FunctionResponseTypes: [ReportBatchItemFailures]\n"
      "            FilterCriteria: {Filters: [{Pattern: {eventName: [INSERT]}}]}\n"
      "            DestinationConfig: {OnFailure: {Type: SNS, Destination: !Ref Topic}}\n"
      "        News: {Type: SNS, Properties: {Topic: !Ref Topic, FilterPolicy: {color: [red, {prefix: b}]}}}\n"
      "        Tick: {Type: Schedule, Properties: {Schedule: rate(5 minutes), Input: '{\"a\":1}', Enabled: false}}\n"
      "        Tock: {Type: ScheduleV2, Properties: {ScheduleExpression: 'cron(0 10 * * ? *)', Name: ten}}\n"
      "  G: {Type: AWS::Lambda::Function, Properties: {Handler: 'http://127.0.0.1:9/g', Runtime: http,\n"
      "    DeadLetterConfig: {TargetArn: !Ref Topic}}}\n"
      "  H: {Type: AWS::Lambda::Function, Properties: {Handler: 'native:trigger', Code: {ZipFile: x}, MemorySize: 1}}\n"
      "  Config: {Type: AWS::Lambda::EventInvokeConfig, Properties: {FunctionName: !Ref H, Qualifier: $LATEST,\n"
      "    MaximumRetryAttempts: 1}}\n"
      "  Map: {Type: AWS::Lambda::EventSourceMapping, Properties: {FunctionName: !GetAtt H.Arn, BatchSize: 5,\n"
      "    EventSourceArn: !GetAtt Tab.StreamArn, StartingPosition: LATEST, ParallelizationFactor: 2}}\n"
      "  Sub: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref Topic, Protocol: http,\n"
      "    Endpoint: 'http://127.0.0.1:9/', RawMessageDelivery: true, FilterPolicyScope: MessageBody,\n"
      "    FilterPolicy: '{\"a\":[1]}'}}\n"
      "  Rule: {Type: AWS::Events::Rule, Properties: {ScheduleExpression: rate(1 hour), State: DISABLED,\n"
      "    Targets: [{Id: one, Arn: !GetAtt F.Arn}, {Id: two, Arn: !GetAtt H.Arn, Input: '{}'}]}}\n");
  ASSERT_TRUE(out) << out.error().message;
  const FunctionDefinition& worker = out->functions.at(0);
  EXPECT_EQ(worker.name, "worker");
  EXPECT_EQ(worker.reserved_concurrency, 0);
  EXPECT_EQ(worker.environment, (Environment{{"N", "1"}, {"S", "01"}, {"B", "true"}, {"T", "Tab"}}));
  EXPECT_EQ(worker.async.on_success.target, "arn:aws:lambda:us-east-1:000000000000:function:G");
  EXPECT_EQ(worker.async.on_failure.target, "arn:aws:sns:us-east-1:000000000000:Topic");
  EXPECT_EQ(out->functions.at(1).host, "http");
  EXPECT_EQ(out->functions.at(1).dead_letter.target, "arn:aws:sns:us-east-1:000000000000:Topic");
  EXPECT_TRUE(out->functions.at(1).async.on_failure.target.empty());
  EXPECT_EQ(out->functions.at(2).handler, "trigger");
  EXPECT_EQ(out->functions.at(2).async.max_retries, 1);

  MappingDefinition rows;
  rows.id = "FRows";
  rows.table = "Tab";
  rows.function = "worker";
  rows.starting_position = StartingPosition::kTrimHorizon;
  rows.filters = {R"({"eventName":["INSERT"]})"};
  rows.bisect_on_error = true;
  rows.report_item_failures = true;
  rows.on_failure.target = "arn:aws:sns:us-east-1:000000000000:Topic";
  EXPECT_EQ(out->mappings.at(0), rows);
  EXPECT_EQ(out->mappings.at(1).id, "Map");
  EXPECT_EQ(out->mappings.at(1).function, "H");
  EXPECT_EQ(out->mappings.at(1).batch_size, 5u);
  EXPECT_EQ(out->mappings.at(1).parallelization_factor, 2u);

  EXPECT_EQ(out->subscriptions.at(0),
            (SubscriptionDefinition{"FNews", "Topic", "lambda", "worker", R"({"color":["red",{"prefix":"b"}]})"}));
  EXPECT_EQ(out->subscriptions.at(1),
            (SubscriptionDefinition{"Sub", "Topic", "http", "http://127.0.0.1:9/", R"({"a":[1]})", true, true}));
  EXPECT_EQ(out->schedules, (std::vector<ScheduleDefinition>{
                                {"FTick", "rate(5 minutes)", "worker", R"({"a":1})", false},
                                {"ten", "cron(0 10 * * ? *)", "worker", "", true},
                                {"Rule-one", "rate(1 hour)", "worker", "", false},
                                {"Rule-two", "rate(1 hour)", "H", "{}", false},
                            }));
  EXPECT_EQ(out->warnings.size(), 2u);
}

// A required name that is misspelt is one fault, and not also the absence of the right name.
TEST(Deployment, AMisspeltNameIsOneFault) {
  const std::string function = "Resources: {F: {Type: 'AWS::Lambda::Function', Properties: {";
  EXPECT_EQ(errors(function + "Handler: trigger, Runtimee: native}}}\n"),
            "t.yaml:1: F.Properties.Runtimee: not known here (did you mean 'Runtime'?)");
  EXPECT_EQ(errors(function + "Handlr: trigger, Runtime: native}}}\n"),
            "t.yaml:1: F.Properties.Handlr: not known here (did you mean 'Handler'?)");
  EXPECT_TRUE(errors(function + "Handler: trigger}}}\n").starts_with("t.yaml:1: F.Properties: function F: Runtime is"));
  EXPECT_EQ(errors("Resources: {F: {Typ: 'AWS::SNS::Topic'}}\n"),
            "t.yaml:1: F.Typ: not known here (did you mean 'Type'?)");
  EXPECT_EQ(errors("Resources: {F: {Kind: 'AWS::SNS::Topic'}}\n"),
            "t.yaml:1: F.Kind: not known here\nt.yaml:1: F: Type is missing");
}

TEST(Deployment, ErrorsNameResourcePropertyFileAndLine) {
  const std::string queue = "  Q: {Type: AWS::Serverless::SimpleTable, Metadata: {Freshet: {Queue: ";
  const std::string function = "  G:\n    Type: AWS::Serverless::Function\n    Properties:\n";
  const std::string event = kBase + "      Events:\n        E: ";
  const std::vector<std::pair<std::string, std::string>> table{
      {kBase + "      Timeout: 0\n",
       "t.yaml:14: F.Properties.Timeout: expected a whole number from 1 to 86400, found '0'"},
      {kBase + "      Timeout: [1]\n",
       "t.yaml:14: F.Properties.Timeout: expected a whole number from 1 to 86400, found a list"},
      {kBase + "      Timout: 5\n", "t.yaml:14: F.Properties.Timout: not known here (did you mean 'Timeout'?)"},
      {kBase + "      Environment: {Variables: {A: [1]}}\n",
       "t.yaml:14: F.Properties.Environment.Variables.A: expected text, found a list"},
      {kBase + "      Environment: {Vars: {A: 1}}\n", "t.yaml:14: F.Properties.Environment.Vars: not known here"},
      {kBase + "      TtlInMilliseconds: true\n",
       "t.yaml:14: F.Properties.TtlInMilliseconds: not known here; write Metadata: {Freshet: {TtlInMilliseconds: "
       "true}} "
       "beside the table's Properties"},
      {kBase + "      ReservedConcurrentExecutions: -1\n",
       "t.yaml:14: F.Properties.ReservedConcurrentExecutions: expected a whole number from 0 to 100000, found '-1'"},
      {kBase + "      EventInvokeConfig: {MaximumRetryAttempts: 3}\n",
       "t.yaml:14: F.Properties.EventInvokeConfig.MaximumRetryAttempts: expected a whole number from 0 to 2, found "
       "'3'"},
      {kBase + "      EventInvokeConfig: {DestinationConfig: {OnFailure: {Type: SQS, Destination: x}}}\n",
       "t.yaml:14: F.Properties.EventInvokeConfig.DestinationConfig.OnFailure.Type: destinations of type SQS are not "
       "supported; use SNS or Lambda"},
      {kBase + "      DeadLetterQueue: {Type: SQS, TargetArn: x}\n",
       "t.yaml:14: F.Properties.DeadLetterQueue.Type: dead letters go to a topic (Type: SNS); SQS is not supported"},
      {kBase + queue + "{StatusAttribute: state}}}}\n",
       "t.yaml:14: Q.Metadata.Freshet.Queue.StatusAttribute: it is taskStatus and cannot be 'state': the states of "
       "tasks are kept in that attribute"},
      {kBase + queue + "\n      {HeldStatus: BUSY}}}}\n",
       "t.yaml:15: Q.Metadata.Freshet.Queue.HeldStatus: it is TAKEN and cannot be 'BUSY': that is the state of tasks "
       "in work"},
      {kBase + "    Metadata: {Freshet: {Queue: true}}\n", "t.yaml:14: F.Metadata.Freshet: is for tables only"},
      {kBase + function + "      Runtime: native\n      Handler: trigg\n",
       "t.yaml:18: G.Properties.Handler: there is no native handler 'trigg'; there are create_tasks, process_tasks, "
       "trigger"},
      {kBase + function + "      Runtime: native\n", "t.yaml:17: G.Properties: Handler is missing"},
      {kBase + function + "      Runtime: nodejs14.x\n      Handler: app/trigger.handler\n",
       "t.yaml:17: G.Properties: CodeUri is missing"},
      {kBase + function + "      Runtime: nodejs14.x\n      Handler: a.b\n      CodeUri: no-such-folder\n",
       "t.yaml:19: G.Properties.CodeUri: 'no-such-folder' is not a folder: "},
      {kBase + function + "      Runtime: nodejs14.x\n      Handler: a.b\n      CodeUri: s3://bucket/key\n",
       "t.yaml:19: G.Properties.CodeUri: code in S3 or an image cannot be had here: name a folder beside the template"},
      {kBase + function + "      Runtime: python3.11\n      Handler: a.b\n      CodeUri: .\n      MemorySize: 64\n",
       "t.yaml:20: G.Properties.MemorySize: expected a whole number from 128 to 10240, found '64'"},
      {kBase + function +
           "      Runtime: python3.11\n      Handler: a.b\n      CodeUri: .\n      Environment:\n"
           "        Variables: {AWS_REGION: mars}\n",
       "t.yaml:20: G.Properties.Environment: the variable AWS_REGION is set by the runtime; give yours another name"},
      {kBase + function + "      Runtime: provided.al2023\n      Handler: x\n      CodeUri: .\n",
       "t.yaml:17: G.Properties.Runtime: function G: there is no program 'bootstrap' in "},
      {kBase + function + "      Runtime: java21\n      Handler: a.b\n      CodeUri: .\n",
       "t.yaml:17: G.Properties.Runtime: function G: Runtime java21: there are native, http, nodejs*, python3* and "
       "provided*"},
      {kBase + function + "      Runtime: python3.99\n      Handler: a.b\n      CodeUri: .\n",
       "t.yaml:17: G.Properties.Runtime: function G: Runtime python3.99: there is no such version; there are python3.6 "
       "to python3.16"},
      {kBase + function + "      Runtime: nodejs20.y\n      Handler: a.b\n      CodeUri: .\n",
       "t.yaml:17: G.Properties.Runtime: function G: Runtime nodejs20.y: there is no such version; there are nodejs4.x "
       "to nodejs28.x"},
      {kBase + function + "      Handler: trigger\n",
       "t.yaml:17: G.Properties: function G: Runtime is missing; there are"},
      {kBase + function + "      Runtime: http\n      Handler: trigger\n",
       "t.yaml:18: G.Properties.Handler: Runtime http needs the URL of an endpoint, http[s]://HOST:PORT/PATH: not a "
       "usable URL: 'trigger': it must start with http:// or https://"},
      {kBase + function + "      Runtime: http\n      Handler: https://\n",
       "t.yaml:18: G.Properties.Handler: Runtime http needs the URL of an endpoint, http[s]://HOST:PORT/PATH: not a "
       "usable URL: 'https://': it has no host"},
      {kBase + function + "      Runtime: http\n      Handler: http://a:99999/\n",
       "t.yaml:18: G.Properties.Handler: Runtime http needs the URL of an endpoint, http[s]://HOST:PORT/PATH: not a "
       "usable URL: 'http://a:99999/': its port is not a number from 1 to 65535"},
      {kBase + function + "      FunctionName: F\n      Runtime: native\n      Handler: trigger\n",
       "t.yaml:14: G: the function F is there already: F in line 9"},
      {event + "{Type: Api, Properties: {Path: /}}\n",
       "t.yaml:15: F.Properties.Events.E.Type: events of type Api are not supported; there are DynamoDB, SNS, Schedule "
       "and ScheduleV2"},
      {event + "{Type: SNS, Properties: {Topic: Topic, FilterPolice: {}}}\n",
       "t.yaml:15: F.Properties.Events.E.Properties.FilterPolice: not known here (did you mean 'FilterPolicy'?)"},
      {event + "{Type: SNS, Properties: {Topic: Topi}}\n",
       "t.yaml:15: F.Properties.Events.E.Properties.Topic: there is no topic 'Topi' in this template (did you mean "
       "'Topic'?)"},
      {event + "{Type: SNS, Properties: {Topic: !Ref Tab}}\n",
       "t.yaml:15: F.Properties.Events.E.Properties.Topic: there is no topic 'Tab' in this template"},
      {event + "{Type: SNS}\n", "t.yaml:15: F.Properties.Events.E.Properties: Topic is missing"},
      {event + "{Type: DynamoDB, Properties: {Stream: !GetAtt Tab.Arn, StartingPosition: LATEST}}\n",
       "t.yaml:15: F.Properties.Events.E.Properties.Stream: "
       "'arn:aws:dynamodb:us-east-1:000000000000:table/Tab' is not the ARN of a table's stream; use !GetAtt "
       "TABLE.StreamArn"},
      {event + "{Type: DynamoDB, Properties: {Stream: !GetAtt Tab.StreamArn}}\n",
       "t.yaml:15: F.Properties.Events.E.Properties: StartingPosition is missing"},
      {event + "{Type: DynamoDB, Properties: {Stream: !GetAtt Tab.StreamArn, StartingPosition: latest}}\n",
       "t.yaml:15: F.Properties.Events.E.Properties.StartingPosition: 'latest' is not one of LATEST, TRIM_HORIZON"},
      {event +
           "{Type: DynamoDB, Properties: {Stream: !GetAtt Tab.StreamArn, StartingPosition: LATEST, BatchSize: 0}}\n",
       "t.yaml:15: F.Properties.Events.E.Properties.BatchSize: expected a whole number from 1 to 10000, found '0'"},
      {event + "{Type: Schedule, Properties: {Schedule: every day}}\n",
       "t.yaml:15: F.Properties.Events.E.Properties.Schedule: schedule 'every day': expected rate(5 minutes)"},
      {event + "{Type: ScheduleV2, Properties: {ScheduleExpression: rate(1 day), ScheduleExpressionTimezone: "
               "Europe/Rome}}\n",
       "t.yaml:15: F.Properties.Events.E.Properties.ScheduleExpressionTimezone: the time zone Europe/Rome is not "
       "supported; schedules are in UTC"},
      {event + "[]\n", "t.yaml:15: F.Properties.Events.E: expected a map, found a list"},
      {kBase +
           "  Sub: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref Topic, Protocol: sqs, Endpoint: x}}\n",
       "t.yaml:14: Sub.Properties.Protocol: 'sqs' is not one of lambda, http, https"},
      {kBase + "  Sub: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref Topic, Protocol: https,\n" +
           "    Endpoint: 'http://a/'}}\n",
       "t.yaml:15: Sub.Properties.Endpoint: the protocol is https, the URL does not match it"},
      {kBase + "  T2: {Type: AWS::SNS::Topic, Properties: {Subscription: [\n" +
           "    {Protocol: http, Endpoint: 'https://a/'}]}}\n",
       "t.yaml:15: T2.Properties.Subscription.Endpoint: the protocol is http, the URL does not match it"},
      {kBase + "  Sub: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref Topic, Protocol: http,\n" +
           "    Endpoint: 'http://a:x/'}}\n",
       "t.yaml:15: Sub.Properties.Endpoint: not a usable URL: 'http://a:x/': its port is not a number from 1 to 65535"},
      {kBase +
           "  Sub: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref Topic, Protocol: http, Endpoint: x}}\n",
       "t.yaml:14: Sub.Properties.Endpoint: not a usable URL: 'x': it must start with http:// or https://"},
      {kBase + "  Fifo: {Type: AWS::SNS::Topic, Properties: {FifoTopic: true}}\n",
       "t.yaml:14: Fifo.Properties.FifoTopic: names of FIFO topics end with .fifo; this one is 'Fifo': give it a "
       "TopicName"},
      {kBase + "  T: {Type: AWS::SNS::Topic, Properties: {TopicName: t.fifo}}\n",
       "t.yaml:14: T.Properties: only names of FIFO topics end with .fifo; this one is 't.fifo': set FifoTopic to "
       "true, "
       "or another TopicName"},
      {kBase + "  T: {Type: AWS::SNS::Topic, Properties: {ContentBasedDeduplication: true}}\n",
       "t.yaml:14: T.Properties.ContentBasedDeduplication: only FIFO topics (FifoTopic: true) have it"},
      {kBase +
           "  R: {Type: AWS::Events::Rule, Properties: {EventPattern: {a: [b]}, Targets: [{Id: x, Arn: !Ref F}]}}\n",
       "t.yaml:14: R.Properties.EventPattern: rules on events are not supported; only ScheduleExpression is\n"
       "t.yaml:14: R.Properties: ScheduleExpression is missing"},
  };
  for (const auto& [text, expected] : table) {
    EXPECT_EQ(errors(text).substr(0, expected.size()), expected) << text.substr(kBase.size());
  }
}

TEST(Deployment, WrongTables) {
  auto table = [](const std::string& properties) {
    return errors("Resources:\n  Tab:\n    Type: AWS::DynamoDB::Table\n    Properties:\n" + properties);
  };
  const std::string attributes = "      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]\n";
  const std::string keys = "      KeySchema: [{AttributeName: id, KeyType: HASH}]\n";
  EXPECT_EQ(
      table(attributes + "      KeySchema: [{AttributeName: ids, KeyType: HASH}]\n"),
      "t.yaml:5: Tab.AttributeDefinitions: no key of the table or of an index uses the attribute 'id'\n"
      "t.yaml:6: Tab.Properties.KeySchema.AttributeName: the key attribute 'ids' is not in AttributeDefinitions (did "
      "you mean 'id'?)");
  EXPECT_EQ(table(attributes),
            "t.yaml:5: Tab.AttributeDefinitions: no key of the table or of an index uses the attribute 'id'\n"
            "t.yaml:5: Tab.Properties: KeySchema is missing");
  EXPECT_EQ(table(attributes + "      KeySchema: [{AttributeName: id, KeyType: RANGE}]\n"),
            "t.yaml:6: Tab.Properties.KeySchema: there is no HASH key");
  EXPECT_EQ(table("      AttributeDefinitions: [{AttributeName: id, AttributeType: L}]\n" + keys),
            "t.yaml:5: Tab.Properties.AttributeDefinitions.AttributeType: 'L' is not one of S, N, B\n"
            "t.yaml:6: Tab.Properties.KeySchema.AttributeName: the key attribute 'id' is not in AttributeDefinitions");
  EXPECT_EQ(table(attributes + keys + "      StreamSpecification: {}\n"),
            "t.yaml:7: Tab.Properties.StreamSpecification: StreamViewType is missing");
  EXPECT_EQ(table(attributes + keys + "      TimeToLiveSpecification: {Enabled: true}\n"),
            "t.yaml:7: Tab.Properties.TimeToLiveSpecification: AttributeName is missing");
  EXPECT_EQ(table(attributes + keys +
                  "      GlobalSecondaryIndexes: [{IndexName: g, KeySchema: "
                  "[{AttributeName: id, KeyType: HASH}]}]\n"),
            "t.yaml:7: Tab.Properties.GlobalSecondaryIndexes: Projection is missing");
  EXPECT_EQ(table(attributes + keys + "      TableName: x\n").substr(0, 15), "t.yaml:2: Tab: ") << "too short a name";
  EXPECT_EQ(table(attributes + keys + "    Metadata: {Freshet: {Queu: true}}\n"),
            "t.yaml:7: Tab.Metadata.Freshet.Queu: not known here (did you mean 'Queue'?)");
  EXPECT_EQ(errors("Resources:\n"
                   "  Tab: {Type: AWS::Serverless::SimpleTable}\n"
                   "  F: {Type: AWS::Serverless::Function, Properties: {Runtime: native, Handler: trigger, Events: {E: "
                   "{Type: DynamoDB,\n"
                   "    Properties: {Stream: 'arn:aws:dynamodb:us-east-1:000000000000:table/Tab/stream/latest', "
                   "StartingPosition: LATEST}}}}}\n"),
            "t.yaml:4: F.Properties.Events.E.Properties: the table Tab has no stream; give it a StreamSpecification");
}

TEST(Deployment, OneRunReportsEveryError) {
  EXPECT_EQ(errors(kBase + "      Timeout: x\n      Events: {E: {Type: SNS, Properties: {Topic: !Ref Nope}}}\n"),
            "t.yaml:14: F.Properties.Timeout: expected a whole number from 1 to 86400, found 'x'\n"
            "t.yaml:15: F.Events.E.Properties.Topic: Ref to 'Nope', which is neither a parameter nor a resource");
}

// Damaged templates are refused with a place in the file, or still mean something; never anything worse.
TEST(Deployment, DamagedTemplatesAreRefusedWithTheirPlace) {
  const uint64_t seed = 20260101;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const std::string bytes = std::string("{}[]:,-!&*#|>'\"%@`? \n\ta0$<") + '\0';
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    std::string text = shipped(round % 2 == 0 ? "lifo.yaml" : "lifo-sample.yaml");
    for (uint64_t n = 1 + random.below(3); n > 0; --n) {
      size_t at = random.below(text.size());
      size_t size = random.below(std::min<size_t>(40, text.size() - at));
      switch (random.below(3)) {
        case 0:
          text.erase(at, size);
          break;
        case 1:
          text[at] = bytes[random.below(bytes.size())];
          break;
        default:
          text.insert(random.below(text.size()), text.substr(at, size));
      }
    }
    auto out = deploy(text);
    if (out) continue;
    ++refused;
    EXPECT_EQ(out.error().message.substr(0, 7), "t.yaml:") << out.error().message;
    EXPECT_GT(std::atoi(out.error().message.c_str() + 7), 0) << out.error().message;
  }
  EXPECT_GT(refused, 100);
}

TEST(Deployment, Overrides) {
  EXPECT_EQ(*parse_override("F.A=b=c.d"), (EnvironmentOverride{"F", "A", "b=c.d"}));
  EXPECT_EQ(*parse_override("F.A="), (EnvironmentOverride{"F", "A", ""}));
  for (const char* wrong : {"", "F", "F.A", "F=A", ".A=b", "F.=b", "=F.A"}) {
    auto parsed = parse_override(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().message,
              "--set " + std::string(wrong) +
                  ": it must be FUNCTION.VARIABLE=VALUE, as in ProcessTasksFunction.RATE_LIMIT=19");
  }
  auto out = deploy(kBase + "      FunctionName: worker\n", {{"F", "A", "1"}, {"worker", "B", "2"}});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->functions.at(0).environment, (Environment{{"A", "1"}, {"B", "2"}}));
  EXPECT_EQ(errors(shipped("lifo.yaml"), {{"ProcessTaskFunction", "A", "1"}}),
            "t.yaml: --set ProcessTaskFunction.A: there is no function 'ProcessTaskFunction' (did you mean "
            "'ProcessTasksFunction'?)");
  EXPECT_EQ(errors(shipped("lifo.yaml"), {{"Something", "A", "1"}}),
            "t.yaml: --set Something.A: there is no function 'Something'; there are CreateTasksFunction, "
            "ProcessTasksFunction, TriggerFunction");
}

TEST(Deployment, VariablesThatNobodyReads) {
  DeploymentInput input;
  input.source.file = "t.yaml";
  input.source.text =
      kBase + "      FunctionName: worker\n      Environment: {Variables: {CONCURENCY: 3, ORDER: lifo}}\n";
  input.known_variables = [](const FunctionDefinition& function) {
    return function.environment.contains("ANY") ? std::vector<std::string>{}
                                                : std::vector<std::string>{"CONCURRENCY", "ORDER"};
  };
  auto out = resolve_deployment(input);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(warnings(*out),
            (std::vector<std::string>{"t.yaml:9: F.Environment.Variables.CONCURENCY: the built-in function does not "
                                      "read 'CONCURENCY' (did you mean 'CONCURRENCY'?)"}));
  input.overrides = {{"F", "ODER", "fifo"}};
  out = resolve_deployment(input);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message,
            "t.yaml: --set worker.ODER: the built-in function does not read 'ODER' (did you mean 'ORDER'?)");
  input.overrides.push_back({"worker", "ANY", ""});
  out = resolve_deployment(input);
  ASSERT_TRUE(out);
  EXPECT_TRUE(out->warnings.empty());
}

}  // namespace
}  // namespace freshet
