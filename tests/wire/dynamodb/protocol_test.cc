#include <gmock/gmock.h>
#include <sys/resource.h>

#include "base/limits.h"
#include "tests/wire/dynamodb/protocol_fixture.h"

namespace freshet {
namespace {

TEST_F(DynamoDbTest, ServesOnlyItsTargets) {
  EXPECT_FALSE(route_->matches({"POST", "/", {}, ""}));
  EXPECT_FALSE(route_->matches({"GET", "/", {{"X-Amz-Target", "DynamoDB_20120810.PutItem"}}, ""}));
  EXPECT_FALSE(route_->matches({"POST", "/x", {{"X-Amz-Target", "DynamoDB_20120810.PutItem"}}, ""}));
  EXPECT_TRUE(route_->matches({"POST", "/", {{"x-amz-target", "DynamoDB_20120810.PutItem"}}, ""}));
}

TEST_F(DynamoDbTest, CreatesDescribesListsAndDeletesTables) {
  make_tasks();
  const std::string table = ok("DescribeTable", R"({"TableName":"Tasks"})");
  for (const char* part :
       {R"("TableName":"Tasks")", R"("TableStatus":"ACTIVE")", R"("CreationDateTime":1800000000.123)",
        R"("TableArn":"arn:aws:dynamodb:us-east-1:000000000000:table/Tasks")", R"("IndexName":"by-state")",
        R"("Projection":{"ProjectionType":"KEYS_ONLY"})", R"("BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST",)",
        R"("LastUpdateToPayPerRequestDateTime":1800000000.123})",
        R"("KeySchema":[{"AttributeName":"state","KeyType":"HASH"},{"AttributeName":"at","KeyType":"RANGE"}])",
        R"({"AttributeName":"at","AttributeType":"N"})", R"("StreamViewType":"NEW_IMAGE")",
        R"("LatestStreamArn":"arn:aws:dynamodb:us-east-1:000000000000:table/Tasks/stream/)"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
  }
  EXPECT_EQ(ok("DescribeTable", R"({"TableName":"arn:aws:dynamodb:us-east-1:000000000000:table/Tasks"})"), table);
  EXPECT_EQ(error("CreateTable", R"({"TableName":"Tasks","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
      "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]})"),
            "ResourceInUseException: Table already exists: Tasks");
  EXPECT_EQ(ok("ListTables", "{}"), R"({"TableNames":["Tasks"]})");
  EXPECT_NE(ok("DeleteTable", R"({"TableName":"Tasks"})").find(R"("TableStatus":"DELETING")"), std::string::npos);
  EXPECT_EQ(error("DescribeTable", R"({"TableName":"Tasks"})"),
            "ResourceNotFoundException: Requested resource not found: Table: Tasks not found");
  EXPECT_EQ(ok("ListTables", "{}"), R"({"TableNames":[]})");
}

TEST_F(DynamoDbTest, ListsTablesInPages) {
  for (const char* name : {"aaa", "bbb", "ccc"}) {
    ok("CreateTable", R"({"TableName":")" + std::string(name) + R"(","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
      "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]})");
  }
  EXPECT_EQ(ok("ListTables", R"({"Limit":2})"), R"({"TableNames":["aaa","bbb"],"LastEvaluatedTableName":"bbb"})");
  EXPECT_EQ(ok("ListTables", R"({"Limit":2,"ExclusiveStartTableName":"bbb"})"), R"({"TableNames":["ccc"]})");
}

TEST_F(DynamoDbTest, ChecksCreateTable) {
  const auto create = [&](const std::string& rest) {
    return error("CreateTable", R"({"TableName":"abc",)" + rest + "}");
  };
  const std::string key = R"("KeySchema":[{"AttributeName":"a","KeyType":"HASH"}])";
  const std::string attribute = R"("AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}])";
  const std::string mode = R"("BillingMode":"PAY_PER_REQUEST")";
  EXPECT_EQ(create(mode),
            "ValidationException: 2 validation errors detected: Value null at 'attributeDefinitions' failed to satisfy "
            "constraint: Member must not be null; Value null at 'keySchema' failed to satisfy constraint: Member must "
            "not be null");
  EXPECT_EQ(create(mode + R"(,"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"SS"}],)" + key),
            "ValidationException: 1 validation error detected: Value 'SS' at 'attributeDefinitions.1.member."
            "attributeType' failed to satisfy constraint: Member must satisfy enum value set: [B, N, S]");
  EXPECT_EQ(create(attribute + "," + key),
            "ValidationException: One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits "
            "must both be specified when BillingMode is PROVISIONED");
  EXPECT_EQ(create(attribute + "," + key + R"(,"ProvisionedThroughput":{"ReadCapacityUnits":0})"),
            "ValidationException: 2 validation errors detected: Value '0' at 'provisionedThroughput.readCapacityUnits' "
            "failed to satisfy constraint: Member must have value greater than or equal to 1; Value null at "
            "'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: Member must not be null");
  EXPECT_EQ(create(mode + R"(,"KeySchema":[{"AttributeName":"a","KeyType":"RANGE"}],)" + attribute),
            "ValidationException: Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  EXPECT_EQ(create(mode + R"(,"KeySchema":[{"AttributeName":"b","KeyType":"HASH"}],)" + attribute),
            "ValidationException: One or more parameter values were invalid: Some index key attributes are not defined "
            "in AttributeDefinitions. Keys: [b], AttributeDefinitions: [a]");
  EXPECT_EQ(
      create(mode + "," + key +
             R"(,"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"},)"
             R"({"AttributeName":"b","AttributeType":"N"}])"),
      "ValidationException: One or more parameter values were invalid: Number of attributes in KeySchema does not "
      "exactly match number of attributes defined in AttributeDefinitions");
  EXPECT_EQ(create(mode + "," + key + "," + attribute + R"(,"GlobalSecondaryIndexes":[])"),
            "ValidationException: One or more parameter values were invalid: List of GlobalSecondaryIndexes is empty");
  EXPECT_EQ(create(mode + "," + key + "," + attribute + R"(,"StreamSpecification":{"StreamEnabled":true})"),
            "ValidationException: One or more parameter values were invalid: StreamViewType is required when "
            "StreamEnabled is true");
  EXPECT_EQ(ok("ListTables", "{}"), R"({"TableNames":[]})") << "something was half applied";
}

