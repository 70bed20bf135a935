#include <gmock/gmock.h>

#include "tests/wire/dynamodb/protocol_fixture.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

class UpdateTableTest : public DynamoDbTest {
 protected:
  UpdateTableTest() { make_tasks(); }
  std::string update(const std::string& more) { return ok("UpdateTable", R"({"TableName":"Tasks",)" + more + "}"); }
  std::string refused(const std::string& more) { return error("UpdateTable", R"({"TableName":"Tasks",)" + more + "}"); }
  std::string describe() { return ok("DescribeTable", R"({"TableName":"Tasks"})"); }
  static std::string create_index(const std::string& name) {
    return R"("AttributeDefinitions":[{"AttributeName":"owner","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[)"
           R"({"Create":{"IndexName":")" +
           name +
           R"(","KeySchema":[{"AttributeName":"owner","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}}])";
  }
  const std::string arn_ = R"("ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/Tasks")";
};

TEST_F(UpdateTableTest, AddsAndDropsIndexes) {
  ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"},"owner":{"S":"me"}}})");
  const std::string made = update(create_index("by-owner"));
  EXPECT_THAT(made, HasSubstr(R"("TableStatus":"UPDATING")"));
  EXPECT_THAT(made, HasSubstr(R"("IndexStatus":"CREATING","Backfilling":true)"));
  const std::string query = R"({"TableName":"Tasks","IndexName":"by-owner","KeyConditionExpression":"#o = :o",
      "ExpressionAttributeValues":{":o":{"S":"me"}},"ExpressionAttributeNames":{"#o":"owner"},"Select":"COUNT"})";
  EXPECT_THAT(error("Query", query), HasSubstr("Cannot read from backfilling global secondary index: by-owner"));
  EXPECT_EQ(refused(create_index("another")),
            "LimitExceededException: Subscriber limit exceeded: Only 1 online index can be created or deleted "
            "simultaneously per table");
  store_->run_due();
  EXPECT_THAT(describe(), Not(HasSubstr("CREATING")));
  EXPECT_THAT(ok("Query", query), HasSubstr(R"("Count":1)"));
  EXPECT_THAT(refused(create_index("by-owner")), HasSubstr("already exists"));
  const std::string drop = R"("GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by-owner"}}])";
  EXPECT_THAT(update(drop), Not(HasSubstr("by-owner")));
  EXPECT_EQ(refused(drop), "ResourceNotFoundException: Requested resource not found");
  EXPECT_THAT(
      refused(R"("GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by-a"}},{"Delete":{"IndexName":"by-b"}}])"),
      HasSubstr("LimitExceededException"));
}

// KeySchema elements by their names, those of the partition key first.
std::string key_schema(const std::vector<std::string>& hash, const std::vector<std::string>& range) {
  std::string json = R"("KeySchema":[)";
  const auto add = [&](const std::string& name, const std::string& type) {
    json += json.ends_with('[') ? "" : ",";
    json += R"({"AttributeName":")" + name + R"(","KeyType":")" + type + R"("})";
  };
  for (const auto& name : hash) add(name, "HASH");
  for (const auto& name : range) add(name, "RANGE");
  return json + "]";
}

std::string create_composite(const std::string& keys, const std::string& attributes) {
  std::string definitions;
  for (const char name : attributes) {
    definitions += definitions.empty() ? "" : ",";
    definitions += R"({"AttributeName":")" + std::string(1, name) + R"(","AttributeType":"S"})";
  }
  return R"("AttributeDefinitions":[)" + definitions +
         R"(],"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"deep",)" + keys +
         R"(,"Projection":{"ProjectionType":"ALL"}}}])";
}

