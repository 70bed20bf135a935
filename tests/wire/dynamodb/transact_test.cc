#include "tests/wire/dynamodb/protocol_fixture.h"

namespace freshet {
namespace {

class TransactTest : public DynamoDbTest {
 protected:
  TransactTest() { make_tasks(); }
  std::string write(const std::string& actions, const std::string& more = {}) {
    return ok("TransactWriteItems", R"({"TransactItems":[)" + actions + "]" + more + "}");
  }
  std::string refused(const std::string& actions, const std::string& more = {}) {
    return error("TransactWriteItems", R"({"TransactItems":[)" + actions + "]" + more + "}");
  }
  static std::string put(const std::string& id, const std::string& more = {}) {
    return R"({"Put":{"TableName":"Tasks","Item":{"id":{"S":")" + id + R"("}})" + more + "}}";
  }
  std::string get(const std::string& id) {
    return ok("GetItem", R"({"TableName":"Tasks","Key":{"id":{"S":")" + id + R"("}}})");
  }
};

TEST_F(TransactTest, WritesAllOrNothing) {
  const std::string update = R"({"Update":{"TableName":"Tasks","Key":{"id":{"S":"b"}},"UpdateExpression":"SET n = :n",)"
                             R"("ExpressionAttributeValues":{":n":{"N":"1"}}}})";
  const std::string check = R"~({"ConditionCheck":{"TableName":"Tasks","Key":{"id":{"S":"c"}},"ConditionExpression":)~"
                            R"~("attribute_not_exists(id)"}})~";
  EXPECT_EQ(write(put("a") + "," + update + "," + check), "{}");
  EXPECT_EQ(get("b"), R"({"Item":{"id":{"S":"b"},"n":{"N":"1"}}})");
  const std::string refused_put =
      put("b", R"(,"ConditionExpression":"n = :n","ExpressionAttributeValues":{":n":{"N":"2"}},)"
               R"("ReturnValuesOnConditionCheckFailure":"ALL_OLD")");
  const HttpResponse response =
      send("TransactWriteItems", R"({"TransactItems":[)" + put("d") + "," + refused_put + "]}");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.body,
            R"({"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"Transaction )"
            R"(cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]",)"
            R"("CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Message":"The conditional )"
            R"(request failed","Item":{"id":{"S":"b"},"n":{"N":"1"}}}]})");
  EXPECT_EQ(get("d"), "{}");
}

TEST_F(TransactTest, ReportsTwiceTheCapacity) {
  const std::string indexed =
      R"({"Put":{"TableName":"Tasks","Item":{"id":{"S":"a"},"state":{"S":"s"},"at":{"N":"1"}}}})";
  EXPECT_EQ(write(indexed + "," + put("b"), R"(,"ReturnConsumedCapacity":"INDEXES","ClientRequestToken":"t")"),
            R"({"ConsumedCapacity":[{"TableName":"Tasks","CapacityUnits":6.0,"WriteCapacityUnits":6.0,)"
            R"("Table":{"CapacityUnits":4.0,"WriteCapacityUnits":4.0},"GlobalSecondaryIndexes":{"by-state":)"
            R"({"CapacityUnits":2.0,"WriteCapacityUnits":2.0}}}]})");
  EXPECT_EQ(write(indexed + "," + put("b"), R"(,"ReturnConsumedCapacity":"TOTAL","ClientRequestToken":"t")"),
            R"({"ConsumedCapacity":[{"TableName":"Tasks","CapacityUnits":4.0,"ReadCapacityUnits":4.0}]})")
      << "a repeated request reads";
  EXPECT_EQ(refused(put("b"), R"(,"ClientRequestToken":"t")").substr(0, 37), "IdempotentParameterMismatchException:");
  EXPECT_EQ(ok("TransactGetItems", R"({"TransactItems":[{"Get":{"TableName":"Tasks","Key":{"id":{"S":"a"}},
                "ProjectionExpression":"id"}},{"Get":{"TableName":"Tasks","Key":{"id":{"S":"z"}}}}],
                "ReturnConsumedCapacity":"TOTAL"})"),
            R"({"Responses":[{"Item":{"id":{"S":"a"}}},{}],"ConsumedCapacity":[{"TableName":"Tasks",)"
            R"("CapacityUnits":4.0,"ReadCapacityUnits":4.0}]})");
}