TEST_F(DynamoDbTest, PutsGetsUpdatesAndDeletesItems) {
  make_tasks();
  EXPECT_EQ(ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"},"n":{"N":"1.50"},"deep":{"M":{"l":{"L":
                [{"BOOL":true},{"NULL":true},{"B":"AQI="},{"SS":["y","x"]}]}}}}})"),
            "{}");
  EXPECT_EQ(ok("GetItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"ConsistentRead":true})"),
            R"({"Item":{"deep":{"M":{"l":{"L":[{"BOOL":true},{"NULL":true},{"B":"AQI="},{"SS":["x","y"]}]}}},)"
            R"("id":{"S":"a"},"n":{"N":"1.5"}}})");
  EXPECT_EQ(ok("GetItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"ProjectionExpression":"deep.#l[2]",
                "ExpressionAttributeNames":{"#l":"l"}})"),
            R"({"Item":{"deep":{"M":{"l":{"L":[{"B":"AQI="}]}}}}})");
  EXPECT_EQ(ok("GetItem", R"({"TableName":"Tasks","Key":{"id":{"S":"none"}}})"), "{}");
  EXPECT_EQ(
      ok("UpdateItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"UpdateExpression":"SET n = n + :one REMOVE deep",
                "ExpressionAttributeValues":{":one":{"N":"1"}},"ReturnValues":"UPDATED_NEW"})"),
      R"({"Attributes":{"n":{"N":"2.5"}}})");
  EXPECT_EQ(ok("UpdateItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"UpdateExpression":"SET n = :one",
                "ExpressionAttributeValues":{":one":{"N":"1"}},"ReturnValues":"ALL_OLD"})"),
            R"({"Attributes":{"id":{"S":"a"},"n":{"N":"2.5"}}})");
  EXPECT_EQ(ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"}},"ReturnValues":"ALL_OLD"})"),
            R"({"Attributes":{"id":{"S":"a"},"n":{"N":"1"}}})");
  EXPECT_EQ(ok("DeleteItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"ReturnValues":"ALL_OLD"})"),
            R"({"Attributes":{"id":{"S":"a"}}})");
  EXPECT_EQ(ok("DeleteItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"ReturnValues":"ALL_OLD"})"), "{}");
}

TEST_F(DynamoDbTest, FailedConditionsSayWhatWasThere) {
  make_tasks();
  ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"},"v":{"N":"3"}}})");
  const std::string put =
      R"x({"TableName":"Tasks","Item":{"id":{"S":"a"}},"ConditionExpression":"attribute_not_exists(id)")x";
  EXPECT_EQ(send("PutItem", put + "}").body,
            R"({"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",)"
            R"("message":"The conditional request failed"})");
  EXPECT_EQ(send("PutItem", put + R"(,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"})").body,
            R"({"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",)"
            R"("message":"The conditional request failed","Item":{"id":{"S":"a"},"v":{"N":"3"}}})");
}

