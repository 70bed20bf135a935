// Definitions of priority queues: our own form, the sample's configuration.json, a CloudFormation table.
#include "functions/priority/definition.h"

#include <gtest/gtest.h>

#include "base/text_file.h"
#include "tests/sim/source_dir.h"

namespace freshet::priority {
namespace {

std::string why(std::string_view json) {
  const auto read = read_definitions(json);
  return read ? "" : read.error().message;
}

TEST(DefinitionTest, TheShippedExample) {
  const auto text = read_text_file(source_dir() + "/config/priority-queue.json");
  ASSERT_TRUE(text);
  const auto read = read_definitions(*text);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].settings.max_failures, 5);
  EXPECT_EQ((*read)[0].settings.backoff.base, milliseconds(1000));
  EXPECT_EQ((*read)[1].settings.order, Order::kBoth);
  EXPECT_EQ((*read)[1].settings.numbers.in_flight, 12);
}

// Names and numbers of the post, not those of the sample's repository.
TEST(DefinitionTest, ThePublishedDesign) {
  const auto text = read_text_file(source_dir() + "/config/priority-queue-published.json");
  ASSERT_TRUE(text);
  const auto read = read_definitions(*text);
  ASSERT_TRUE(read) << read.error().message;
  const Settings& s = read->front().settings;
  EXPECT_EQ(s.queue_index, "queued-last_updated_timestamp-index");
  EXPECT_EQ(s.dead_index, "DLQ-last_updated_timestamp-index");
  EXPECT_TRUE(s.in_place);
  EXPECT_EQ(s.visibility, milliseconds(60'000));
  EXPECT_EQ(s.max_failures, 0);
}

TEST(DefinitionTest, EverySetting) {
  const auto read = read_definitions(R"({
    "name": "q", "table": "T", "state_table": "S", "partition_key": {"name": "pk"},
    "sort_key": {"name": "sk", "type": "N"}, "attributes": {"queued": "Q", "DLQ": "D", "system_info": "sys",
    "last_updated_timestamp": "at", "priority": "p", "queue_order": "o", "visible_at": "v"},
    "states": {"initial": "NEW", "ready": "READY", "processing": "BUSY", "completed": "DONE", "dead": "DEAD", "others": ["PACKING"]},
    "numbers": {"ready": 4, "in_flight": 5, "delayed": 6, "dead": 7}, "order": "priority", "newest_first": true,
    "lowest_priority_first": true, "queue_index": "a", "dlq_index": "b", "visible_index": "c", "in_flight": "in-place",
    "visibility_timeout_ms": 1000, "delay_ms": 5, "max_failures": 3, "backoff": {"base_ms": 1, "max_ms": 2,
    "factor": 1.5, "jitter": 0}, "strict": true, "require_receipt": true, "key_separator": "/", "sweep_ms": 50})");
  ASSERT_TRUE(read) << read.error().message;
  const Settings& s = read->front().settings;
  EXPECT_EQ(s.names.queued + s.names.dead + s.names.system_info + s.names.last_updated, "QDsysat");
  EXPECT_EQ(s.queue_index + s.dead_index + s.visible_index, "abc");
  EXPECT_EQ(s.states.completed, "DONE");
  EXPECT_EQ(s.states.all(), (std::vector<std::string>{"NEW", "READY", "BUSY", "DONE", "DEAD", "PACKING"}));
  EXPECT_EQ(s.numbers.dead, 7);
  EXPECT_EQ(s.order, Order::kPriority);
  EXPECT_TRUE(s.newest_first && s.lowest_first && s.in_place && s.strict && s.require_receipt);
  EXPECT_EQ(s.visibility, milliseconds(1000));
  EXPECT_EQ(s.backoff.factor, 1.5);
  EXPECT_EQ(s.key_separator, '/');
  EXPECT_EQ(read->front().table->keys.sort->type, Type::kNumber);
  EXPECT_FALSE(read_definitions(R"({"table": "T", "states": false})")->front().settings.states.used);
}

TEST(DefinitionTest, WhatIsWrongIsNamed) {
  EXPECT_EQ(why(R"({"name": "q"})"), "queue 'q': 'table' must not be empty");
  EXPECT_EQ(why(R"({"table": "T", "order": "size"})"), "'order' must be timestamp, priority or priority-timestamp");
  EXPECT_EQ(why(R"({"table": "T", "numbers": {"ready": 1000}})"), "'numbers.ready' must be from 0 to 999");
  EXPECT_EQ(why(R"({"queues": []})"), "'queues' must be an array with at least one element");
  EXPECT_NE(why(R"({"queues": [{"table": "T"}, {"table": "U", "strict": 1}]})").find("queues[1].strict"),
            std::string::npos);
  EXPECT_NE(why(R"({"table": "T", "visibility": 3})")
                .find("'visibility' is not known (did you mean 'visibility_timeout_ms'?); there are name"),
            std::string::npos);
  EXPECT_EQ(why(R"({"colour": 1})"),
            "'colour' is not known; there are name, table, state_table, partition_key, sort_key, attributes, states, "
            "numbers, order, newest_first, lowest_priority_first, queue_index, dlq_index, visible_index, in_flight, "
            "visibility_timeout_ms, delay_ms, max_failures, backoff, strict, require_receipt, key_separator, sweep_ms");
  EXPECT_EQ(why(R"({"table": "T", "sort_key": {"name": "s", "type": "X"}})"),
            "'sort_key' has a wrong type: 'X' is no type of a key: there are S, N and B (String, Numeric, Binary)");
  EXPECT_EQ(why(R"({"table": "T", "key_separator": "--"})"), "'key_separator' must be one character");
  EXPECT_NE(why("{"), "");
}

constexpr const char* kSample = R"({
  "version": "1.00", "s3_code_bucket": "b",
  "tables": [{
    "logical_name": "Shipment", "table_name": "AWSBlog-shipment-demo", "read_capacity": 100, "write_capacity": 100,
    "partition_key": {"attribute_name": "id", "attribute_type": "String"},
    "indexes": [
      {"index_name": "queueud-last_updated_timestamp-index",
       "hash_key": {"attribute_name": "queued", "attribute_type": "Numeric"},
       "sort_key": {"attribute_name": "last_updated_timestamp", "attribute_type": "String"}, "GSI": true},
      {"index_name": "dlq-last_updated_timestamp-index",
       "hash_key": {"attribute_name": "DLQ", "attribute_type": "Numeric"},
       "sort_key": {"attribute_name": "last_updated_timestamp", "attribute_type": "String"}, "GSI": true}]
  }],
  "lambdas": []
})";