TEST_F(TransactTest, ChecksRequests) {
  const std::string enums = R"(,"ReturnConsumedCapacity":"BOGUS","ReturnItemCollectionMetrics":"BOGUS2")";
  EXPECT_EQ(refused(put("a"), enums + R"(,"ClientRequestToken":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")"),
            "ValidationException: 3 validation errors detected: Value at 'ClientRequestToken' "
            "failed to satisfy constraint: Member must have length less than or equal to 36; "
            "Value 'BOGUS' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value "
            "set: [INDEXES, TOTAL, NONE]; Value 'BOGUS2' at 'returnItemCollectionMetrics' failed to satisfy "
            "constraint: Member must satisfy enum value set: [SIZE, NONE]");
  EXPECT_EQ(refused(""),
            "ValidationException: 1 validation error detected: Value at 'TransactItems' failed to satisfy "
            "constraint: Member must have length greater than or equal to 1");
  EXPECT_EQ(refused(R"({"Put":{"TableName":"Tasks","Item":{"id":{"S":"a"}}},"Delete":{"TableName":"Tasks",
              "Key":{"id":{"S":"a"}}}})"),
            "ValidationException: TransactItems can only contain one of Check, Put, Update or Delete");
  EXPECT_EQ(refused("{}"),
            "ValidationException: Invalid Request: TransactWriteRequest should contain Delete or Put or Update "
            "request");
  EXPECT_EQ(refused(R"({"ConditionCheck":{"TableName":"Tasks","Key":{"id":{"S":"a"}}}})"),
            "ValidationException: 1 validation error detected: Value null at "
            "'transactItems.1.member.conditionCheck.conditionExpression' failed to satisfy constraint: Member must "
            "not be null");
  EXPECT_EQ(refused(R"({"Put":{"TableName":"freshet.tokens","Item":{"token":{"S":"a"}}}})"),
            "ResourceNotFoundException: Requested resource not found");
  EXPECT_EQ(error("TransactGetItems", R"({"TransactItems":[{"Get":{"TableName":"Tasks","Key":{}}}]})"),
            "TransactionCanceledException: Transaction cancelled, please refer cancellation reasons for specific "
            "reasons [ValidationError]");
  EXPECT_EQ(error("TransactGetItems", R"({"TransactItems":[{"Get":{"TableName":"Tasks","Key":{"id":{"S":"a"}},
                "ProjectionExpression":"!!!"}}]})"),
            R"(ValidationException: Invalid ProjectionExpression: Syntax error; token: "!", near: "!!")");
}

TEST_F(TransactTest, TellsItemCollectionsOfTablesWithLocalIndexes) {
  ok("CreateTable", R"({"TableName":"Local","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},
                              {"AttributeName":"r","AttributeType":"N"}],
      "KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
      "LocalSecondaryIndexes":[{"IndexName":"by-r","Projection":{"ProjectionType":"ALL"},
        "KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"r","KeyType":"RANGE"}]}]})");
  const std::string metrics = R"({"ItemCollectionKey":{"p":{"S":"a"}},"SizeEstimateRangeGB":[0.0,1.0]})";
  const std::string item = R"({"p":{"S":"a"},"s":{"N":"1"},"r":{"N":"2"}})";
  EXPECT_EQ(ok("PutItem", R"({"TableName":"Local","Item":)" + item + R"(,"ReturnItemCollectionMetrics":"SIZE",
                "ReturnConsumedCapacity":"INDEXES"})"),
            R"({"ConsumedCapacity":{"TableName":"Local","CapacityUnits":2.0,"Table":{"CapacityUnits":1.0},)"
            R"("LocalSecondaryIndexes":{"by-r":{"CapacityUnits":1.0}}},"ItemCollectionMetrics":)" +
                metrics + "}");
  EXPECT_EQ(ok("BatchWriteItem", R"({"RequestItems":{"Local":[{"PutRequest":{"Item":)" + item +
                                     R"(}}]},"ReturnItemCollectionMetrics":"SIZE"})"),
            R"({"UnprocessedItems":{},"ItemCollectionMetrics":{"Local":[)" + metrics + "]}}");
  EXPECT_EQ(write(R"({"Put":{"TableName":"Local","Item":)" + item + "}}", R"(,"ReturnItemCollectionMetrics":"SIZE")"),
            R"({"ItemCollectionMetrics":{"Local":[)" + metrics + "]}}");
  EXPECT_EQ(ok("PutItem", R"({"TableName":"Tasks","Item":{"id":{"S":"a"}},"ReturnItemCollectionMetrics":"SIZE"})"),
            "{}");
}

}  // namespace
}  // namespace freshet