TEST_F(DynamoDbTest, QueriesAndScansInPages) {
  make_tasks();
  for (int i = 0; i < 5; ++i) {
    ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"t)" + std::to_string(i) +
                      R"("},"state":{"S":"PENDING"},"at":{"N":")" + std::to_string(i) + R"("},"more":{"S":"x"}}})");
  }
  const std::string query = R"({"TableName":"Tasks","IndexName":"by-state","KeyConditionExpression":"#s = :s",
      "ExpressionAttributeNames":{"#s":"state"},"ExpressionAttributeValues":{":s":{"S":"PENDING"}})";
  EXPECT_EQ(ok("Query", query + R"(,"ScanIndexForward":false,"Limit":2})"),
            R"({"Items":[{"at":{"N":"4"},"id":{"S":"t4"},"state":{"S":"PENDING"}},)"
            R"({"at":{"N":"3"},"id":{"S":"t3"},"state":{"S":"PENDING"}}],"Count":2,"ScannedCount":2,)"
            R"("LastEvaluatedKey":{"at":{"N":"3"},"id":{"S":"t3"},"state":{"S":"PENDING"}}})");
  EXPECT_EQ(ok("Query", query + R"(,"ScanIndexForward":false,"ProjectionExpression":"id",
                "ExclusiveStartKey":{"at":{"N":"3"},"id":{"S":"t3"},"state":{"S":"PENDING"}}})"),
            R"({"Items":[{"id":{"S":"t2"}},{"id":{"S":"t1"}},{"id":{"S":"t0"}}],"Count":3,"ScannedCount":3})");
  EXPECT_EQ(ok("Query", query + R"(,"Select":"COUNT"})"), R"({"Count":5,"ScannedCount":5})");
  EXPECT_EQ(ok("Scan", R"({"TableName":"Tasks","Select":"COUNT","FilterExpression":"#a > :a",
                "ExpressionAttributeNames":{"#a":"at"},
                "ExpressionAttributeValues":{":a":{"N":"2"}}})"),
            R"({"Count":2,"ScannedCount":5})");
  EXPECT_EQ(
      error("Query", query + R"(,"Select":"ALL_ATTRIBUTES"})"),
      "ValidationException: One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported "
      "for global secondary index by-state because its projection type is not ALL");
  EXPECT_EQ(error("Query", query + R"(,"ConsistentRead":true})"),
            "ValidationException: Consistent reads are not supported on global secondary indexes");
  EXPECT_EQ(error("Query", query + R"(,"Limit":0})"),
            "ValidationException: 1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member "
            "must have value greater than or equal to 1");
  EXPECT_EQ(
      error("Query", R"({"TableName":"Tasks"})"),
      "ValidationException: Either the KeyConditions or KeyConditionExpression parameter must be specified in the "
      "request.");
  EXPECT_EQ(error("Scan", R"({"TableName":"Tasks","Segment":1})"),
            "ValidationException: The TotalSegments parameter is required but was not present in the request when "
            "Segment parameter is present");
  EXPECT_EQ(error("Scan", R"({"TableName":"Tasks","Select":"SPECIFIC_ATTRIBUTES"})"),
            "ValidationException: Must specify the AttributesToGet or ProjectionExpression when choosing to get "
            "SPECIFIC_ATTRIBUTES");
}

// Items that an index does not hold cost nothing in a scan of it.
TEST_F(DynamoDbTest, AnIndexIsChargedForWhatItHolds) {
  make_tasks();
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":")" + n + R"("},"state":{"S":"s"},"at":{"N":")" + n +
                      R"("},"body":{"S":")" + std::string(5'000, 'x') + R"("}}})");
  }
  const std::string page = ok("Query", R"({"TableName":"Tasks","IndexName":"by-state","KeyConditionExpression":"#s=:s",
      "ExpressionAttributeNames":{"#s":"state"},"ExpressionAttributeValues":{":s":{"S":"s"}},
      "ReturnConsumedCapacity":"TOTAL"})");
  EXPECT_NE(page.find(R"("Count":3)"), std::string::npos) << page;
  EXPECT_NE(page.find(R"("CapacityUnits":0.5})"), std::string::npos) << page;
}