TEST_F(UpdateTableTest, IndexesMayHaveKeysOfSeveralAttributes) {
  const std::string keys = key_schema({"a", "b"}, {"c", "d"});
  EXPECT_THAT(update(create_composite(keys, "abcd")), HasSubstr(R"({"IndexName":"deep",)" + keys));
  store_->run_due();
  for (int i = 0; i < 3; ++i) {
    ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"t)" + std::to_string(i) +
                      R"("},"a":{"S":"x"},"b":{"S":"y"},"c":{"S":"z"},"d":{"S":")" + std::to_string(2 - i) + R"("}}})");
  }
  const auto query = [&](const std::string& condition, const std::string& more = "") {
    return R"({"TableName":"Tasks","IndexName":"deep","ProjectionExpression":"id","KeyConditionExpression":")" +
           condition + R"(","ExpressionAttributeValues":{":x":{"S":"x"},":y":{"S":"y"},":z":{"S":"z"}})" + more + "}";
  };
  const std::string all = "a = :x AND b = :y AND begins_with(c, :z)";
  EXPECT_THAT(ok("Query", query(all)), HasSubstr(R"("Items":[{"id":{"S":"t2"}},{"id":{"S":"t1"}},{"id":{"S":"t0"}}])"));
  EXPECT_THAT(
      ok("Query", query(all, R"(,"Limit":1)")),
      HasSubstr(R"("LastEvaluatedKey":{"a":{"S":"x"},"b":{"S":"y"},"c":{"S":"z"},"d":{"S":"0"},"id":{"S":"t2"}})"));
  EXPECT_THAT(ok("Query", query(all, R"(,"ExclusiveStartKey":{"a":{"S":"x"},"b":{"S":"y"},"c":{"S":"z"},)"
                                     R"("d":{"S":"0"},"id":{"S":"t2"}})")),
              HasSubstr(R"("Items":[{"id":{"S":"t1"}},{"id":{"S":"t0"}}])"));
  EXPECT_EQ(error("Query", query(all, R"(,"ExclusiveStartKey":{"a":{"S":"x"},"id":{"S":"t2"}})")),
            "ValidationException: The provided starting key is invalid");
  EXPECT_EQ(
      error("Query", query("a = :x AND b = :y AND d = :z")),
      "ValidationException: RANGE key attributes c must have equality conditions specified in the query because a "
      "condition is present on key attribute d");
  EXPECT_EQ(
      error("Query", query(all, R"(,"FilterExpression":"d <> :z")")),
      "ValidationException: Filter Expression can only contain non-primary key attributes: Primary key attribute: d");
  const std::string legacy = R"({"TableName":"Tasks","IndexName":"deep","Select":"COUNT","KeyConditions":{)"
                             R"("a":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]},)"
                             R"("b":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"y"}]},)"
                             R"("c":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"z"}]},)"
                             R"("d":{"ComparisonOperator":"GT","AttributeValueList":[{"S":"0"}]}}})";
  EXPECT_EQ(error("Query", legacy),
            "ValidationException: One or more parameter values were invalid: KeyConditions is not supported for index "
            "deep, which has several HASH or RANGE key attributes: use KeyConditionExpression");
  EXPECT_THAT(describe(), HasSubstr(R"("ItemCount":3)"));
  EXPECT_EQ(describe().find(R"("IndexSizeBytes":0,"ItemCount":3)"), std::string::npos);
}

TEST_F(UpdateTableTest, ChecksKeysOfSeveralAttributes) {
  EXPECT_EQ(refused(create_composite(key_schema({"a", "b", "c", "d", "e"}, {}), "abcde")),
            "ValidationException: Invalid KeySchema: At most 4 HASH key attributes are allowed, but there are 5");
  EXPECT_THAT(refused(create_composite(key_schema({"a", "b", "c", "d", "e"}, {"f", "g", "h", "i"}), "abcdefghi")),
              HasSubstr("Member must have length less than or equal to 8"));
  EXPECT_EQ(refused(create_composite(key_schema({"a"}, {"b", "b"}), "ab")),
            "ValidationException: Invalid KeySchema: Two key attributes have the same name: b");
  EXPECT_EQ(
      refused(create_composite(R"("KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"b","KeyType")"
                               R"(:"RANGE"},{"AttributeName":"c","KeyType":"HASH"}])",
                               "abc")),
      "ValidationException: Invalid KeySchema: HASH key attributes must precede RANGE key attributes");
  EXPECT_EQ(refused(create_composite(key_schema({}, {"a", "b"}), "ab")),
            "ValidationException: Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
}

TEST_F(UpdateTableTest, AnUpdateOfAnIndexSaysWhatToUpdate) {
  EXPECT_EQ(refused(R"("GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"by-state"}}])"),
            "ValidationException: One or more parameter values were invalid: Update of an index needs "
            "ProvisionedThroughput, OnDemandThroughput or WarmThroughput: by-state");
  update(R"("GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"by-state","OnDemandThroughput":{}}}])");
}

TEST_F(UpdateTableTest, SwitchesTheStream) {
  const std::string on = R"("StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"})";
  const std::string off = R"("StreamSpecification":{"StreamEnabled":false})";
  EXPECT_EQ(refused(on), "ValidationException: Table already has an enabled stream: TableName: Tasks");
  EXPECT_THAT(update(off), Not(HasSubstr("StreamSpecification")));
  EXPECT_EQ(refused(off), "ValidationException: Table has no stream to disable: TableName: Tasks");
  EXPECT_THAT(update(on), HasSubstr(R"("StreamViewType":"KEYS_ONLY")"));
}