TEST(DefinitionTest, NothingIsIgnoredBesideTheQueues) {
  EXPECT_EQ(why(R"({"queues": [{"table": "T"}], "strict": true})"), "'strict' is not known; there is queues");
  EXPECT_EQ(why(R"({"queues": [{"table": "T"}], "queues": [{"table": "U"}]})"), "'queues' is there twice");
}

// No record could ever be enqueued.
TEST(DefinitionTest, WhatChangesIsNoKey) {
  const auto fault = [](const std::string& definition) {
    auto read = read_definitions(definition);
    EXPECT_TRUE(read) << read.error().message;
    Definition& one = read->front();
    const auto table = as_priority_table(*one.table, one.settings);
    return table ? std::string() : table.error().message;
  };
  EXPECT_EQ(fault(R"({"table": "T", "partition_key": {"name": "queued", "type": "N"}})"),
            "'queued' is a key of table 'T', and an attribute that the queue changes: name that one otherwise "
            "('attributes')");
  EXPECT_NE(fault(R"({"table": "T", "sort_key": {"name": "at"}, "attributes": {"last_updated_timestamp": "at"}})"), "");
  EXPECT_NE(fault(R"({"table": "T", "sort_key": {"name": "priority", "type": "N"}, "order": "priority"})"), "");
  EXPECT_EQ(fault(R"({"table": "T", "sort_key": {"name": "priority", "type": "N"}})"), "") << "it orders nothing";
}

TEST(DefinitionTest, TheSamplesConfiguration) {
  const auto read = read_definitions(kSample);
  ASSERT_TRUE(read) << read.error().message;
  const Definition& definition = read->front();
  EXPECT_EQ(definition.settings.name, "Shipment");
  EXPECT_EQ(definition.settings.table, "AWSBlog-shipment-demo");
  EXPECT_EQ(definition.settings.queue_index, "queueud-last_updated_timestamp-index");
  EXPECT_EQ(definition.settings.dead_index, "dlq-last_updated_timestamp-index");
  EXPECT_EQ(definition.settings.visibility, milliseconds(60'000));
  EXPECT_EQ(definition.table->keys.partition, (KeyAttribute{"id", Type::kString}));
  EXPECT_EQ(why(R"({"tables": [{"logical_name": "L", "table_name": "T"}]})"), "'tables[0].partition_key' is missing");
  EXPECT_EQ(why(R"({"tables": [{"logical_name": "L", "table_name": "T", "partition_key": {"attribute_name": "id"}}]})"),
            "table 'T' has no index on 'queued' with a sort key: it is no priority queue");
}

TEST(DefinitionTest, ACloudFormationTable) {
  const auto read = read_definitions(R"({"Resources": {
    "Topic": {"Type": "AWS::SNS::Topic"},
    "Table": {"Type": "AWS::DynamoDB::Table", "Properties": {
      "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
      "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "queued",
        "AttributeType": "N"}, {"AttributeName": "last_updated_timestamp", "AttributeType": "S"}],
      "GlobalSecondaryIndexes": [{"IndexName": "by-queue", "KeySchema": [{"AttributeName": "queued", "KeyType": "HASH"},
        {"AttributeName": "last_updated_timestamp", "KeyType": "RANGE"}], "Projection": {"ProjectionType": "ALL"}}],
      "TableName": "demo"}}}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->front().settings.name, "demo");
  EXPECT_EQ(read->front().settings.queue_index, "by-queue");
  EXPECT_EQ(read->front().table->indexes.front().keys.partition, (KeyAttribute{"queued", Type::kNumber}));
  EXPECT_EQ(why(R"({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})"),
            "'Resources' has no AWS::DynamoDB::Table with an index on 'queued'");
}

}  // namespace
}  // namespace freshet::priority