// Attributes that a local index lacks are read from the table, item by item, and charged as such.
TEST_F(DynamoDbTest, ALocalIndexFetchesWhatItLacks) {
  ok("CreateTable", R"({"TableName":"Ranks","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},
                              {"AttributeName":"r","AttributeType":"N"}],
      "KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
      "LocalSecondaryIndexes":[{"IndexName":"by-r","Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["i"]},
        "KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"r","KeyType":"RANGE"}]}]})");
  const std::string body(5'000, 'x');
  for (int i = 1; i <= 3; ++i) {
    const std::string n = std::to_string(i);
    ok("PutItem", R"({"TableName":"Ranks","Item":{"p":{"S":"a"},"s":{"N":")" + n + R"("},"r":{"N":")" + n +
                      R"("},"i":{"S":"in"},"body":{"S":")" + body + R"("}}})");
  }
  const auto query = [&](const std::string& more) {
    const std::string answer = ok("Query", R"({"TableName":"Ranks","IndexName":"by-r","KeyConditionExpression":"p=:p",)"
                                           R"("ExpressionAttributeValues":{":p":{"S":"a"}},)" +
                                               more + "}");
    return std::pair(answer.find("xxxxx") != std::string::npos, answer.substr(answer.find("\"ConsumedCapacity")));
  };
  const auto with = [](bool bodies, const std::string& sum, const std::string& table, const std::string& index) {
    return std::pair(bodies, R"("ConsumedCapacity":{"TableName":"Ranks","CapacityUnits":)" + sum +
                                 R"(,"Table":{"CapacityUnits":)" + table +
                                 R"(},"LocalSecondaryIndexes":{"by-r":{"CapacityUnits":)" + index + "}}}}");
  };
  const std::string all = R"("ReturnConsumedCapacity":"INDEXES")";
  EXPECT_EQ(query(all), with(false, "0.5", "0.0", "0.5"));
  EXPECT_EQ(query(all + R"(,"Select":"ALL_PROJECTED_ATTRIBUTES")"), with(false, "0.5", "0.0", "0.5"));
  EXPECT_EQ(query(all + R"(,"ProjectionExpression":"i,s")"), with(false, "0.5", "0.0", "0.5"));
  EXPECT_EQ(query(all + R"(,"Select":"ALL_ATTRIBUTES")"), with(true, "3.5", "3.0", "0.5"));
  EXPECT_EQ(query(all + R"(,"Select":"ALL_ATTRIBUTES","ConsistentRead":true)"), with(true, "7.0", "6.0", "1.0"));
  EXPECT_EQ(query(all + R"(,"ProjectionExpression":"body","Limit":1)"), with(true, "1.5", "1.0", "0.5"));
  EXPECT_EQ(query(R"("Select":"COUNT","FilterExpression":"body<>i","ReturnConsumedCapacity":"TOTAL")"),
            std::pair(false, std::string(R"("ConsumedCapacity":{"TableName":"Ranks","CapacityUnits":3.5}})")));
  const std::string scan = ok("Scan", R"({"TableName":"Ranks","IndexName":"by-r","Select":"ALL_ATTRIBUTES"})");
  EXPECT_NE(scan.find("xxxxx"), std::string::npos);
}

TEST_F(DynamoDbTest, ReportsCapacity) {
  make_tasks();
  const std::string item = R"("Item":{"id":{"S":"a"},"x":{"S":")" + std::string(1500, 'x') + R"("}})";
  EXPECT_EQ(ok("PutItem", R"({"TableName":"Tasks","ReturnConsumedCapacity":"TOTAL",)" + item + "}"),
            R"({"ConsumedCapacity":{"TableName":"Tasks","CapacityUnits":2.0}})");
  EXPECT_EQ(ok("DeleteItem", R"({"TableName":"Tasks","ReturnConsumedCapacity":"INDEXES","Key":{"id":{"S":"b"}}})"),
            R"({"ConsumedCapacity":{"TableName":"Tasks","CapacityUnits":1.0,"Table":{"CapacityUnits":1.0}}})");
  EXPECT_EQ(ok("GetItem", R"({"TableName":"Tasks","ReturnConsumedCapacity":"TOTAL","Key":{"id":{"S":"b"}}})"),
            R"({"ConsumedCapacity":{"TableName":"Tasks","CapacityUnits":0.5}})");
  EXPECT_EQ(ok("Query", R"({"TableName":"Tasks","IndexName":"by-state","KeyConditionExpression":"#s = :s",
                "ExpressionAttributeNames":{"#s":"state"},"ExpressionAttributeValues":{":s":{"S":"PENDING"}},
                "ReturnConsumedCapacity":"INDEXES"})"),
            R"({"Items":[],"Count":0,"ScannedCount":0,"ConsumedCapacity":{"TableName":"Tasks","CapacityUnits":0.5,)"
            R"("Table":{"CapacityUnits":0.0},"GlobalSecondaryIndexes":{"by-state":{"CapacityUnits":0.5}}}})");
}