TEST_F(UpdateTableTest, ChangesWhatIsShown) {
  EXPECT_EQ(error("UpdateTable", R"({"TableName":"Tasks"})").substr(0, 43),
            "ValidationException: At least one of Provis");
  const std::string capacity = R"("ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":7})";
  EXPECT_THAT(refused(capacity), HasSubstr("when BillingMode is PAY_PER_REQUEST"));
  EXPECT_THAT(refused(R"("BillingMode":"PROVISIONED")"), HasSubstr("ProvisionedThroughput must be specified"));
  update(R"("BillingMode":"PROVISIONED",)" + capacity);
  EXPECT_THAT(describe(), HasSubstr(R"("NumberOfDecreasesToday":0,"ReadCapacityUnits":5,"WriteCapacityUnits":7)"));
  EXPECT_THAT(describe(), Not(HasSubstr("PAY_PER_REQUEST")));
  EXPECT_THAT(refused(capacity), HasSubstr("The provisioned throughput for the table will not change."));
  clock_.advance(seconds(7));
  update(R"("BillingMode":"PAY_PER_REQUEST")");
  EXPECT_THAT(describe(), HasSubstr(R"("BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST",)"
                                    R"("LastUpdateToPayPerRequestDateTime":1800000007.123})"));
  update(R"("TableClass":"STANDARD_INFREQUENT_ACCESS")");
  EXPECT_THAT(describe(), HasSubstr(R"("TableClassSummary":{"TableClass":"STANDARD_INFREQUENT_ACCESS"})"));
  update(R"("DeletionProtectionEnabled":true)");
  EXPECT_THAT(describe(), HasSubstr(R"("DeletionProtectionEnabled":true)"));
  EXPECT_THAT(error("DeleteTable", R"({"TableName":"Tasks"})"), HasSubstr("protected against deletion"));
  EXPECT_EQ(error("UpdateTable", R"({"TableName":"freshet.system","DeletionProtectionEnabled":true})").substr(0, 25),
            "ResourceNotFoundException");
}

TEST_F(UpdateTableTest, Tags) {
  const std::string list = "{" + arn_ + "}";
  const std::string index = R"("ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/Other/index/Tasks")";
  EXPECT_THAT(error("UntagResource", "{" + index + R"(,"TagKeys":["a"]})"), HasSubstr("Invalid ResourceArn"));
  EXPECT_EQ(ok("ListTagsOfResource", list), R"({"Tags":[]})");
  EXPECT_EQ(ok("TagResource", "{" + arn_ + R"(,"Tags":[{"Key":"b","Value":"2"},{"Key":"a","Value":""}]})"), "");
  EXPECT_EQ(ok("ListTagsOfResource", list), R"({"Tags":[{"Key":"a","Value":""},{"Key":"b","Value":"2"}]})");
  EXPECT_EQ(ok("UntagResource", "{" + arn_ + R"(,"TagKeys":["a","none"]})"), "");
  EXPECT_EQ(ok("ListTagsOfResource", list), R"({"Tags":[{"Key":"b","Value":"2"}]})");
  std::string many;
  for (int i = 10; i < 25; ++i) {
    many += (many.empty() ? R"({"Key":"t)" : R"(,{"Key":"t)") + std::to_string(i) + R"(","Value":"v"})";
  }
  ok("TagResource", "{" + arn_ + R"(,"Tags":[)" + many + "]}");
  EXPECT_THAT(ok("ListTagsOfResource", list), HasSubstr(R"("NextToken":"t18")"));
  EXPECT_THAT(ok("ListTagsOfResource", "{" + arn_ + R"(,"NextToken":"t18"})"), HasSubstr(R"({"Tags":[{"Key":"t19")"));
  EXPECT_EQ(error("TagResource", "{" + arn_ + R"(,"Tags":[]})"),
            "ValidationException: Atleast one Tag needs to be provided as Input.");
  EXPECT_EQ(error("ListTagsOfResource", R"({"ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/None"})"),
            "AccessDeniedException: User is not authorized to perform: dynamodb:ListTagsOfResource on resource: "
            "arn:aws:dynamodb:us-east-1:000000000000:table/None");
  EXPECT_EQ(error("ListTagsOfResource", R"({"ResourceArn":"Tasks"})"),
            "AccessDeniedException: User is not authorized to perform: dynamodb:ListTagsOfResource on resource: Tasks");
  for (const char* operation : {"TagResource", "UntagResource", "ListTagsOfResource"}) {
    EXPECT_EQ(error(operation, "{}"), "ValidationException: Invalid TableArn") << operation;
  }
  const std::string short_name = "arn:aws:dynamodb:us-east-1:000000000000:table/ab";
  EXPECT_EQ(error("TagResource", R"({"ResourceArn":")" + short_name + R"(","Tags":[]})"),
            "ValidationException: Invalid TableArn: Invalid ResourceArn provided as input " + short_name);
  EXPECT_EQ(
      error("TagResource", R"({"ResourceArn":"a:b:c:d:e:f/g"})"),
      "ValidationException: 1 validation error detected: Value null at 'tags' failed to satisfy constraint: Member "
      "must not be null");
}

TEST_F(UpdateTableTest, ContinuousBackups) {
  const std::string table = R"({"TableName":"Tasks"})";
  EXPECT_EQ(ok("DescribeContinuousBackups", table),
            R"({"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":)"
            R"({"PointInTimeRecoveryStatus":"DISABLED"}}})");
  ok("UpdateContinuousBackups",
     R"({"TableName":"Tasks","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}})");
  EXPECT_THAT(ok("DescribeContinuousBackups", table), HasSubstr(R"("PointInTimeRecoveryStatus":"ENABLED")"));
  EXPECT_EQ(error("DescribeContinuousBackups", R"({"TableName":"None"})"),
            "TableNotFoundException: Table not found: None");
}

}  // namespace
}  // namespace freshet