struct Bad {
  const char* operation;
  const char* body;
  const char* error;
};

TEST_F(DynamoDbTest, RefusesBadRequestsInTheServicesWords) {
  make_tasks();
  const Bad cases[] = {
      {"PutItem", "{}",
       "ValidationException: 2 validation errors detected: Value null at 'tableName' failed to satisfy constraint: "
       "Member must not be null; Value null at 'item' failed to satisfy constraint: Member must not be null"},
      {"GetItem", R"({"TableName":"a;","Key":{"id":{"S":"a"}}})",
       "ValidationException: 1 validation error detected: Value 'a;' at 'tableName' failed to satisfy constraint: "
       "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"},
      {"PutItem", R"({"TableName":23,"Item":{}})",
       "SerializationException: NUMBER_VALUE cannot be converted to String (at TableName)"},
      {"PutItem", R"({"TableName":"Tasks","Item":{"id":"a"}})",
       "SerializationException: STRING_VALUE cannot be converted to Map (at Item.id)"},
      {"PutItem", R"({"TableName":"Tasks","Item":[]})",
       "SerializationException: Start of list found where not expected (at Item)"},
      {"PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"},"n":{"N":"x"}}})",
       "ValidationException: The parameter cannot be converted to a numeric value: x"},
      {"PutItem", R"({"TableName":"Tasks","Item":{"x":{"S":"a"}}})",
       "ValidationException: One or more parameter values were invalid: Missing the key id in the item"},
      {"PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"}},"ReturnValues":"ALL_NEW"})",
       "ValidationException: ReturnValues can only be ALL_OLD or NONE"},
      {"PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"}},"ReturnValues":"hi"})",
       "ValidationException: 1 validation error detected: Value 'hi' at 'returnValues' failed to satisfy constraint: "
       "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"},
      {"PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"}},"ConditionExpression":""})",
       "ValidationException: Invalid ConditionExpression: The expression can not be empty;"},
      {"PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"}},"ExpressionAttributeValues":{":a":{"N":"1"}}})",
       "ValidationException: ExpressionAttributeValues can only be specified when using expressions: "
       "ConditionExpression "
       "is null"},
      {"PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"}},"ExpressionAttributeNames":{}})",
       "ValidationException: ExpressionAttributeNames must not be empty"},
      {"GetItem", R"({"TableName":"None","Key":{"id":{"S":"a"}}})",
       "ResourceNotFoundException: Requested resource not found"},
      {"GetItem", R"({"TableName":"Tasks","Key":{"id":{"N":"1"}}})",
       "ValidationException: The provided key element does not match the schema"},
      {"GetItem", R"({"TableName":"Tasks","Key":{"id":{"S":"a"}},"ConsistentRead":"yes"})",
       "SerializationException: STRING_VALUE cannot be converted to Boolean (at ConsistentRead)"},
      {"Invent", "{}", "UnknownOperationException: The operation DynamoDB_20120810.Invent is not known"},
  };
  for (const Bad& bad : cases) EXPECT_EQ(error(bad.operation, bad.body), bad.error) << bad.operation << bad.body;
  EXPECT_TRUE(error("PutItem", "{\"TableName\":").starts_with("SerializationException: malformed JSON at offset"));
  EXPECT_TRUE(error("PutItem", "[]").starts_with("SerializationException: "));
  EXPECT_EQ(ok("Scan", R"({"TableName":"Tasks","Select":"COUNT"})"), R"({"Count":0,"ScannedCount":0})");
}

// Neither does the time grow with the square of what is wrong, nor the memory with the product of names and members.
TEST_F(DynamoDbTest, LongListsOfWrongMembersAreRefusedAtOnce) {
  constexpr size_t kMany = 400'000;
  const auto list = [](std::string_view member) {
    std::string out = "[";
    for (size_t i = 0; i < kMany; ++i) out.append(i == 0 ? "" : ",").append(member);
    return out + "]";
  };
  std::string map = "{";
  for (size_t i = 0; i < kMany; ++i) map += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":5";
  map += "}";
  const std::string fives = list("5");
  const std::string serialization = "SerializationException: NUMBER_VALUE cannot be converted to ";
  EXPECT_EQ(error("BatchWriteItem", R"({"RequestItems":{"Tasks":)" + fives + "}}"),
            serialization + "Map (at RequestItems.Tasks[0])");
  EXPECT_EQ(error("BatchWriteItem", R"({"RequestItems":)" + map + "}"), serialization + "List (at RequestItems.0)");
  EXPECT_EQ(error("BatchGetItem", R"({"RequestItems":)" + map + "}"), serialization + "Map (at RequestItems.0)");
  EXPECT_EQ(error("TransactWriteItems", R"({"TransactItems":)" + fives + "}"),
            serialization + "Map (at TransactItems[0])");
  EXPECT_EQ(error("PutItem", R"({"Item":{},"Expected":)" + map + "}"), serialization + "Map (at Expected.0)");
  EXPECT_EQ(error("ExecuteStatement", R"({"Parameters":)" + fives + "}"), serialization + "Map (at Parameters[0])");
  const std::string name(100'000, 'x');
  const std::string refused = error("BatchWriteItem", R"({"RequestItems":{")" + name + "\":" + list("{}") + "}}");
  EXPECT_TRUE(refused.starts_with("ValidationException: 2 validation errors detected: Value '{xxx"))
      << refused.substr(0, 200);
  EXPECT_LT(refused.size(), 10'000u);
}

TEST_F(DynamoDbTest, UnknownMembersAreIgnored) {
  make_tasks();
  EXPECT_EQ(ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"}},"Invented":{"a":[1,2]}})"), "{}");
}

TEST_F(DynamoDbTest, HidesSystemTables) {
  TableDefinition definition;
  definition.name = "freshet.secret";
  definition.keys.partition = {"id", Type::kString};
  definition.system = true;
  ASSERT_TRUE(store_->create_table(definition).take());
  EXPECT_EQ(ok("ListTables", "{}"), R"({"TableNames":[]})");
  const std::string name = R"({"TableName":"freshet.secret")";
  const std::string gone = "ResourceNotFoundException: Requested resource not found: Table: freshet.secret not found";
  EXPECT_EQ(error("DescribeTable", name + "}"), gone);
  EXPECT_EQ(error("DeleteTable", name + "}"), gone);
  const std::string no_items = "ResourceNotFoundException: Requested resource not found";
  EXPECT_EQ(error("Scan", name + "}"), no_items);
  EXPECT_EQ(error("GetItem", name + R"(,"Key":{"id":{"S":"a"}}})"), no_items);
  EXPECT_EQ(error("PutItem", name + R"(,"Item":{"id":{"S":"a"}}})"), no_items);
  EXPECT_EQ(
      error("BatchWriteItem", R"({"RequestItems":{"freshet.secret":[{"PutRequest":{"Item":{"id":{"S":"a"}}}}]}})"),
      no_items);
  EXPECT_EQ(error("BatchGetItem", R"({"RequestItems":{"freshet.secret":{"Keys":[{"id":{"S":"a"}}]}}})"), no_items);
  EXPECT_EQ(error("CreateTable", R"({"TableName":"freshet.mine","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
      "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]})"),
            "ValidationException: Table names that start with 'freshet.' are reserved");
}

TEST_F(DynamoDbTest, SwitchesTimeToLive) {
  make_tasks();
  const auto update = [](const char* attribute, const char* enabled) {
    return R"({"TableName":"Tasks","TimeToLiveSpecification":{"AttributeName":")" + std::string(attribute) +
           R"(","Enabled":)" + enabled + "}}";
  };
  EXPECT_EQ(ok("DescribeTimeToLive", R"({"TableName":"Tasks"})"),
            R"({"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}})");
  EXPECT_EQ(error("UpdateTimeToLive", update("ttl", "false")), "ValidationException: TimeToLive is already disabled");
  EXPECT_EQ(ok("UpdateTimeToLive", update("ttl", "true")),
            R"({"TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}})");
  EXPECT_EQ(ok("DescribeTimeToLive", R"({"TableName":"Tasks"})"),
            R"({"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"ttl"}})");
  EXPECT_EQ(error("UpdateTimeToLive", update("ttl", "true")), "ValidationException: TimeToLive is already enabled");
  EXPECT_EQ(error("UpdateTimeToLive", update("other", "true")),
            "ValidationException: TimeToLive is active on a different AttributeName: current AttributeName is ttl");
  ok("UpdateTimeToLive", update("ttl", "false"));
  EXPECT_EQ(ok("DescribeTimeToLive", R"({"TableName":"Tasks"})"),
            R"({"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}})");
}

TEST_F(DynamoDbTest, WritesAndReadsBatches) {
  make_tasks();
  EXPECT_EQ(ok("BatchWriteItem", R"({"RequestItems":{"Tasks":[{"PutRequest":{"Item":{"id":{"S":"a"},"x":{"N":"1"}}}},
                {"PutRequest":{"Item":{"id":{"S":"b"}}}},{"DeleteRequest":{"Key":{"id":{"S":"c"}}}}]}})"),
            R"({"UnprocessedItems":{}})");
  EXPECT_EQ(ok("BatchGetItem", R"({"RequestItems":{"Tasks":{"Keys":[{"id":{"S":"a"}},{"id":{"S":"c"}},{"id":{"S":"b"}}],
                "ProjectionExpression":"x"}}})"),
            R"({"Responses":{"Tasks":[{"x":{"N":"1"}},{}]},"UnprocessedKeys":{}})");
  EXPECT_EQ(error("BatchWriteItem", R"({"RequestItems":{"Tasks":[{"PutRequest":{"Item":{"id":{"S":"new"}}}},
                {"PutRequest":{"Item":{"x":{"S":"b"}}}}]}})"),
            "ValidationException: The provided key element does not match the schema");
  EXPECT_EQ(error("BatchWriteItem", R"({"RequestItems":{"Tasks":[{"PutRequest":{"Item":{"id":{"S":"new"}}}},
                {"PutRequest":{"Item":{"id":{"S":"b"},"state":{"N":"1"}}}}]}})"),
            "ValidationException: One or more parameter values were invalid: Type mismatch for Index Key state "
            "Expected: S Actual: N IndexName: by-state");
  EXPECT_EQ(error("BatchWriteItem", R"({"RequestItems":{"Tasks":[{"PutRequest":{"Item":{"id":{"S":"new"}}}},
                {"DeleteRequest":{"Key":{"id":{"S":"new"}}}}]}})"),
            "ValidationException: Provided list of item keys contains duplicates");
  EXPECT_EQ(ok("GetItem", R"({"TableName":"Tasks","Key":{"id":{"S":"new"}}})"), "{}") << "half applied";
  EXPECT_EQ(error("BatchGetItem", R"({"RequestItems":{"Tasks":{"Keys":[{"id":{"S":"a"}},{"id":{"S":"a"}}]}}})"),
            "ValidationException: Provided list of item keys contains duplicates");
  EXPECT_EQ(error("BatchGetItem", R"({"RequestItems":{"Tasks":{"Keys":[{"id":{"S":"b"}},{"id":{"S":"a"}}]},
                "arn:aws:dynamodb:us-east-1:000000000000:table/Tasks":{"Keys":[{"id":{"S":"a"}}]}}})"),
            "ValidationException: Provided list of item keys contains duplicates");
  EXPECT_EQ(error("BatchWriteItem", R"({"RequestItems":{"Tasks":[{"PutRequest":{"Item":{"id":{"S":"a"}}}}],
                "arn:aws:dynamodb:us-east-1:000000000000:table/Tasks":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}})"),
            "ValidationException: Provided list of item keys contains duplicates");
  EXPECT_EQ(error("BatchGetItem", R"({"RequestItems":{}})"),
            "ValidationException: The requestItems parameter is required for BatchGetItem");
}

// A hundred copies of 15 MB, each of them checked, were 1.5 GB.
TEST_F(DynamoDbTest, ABatchGetTakesItsProjectionOnce) {
  make_tasks();
  std::string keys;
  for (int i = 0; i < 100; ++i) {
    ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"k)" + std::to_string(i) + R"("},"x":{"N":"1"}}})");
    keys += (i == 0 ? R"({"id":{"S":"k)" : R"(,{"id":{"S":"k)") + std::to_string(i) + R"("}})";
  }
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
  };
  const auto request = [&](const std::string& projection, const std::string& names) {
    return R"({"RequestItems":{"Tasks":{"Keys":[)" + keys + R"(],"ProjectionExpression":")" + projection +
           R"(","ExpressionAttributeNames":{)" + names + "}}}}";
  };
  std::string names = R"("#x":"x")";
  std::string projection = "#x";
  for (int i = 0; i < 230; ++i) {
    const std::string n = "#n" + std::to_string(i);
    projection += "," + n;
    names += R"(,")" + n + R"(":")" + std::to_string(i) + std::string(65'000, 'n') + '"';
  }
  const auto before = peak();
  const std::string answer = ok("BatchGetItem", request(projection, names));
  EXPECT_EQ(answer.substr(0, 60), R"({"Responses":{"Tasks":[{"x":{"N":"1"}},{"x":{"N":"1"}},{"x":)");
  EXPECT_THAT(answer, testing::EndsWith(R"({"x":{"N":"1"}},{"x":{"N":"1"}}]},"UnprocessedKeys":{}})"));
  EXPECT_THAT(error("BatchGetItem", request(std::string(15'000'000, 'x'), R"("#x":"x")")),
              testing::HasSubstr("Expression size has exceeded the maximum allowed size"));
  EXPECT_THAT(error("BatchGetItem", request("#x", names)), testing::HasSubstr("unused in expressions"));
  EXPECT_LT(peak() - before, 500) << "MB";
}

TEST_F(DynamoDbTest, AnswersInTheVersionThatWasAsked) {
  const HttpResponse one = send("ListTables", "{}", {{"Content-Type", "application/x-amz-json-1.1"}});
  EXPECT_EQ(one.content_type, "application/x-amz-json-1.1");
  EXPECT_EQ(send("ListTables", "{}").content_type, "application/x-amz-json-1.0");
  EXPECT_EQ(send("DescribeEndpoints", "{}").body,
            R"({"Endpoints":[{"Address":"localhost:8000","CachePeriodInMinutes":1440}]})");
}

TEST_F(DynamoDbTest, ABodyWithoutATargetIsAnUnknownOperation) {
  const HttpHeaders json{{"Content-Type", "application/x-amz-json-1.0"}};
  EXPECT_TRUE(route_->matches({"POST", "/", json, "{}"}));
  const std::string body = route_->accept({"POST", "/", json, "{}"})->respond().body;
  EXPECT_NE(body.find("UnknownOperationException"), std::string::npos) << body;
}

TEST_F(DynamoDbTest, ABatchThatIsThrottledWholeIsAnError) {
  EmbeddedOptions options;
  options.directory = std::string(kMemoryDirectory);
  options.max_memory_bytes = 100'000;
  store_ = std::move(*open_embedded(nullptr, scheduler_, random_, options));
  route_ = make_dynamodb_route(*store_, clock_);
  make_tasks();
  const auto put = [](const std::string& id) {
    return R"({"PutRequest":{"Item":{"id":{"S":")" + id + R"("},"x":{"S":")" + std::string(10'000, 'x') + R"("}}}})";
  };
  const auto batch = [](const std::string& writes) { return R"({"RequestItems":{"Tasks":[)" + writes + "]}}"; };
  std::string full;
  for (int i = 0; i < 20; ++i) full += (i ? "," : "") + put("a" + std::to_string(i));
  EXPECT_NE(ok("BatchWriteItem", batch(full)), R"({"UnprocessedItems":{}})") << "some of them";
  EXPECT_TRUE(error("BatchWriteItem", batch(put("b") + "," + put("c")))
                  .starts_with("ProvisionedThroughputExceededException: The store is at its memory cap"));
  const std::string mixed = R"({"DeleteRequest":{"Key":{"id":{"S":"none"}}}},)" + put("b");
  EXPECT_TRUE(ok("BatchWriteItem", batch(mixed)).starts_with(R"({"UnprocessedItems":{"Tasks":[{"PutRequest")"));
}

TEST_F(DynamoDbTest, ABatchOfReadsStaysWithinSixteenMegabytes) {
  make_tasks();
  std::string keys;
  size_t fit = 0;
  size_t bytes = 0;
  for (int i = 0; i < 50; ++i) {
    PutItemInput put;
    put.table = "Tasks";
    put.item = Item{{"id", Value("a" + std::to_string(10 + i))}, {"x", Value(std::string(390'000, 'x'))}};
    bytes += ItemRef::encode(put.item).encoded().size();
    if (bytes <= limits::kMaxRequestBytes) ++fit;
    ASSERT_TRUE(store_->put_item(std::move(put)).take());
    keys += (i ? R"(,{"id":{"S":"a)" : R"({"id":{"S":"a)") + std::to_string(10 + i) + R"("}})";
  }
  const std::string answer = ok("BatchGetItem", R"({"RequestItems":{"Tasks":{"Keys":[)" + keys + "]}}}");
  const size_t unprocessed = answer.find("UnprocessedKeys");
  EXPECT_NE(answer.find(R"({"S":"a)" + std::to_string(9 + fit) + '"'), std::string::npos);
  EXPECT_LT(answer.find(R"({"S":"a)" + std::to_string(9 + fit) + '"'), unprocessed);
  EXPECT_GT(answer.find(R"({"S":"a)" + std::to_string(10 + fit) + '"'), unprocessed);
}

}  // namespace
}  // namespace freshet
